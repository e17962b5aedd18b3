//! A partition that runs a schema, and what clients send it.

use std::path::Path;

use env::Env;
use oltp::{
    AntiCacheOptions, Call, Completion, Outcome, Partition, PartitionPlan, Rejection, Stop,
};
use procedures::{Answered, Application, Datum, SqlType};
use tempfile::TempDir;

/// A schema with its partition.
pub struct World {
    pub application: Application,
    pub partition: Partition,
    _folder: Option<TempDir>,
}

/// What a call has come to: rows changed and rows answered, or why it was refused.
pub type Result = std::result::Result<(u64, Vec<Vec<Datum<'static>>>), Rejection>;

impl World {
    /// In memory only.
    pub fn new(schema: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        let application = application(schema);
        let mut world = Self::open(folder.path(), application, None, false);
        world._folder = Some(folder);
        world
    }

    /// On disk, with so much memory.
    pub fn open(
        folder: &Path,
        application: Application,
        memory_bytes: Option<usize>,
        has_log: bool,
    ) -> Self {
        let tables = application.tables().iter();
        let plan = PartitionPlan {
            tables: tables.map(|table| table.definition.clone()).collect(),
            procedures: application.procedures(),
            anti_cache: memory_bytes.map(|bytes| AntiCacheOptions {
                block_bytes: 4_096,
                blocks_per_file: 16,
                buffers_max: 8,
                ..AntiCacheOptions::new(bytes)
            }),
            has_log,
            feed: None,
        };
        let partition = Partition::open(&Env::real(), folder, plan).expect("it opens");
        Self {
            application,
            partition,
            _folder: None,
        }
    }

    /// Sends a statement with values for `$1`, `$2`, … of whatever types it has.
    pub fn send(&mut self, text: &str, values: &[Datum<'_>]) -> Result {
        self.send_typed(text, &[], values)
    }

    /// The same, the types of some values being known.
    pub fn send_typed(
        &mut self,
        text: &str,
        types: &[Option<SqlType>],
        values: &[Datum<'_>],
    ) -> Result {
        let prepared = self.application.prepare(text, types);
        let prepared = prepared.map_err(|fault| Rejection::new(fault.code, fault.to_string()))?;
        let (procedure, parameters) = prepared.call(values)?;
        let columns = prepared.answers.as_ref().map_or(0, Vec::len);
        let reply = self.run(Call {
            procedure,
            parameters: &parameters,
        })?;
        let answered = Answered::read(&reply, columns).expect("it is a reply");
        let owned = |row: Vec<Datum<'_>>| row.into_iter().map(Datum::into_owned).collect();
        Ok((
            answered.changed,
            answered.rows.into_iter().map(owned).collect(),
        ))
    }

    fn run(&mut self, call: Call<'_>) -> std::result::Result<Vec<u8>, Rejection> {
        let mut reply = Vec::new();
        let mut outcome = self.partition.execute(call, &mut reply);
        if let Outcome::Waiting(ticket) = outcome {
            let ended = self.settle().into_iter().find(|end| end.ticket == ticket);
            let ended = ended.expect("it ends");
            (outcome, reply) = (ended.outcome, ended.reply);
        }
        match outcome {
            Outcome::Committed(_) => Ok(reply),
            Outcome::Stopped(Stop::Rejected(rejection)) => Err(*rejection),
            other => panic!("{other:?}"),
        }
    }

    /// Lets the other threads do all they have to do.
    pub fn settle(&mut self) -> Vec<Completion> {
        let mut completed = Vec::new();
        loop {
            let mut worked = false;
            if let Some(files) = self.partition.block_files() {
                while files.write().expect("nothing fails") || files.fetch() {
                    worked = true;
                }
            }
            if let Some(writer) = self.partition.log_writer() {
                while writer.write().expect("nothing fails") {
                    worked = true;
                }
            }
            if let Some(writer) = self.partition.snapshot_writer() {
                while writer.write().expect("nothing fails") {
                    worked = true;
                }
            }
            self.partition.poll(&mut completed).expect("nothing fails");
            let is_durable = self.partition.log_writer().is_none()
                || self.partition.durable() == self.partition.position();
            if !worked && self.partition.waiting() == 0 && is_durable {
                return completed;
            }
        }
    }

    /// Rows of text, as `a|b` each.
    pub fn rows(&mut self, text: &str) -> Vec<String> {
        let (_, rows) = self.send(text, &[]).expect("it answers");
        rows.iter().map(|row| shown(row)).collect()
    }

    /// How many rows were changed.
    pub fn changed(&mut self, text: &str) -> u64 {
        self.send(text, &[]).expect("it is carried out").0
    }

    /// SQLSTATE and message of a refusal.
    pub fn refused(&mut self, text: &str) -> (String, String) {
        let rejection = self.send(text, &[]).expect_err("refused");
        (rejection.code.to_owned(), rejection.message)
    }
}

/// A schema file, compiled.
pub fn application(schema: &str) -> Application {
    Application::of_file(schema).unwrap_or_else(|fault| panic!("{fault}"))
}

/// A row, its values with bars between them.
pub fn shown(row: &[Datum<'_>]) -> String {
    let value = |datum: &Datum<'_>| match datum {
        Datum::Null => "NULL".to_owned(),
        Datum::Bool(bit) => bit.to_string(),
        Datum::Int(int) => int.to_string(),
        Datum::Numeric(number) => number.to_string(),
        Datum::Real(float) => float.to_string(),
        Datum::Double(float) => float.to_string(),
        Datum::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    };
    row.iter().map(value).collect::<Vec<_>>().join("|")
}

/// Accounts and transfers between them.
pub const BANK: &str = "
    create table accounts (
        id bigint primary key,
        owner text not null,
        balance bigint not null default 0 check (balance >= 0)
    );
    create index accounts_by_owner on accounts (owner);
    create table transfers (
        id bigint, part smallint, account bigint not null, amount bigint not null,
        made_at timestamptz not null default now(),
        primary key (id, part)
    );

    create procedure open_account(id bigint, owner text, balance bigint) as begin atomic
        insert into accounts values (open_account.id, open_account.owner, open_account.balance);
    end;

    create procedure transfer(number bigint, a bigint, b bigint, n bigint) as begin atomic
        declare known bigint;
        select id into known from accounts where id = b;
        if known is null then
            signal sqlstate '45001' set message_text = 'there is no account ' || b;
        end if;
        update accounts set balance = balance - n where id = a;
        update accounts set balance = balance + n where id = b;
        insert into transfers (id, part, account, amount) values (number, 1, a, -n), (number, 2, b, n);
    end;

    create procedure balance(a bigint) as begin atomic
        select balance from accounts where id = a;
    end;

    create procedure accounts_of(name text) as begin atomic
        select id, balance from accounts where owner = name;
    end;
";
