//! The load: clients that transfer between accounts, and what all rows have to be after so many of their transfers.
//!
//! A transfer takes from one account and gives to another, adds a row to the journal, takes the client's oldest one
//! out, and counts the client's transfers: five rows of three tables, all of them changed or none. Which accounts and how
//! much follows from the client and the transfer's number. Transfers of different clients can be in any order, so how
//! many each client has made says what every row is ([`Ledger`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use oltp::random::Random;
use oltp::{
    ColumnDefinition, Columns, IndexId, IndexKind, Procedure, ProcedureNumber, Scan, Stop,
    TableDefinition, TableNumber, Transaction,
};
use types::{ColumnType, Value};

/// Clients, each with one transfer at a time.
pub const CLIENTS: u16 = 48;

/// Accounts of which three of four transfers' sides are.
const HOT_ACCOUNTS: u64 = 2_000;

/// Rows of the journal that each client keeps.
const JOURNAL_ROWS: u64 = 200;

/// Accounts that one call opens.
pub const OPENED_AT_ONCE: u64 = 50;

const ACCOUNTS: TableNumber = TableNumber(0);
const JOURNAL: TableNumber = TableNumber(1);
const CLIENT_ROWS: TableNumber = TableNumber(2);
const ACCOUNT: IndexId = IndexId::new(0, 0);
const JOURNAL_KEY: IndexId = IndexId::new(1, 0);
const CLIENT: IndexId = IndexId::new(2, 0);

/// Opens accounts: parameters `first u64 | end u64`.
pub const OPEN: ProcedureNumber = ProcedureNumber(0);
/// Makes a transfer: the parameters of [`TransferCall`].
pub const TRANSFER: ProcedureNumber = ProcedureNumber(1);
/// Answers with rows: parameters `table u8 | first u64 | end u64`.
pub const SHOW: ProcedureNumber = ProcedureNumber(2);

/// The tables: accounts and the journal may go to disk, the clients' counters stay.
pub fn tables() -> Vec<TableDefinition> {
    let int = |name: &str| ColumnDefinition::new(name, ColumnType::Int64);
    let text = || ColumnDefinition::new("text", ColumnType::Bytes);
    let accounts = vec![int("id"), int("balance"), int("uses"), text()];
    let journal = vec![
        int("client"),
        int("number"),
        int("from"),
        int("amount"),
        text(),
    ];
    let clients = vec![int("client"), int("transfers")];
    vec![
        TableDefinition::new("accounts", accounts).index(IndexKind::Hash, true, &[0]),
        TableDefinition::new("journal", journal)
            .index(IndexKind::Ordered, true, &[0, 1])
            .index(IndexKind::Hash, false, &[2]),
        TableDefinition::new("clients", clients)
            .index(IndexKind::Ordered, true, &[0])
            .never_evicted(),
    ]
}

/// The procedures, by their numbers.
pub fn procedures() -> Vec<Arc<dyn Procedure>> {
    vec![Arc::new(Open), Arc::new(Transfer), Arc::new(Show)]
}

/// What a client's transfer of a number moves.
#[derive(Clone, Copy, Debug)]
struct Moved {
    from: u64,
    to: u64,
    amount: i64,
}

impl Moved {
    fn of(client: u16, number: u64, accounts: u64) -> Self {
        let mut random = Random::new(number << 16 | u64::from(client));
        // A generator of neighbouring seeds begins with neighbouring numbers.
        let mut random = Random::new(random.next_u64());
        let mut account = || match random.below(4) {
            0 => random.below(accounts),
            _ => random.below(HOT_ACCOUNTS.min(accounts)),
        };
        let (from, to) = (account(), account());
        let to = if from == to { (to + 1) % accounts } else { to };
        let amount = random.below(1_000) as i64;
        Self { from, to, amount }
    }
}

/// The text of an account after so many uses: its length changes, too.
fn account_text(account: u64, uses: i64) -> Vec<u8> {
    let mixed = Random::new(account ^ (uses as u64) << 40).next_u64();
    vec![mixed as u8; 200 + (mixed >> 8) as usize % 200]
}

/// The text of a row of the journal.
fn journal_text(client: u16, number: u64) -> Vec<u8> {
    let mixed = Random::new(number ^ u64::from(client) << 48).next_u64();
    vec![mixed as u8; (mixed >> 8) as usize % 120]
}

