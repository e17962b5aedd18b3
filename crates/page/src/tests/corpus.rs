//! What fuzzing has found worth keeping, read again.

use std::path::Path;
use std::sync::Arc;

use super::hostile::{IDENTITY, ask, decode, look_up, parse};
use crate::Page;

#[test]
fn the_fuzzers_corpus_is_read_without_a_panic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/read_page");
    let (mut inputs, mut opened) = (0, 0);
    for entry in std::fs::read_dir(folder).expect("the corpus is there") {
        let input = std::fs::read(entry.expect("readable").path()).expect("readable");
        inputs += 1;
        let Some((types, bytes)) = parse(&input) else {
            continue;
        };
        let Ok(page) = Page::open(bytes.into(), &Arc::from(&types[..]), IDENTITY) else {
            continue;
        };
        opened += 1;
        for column in 0..types.len() {
            decode(&page, column);
            look_up(&page, column);
            ask(&page, column);
        }
    }
    // Otherwise the form of inputs or pages has changed: fuzz again, and keep what that finds.
    assert!(
        opened * 2 > inputs && inputs > 100,
        "{opened} of {inputs} are pages"
    );
}
