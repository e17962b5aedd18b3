//! What tools ask before their users ask anything, replayed at a replica and at its source.
//!
//! The files in `tools/` have the statements that DBeaver, Metabase and Grafana send when they
//! connect, look for tables and columns, and build their first queries. Every one has to be
//! answered, and what they are told has to be what the source tells them, wherever both can say
//! the same: names of tables, columns and types, keys, rows.
//!
//! A question is a paragraph. Its first line, a comment, says what it is for; further comments say
//! how answers are compared: `compare:` names the columns (all otherwise), `rows:` a column and the
//! values that it must have for a row to count, `answered:` that only an answer is asked for, and
//! why. `{public.orders}` stands for a table's object id, `{public}` for a schema's.

use anyhow::{Context, Result, ensure};
use postgres::Client;
use testbed::bank::single_value;
use testbed::tpch::answers::Answer;

use crate::replica::{DATABASE, Replica};

/// Tables with keys of one column, several and none; names that need quotes; types of all kinds.
pub const TABLES: &str = "create table orders (
       id bigint primary key, customer varchar(40) not null, price numeric(12, 2), placed timestamptz,
       open boolean, weight double precision, day date, extra jsonb, code char(3), tags text[], half real);
     insert into orders
       select i, 'customer ' || i % 10, i * 1.25, timestamptz '2026-01-01 00:00:00+00' + i * interval '1 hour',
              i % 2 = 0, i / 4.0, date '2026-01-01' + i, '{\"a\": 1}', 'abc', '{x,y}', 0.5 from generate_series(1, 100) i;
     create table \"Odd Name\" (\"A Column\" int primary key, \"select\" text);
     insert into \"Odd Name\" values (1, 'quoted');
     create schema shop;
     create table shop.lines (order_id bigint, line smallint, item text, seen timestamp, at time, token uuid,
                              primary key (order_id, line));
     insert into shop.lines values (1, 1, 'a hammer', '2026-01-01 10:00', '10:00', '00010203-0405-0607-0809-0a0b0c0d0e0f');
     create table notes (note text);
     alter table notes replica identity full;
     insert into notes values ('once'), ('once');";

#[test]
fn dbeaver_finds_what_it_looks_for() -> Result<()> {
    replay(include_str!("tools/dbeaver.sql"))
}

#[test]
fn metabase_finds_what_it_looks_for() -> Result<()> {
    replay(include_str!("tools/metabase.sql"))
}

#[test]
fn grafana_finds_what_it_looks_for() -> Result<()> {
    replay(include_str!("tools/grafana.sql"))
}

fn replay(questions: &str) -> Result<()> {
    let mut replica = Replica::of(TABLES)?;
    replica.catch_up()?;
    let mut source = replica.postgres.connect(DATABASE)?;
    let mut client = replica.connect()?;
    let questions = questions.split("\n\n").filter(|p| !p.trim().is_empty());
    let mut failures = Vec::new();
    for question in questions.map(Question::read) {
        if let Err(error) = question.ask(&mut client, &mut source) {
            failures.push(format!(
                "-- {}\n{}\n=> {error:#}",
                question.purpose, question.text
            ));
        }
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n\n"));
    Ok(())
}

/// A statement, and how its answers are compared.
struct Question<'a> {
    purpose: &'a str,
    text: String,
    answered_only: bool,
    columns: Option<Vec<&'a str>>,
    rows: Option<(&'a str, Vec<&'a str>)>,
}

impl<'a> Question<'a> {
    fn read(paragraph: &'a str) -> Self {
        let is_comment = |line: &&str| line.starts_with("-- ");
        let mut comments = paragraph
            .lines()
            .filter(is_comment)
            .map(|line| line.trim_start_matches("-- "));
        let mut question = Self {
            purpose: comments.next().unwrap_or_default(),
            text: paragraph
                .lines()
                .filter(|line| !is_comment(line))
                .collect::<Vec<_>>()
                .join("\n"),
            answered_only: false,
            columns: None,
            rows: None,
        };
        for comment in comments {
            if let Some(names) = comment.strip_prefix("compare: ") {
                question.columns = Some(names.split(", ").collect());
            } else if let Some((column, values)) = comment
                .strip_prefix("rows: ")
                .and_then(|rest| rest.split_once(" = "))
            {
                question.rows = Some((column, values.split(", ").collect()));
            } else {
                question.answered_only |= comment.starts_with("answered: ");
            }
        }
        question
    }

    fn ask(&self, replica: &mut Client, source: &mut Client) -> Result<()> {
        let expected = self.answer(source).context("at the source")?;
        let answer = self.answer(replica)?;
        if self.answered_only {
            return Ok(());
        }
        let (mut answer, mut expected) = (self.compared(answer)?, self.compared(expected)?);
        if !self.text.to_lowercase().contains("order by") {
            answer.rows.sort();
            expected.rows.sort();
        }
        answer
            .ensure_equal(&expected)
            .with_context(|| format!("{:?}\nis not\n{:?}", answer.rows, expected.rows))
    }

    fn answer(&self, client: &mut Client) -> Result<Answer> {
        let text = with_ids(&self.text, client)?;
        Answer::ask(client, &text)
    }

    /// The columns and rows that are compared.
    fn compared(&self, answer: Answer) -> Result<Answer> {
        let place = |name: &str| {
            let found = answer.columns.iter().position(|column| column == name);
            found.with_context(|| format!("no column {name} in {:?}", answer.columns))
        };
        let columns = match &self.columns {
            Some(names) => names
                .iter()
                .map(|name| place(name))
                .collect::<Result<_>>()?,
            None => (0..answer.columns.len()).collect::<Vec<_>>(),
        };
        let wanted = match &self.rows {
            Some((name, values)) => Some((place(name)?, values)),
            None => None,
        };
        let counts = |row: &&Vec<Option<String>>| {
            wanted.as_ref().is_none_or(|(column, values)| {
                row[*column]
                    .as_deref()
                    .is_some_and(|cell| values.contains(&cell))
            })
        };
        let rows = answer.rows.iter().filter(counts);
        Ok(Answer {
            columns: columns.iter().map(|&c| answer.columns[c].clone()).collect(),
            rows: rows
                .map(|row| columns.iter().map(|&c| row[c].clone()).collect())
                .collect(),
        })
    }
}

/// The text with the object ids that this server has for the tables and schemas that it names.
fn with_ids(text: &str, client: &mut Client) -> Result<String> {
    let mut text = text.to_owned();
    for (mark, id) in [
        (
            "{public}",
            "select oid from pg_namespace where nspname = 'public'",
        ),
        (
            "{shop}",
            "select oid from pg_namespace where nspname = 'shop'",
        ),
        ("{public.orders}", "select 'public.orders'::regclass::oid"),
        ("{shop.lines}", "select 'shop.lines'::regclass::oid"),
        (
            "{orders_pkey}",
            "select oid from pg_class where relname = 'orders_pkey'",
        ),
    ] {
        if text.contains(mark) {
            text = text.replace(mark, &single_value(client, id)?);
        }
    }
    Ok(text)
}
