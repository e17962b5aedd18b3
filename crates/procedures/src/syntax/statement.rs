//! The statements of procedures.

use sqlparser::ast::Expr;
use sqlparser::tokenizer::{Location, Token};

use super::Name;
use super::cursor::Cursor;
use crate::fault::Fault;

/// A statement.
pub(crate) enum StatementSyntax {
    Insert(InsertSyntax),
    Update(UpdateSyntax),
    Delete(DeleteSyntax),
    Select(Box<SelectSyntax>),
    Set(SetSyntax),
    If(IfSyntax),
    Signal(SignalSyntax),
}

/// `INSERT INTO table [(columns)] VALUES (…), …`
pub(crate) struct InsertSyntax {
    pub(crate) table: Name,
    pub(crate) columns: Option<Vec<Name>>,
    pub(crate) rows: Vec<RowSyntax>,
}

/// The values of a row; `None` stands for DEFAULT.
pub(crate) struct RowSyntax {
    pub(crate) location: Location,
    pub(crate) values: Vec<Option<Expr>>,
}

/// `UPDATE table SET column = expression, … WHERE condition`
pub(crate) struct UpdateSyntax {
    pub(crate) table: Name,
    pub(crate) changes: Vec<(Name, Expr)>,
    pub(crate) condition: Expr,
}

/// `DELETE FROM table WHERE condition`
pub(crate) struct DeleteSyntax {
    pub(crate) table: Name,
    pub(crate) condition: Expr,
}

/// `SELECT … [INTO variables] [FROM table [WHERE condition] [ORDER BY …] [LIMIT …]]`
pub(crate) struct SelectSyntax {
    pub(crate) location: Location,
    pub(crate) items: Vec<ItemSyntax>,
    pub(crate) into: Option<Vec<Name>>,
    pub(crate) from: Option<FromSyntax>,
}

/// What is selected from.
pub(crate) struct FromSyntax {
    pub(crate) table: Name,
    pub(crate) condition: Option<Expr>,
    pub(crate) order_by: Vec<OrderSyntax>,
    pub(crate) limit: Option<Expr>,
    /// Where a condition would stand.
    pub(crate) location: Location,
}

/// What is selected.
pub(crate) enum ItemSyntax {
    /// `*`
    All(Location),
    Expression(Box<Expr>, Option<Name>),
}

/// `column [ASC | DESC]`
pub(crate) struct OrderSyntax {
    pub(crate) column: Name,
    pub(crate) is_descending: bool,
}

/// `SET variable = expression`
pub(crate) struct SetSyntax {
    pub(crate) variable: Name,
    pub(crate) value: Expr,
}

/// `IF condition THEN … [ELSEIF condition THEN …] [ELSE …] END IF`
pub(crate) struct IfSyntax {
    pub(crate) arms: Vec<(Expr, Vec<StatementSyntax>)>,
    pub(crate) otherwise: Vec<StatementSyntax>,
}

/// `SIGNAL SQLSTATE 'code' [SET MESSAGE_TEXT = expression]`
pub(crate) struct SignalSyntax {
    pub(crate) code: String,
    pub(crate) location: Location,
    pub(crate) message: Option<Expr>,
}

/// What a procedure's body may have.
const POSSIBLE: &str = "INSERT, UPDATE, DELETE, SELECT, SET, IF, SIGNAL";

/// Statements with a semicolon behind each, up to one of these words.
pub(crate) fn list(cursor: &mut Cursor, ends: &[&str]) -> Result<Vec<StatementSyntax>, Fault> {
    let mut statements = Vec::new();
    while !ends.iter().any(|end| cursor.sees(end)) {
        if cursor.accept_semicolon() {
            continue;
        }
        if cursor.sees("DECLARE") {
            return Err(cursor
                .fault(&format!("{POSSIBLE} or {}", ends.join(" or ")))
                .with_hint("Variables are declared before the first statement"));
        }
        statements.push(any(cursor, ends)?);
        cursor.expect_semicolon()?;
    }
    Ok(statements)
}

fn any(cursor: &mut Cursor, ends: &[&str]) -> Result<StatementSyntax, Fault> {
    if let Some(change) = change(cursor) {
        return change;
    }
    if cursor.sees("SELECT") {
        return select(cursor).map(Box::new).map(StatementSyntax::Select);
    }
    if cursor.accept("SET") {
        let variable = cursor.name("a variable")?;
        cursor.expect_token(&Token::Eq)?;
        let value = cursor.expression()?;
        return Ok(StatementSyntax::Set(SetSyntax { variable, value }));
    }
    if cursor.accept("IF") {
        return if_then(cursor).map(StatementSyntax::If);
    }
    if cursor.accept("SIGNAL") {
        return signal(cursor).map(StatementSyntax::Signal);
    }
    Err(cursor.fault(&format!("{POSSIBLE} or {}", ends.join(" or "))))
}

