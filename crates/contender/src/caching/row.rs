//! The rows: four of them fill a page or block of 4 KiB, as in the paper's set-up.

/// Bytes of a row's value: nothing that a codec could make smaller.
pub const ROW_BYTES: usize = 900;

/// Between one key and the next.
pub const KEY_STEP: u64 = 1 << 20;

/// A row: its key and its value.
#[derive(Clone, Debug)]
pub struct Row {
    /// The row's number.
    pub number: u64,
    /// See [`key_of`].
    pub key: u64,
    /// The key, the version, and random bytes.
    pub value: [u8; ROW_BYTES],
}

/// The key of the row with a number.
pub fn key_of(number: u64) -> u64 {
    number * KEY_STEP
}

/// A version of a row.
pub fn row_of(number: u64, version: u64) -> Row {
    let key = key_of(number);
    let mut value = [0; ROW_BYTES];
    let mut state = key ^ version.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for bytes in value.chunks_mut(8) {
        // xorshift64: fast, and nothing compresses it.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let random = state.to_le_bytes();
        bytes.copy_from_slice(&random[..bytes.len()]);
    }
    value[..8].copy_from_slice(&key.to_le_bytes());
    value[8..16].copy_from_slice(&version.to_le_bytes());
    Row { number, key, value }
}

/// The version that a value is of, if it is one of that row; a look at both ends, which is what a
/// mix-up of rows would show in.
pub fn version_of(number: u64, value: &[u8]) -> Option<u64> {
    let key = value.first_chunk::<8>()?;
    let version = value[8..].first_chunk::<8>()?;
    let is_of_row = value.len() == ROW_BYTES && u64::from_le_bytes(*key) == key_of(number);
    is_of_row.then(|| u64::from_le_bytes(*version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_tells_its_row_and_version() {
        let row = row_of(7, 3);
        assert_eq!(row.key, key_of(7));
        assert_eq!(version_of(7, &row.value), Some(3));
        assert_eq!(version_of(8, &row.value), None);
        assert_eq!(version_of(7, &row.value[1..]), None);
        assert_ne!(row_of(7, 4).value[16..], row.value[16..]);
    }
}
