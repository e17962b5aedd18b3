//! Reads what a hostile client sends: no panic, and no more memory than what was sent and a little.
//!
//! An input is a connection: a byte that says in pieces of how many bytes it arrives (0 for all at
//! once), then the bytes, first packets, password dialogue and messages one after the other. What
//! is read does not depend on the pieces. A wrong password does not end it, or the fuzzer would
//! have to guess one to get any further; `@` in its last message stands for the dialogue's nonce.
//!
//! Parameters of a Bind message are read as values of all types in turn. The text of a binary
//! value that is no array, sent back in binary, is the same text.

#![no_main]

use std::alloc::System;
use std::sync::LazyLock;

use bytes::{Bytes, BytesMut};
use cap::Cap;
use libfuzzer_sys::{Corpus, fuzz_target};
use protocol::binary_value::text_of_binary;
use protocol::bytea;
use protocol::encode::datetime::{self, Interval};
use protocol::encode::wire_type::{element_of, oid};
use protocol::encode::{array, binary};
use protocol::frontend::{
    Bind, FirstPacket, Message, ProtocolError, read_sasl_initial, take_first_packet, take_message,
    take_password,
};
use protocol::scram::{Binding, Verifier};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Memory at most: a multiple of what was sent (a parameter's place is larger than the bytes that
/// say that it is NULL) …
const SENT_MULTIPLE: usize = 64;
/// … and, for values, what a number of a few bytes may have in digits, some times over.
const VALUE_BYTES: usize = 4 << 20;
/// For messages: what an error may say.
const MESSAGE_BYTES: usize = 4 << 10;

/// Types whose values are read, plain ones and arrays.
const TYPES: [u32; 24] = [
    oid::BOOL,
    oid::BYTEA,
    oid::CHAR,
    oid::NAME,
    oid::INT8,
    oid::INT2,
    oid::INT4,
    oid::TEXT,
    oid::OID,
    oid::JSON,
    oid::FLOAT4,
    oid::FLOAT8,
    oid::DATE,
    oid::TIME,
    oid::TIMESTAMP,
    oid::TIMESTAMPTZ,
    oid::INTERVAL,
    oid::NUMERIC,
    oid::UUID,
    oid::JSONB,
    oid::TEXT_ARRAY,
    1007,
    1231,
    1001,
];

/// What the server knows of a user; deriving it takes milliseconds.
static VERIFIER: LazyLock<Verifier> = LazyLock::new(|| Verifier::new("hedgerow", "right"));

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((&piece_bytes, sent)) = input.split_first() else {
        return Corpus::Reject;
    };
    LazyLock::force(&VERIFIER);
    let events = arrive(sent, sent.len());
    if piece_bytes > 0 {
        assert!(
            events == arrive(sent, usize::from(piece_bytes)),
            "pieces matter"
        );
    }
    for event in &events {
        if let Event::Message(Message::Bind(bind)) = event {
            read_values(bind);
        }
    }
    talk(&events);
    Corpus::Keep
});

/// Runs it with a bound on the memory that it may take beyond what is in use.
fn within<T>(sent_bytes: usize, fixed_bytes: usize, run: impl FnOnce() -> T) -> T {
    let bound = sent_bytes * SENT_MULTIPLE + fixed_bytes;
    ALLOCATOR
        .set_limit(ALLOCATOR.allocated() + bound)
        .expect("more than what is in use");
    let result = run();
    ALLOCATOR.set_limit(usize::MAX).expect("no limit");
    result
}

/// What a server is told.
#[derive(PartialEq)]
enum Event {
    First(FirstPacket),
    Password(Bytes),
    Message(Message),
    Refused(ProtocolError),
}

/// How far a connection is.
enum Stage {
    First,
    Password { left: u8 },
    Messages,
}

