//! Decodes hostile messages of the replication stream: no panic, and no more memory than the input
//! and a little; a row's cells are as many as it says, and lie inside the message.
//!
//! An input is a run of messages, each behind its length in two bytes (big endian), as they would
//! come one after the other: whether a block of a transaction in progress is open carries over.

#![no_main]

use std::alloc::System;

use cap::Cap;
use libfuzzer_sys::{Corpus, fuzz_target};
use replication::postgres::pgoutput::{
    Cell, Message, OldTuple, Streamed, Tuple, decode, decode_streamed, unwrap,
};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Memory at most: a multiple of the message (a column's description is larger than its bytes) …
const MESSAGE_MULTIPLE: usize = 64;
/// … and what an error may say.
const FIXED_BYTES: usize = 4 << 10;

fuzz_target!(|input: &[u8]| -> Corpus {
    let (mut rest, mut in_block) = (input, false);
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_be_bytes(*length)).min(after.len());
        let (message, after) = after.split_at(length);
        rest = after;
        let bound = message.len() * MESSAGE_MULTIPLE + FIXED_BYTES;
        ALLOCATOR
            .set_limit(ALLOCATOR.allocated() + bound)
            .expect("more than what is in use");
        take(message, &mut in_block);
        ALLOCATOR.set_limit(usize::MAX).expect("no limit");
    }
    Corpus::Keep
});

fn take(message: &[u8], in_block: &mut bool) {
    // A refusal is as good as an answer.
    _ = unwrap(message);
    match decode_streamed(message, *in_block) {
        Ok(Streamed::Ordinary) => walk(message),
        Ok(Streamed::Start { .. }) => *in_block = true,
        Ok(Streamed::Stop) => *in_block = false,
        Ok(Streamed::Part { kind, content, .. }) => {
            let mut ordinary = vec![kind];
            ordinary.extend_from_slice(content);
            walk(&ordinary);
        }
        Ok(Streamed::Origin | Streamed::Commit { .. } | Streamed::Abort { .. }) | Err(_) => {}
    }
}

fn walk(message: &[u8]) {
    match decode(message) {
        Ok(Message::Insert { new, .. }) => cells(message, new),
        Ok(Message::Update { old, new, .. }) => {
            old.into_iter().for_each(|old| old_cells(message, old));
            cells(message, new);
        }
        Ok(Message::Delete { old, .. }) => old_cells(message, old),
        Ok(_) | Err(_) => {}
    }
}

fn old_cells(message: &[u8], old: OldTuple<'_>) {
    cells(message, old.tuple());
}

fn cells(message: &[u8], tuple: Tuple<'_>) {
    let mut count = 0;
    for cell in tuple.cells() {
        count += 1;
        if let Cell::Text(text) = cell {
            let (outer, inner) = (message.as_ptr_range(), text.as_ptr_range());
            assert!(outer.start <= inner.start && inner.end <= outer.end);
        }
    }
    assert_eq!(count, tuple.columns());
}
