//! The schema that a data folder was made with, as it is kept beside its rows.
//!
//! The command log names procedures and runs them again after a crash, and rows lie in the tables' layouts. So
//! what was once declared is kept:
//!
//! 1. A table stays as it is. Tables are only added, behind those that there are.
//! 2. A procedure may get another body. It is a new version then, and the log names versions; former ones are
//!    kept to be run again, and cannot be called.
//!
//! **Invariant:** the schema is durable before anything that it declares gets into the log.
//!
//! The file is text (`docs/format/primary-schema.md`): a header with a checksum, then each declaration in
//! canonical form, behind a line that says what it is and how long.

use crate::fault::{Fault, code};
use crate::syntax::{Declaration, declarations};

/// The first word of the file, and the layout that this release writes.
const MAGIC: &str = "hedgerow-schema";
const VERSION: u32 = 1;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredSchema {
    pub(crate) tables: Vec<StoredTable>,
    pub(crate) procedures: Vec<StoredProcedure>,
}

/// A table with its indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredTable {
    name: String,
    /// Its declaration, then those of its indexes.
    pub(crate) texts: Vec<String>,
}

/// A version of a procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredProcedure {
    name: String,
    pub(crate) version: u32,
    /// Whether it is the one that is called.
    pub(crate) is_current: bool,
    pub(crate) text: String,
}

/// The stored schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoredSchemaError {
    /// It is not what was written.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// A newer release has written it.
    #[error(
        "it has version {found}; this release reads up to {VERSION}. Upgrade Hedgerow to open it"
    )]
    VersionTooNew {
        /// Its version.
        found: u32,
    },
}

impl StoredSchema {
    /// What a schema file declares.
    pub fn of_file(text: &str) -> Result<Self, Fault> {
        let mut schema = Self::default();
        for declared in declarations(text)? {
            match declared.declaration {
                Declaration::Table(table) => schema.tables.push(StoredTable {
                    name: table.name.text,
                    texts: vec![declared.text],
                }),
                Declaration::Index(index) => {
                    let mut tables = schema.tables.iter_mut();
                    let table = tables.find(|table| table.name == index.table.text);
                    let table = table.ok_or_else(|| {
                        let message = format!("relation \"{}\" does not exist", index.table.text);
                        Fault::new(code::UNDEFINED_TABLE, message)
                            .with_hint("Declare the table before its indexes")
                            .at(index.table.location)
                    })?;
                    table.texts.push(declared.text);
                }
                Declaration::Procedure(procedure) => schema.procedures.push(StoredProcedure {
                    name: procedure.name.text,
                    version: 1,
                    is_current: true,
                    text: declared.text,
                }),
            }
        }
        Ok(schema)
    }

    /// This schema of a data folder, followed by what a schema file declares now. An error says which table the
    /// file has otherwise.
    pub fn followed_by(&self, file: &Self) -> Result<Self, Fault> {
        let mut merged = self.clone();
        for stored in &self.tables {
            let declared = file.tables.iter().find(|table| table.name == stored.name);
            check_same(stored, declared)?;
        }
        let is_new = |table: &&StoredTable| self.tables.iter().all(|s| s.name != table.name);
        merged
            .tables
            .extend(file.tables.iter().filter(is_new).cloned());
        for stored in &mut merged.procedures {
            stored.is_current = false;
        }
        for declared in &file.procedures {
            merged.make_current(declared);
        }
        Ok(merged)
    }

    /// A procedure has this text now. It may have had it before.
    fn make_current(&mut self, declared: &StoredProcedure) {
        let versions = self.procedures.iter_mut();
        let mut of_name = versions.filter(|version| version.name == declared.name);
        if let Some(same) = of_name.find(|version| version.text == declared.text) {
            same.is_current = true;
            return;
        }
        let versions = self.procedures.iter();
        let of_name = versions.filter(|version| version.name == declared.name);
        let last = of_name.map(|version| version.version).max().unwrap_or(0);
        self.procedures.push(StoredProcedure {
            version: last + 1,
            ..declared.clone()
        });
    }