fn read_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Parameters of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferCall {
    /// The client.
    pub client: u16,
    /// The number of its transfer; the first is 1.
    pub number: u64,
    /// How many accounts there are.
    pub accounts: u64,
    /// Whether it gives up when everything is done: nothing of it may be left.
    pub gives_up: bool,
}

impl TransferCall {
    /// The parameters' bytes.
    pub fn encode(self) -> Vec<u8> {
        let mut bytes = self.client.to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.number.to_le_bytes());
        bytes.extend_from_slice(&self.accounts.to_le_bytes());
        bytes.push(self.gives_up.into());
        bytes
    }

    fn decode(bytes: &[u8]) -> Self {
        Self {
            client: u16::from_le_bytes([bytes[0], bytes[1]]),
            number: read_u64(bytes, 2),
            accounts: read_u64(bytes, 10),
            gives_up: bytes[18] != 0,
        }
    }
}

struct Open;

impl Procedure for Open {
    fn name(&self) -> &str {
        "open"
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        _: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        for account in read_u64(parameters, 0)..read_u64(parameters, 8) {
            let (id, text) = (Value::Int(account as i64), account_text(account, 0));
            let row = [id, Value::Int(0), Value::Int(0), Value::Bytes(&text)];
            transaction.insert(ACCOUNTS, &row)?;
        }
        transaction.execute().map(drop)
    }
}

struct Transfer;

impl Transfer {
    /// Counts the transfer; it has to be the client's next one.
    fn count(transaction: &mut Transaction<'_>, call: TransferCall) -> Result<(), Stop> {
        let (client, number) = (Value::Int(call.client.into()), call.number as i64);
        let get = transaction.get(CLIENT, &[client], Columns::All)?;
        let row = transaction.execute()?.row(get);
        let before = row.map_or(Ok(0), |row| row.int(1))?;
        if before + 1 != number {
            let reason = format!("transfer {number} after {before}");
            return Err(Stop::Abort(reason));
        }
        if before == 0 {
            transaction.insert(CLIENT_ROWS, &[client, Value::Int(number)])?;
        } else {
            transaction.update(CLIENT, &[client], &[(1, Value::Int(number))])?;
        }
        transaction.execute().map(drop)
    }

    fn change(transaction: &mut Transaction<'_>, account: u64, by: i64) -> Result<(), Stop> {
        let key = [Value::Int(account as i64)];
        let get = transaction.get(ACCOUNT, &key, Columns::All)?;
        let row = transaction.execute()?.row(get);
        let row = row.ok_or_else(|| Stop::Abort("no such account".into()))?;
        if row.is_evicted() {
            // The pre-pass goes on to the other account.
            return Ok(());
        }
        let (balance, uses) = (row.int(1)? + by, row.int(2)? + 1);
        let (row, text) = (row.handle()?, account_text(account, uses));
        let changes = [
            (1, Value::Int(balance)),
            (2, Value::Int(uses)),
            (3, Value::Bytes(&text)),
        ];
        transaction.update_row(row, &changes)?;
        transaction.execute().map(drop)
    }

    fn note(
        transaction: &mut Transaction<'_>,
        call: TransferCall,
        moved: Moved,
    ) -> Result<(), Stop> {
        let client = Value::Int(call.client.into());
        let text = journal_text(call.client, call.number);
        let row = [
            client,
            Value::Int(call.number as i64),
            Value::Int(moved.from as i64),
            Value::Int(moved.amount),
            Value::Bytes(&text),
        ];
        transaction.insert(JOURNAL, &row)?;
        if let Some(oldest) = call.number.checked_sub(JOURNAL_ROWS).filter(|n| *n > 0) {
            transaction.delete(JOURNAL_KEY, &[client, Value::Int(oldest as i64)])?;
        }
        transaction.execute().map(drop)
    }
}

impl Procedure for Transfer {
    fn name(&self) -> &str {
        "transfer"
    }

    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        _: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let call = TransferCall::decode(parameters);
        let moved = Moved::of(call.client, call.number, call.accounts);
        Self::count(transaction, call)?;
        Self::change(transaction, moved.from, -moved.amount)?;
        Self::change(transaction, moved.to, moved.amount)?;
        Self::note(transaction, call, moved)?;
        if call.gives_up {
            return Err(Stop::Abort("as asked".into()));
        }
        Ok(())
    }
}

struct Show;

