//! `CREATE TABLE` and `CREATE INDEX`.

use sqlparser::ast::Expr;
use sqlparser::tokenizer::{Location, Token};

use super::cursor::Cursor;
use super::{Declaration, Name, procedure};
use crate::fault::{Fault, code};
use crate::sql_type::SqlType;

/// A table.
pub(crate) struct TableSyntax {
    pub(crate) name: Name,
    pub(crate) columns: Vec<ColumnSyntax>,
    pub(crate) primary_key: Option<Vec<Name>>,
    pub(crate) uniques: Vec<UniqueSyntax>,
    pub(crate) checks: Vec<CheckSyntax>,
    pub(crate) options: Vec<OptionSyntax>,
}

/// A column.
pub(crate) struct ColumnSyntax {
    pub(crate) name: Name,
    pub(crate) sql_type: SqlType,
    pub(crate) is_not_null: bool,
    pub(crate) default: Option<Expr>,
}

/// A unique constraint.
pub(crate) struct UniqueSyntax {
    pub(crate) name: Option<Name>,
    pub(crate) columns: Vec<Name>,
}

/// A condition that all rows fulfil.
pub(crate) struct CheckSyntax {
    pub(crate) name: Option<Name>,
    pub(crate) condition: Expr,
    pub(crate) location: Location,
}

/// `name = value` after WITH.
pub(crate) struct OptionSyntax {
    pub(crate) name: Name,
    pub(crate) value: Name,
}

/// An index.
pub(crate) struct IndexSyntax {
    pub(crate) name: Option<Name>,
    pub(crate) table: Name,
    pub(crate) is_unique: bool,
    pub(crate) is_hash: bool,
    pub(crate) columns: Vec<Name>,
}

/// One statement of a schema file.
pub(crate) fn parse(cursor: &mut Cursor) -> Result<Declaration, Fault> {
    if cursor.accept("CREATE TABLE") {
        return table(cursor).map(Declaration::Table);
    }
    if cursor.accept("CREATE UNIQUE INDEX") {
        return index(cursor, true).map(Declaration::Index);
    }
    if cursor.accept("CREATE INDEX") {
        return index(cursor, false).map(Declaration::Index);
    }
    if cursor.accept("CREATE PROCEDURE") {
        return procedure::parse(cursor).map(Declaration::Procedure);
    }
    Err(cursor.fault("CREATE TABLE, CREATE [UNIQUE] INDEX or CREATE PROCEDURE"))
}

fn table(cursor: &mut Cursor) -> Result<TableSyntax, Fault> {
    let name = cursor.public_name("the name of the table")?;
    let mut table = TableSyntax {
        name,
        columns: Vec::new(),
        primary_key: None,
        uniques: Vec::new(),
        checks: Vec::new(),
        options: Vec::new(),
    };
    cursor.in_parentheses(|cursor| element(cursor, &mut table))?;
    if cursor.accept("WITH") {
        table.options = cursor.in_parentheses(option)?;
    }
    Ok(table)
}

fn option(cursor: &mut Cursor) -> Result<OptionSyntax, Fault> {
    let name = cursor.name("an option")?;
    cursor.expect_token(&Token::Eq)?;
    let value = cursor.name("the option's value")?;
    Ok(OptionSyntax { name, value })
}

/// A column, or a constraint of the table.
fn element(cursor: &mut Cursor, table: &mut TableSyntax) -> Result<(), Fault> {
    let name = match cursor.accept("CONSTRAINT") {
        true => Some(cursor.name("the name of the constraint")?),
        false => None,
    };
    let location = cursor.location();
    if cursor.accept("PRIMARY KEY") {
        let columns = cursor.names("a column")?;
        return set_primary_key(table, columns, location);
    }
    if cursor.accept("UNIQUE") {
        let columns = cursor.names("a column")?;
        table.uniques.push(UniqueSyntax { name, columns });
        return Ok(());
    }
    if cursor.accept("CHECK") {
        let check = check(cursor, name, location)?;
        table.checks.push(check);
        return Ok(());
    }
    if name.is_some() || cursor.sees("FOREIGN KEY") || cursor.sees("EXCLUDE USING") {
        return Err(cursor.fault("PRIMARY KEY, UNIQUE or CHECK"));
    }
    column(cursor, table)
}

