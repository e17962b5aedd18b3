//! What is written is read back; whatever else comes in is an error.

use proptest::prelude::*;

use super::super::messages as write;
use super::super::messages::{Null, Text, Unchanged};
use super::*;

fn samples() -> Vec<Vec<u8>> {
    let cells = [Text("12"), Null, Unchanged, Text("")];
    vec![
        write::begin(0x16_B374_D848),
        write::commit(0x16_B374_D848),
        write::relation(42, "t", b'd', &[(true, "id", 23), (false, "é", 25)]),
        write::insert(42, &cells),
        write::row_change(b'U', 42, &[(b'N', &cells)]),
        write::row_change(b'U', 42, &[(b'K', &cells[..1]), (b'N', &cells)]),
        write::row_change(b'D', 42, &[(b'O', &cells)]),
        write::truncate(&[1, 2]),
    ]
}

/// The inputs of `fuzz/decode_pgoutput.rs`, what it has found included.
#[test]
fn the_fuzzers_corpus_is_read_without_a_panic() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fuzz/corpus/decode_pgoutput"
    );
    let mut messages = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus is there") {
        let input = std::fs::read(entry.expect("an entry").path()).expect("a file");
        let (mut rest, mut in_block) = (&input[..], false);
        while let Some((length, after)) = rest.split_first_chunk::<2>() {
            let length = usize::from(u16::from_be_bytes(*length)).min(after.len());
            let (message, after) = after.split_at(length);
            rest = after;
            messages += 1;
            _ = (unwrap(message), decode(message));
            match decode_streamed(message, in_block) {
                Ok(Streamed::Start { .. }) => in_block = true,
                Ok(Streamed::Stop) => in_block = false,
                _ => {}
            }
        }
    }
    assert!(messages >= 20, "{messages} messages");
}

#[test]
fn messages_are_read_as_written() {
    let messages = samples();
    let read = |index: usize| decode(&messages[index]).expect("a good message");
    assert_eq!(
        read(0),
        Message::Begin {
            commit_position: 0x16_B374_D848,
            commit_time: 1_000_000,
            transaction: TransactionId(7),
        }
    );
    let Message::Relation(relation) = read(2) else {
        panic!("a relation")
    };
    assert_eq!(relation.name.to_string(), "public.t");
    assert_eq!(relation.columns[1].name, "é");
    let Message::Insert { new, .. } = read(3) else {
        panic!("an insert")
    };
    let cells: Vec<_> = new.cells().collect();
    let expected = [
        Cell::Text(b"12"),
        Cell::Null,
        Cell::Unchanged,
        Cell::Text(b""),
    ];
    assert_eq!(cells, expected);
    assert!(matches!(
        read(5),
        Message::Update { old: Some(OldTuple::Key(old)), .. } if old.columns() == 1
    ));
    assert!(matches!(
        read(6),
        Message::Delete {
            old: OldTuple::Row(_),
            ..
        }
    ));
    assert_eq!(
        read(7),
        Message::Truncate {
            relations: vec![1, 2]
        }
    );
}

#[test]
fn a_message_that_is_cut_or_too_long_is_refused() {
    for message in samples() {
        for cut in 0..message.len() {
            assert!(
                decode(&message[..cut]).is_err(),
                "cut at {cut} of {message:?}"
            );
        }
        let longer = [message.as_slice(), b"x"].concat();
        assert!(matches!(
            decode(&longer),
            Err(DecodeError::Long { extra: 1, .. })
        ));
    }
}

#[test]
fn kinds_that_were_not_asked_for_are_refused() {
    // Transactions in progress, two-phase commit, binary cells.
    for kind in b"SEcAbPKrp\0" {
        let refused = decode(&[*kind]).expect_err("refused");
        assert_eq!(
            refused,
            DecodeError::Unknown {
                what: "kind of message",
                found: char::from(*kind)
            }
        );
    }
    let binary = [&b"I\0\0\0\x01N\0\x01b\0\0\0\x01"[..], b"x"].concat();
    assert!(matches!(decode(&binary), Err(DecodeError::Unknown { .. })));
}

#[test]
fn wrappers_are_read() {
    let mut data = vec![b'w'];
    data.extend([0, 0, 0, 0, 0, 0, 0, 5]);
    data.extend([0; 16]);
    data.extend(b"payload");
    let read = unwrap(&data).expect("a good wrapper");
    assert_eq!(
        read,
        Wrapper::Data {
            position: 5,
            payload: b"payload"
        }
    );
    let mut data = vec![b'k'];
    data.extend([0, 0, 0, 0, 0, 0, 0, 9]);
    data.extend([0; 8]);
    data.push(1);
    let read = unwrap(&data).expect("a good wrapper");
    assert_eq!(
        read,
        Wrapper::Keepalive {
            wal_end: 9,
            reply: true
        }
    );
    assert!(unwrap(&data[..17]).is_err());
    assert!(unwrap(b"x").is_err());
}

proptest! {
    #[test]
    fn any_bytes_at_all_are_a_message_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(Message::Insert { new, .. }) = decode(&bytes) {
            prop_assert_eq!(new.cells().count(), new.columns());
        }
        _ = unwrap(&bytes);
    }

    #[test]
    fn a_damaged_message_is_a_message_or_an_error(
        which in 0_usize..8,
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut message = samples().swap_remove(which);
        let at = at.index(message.len());
        message[at] = byte;
        if let Ok(Message::Update { new, .. }) = decode(&message) {
            prop_assert_eq!(new.cells().count(), new.columns());
        }
    }
}

#[test]
fn a_transaction_in_progress_may_say_where_it_comes_from() {
    let origin = b"O\0\0\0\0\0\0\0\x07elsewhere\0";
    let read = |in_block| decode_streamed(origin, in_block).expect("a good message");
    assert_eq!(read(true), Streamed::Origin);
    assert_eq!(read(false), Streamed::Ordinary);
    assert_eq!(decode(origin).expect("a good message"), Message::Ignored);
}