impl Show {
    fn scan(parameters: &[u8]) -> (IndexId, [Value<'static>; 1], [Value<'static>; 1]) {
        let key = |at| [Value::Int(read_u64(parameters, at) as i64)];
        let index = [ACCOUNT, JOURNAL_KEY, CLIENT][usize::from(parameters[0])];
        (index, key(1), key(9))
    }
}

impl Procedure for Show {
    fn name(&self) -> &str {
        "show"
    }

    fn may_grow(&self) -> bool {
        false
    }

    /// Rows as `columns` numbers and a text each, length first.
    fn run(
        &self,
        transaction: &mut Transaction<'_>,
        parameters: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        let (index, from, to) = Self::scan(parameters);
        let mut gets = Vec::new();
        if index == ACCOUNT {
            for account in read_u64(parameters, 1)..=read_u64(parameters, 9) {
                let key = [Value::Int(account as i64)];
                gets.push(transaction.get(index, &key, Columns::All)?);
            }
        } else {
            gets.push(transaction.scan(index, &from, &to, Scan::default())?);
        }
        let batch = transaction.execute()?;
        for row in gets.into_iter().flat_map(|get| batch.rows(get)) {
            let (numbers, text) = [(3, true), (4, true), (2, false)][usize::from(parameters[0])];
            for column in 0..numbers {
                reply.extend_from_slice(&row.int(column)?.to_le_bytes());
            }
            let text = if text { row.bytes(numbers)? } else { &[] };
            reply.extend_from_slice(&(text.len() as u64).to_le_bytes());
            reply.extend_from_slice(text);
        }
        Ok(())
    }
}

/// Parameters of [`SHOW`]: rows whose keys begin with numbers from one to another, both included.
pub fn show(table: u8, first: u64, last: u64) -> Vec<u8> {
    let mut bytes = vec![table];
    bytes.extend_from_slice(&first.to_le_bytes());
    bytes.extend_from_slice(&last.to_le_bytes());
    bytes
}

/// What all rows have to be.
pub struct Ledger {
    /// Balance and uses of each account.
    accounts: Vec<(i64, i64)>,
    /// Transfers of each client.
    made: BTreeMap<u16, u64>,
}

impl Ledger {
    /// So many accounts, and no transfers yet.
    pub fn new(accounts: u64) -> Self {
        Self {
            accounts: vec![(0, 0); accounts as usize],
            made: (0..CLIENTS).map(|client| (client, 0)).collect(),
        }
    }

    /// How many accounts there are.
    pub fn accounts(&self) -> u64 {
        self.accounts.len() as u64
    }

    /// Transfers that a client has made.
    pub fn made(&self, client: u16) -> u64 {
        self.made[&client]
    }

    /// A client has made so many in all.
    pub fn advance(&mut self, client: u16, made: u64) {
        for number in self.made[&client] + 1..=made {
            let moved = Moved::of(client, number, self.accounts());
            for (account, by) in [(moved.from, -moved.amount), (moved.to, moved.amount)] {
                let (balance, uses) = &mut self.accounts[account as usize];
                *balance += by;
                *uses += 1;
            }
        }
        self.made.insert(client, made);
    }

    /// What [`SHOW`] has to answer.
    pub fn show(&self, table: u8, first: u64, last: u64) -> Vec<u8> {
        let mut reply = Vec::new();
        let mut row = |numbers: &[i64], text: &[u8]| {
            numbers
                .iter()
                .for_each(|number| reply.extend_from_slice(&number.to_le_bytes()));
            reply.extend_from_slice(&(text.len() as u64).to_le_bytes());
            reply.extend_from_slice(text);
        };
        for key in first..=last {
            let client = key as u16;
            let made = if table == 0 { 0 } else { self.made(client) };
            match table {
                0 => {
                    let (balance, uses) = self.accounts[key as usize];
                    row(&[key as i64, balance, uses], &account_text(key, uses));
                }
                1 => {
                    for number in (made + 1).saturating_sub(JOURNAL_ROWS).max(1)..=made {
                        let moved = Moved::of(client, number, self.accounts());
                        let [key, nth, from] = [key, number, moved.from].map(|n| n as i64);
                        row(
                            &[key, nth, from, moved.amount],
                            &journal_text(client, number),
                        );
                    }
                }
                _ if made > 0 => row(&[key as i64, made as i64], &[]),
                _ => {}
            }
        }
        reply
    }
}