fn set_primary_key(
    table: &mut TableSyntax,
    columns: Vec<Name>,
    location: Location,
) -> Result<(), Fault> {
    if table.primary_key.replace(columns).is_some() {
        let message = format!(
            "multiple primary keys for table \"{}\" are not allowed",
            table.name.text
        );
        return Err(Fault::new(code::INVALID_TABLE_DEFINITION, message).at(location));
    }
    Ok(())
}

fn check(
    cursor: &mut Cursor,
    name: Option<Name>,
    location: Location,
) -> Result<CheckSyntax, Fault> {
    cursor.expect_token(&Token::LParen)?;
    let condition = cursor.expression()?;
    cursor.expect_token(&Token::RParen)?;
    Ok(CheckSyntax {
        name,
        condition,
        location,
    })
}

fn column(cursor: &mut Cursor, table: &mut TableSyntax) -> Result<(), Fault> {
    let name = cursor.name("a column, PRIMARY KEY, UNIQUE or CHECK")?;
    let location = cursor.location();
    let sql_type = SqlType::of(&cursor.data_type()?).map_err(|fault| fault.at(location))?;
    if sql_type == SqlType::Numeric(None) {
        return Err(Fault::new(
            code::FEATURE_NOT_SUPPORTED,
            "a column of type numeric needs its digits",
        )
        .with_hint("Write numeric(precision, scale), such as numeric(15, 2)")
        .at(location));
    }
    table.columns.push(ColumnSyntax {
        name: name.clone(),
        sql_type,
        is_not_null: false,
        default: None,
    });
    while !cursor.sees_end_of_element() {
        column_option(cursor, table, &name)?;
    }
    Ok(())
}

fn column_option(cursor: &mut Cursor, table: &mut TableSyntax, of: &Name) -> Result<(), Fault> {
    let name = match cursor.accept("CONSTRAINT") {
        true => Some(cursor.name("the name of the constraint")?),
        false => None,
    };
    let location = cursor.location();
    let column = table.columns.last_mut().expect("the caller has added it");
    if cursor.accept("NOT NULL") {
        column.is_not_null = true;
    } else if cursor.accept("NULL") {
        // That is how it is anyway.
    } else if cursor.accept("DEFAULT") {
        column.default = Some(cursor.expression()?);
    } else if cursor.accept("PRIMARY KEY") {
        return set_primary_key(table, vec![of.clone()], location);
    } else if cursor.accept("UNIQUE") {
        let columns = vec![of.clone()];
        table.uniques.push(UniqueSyntax { name, columns });
    } else if cursor.accept("CHECK") {
        let check = check(cursor, name, location)?;
        table.checks.push(check);
    } else {
        let possible = "NOT NULL, DEFAULT, PRIMARY KEY, UNIQUE, CHECK, \",\" or \")\"";
        return Err(cursor.fault(possible));
    }
    Ok(())
}

impl Cursor {
    fn sees_end_of_element(&mut self) -> bool {
        // Nothing else ends a column.
        self.sees_token(&Token::Comma) || self.sees_token(&Token::RParen)
    }
}

fn index(cursor: &mut Cursor, is_unique: bool) -> Result<IndexSyntax, Fault> {
    let name = match cursor.accept("ON") {
        true => None,
        false => {
            let name = cursor.name("the name of the index")?;
            cursor.expect("ON")?;
            Some(name)
        }
    };
    let table = cursor.public_name("the name of the table")?;
    let is_hash = cursor.accept("USING") && {
        let is_hash = cursor.accept("HASH");
        if !is_hash && !cursor.accept("BTREE") {
            return Err(cursor.fault("HASH or BTREE"));
        }
        is_hash
    };
    Ok(IndexSyntax {
        name,
        table,
        is_unique,
        is_hash,
        columns: cursor.names("a column")?,
    })
}
