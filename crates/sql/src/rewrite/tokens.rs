//! What the parser does not read, told in other words before it reads.
//!
//! ```text
//! x ISNULL       x IS NULL               it takes ISNULL for a name
//! TABLE t …      SELECT * FROM t …
//! d->>-1         d->> -1                 it takes the sign for a part of the operator
//! trim(BOTH FROM t)     trim(BOTH ' ' FROM t)
//! BETWEEN SYMMETRIC b   BETWEEN !! b     [`symmetric_ranges`](super::symmetric_ranges)
//! BETWEEN ASYMMETRIC b  BETWEEN b
//! ```

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// A quoted blank.
const BLANK: &str = "' '";

/// The tokens of a statement as the parser reads them, each where the one it stands for is in the text.
pub(crate) fn readable(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut readable = Vec::with_capacity(tokens.len());
    let mut before = None;
    for (place, token) in tokens.iter().enumerate() {
        if is_blank(token) {
            readable.push(token.clone());
            continue;
        }
        if let Token::CustomBinaryOperator(operator) = &token.token
            && let Some(signed) = before_sign(operator)
        {
            for part in [signed, Token::Minus] {
                readable.push(TokenWithSpan {
                    token: part,
                    span: token.span,
                });
            }
            before = Some(&token.token);
            continue;
        }
        let mut rest = tokens[place + 1..].iter();
        let after = rest.find(|token| !is_blank(token));
        match words_of(&token.token, before, after.map(|after| &after.token)) {
            None => readable.push(token.clone()),
            Some(others) => readable.extend(others.iter().map(|word| TokenWithSpan {
                token: of_word(word),
                span: token.span,
            })),
        }
        before = Some(&token.token);
    }
    readable
}

/// What an operator is without a sign at its end, which belongs to what follows.
fn before_sign(operator: &str) -> Option<Token> {
    match operator.strip_suffix('-')? {
        "->" => Some(Token::Arrow),
        "->>" => Some(Token::LongArrow),
        _ => None,
    }
}

fn is_blank(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

/// What stands for a token between two others; `None` for one that stays.
fn words_of(
    token: &Token,
    before: Option<&Token>,
    after: Option<&Token>,
) -> Option<&'static [&'static str]> {
    let Token::Word(word) = token else {
        return None;
    };
    if word.quote_style.is_some() {
        return None;
    }
    let begins = before.is_none_or(|before| *before == Token::LParen);
    let is_name = matches!(before, Some(Token::Period)) || is_keyword(before, Keyword::AS);
    if word.keyword == Keyword::TABLE && begins && matches!(after, Some(Token::Word(_))) {
        Some(&["SELECT", "*", "FROM"])
    } else if before == Some(&Token::LParen) && is_keyword(after, Keyword::FROM) {
        match word.keyword {
            Keyword::BOTH => Some(&["BOTH", BLANK]),
            Keyword::LEADING => Some(&["LEADING", BLANK]),
            Keyword::TRAILING => Some(&["TRAILING", BLANK]),
            _ => None,
        }
    } else if word.keyword == Keyword::SYMMETRIC && is_keyword(before, Keyword::BETWEEN) {
        Some(&["!!"])
    } else if word.keyword == Keyword::ASYMMETRIC && is_keyword(before, Keyword::BETWEEN) {
        Some(&[])
    } else if word.value.eq_ignore_ascii_case("isnull")
        && !begins
        && !is_name
        && after != Some(&Token::LParen)
    {
        Some(&["IS", "NULL"])
    } else {
        None
    }
}

fn is_keyword(token: Option<&Token>, keyword: Keyword) -> bool {
    matches!(token, Some(Token::Word(word)) if word.keyword == keyword && word.quote_style.is_none())
}

fn of_word(word: &str) -> Token {
    match word {
        "*" => Token::Mul,
        "!!" => Token::DoubleExclamationMark,
        BLANK => Token::SingleQuotedString(" ".to_owned()),
        word => Token::make_keyword(word),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    use super::*;

    #[test]
    fn other_words_say_the_same() {
        let dialect = PostgreSqlDialect {};
        for (text, expected) in [
            (
                "SELECT a IsNull, b ISNULL AND c FROM t",
                "SELECT a IS NULL, b IS NULL AND c FROM t",
            ),
            (
                "SELECT 1 AS isnull, t.isnull, \"isnull\" FROM isnull(1)",
                "SELECT 1 AS isnull, t.isnull, \"isnull\" FROM isnull(1)",
            ),
            (
                "SELECT d->>-1, d->-1, d - -1 FROM t",
                "SELECT d ->> -1, d -> -1, d - -1 FROM t",
            ),
            (
                "SELECT a between symmetric -1 + b AND 2, c NOT BETWEEN ASYMMETRIC 3 AND 4",
                "SELECT a BETWEEN !!-1 + b AND 2, c NOT BETWEEN 3 AND 4",
            ),
            (
                "SELECT trim(both from a), trim(trailing FROM b), trim(both 'x' from c), (leading) FROM t",
                "SELECT TRIM(BOTH ' ' FROM a), TRIM(TRAILING ' ' FROM b), TRIM(BOTH 'x' FROM c), (leading) FROM t",
            ),
            ("TABLE a.t LIMIT 1", "SELECT * FROM a.t LIMIT 1"),
            (
                "SELECT 1 FROM (TABLE t) UNION (TABLE u)",
                "SELECT 1 FROM (SELECT * FROM t) UNION (SELECT * FROM u)",
            ),
        ] {
            let tokens = Tokenizer::new(&dialect, text).tokenize_with_location();
            let tokens = readable(&tokens.expect("tokens"));
            let mut parser = Parser::new(&dialect).with_tokens_with_locations(tokens);
            let statement = parser.parse_statement().expect("parses");
            assert_eq!(statement.to_string(), expected);
        }
    }
}
