//! Arrays of text from decoded cells, which are checked once and cheaply.
//!
//! Arrow's own constructors check offsets and text one after the other, and again for every
//! column of a dictionary's few entries: that was 17 % of decoding TPC-H's lineitem. Here text
//! that is ASCII (most is) needs no look at where cells begin, and a dictionary has been checked
//! by its entries.

use arrow_array::StringArray;
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};

use crate::error::PageError;

use super::TextCells;
use super::ends::ascend;

/// The cells as an array, if they are UTF-8.
pub(crate) fn string_array(
    cells: TextCells,
    nulls: Option<NullBuffer>,
) -> Result<StringArray, PageError> {
    let TextCells {
        offsets,
        bytes,
        is_text,
    } = cells;
    if !is_text && !is_utf8(&offsets, &bytes) {
        return Err(PageError::Malformed("text is not UTF-8"));
    }
    let last = offsets.last().map(|&last| last as usize);
    assert!(
        offsets[0] == 0 && ascend(&offsets) && last == Some(bytes.len()),
        "cells lie one behind the other"
    );
    assert!(
        nulls
            .as_ref()
            .is_none_or(|nulls| nulls.len() + 1 == offsets.len()),
        "there is a NULL or none for each cell"
    );
    let offsets = ScalarBuffer::from(offsets);
    // SAFETY: offsets are at least one, begin at 0 and ascend, which was asserted above.
    let offsets = unsafe { OffsetBuffer::new_unchecked(offsets) };
    // SAFETY: all offsets are within the bytes, because they ascend up to their number, and each
    // cell is UTF-8: `is_text` says so where every cell is one of some texts that were checked,
    // otherwise `is_utf8` has looked. There are as many NULL bits as cells.
    Ok(unsafe { StringArray::new_unchecked(offsets, Buffer::from_vec(bytes), nulls) })
}

/// Whether every cell is UTF-8.
fn is_utf8(offsets: &[i32], bytes: &[u8]) -> bool {
    if bytes.is_ascii() {
        return true;
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    offsets
        .iter()
        .all(|&offset| text.is_char_boundary(offset as usize))
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;

    use super::*;

    fn cells(offsets: &[i32], bytes: &[u8]) -> TextCells {
        TextCells {
            offsets: offsets.to_vec(),
            bytes: bytes.to_vec(),
            is_text: false,
        }
    }

    #[test]
    fn cells_of_text_become_an_array() {
        let array = string_array(cells(&[0, 3, 3, 5], "héé".as_bytes()), None).expect("text");
        assert_eq!(array.iter().flatten().collect::<Vec<_>>(), ["hé", "", "é"]);
        let array = string_array(cells(&[0], b""), None).expect("text");
        assert_eq!(array.len(), 0);
    }

    #[test]
    fn what_is_not_text_is_refused() {
        assert!(string_array(cells(&[0, 1], &[0xFF]), None).is_err());
        // Both together are text, but neither by itself.
        assert!(string_array(cells(&[0, 1, 2], "é".as_bytes()), None).is_err());
    }

    #[test]
    #[should_panic(expected = "one behind the other")]
    fn offsets_are_the_callers_concern() {
        let _ = string_array(cells(&[0, 5], b"four"), None);
    }
}
