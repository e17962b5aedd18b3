//! Asks for memory ahead of its use.

/// Bytes that come into the cache together.
const LINE_BYTES: usize = 64;

/// Lines of one piece of memory that are asked for: 1 KB, wherever it begins in a line. With 8 lines the
/// copy of such a row's texts waited for the rest of them.
const LINES_MAX: usize = 17;

/// Has the first lines of some memory come into the cache while something else is done. A look-up in a table
/// of 100 MB waits three times for memory, about 0.1 µs each; fifteen of them together wait no longer
/// than one.
#[inline]
pub(crate) fn prefetch<T>(memory: &[T]) {
    let bytes = size_of_val(memory).min(LINES_MAX * LINE_BYTES);
    let start = memory.as_ptr().cast::<i8>();
    let mut at = 0;
    while at < bytes {
        prefetch_line(start.wrapping_add(at));
        at += LINE_BYTES;
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn prefetch_line(address: *const i8) {
    // SAFETY: reads nothing that the program sees, and does not fault, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address);
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn prefetch_line(_: *const i8) {}
