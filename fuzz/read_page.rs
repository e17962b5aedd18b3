//! Reads a hostile page in every way: no panic, no hang, no more memory than the page's bound.
//! What an input is, and what is done with it, is in `hostile`.

#![no_main]

use std::alloc::System;

use cap::Cap;
use libfuzzer_sys::{Corpus, fuzz_target};
use page::{Column, OpenColumn, Page, PageIdentity};

#[path = "../crates/page/src/tests/hostile.rs"]
mod hostile;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Memory at most: a multiple of the page …
const PAGE_MULTIPLE: usize = 16;
/// … for each row the cells, the text that a row may always have, and what is decoded on the way …
const ROW_BYTES: usize = 192;
/// … and tables whose size depends on neither.
const FIXED_BYTES: usize = 16 << 10;

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((types, bytes)) = hostile::parse(input) else {
        return Corpus::Reject;
    };
    let len = bytes.len();
    let Ok(page) = Page::open(bytes.into(), &types.as_slice().into(), hostile::IDENTITY) else {
        return Corpus::Keep;
    };
    let bound = len * PAGE_MULTIPLE + page.rows() * ROW_BYTES + FIXED_BYTES;
    for column in 0..types.len() {
        within(bound, || hostile::decode(&page, column));
        within(bound, || hostile::look_up(&page, column));
        within(bound, || hostile::ask(&page, column));
    }
    Corpus::Keep
});

/// An allocation beyond the limit fails, which ends the program.
fn within(bytes: usize, work: impl FnOnce()) {
    ALLOCATOR
        .set_limit(ALLOCATOR.allocated() + bytes)
        .expect("more than what is in use");
    work();
    ALLOCATOR.set_limit(usize::MAX).expect("no limit");
}