    /// As it is kept.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = String::new();
        for table in &self.tables {
            for (place, text) in table.texts.iter().enumerate() {
                let kind = if place == 0 { "table" } else { "index" };
                body.push_str(&format!("{kind} {}\n{text}\n", text.len()));
            }
        }
        for procedure in &self.procedures {
            let state = if procedure.is_current {
                "current"
            } else {
                "former"
            };
            let (version, text) = (procedure.version, &procedure.text);
            let length = text.len();
            body.push_str(&format!("procedure {version} {state} {length}\n{text}\n"));
        }
        let checksum = crc32c::crc32c(body.as_bytes());
        format!("{MAGIC} {VERSION} {checksum:08x}\n{body}").into_bytes()
    }

    /// Reads what was kept.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StoredSchemaError> {
        let damaged = |what: &str| StoredSchemaError::Damaged(what.to_owned());
        let text = std::str::from_utf8(bytes).map_err(|_| damaged("found no UTF-8"))?;
        let (header, body) = text
            .split_once('\n')
            .ok_or_else(|| damaged("found no header"))?;
        let mut words = header.split(' ');
        if words.next() != Some(MAGIC) {
            return Err(damaged("found another header"));
        }
        let version = words.next().and_then(|word| word.parse::<u32>().ok());
        let version = version.ok_or_else(|| damaged("found no version"))?;
        if version > VERSION {
            return Err(StoredSchemaError::VersionTooNew { found: version });
        }
        let found = crc32c::crc32c(body.as_bytes());
        let expected = words
            .next()
            .and_then(|word| u32::from_str_radix(word, 16).ok());
        if expected != Some(found) {
            let expected = expected.unwrap_or(0);
            return Err(StoredSchemaError::Damaged(format!(
                "found checksum {found:08x}, expected {expected:08x}"
            )));
        }
        Self::of_body(body).ok_or_else(|| damaged("found no declaration where one was expected"))
    }

    fn of_body(mut body: &str) -> Option<Self> {
        let mut schema = Self::default();
        while !body.is_empty() {
            let (line, rest) = body.split_once('\n')?;
            let words: Vec<&str> = line.split(' ').collect();
            let length: usize = words.last()?.parse().ok()?;
            let text = rest.get(..length)?;
            body = rest.get(length..)?.strip_prefix('\n')?;
            let declared = declarations(text).ok()?.pop()?;
            match (words.as_slice(), declared.declaration) {
                (["table", _], Declaration::Table(table)) => schema.tables.push(StoredTable {
                    name: table.name.text,
                    texts: vec![text.to_owned()],
                }),
                (["index", _], Declaration::Index(_)) => {
                    schema.tables.last_mut()?.texts.push(text.to_owned());
                }
                (["procedure", version, state, _], Declaration::Procedure(procedure)) => {
                    schema.procedures.push(StoredProcedure {
                        name: procedure.name.text,
                        version: version.parse().ok()?,
                        is_current: *state == "current",
                        text: text.to_owned(),
                    });
                }
                _ => return None,
            }
        }
        Some(schema)
    }
}

fn check_same(stored: &StoredTable, declared: Option<&StoredTable>) -> Result<(), Fault> {
    let name = &stored.name;
    let Some(declared) = declared else {
        let message = format!("table \"{name}\" is in the data folder, and not in the schema file");
        return Err(
            Fault::new(code::FEATURE_NOT_SUPPORTED, message).with_hint(format!(
                "Tables stay. Put its declaration back: {}",
                stored.texts.join("; ")
            )),
        );
    };
    let sorted = |table: &StoredTable| {
        let mut texts = table.texts.clone();
        texts.sort();
        texts
    };
    if sorted(stored) == sorted(declared) {
        return Ok(());
    }
    let differs = |text: &&String| !declared.texts.contains(text);
    let former: Vec<&str> = stored
        .texts
        .iter()
        .filter(differs)
        .map(String::as_str)
        .collect();
    let was = match former.as_slice() {
        [] => "The data folder has it without the new index".to_owned(),
        former => format!("The data folder has it as: {}", former.join("; ")),
    };
    let message = format!("table \"{name}\" is declared otherwise than in the data folder");
    Err(Fault::new(code::FEATURE_NOT_SUPPORTED, message).with_hint(format!(
        "{was}. Tables, with their indexes and conditions, stay as they are: set the declaration back, or declare \
         another table, fill it by procedures, and go on with that; or begin anew with another --data"
    )))
}