/// Everything that is read until the bytes end or are refused.
fn arrive(sent: &[u8], piece_bytes: usize) -> Vec<Event> {
    let (mut buffer, mut stage, mut events) = (BytesMut::new(), Stage::First, Vec::new());
    for piece in sent.chunks(piece_bytes.max(1)) {
        buffer.extend_from_slice(piece);
        loop {
            let waiting_bytes = buffer.len();
            match within(waiting_bytes, MESSAGE_BYTES, || {
                take(&mut buffer, &mut stage)
            }) {
                Ok(None) => break,
                Ok(Some(event)) => events.push(event),
                Err(error) => {
                    events.push(Event::Refused(error));
                    return events;
                }
            }
        }
    }
    events
}

fn take(buffer: &mut BytesMut, stage: &mut Stage) -> Result<Option<Event>, ProtocolError> {
    match stage {
        Stage::First => {
            let packet = take_first_packet(buffer)?;
            if let Some(FirstPacket::Startup(_)) = packet {
                *stage = Stage::Password { left: 2 };
            }
            Ok(packet.map(Event::First))
        }
        Stage::Password { left } => {
            let body = take_password(buffer)?;
            *left -= u8::from(body.is_some());
            if *left == 0 {
                *stage = Stage::Messages;
            }
            Ok(body.map(Event::Password))
        }
        Stage::Messages => Ok(take_message(buffer)?.map(Event::Message)),
    }
}

/// The password dialogue, over a plain channel and over an encrypted one.
fn talk(events: &[Event]) {
    let startup = events.iter().find_map(|event| match event {
        Event::First(FirstPacket::Startup(startup)) => Some(startup),
        _ => None,
    });
    let mut bodies = events.iter().filter_map(|event| match event {
        Event::Password(body) => Some(body.clone()),
        _ => None,
    });
    let (Some(startup), Some(initial)) = (startup, bodies.next()) else {
        return;
    };
    let Ok((mechanism, first)) = read_sasl_initial(initial) else {
        return;
    };
    let last = bodies.next().unwrap_or_default();
    let user = startup.parameter("user").unwrap_or_default();
    for certificate_hash in [None, Some(&b"hash"[..])] {
        let Some(binding) = Binding::chosen(&mechanism, certificate_hash) else {
            continue;
        };
        if let Ok(exchange) = VERIFIER.first(user, &first, binding) {
            let nonce = exchange
                .answer
                .split(&['=', ','][..])
                .nth(1)
                .unwrap_or_default();
            let last = String::from_utf8_lossy(&last).replace('@', nonce);
            assert!(
                exchange.last(last.as_bytes()).is_err(),
                "nobody knows the password"
            );
        }
    }
}

fn read_values(bind: &Bind) {
    for (index, value) in bind.parameters.iter().enumerate() {
        let Some(value) = value else { continue };
        let format = match bind.parameter_formats.as_slice() {
            [one] => *one,
            several => several.get(index).copied().unwrap_or(0),
        };
        let type_oid = TYPES[index % TYPES.len()];
        match format {
            0 => within(value.len(), VALUE_BYTES, || read_text(value)),
            _ => read_binary(type_oid, value),
        }
    }
}

fn read_text(value: &[u8]) {
    // A refusal is as good as an answer.
    let Ok(text) = std::str::from_utf8(value) else {
        return;
    };
    _ = datetime::parse_date(text);
    _ = datetime::parse_time(text);
    _ = datetime::parse_time_with_zone(text);
    _ = datetime::parse_timestamp(text);
    _ = Interval::parse(text);
    _ = array::parse(text);
    _ = bytea::parse(text);
    for type_oid in TYPES {
        _ = binary::put(type_oid, text, &mut BytesMut::new());
    }
}

fn read_binary(type_oid: u32, value: &Bytes) {
    let read = || text_of_binary(type_oid, value.clone());
    let Ok(text) = within(value.len(), VALUE_BYTES, read) else {
        return;
    };
    let mut again = BytesMut::new();
    if element_of(type_oid).is_none() && binary::put(type_oid, &text, &mut again).is_ok() {
        assert_eq!(text_of_binary(type_oid, again.freeze()), Ok(text));
    }
}
