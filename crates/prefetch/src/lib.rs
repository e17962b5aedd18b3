//! Memory that comes into the processor's cache ahead of its use.
//!
//! A load from memory takes about 0.1 µs, and whoever needs its result waits. A prefetch starts one that nobody
//! waits for; a processor has ten to sixteen of them on their way at a time. On other processors than
//! x86-64 it does nothing.

/// Bytes that come into the cache together.
const LINE_BYTES: usize = 64;

/// Has the first bytes of some memory, at most so many, come into the cache while something else is done.
#[inline]
pub fn prefetch<T>(memory: &[T], bytes_max: usize) {
    let bytes = size_of_val(memory).min(bytes_max);
    let start = memory.as_ptr().cast::<i8>();
    for at in (0..bytes).step_by(LINE_BYTES) {
        prefetch_line(start.wrapping_add(at));
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
