//! The bytes of data files and manifests.

use std::path::Path;

use types::CommitPosition;

use super::capture::Copied;
use super::chunk::{
    CHUNK_HEADER_BYTES, ChunkHeader, ChunkKind, FILE_HEADER_BYTES, check_file_header, chunk,
    file_header,
};
use super::manifest::{BlockGeometry, SnapshotRecord, TableRecord, decode, encode};
use super::*;
use crate::anti_cache::FileNumber;
use crate::command_log::SegmentNumber;
use crate::digest::RowsDigest;
use crate::error::PrimaryError;
use crate::schema::TableNumber;

const NUMBER: SnapshotNumber = SnapshotNumber(7);

/// A data file with one row of (Int64) 5 and the place of one evicted row.
fn data_file() -> Vec<u8> {
    let mut bytes = file_header(NUMBER).to_vec();
    let row = Copied {
        bytes: vec![9, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0],
        count: 1,
    };
    let place = Copied {
        bytes: vec![3, 0, 0, 0, 32, 0, 0, 0],
        count: 1,
    };
    for (kind, copied) in [(ChunkKind::Rows, row), (ChunkKind::Evicted, place)] {
        let offset = bytes.len() as u64;
        bytes.extend(chunk(NUMBER, offset, kind, TableNumber(1), &copied));
    }
    bytes
}

fn manifest() -> Vec<u8> {
    encode(&[SnapshotRecord {
        number: NUMBER,
        position: CommitPosition(1_000),
        last_number: 1_200,
        time_us: -5,
        segment: SegmentNumber(4),
        data_bytes: 109,
        geometry: BlockGeometry {
            block_bytes: 512,
            blocks_per_file: 8,
        },
        block_files: vec![FileNumber(0), FileNumber(2)],
        tables: vec![TableRecord {
            rows: 1,
            evicted: 1,
            digest: RowsDigest(0x0102_0304_0506_0708),
            schema: 9,
        }],
    }])
}

/// Chunks of a data file, all checked.
fn read(bytes: &[u8]) -> Result<Vec<(ChunkKind, u32)>, PrimaryError> {
    let path = Path::new("data");
    let header: &[u8; FILE_HEADER_BYTES] = bytes.first_chunk().expect("a header");
    check_file_header(header, NUMBER, path)?;
    let (mut at, mut found) = (FILE_HEADER_BYTES, Vec::new());
    while let Some(header) = bytes[at..].first_chunk::<CHUNK_HEADER_BYTES>() {
        let parsed = ChunkHeader::parse(header, path, at as u64)?;
        let start = at + CHUNK_HEADER_BYTES;
        let end = (start + parsed.payload_bytes as usize).min(bytes.len());
        parsed.check(NUMBER, header, &bytes[start..end], path, at as u64)?;
        found.push((parsed.kind, parsed.count));
        at = end;
    }
    Ok(found)
}

/// Version 1, byte for byte.
#[test]
fn version_1_is_written_and_read() {
    let golden = include_bytes!("../../golden/primary-snapshot-1");
    assert_eq!(data_file(), golden);
    let expected = [(ChunkKind::Rows, 1), (ChunkKind::Evicted, 1)];
    assert_eq!(read(golden).expect("intact"), expected);
    let golden = include_bytes!("../../golden/primary-manifest-1");
    assert_eq!(manifest(), golden);
    let decoded = decode(golden, Path::new("manifest")).expect("intact");
    assert_eq!(encode(&decoded), golden);
}

#[test]
fn every_flipped_bit_is_found() {
    let is_named = |error: &PrimaryError| {
        matches!(
            error,
            PrimaryError::Corrupt { .. } | PrimaryError::VersionTooNew { .. }
        )
    };
    let whole = data_file();
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(is_named(&read(&bytes).expect_err("damage")), "{bit}");
    }
    let whole = manifest();
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let decoded = decode(&bytes, Path::new("manifest"));
        assert!(is_named(&decoded.expect_err("damage")), "{bit}");
    }
}
