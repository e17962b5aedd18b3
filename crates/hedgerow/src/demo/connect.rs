//! How to ask the demonstration something, printed once.

use std::net::SocketAddr;
use std::path::Path;

use super::questions::QUESTIONS;
use crate::password;
use crate::settings::{DATABASE, USER};

/// The ways to connect, and questions worth asking.
pub(super) fn invitation(data: &Path, address: SocketAddr) -> String {
    let (host, port) = (address.ip(), address.port());
    let passfile = password::file(data);
    let mut text = format!(
        "\
Orders come in; Hedgerow keeps a compressed copy that can be queried all the while.
Ask it from another terminal:

  PGPASSWORD=$(cat {passfile}) psql -h {host} -p {port} -U {USER} {DATABASE}
  hedgerow sql --data {data} \"select count(*) from orders\"

Tables: customers, items, orders, order_lines, shops. Three questions worth asking:

",
        passfile = quoted(&passfile),
        data = quoted(data),
    );
    for (number, question) in (1..).zip(&QUESTIONS) {
        text.push_str(&format!("  {number}  {}\n", question.title));
        text.extend(question.sql.lines().map(|line| format!("     {line}\n")));
        text.truncate(text.len() - 1);
        text.push_str(";\n\n");
    }
    text.push_str("Ctrl-C ends it.\n");
    text
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let harmless = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    if !path.is_empty() && path.chars().all(harmless) {
        path
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_pasted() {
        let address = SocketAddr::from(([127, 0, 0, 1], 5433));
        let text = invitation(Path::new("/tmp/it's here"), address);
        assert!(text.contains(r"--data '/tmp/it'\''s here' "), "{text}");
        assert!(
            text.contains("psql -h 127.0.0.1 -p 5433 -U hedgerow hedgerow"),
            "{text}"
        );
        assert!(text.contains("limit 5;\n"), "{text}");
    }

    #[test]
    fn questions_are_valid_sql() {
        for question in &QUESTIONS {
            let statements = sql::parse(question.sql).expect("valid");
            assert_eq!(statements.len(), 1, "{}", question.title);
        }
    }
}
