//! Leaving a codec out that did not pay: to try it takes longer than to encode many pages.

/// Text to leave out after the first page on which the codec did not pay; twice as much after each
/// further one in a row: that of 15 to 511 pages of 32 KiB.
const TEXT_BYTES_MIN: usize = 480 << 10;
const TEXT_BYTES_MAX: usize = 16 << 20;

/// For how long a codec is left out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rest {
    /// Text still to be left out.
    text_bytes_left: usize,
    /// Text that was to be left out the last time; 0 after a success.
    text_bytes: usize,
}

impl Rest {
    /// Whether the codec is left out on a page with so much text.
    pub(super) fn takes(&mut self, text_bytes: usize) -> bool {
        let rests = self.text_bytes_left > 0;
        self.text_bytes_left = self.text_bytes_left.saturating_sub(text_bytes);
        rests
    }

    /// The codec paid.
    pub(super) fn end(&mut self) {
        self.text_bytes = 0;
    }

    /// The codec did not pay.
    pub(super) fn begin(&mut self) {
        self.text_bytes = (self.text_bytes * 2).clamp(TEXT_BYTES_MIN, TEXT_BYTES_MAX);
        self.text_bytes_left = self.text_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// KiB of text that are left out before the next page is tried.
    fn left_out(rest: &mut Rest) -> usize {
        std::iter::from_fn(|| rest.takes(1 << 10).then_some(())).count()
    }

    #[test]
    fn failures_in_a_row_double_the_rest_up_to_a_limit() {
        let mut rest = Rest::default();
        assert_eq!(left_out(&mut rest), 0);
        for kib in [480, 960, 1920, 3840, 7680, 15360, 16384, 16384] {
            rest.begin();
            assert_eq!(left_out(&mut rest), kib);
        }
        rest.end();
        rest.begin();
        assert_eq!(left_out(&mut rest), 480);
    }
}