/// INSERT, UPDATE or DELETE; `None` if none of them comes next.
pub(crate) fn change(cursor: &mut Cursor) -> Option<Result<StatementSyntax, Fault>> {
    if cursor.accept("INSERT") {
        Some(insert(cursor).map(StatementSyntax::Insert))
    } else if cursor.accept("UPDATE") {
        Some(update(cursor).map(StatementSyntax::Update))
    } else if cursor.accept("DELETE") {
        Some(delete(cursor).map(StatementSyntax::Delete))
    } else {
        None
    }
}

fn insert(cursor: &mut Cursor) -> Result<InsertSyntax, Fault> {
    cursor.expect("INTO")?;
    let table = cursor.public_name("the name of a table")?;
    let columns = match cursor.sees_token(&Token::LParen) {
        true => Some(cursor.names("a column")?),
        false => None,
    };
    cursor.expect("VALUES")?;
    let rows = cursor.separated(|cursor| {
        let location = cursor.location();
        let values = cursor.in_parentheses(|cursor| match cursor.accept("DEFAULT") {
            true => Ok(None),
            false => cursor.expression().map(Some),
        })?;
        Ok(RowSyntax { location, values })
    })?;
    Ok(InsertSyntax {
        table,
        columns,
        rows,
    })
}

fn update(cursor: &mut Cursor) -> Result<UpdateSyntax, Fault> {
    let table = cursor.public_name("the name of a table")?;
    cursor.expect("SET")?;
    let changes = cursor.separated(|cursor| {
        let column = cursor.name("a column")?;
        cursor.expect_token(&Token::Eq)?;
        Ok((column, cursor.expression()?))
    })?;
    cursor.expect("WHERE")?;
    Ok(UpdateSyntax {
        table,
        changes,
        condition: cursor.expression()?,
    })
}

fn delete(cursor: &mut Cursor) -> Result<DeleteSyntax, Fault> {
    cursor.expect("FROM")?;
    let table = cursor.public_name("the name of a table")?;
    cursor.expect("WHERE")?;
    Ok(DeleteSyntax {
        table,
        condition: cursor.expression()?,
    })
}

fn select(cursor: &mut Cursor) -> Result<SelectSyntax, Fault> {
    let location = cursor.location();
    cursor.expect("SELECT")?;
    let items = cursor.separated(item)?;
    let into = match cursor.accept("INTO") {
        true => Some(cursor.separated(|cursor| cursor.name("a variable"))?),
        false => None,
    };
    let from = match cursor.accept("FROM") {
        true => Some(from(cursor)?),
        false => None,
    };
    Ok(SelectSyntax {
        location,
        items,
        into,
        from,
    })
}

fn item(cursor: &mut Cursor) -> Result<ItemSyntax, Fault> {
    let location = cursor.location();
    if cursor.accept_token(&Token::Mul) {
        return Ok(ItemSyntax::All(location));
    }
    let expression = cursor.expression()?;
    let name = match cursor.accept("AS") {
        true => Some(cursor.name("a name")?),
        false => None,
    };
    Ok(ItemSyntax::Expression(Box::new(expression), name))
}

fn from(cursor: &mut Cursor) -> Result<FromSyntax, Fault> {
    let table = cursor.public_name("the name of a table")?;
    let location = cursor.location();
    let condition = match cursor.accept("WHERE") {
        true => Some(cursor.expression()?),
        false => None,
    };
    let order_by = match cursor.accept("ORDER BY") {
        true => cursor.separated(|cursor| {
            let column = cursor.name("a column")?;
            let is_descending = cursor.accept("DESC");
            if !is_descending {
                cursor.accept("ASC");
            }
            Ok(OrderSyntax {
                column,
                is_descending,
            })
        })?,
        false => Vec::new(),
    };
    let limit = match cursor.accept("LIMIT") {
        true => Some(cursor.expression()?),
        false => None,
    };
    Ok(FromSyntax {
        table,
        condition,
        order_by,
        limit,
        location,
    })
}

fn if_then(cursor: &mut Cursor) -> Result<IfSyntax, Fault> {
    let mut arms = Vec::new();
    loop {
        let condition = cursor.expression()?;
        cursor.expect("THEN")?;
        arms.push((condition, list(cursor, &["ELSEIF", "ELSE", "END IF"])?));
        if !cursor.accept("ELSEIF") {
            break;
        }
    }
    let otherwise = match cursor.accept("ELSE") {
        true => list(cursor, &["END IF"])?,
        false => Vec::new(),
    };
    cursor.expect("END IF")?;
    Ok(IfSyntax { arms, otherwise })
}

fn signal(cursor: &mut Cursor) -> Result<SignalSyntax, Fault> {
    cursor.expect("SQLSTATE")?;
    let location = cursor.location();
    let code = cursor.string("an SQLSTATE in quotes, such as '45000'")?;
    let message = match cursor.accept("SET") {
        true => {
            cursor.expect("MESSAGE_TEXT")?;
            cursor.expect_token(&Token::Eq)?;
            Some(cursor.expression()?)
        }
        false => None,
    };
    Ok(SignalSyntax {
        code,
        location,
        message,
    })
}
