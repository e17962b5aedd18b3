//! `CREATE PROJECTION` and `DROP PROJECTION`.

use datafusion::sql::sqlparser::tokenizer::Token;

use super::{Command, Fault, ProjectionCommand, Tokens};
use crate::error::SqlError;

impl Tokens<'_> {
    /// What comes after `CREATE PROJECTION`.
    pub(super) fn create_projection(&mut self) -> Result<Command, Fault> {
        let if_not_exists = self.accept("IF");
        if if_not_exists {
            self.expect("NOT")?;
            self.expect("EXISTS")?;
        }
        let name = self.name()?;
        self.expect("ON")?;
        let mut table = self.name()?;
        let mut schema = None;
        if self.accept_token(&Token::Period) {
            schema = Some(std::mem::replace(&mut table, self.name()?));
        }
        self.expect("ORDER")?;
        self.expect("BY")?;
        let mut order_by = vec![self.ascending_column()?];
        while self.accept_token(&Token::Comma) {
            order_by.push(self.ascending_column()?);
        }
        Ok(Command::Projection(ProjectionCommand::Create {
            name,
            schema,
            table,
            order_by,
            if_not_exists,
        }))
    }

    /// `column [ASC] [NULLS LAST]`
    fn ascending_column(&mut self) -> Result<String, Fault> {
        let refused = |what: &str| Err(Fault::Refused(SqlError::not_supported(what)));
        let name = self.name()?;
        if self.accept("DESC") {
            return refused("a projection in descending order");
        }
        self.accept("ASC");
        if self.accept("NULLS") {
            if self.accept("FIRST") {
                return refused("a projection with NULLS FIRST");
            }
            self.expect("LAST")?;
        }
        Ok(name)
    }

    /// What comes after `DROP PROJECTION`.
    pub(super) fn drop_projection(&mut self) -> Result<Command, Fault> {
        let if_exists = self.accept("IF");
        if if_exists {
            self.expect("EXISTS")?;
        }
        let name = self.name()?;
        Ok(Command::Projection(ProjectionCommand::Drop {
            name,
            if_exists,
        }))
    }
}

#[cfg(test)]
mod tests {
    use crate::command::{Command, ProjectionCommand};
    use crate::statement::{StatementKind, parse};

    fn command(sql: &str) -> ProjectionCommand {
        let statements = parse(sql).expect("it is parsed");
        match statements[0].kind() {
            StatementKind::Command(Command::Projection(command)) => command.clone(),
            other => panic!("{sql} is {other:?}"),
        }
    }

    #[test]
    fn projections_are_created_and_dropped_by_name() {
        let create = |schema: Option<&str>, table: &str, columns: &[&str], if_not_exists| {
            ProjectionCommand::Create {
                name: "by_day".to_owned(),
                schema: schema.map(str::to_owned),
                table: table.to_owned(),
                order_by: columns.iter().map(|&column| column.to_owned()).collect(),
                if_not_exists,
            }
        };
        assert_eq!(
            command("create projection By_Day on Orders order by day"),
            create(None, "orders", &["day"], false)
        );
        assert_eq!(
            command(
                "create projection if not exists by_day on \"S\".orders \
                 order by day asc nulls last, \"Id\""
            ),
            create(Some("S"), "orders", &["day", "Id"], true)
        );
        let drop = |if_exists| ProjectionCommand::Drop {
            name: "by_day".to_owned(),
            if_exists,
        };
        assert_eq!(command("drop projection by_day;"), drop(false));
        assert_eq!(command("DROP PROJECTION IF EXISTS by_day"), drop(true));
    }

    #[test]
    fn what_is_no_projection_is_refused_in_its_place() {
        for (sql, place) in [
            ("create projection p orders order by day", 21),
            ("create projection p on t order by", 34),
            ("create projection p on t order by a, b c", 40),
            ("drop projection p, q", 18),
        ] {
            let error = parse(sql).expect_err("it is no statement");
            assert_eq!(
                (error.code, error.position),
                ("42601", Some(place)),
                "{sql}"
            );
        }
        for sql in [
            "create projection p on t order by a desc",
            "create projection p on t order by a nulls first",
        ] {
            let statements = parse(sql).expect("it is parsed");
            let StatementKind::Refused(error) = statements[0].kind() else {
                panic!("{sql} is not refused");
            };
            assert_eq!(error.code, "0A000");
        }
        let statements = parse("create index i on t (a)").expect("it is parsed");
        let StatementKind::Refused(error) = statements[0].kind() else {
            panic!("an index is refused");
        };
        assert_eq!(error.code, "25006");
    }
}
