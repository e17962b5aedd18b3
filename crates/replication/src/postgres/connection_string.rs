//! What a connection string says about TLS, in libpq's words, taken out of it: the library that reads
//! the rest knows only some of it.
//!
//! Both forms: `postgres://…?key=value&…`, and `key=value …` with values in quotes where they have spaces.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

/// Parameters by name.
pub(super) type Parameters = BTreeMap<String, String>;

/// Takes the parameters with these names out of a connection string; what is left of it, and they.
///
/// # Errors
/// What cannot be read.
pub(super) fn take(text: &str, names: &[&str]) -> Result<(String, Parameters), String> {
    let is_url = ["postgres://", "postgresql://"]
        .iter()
        .any(|scheme| text.starts_with(scheme));
    match is_url {
        true => take_of_url(text, names),
        false => take_of_words(text, names),
    }
}

fn take_of_url(url: &str, names: &[&str]) -> Result<(String, Parameters), String> {
    // A password may have a question mark.
    let host = url.find('@').unwrap_or(0);
    let Some(mark) = url[host..].find('?').map(|at| host + at) else {
        return Ok((url.to_owned(), Parameters::new()));
    };
    let (place, query) = (&url[..mark], &url[mark + 1..]);
    let mut taken = Parameters::new();
    let mut left = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some((name, value)) if names.contains(&name) => {
                let decoded = percent_decode_str(value).decode_utf8();
                let value = decoded.map_err(|_| format!("{name} is not UTF-8"))?;
                taken.insert(name.to_owned(), value.into_owned());
            }
            _ => left.push(pair),
        }
    }
    let query = left.join("&");
    let mark = if query.is_empty() { "" } else { "?" };
    Ok((format!("{place}{mark}{query}"), taken))
}

fn take_of_words(text: &str, names: &[&str]) -> Result<(String, Parameters), String> {
    let mut taken = Parameters::new();
    let mut left = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest
            .split_once('=')
            // What stands there may be a password.
            .ok_or_else(|| "a word without =".to_owned())?;
        let name = name.trim();
        let after = after.trim_start();
        let (value, next) = value(after).ok_or_else(|| format!("no ' at the end of {name}"))?;
        if names.contains(&name) {
            taken.insert(name.to_owned(), value);
        } else {
            left.push(&rest[..rest.len() - next.len()]);
        }
        rest = next.trim_start();
    }
    let left: Vec<&str> = left.into_iter().map(str::trim_end).collect();
    Ok((left.join(" "), taken))
}

/// The value at the front of `text`, and what follows it; `None` if its quotes do not end.
fn value(text: &str) -> Option<(String, &str)> {
    let quoted = text.strip_prefix('\'');
    let is_quoted = quoted.is_some();
    let text = quoted.unwrap_or(text);
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            '\'' if is_quoted => return Some((value, &text[at + 1..])),
            space if space.is_whitespace() && !is_quoted => return Some((value, &text[at..])),
            other => value.push(other),
        }
    }
    (!is_quoted).then_some((value, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["sslmode", "sslrootcert"];

    #[track_caller]
    fn check(text: &str, left: &str, expected: &[(&str, &str)]) {
        let (rest, taken) = take(text, &NAMES).expect("it can be read");
        let taken: Vec<_> = taken.iter().map(|(n, v)| (&**n, &**v)).collect();
        assert_eq!((&*rest, &*taken), (left, expected));
    }

    #[test]
    fn parameters_leave_a_url() {
        check("postgres://u@h/d", "postgres://u@h/d", &[]);
        check(
            "postgres://u@h/d?sslmode=require",
            "postgres://u@h/d",
            &[("sslmode", "require")],
        );
        check(
            "postgres://u:a?b=c@h/d?sslmode=disable",
            "postgres://u:a?b=c@h/d",
            &[("sslmode", "disable")],
        );
        check(
            "postgres://u@h/d?connect_timeout=3&sslrootcert=%2Fetc%2Fa%20b&keepalives=1",
            "postgres://u@h/d?connect_timeout=3&keepalives=1",
            &[("sslrootcert", "/etc/a b")],
        );
    }

    #[test]
    fn parameters_leave_words() {
        check("host=h user=u", "host=h user=u", &[]);
        check(
            r"host = h sslrootcert = '/etc/it\'s here' password='a b' sslmode=verify-full",
            "host = h password='a b'",
            &[
                ("sslmode", "verify-full"),
                ("sslrootcert", "/etc/it's here"),
            ],
        );
        assert!(take("host=h sslmode='require", &NAMES).is_err());
        check(
            "host=h password=a://b sslmode=require",
            "host=h password=a://b",
            &[("sslmode", "require")],
        );
        assert!(take("host", &NAMES).is_err());
    }

    #[test]
    fn an_error_does_not_show_what_may_be_a_password() {
        for text in ["u:secret@host/db", "host=h secret", "http://u:secret@h/d"] {
            let error = take(text, &NAMES).expect_err("there is a word without =");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
