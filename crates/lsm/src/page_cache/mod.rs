//! One cache of verified, compressed pages for all trees, bounded in bytes.
//!
//! A page enters when it is first read and has passed its checks; it leaves when space is
//! needed (quick_cache's scan-resistant S3-FIFO decides which) or, at once, when its segment
//! becomes obsolete: a dead page must not hold the place of a live one. For experiments there is
//! `lru_pages`.
//!
//! A page grows while it is cached, by the columns that its readers open (see [`Page::column`]).
//! Each look-up charges what the page has grown by since the last one. Not charged from the
//! start are the columns that it could grow by: they are a fifth of an ordinary page, a quarter
//! of a wide one, and scans open none. So the cache may exceed its bytes by what was opened on
//! pages that nobody has asked for since.
//!
//! Invariants: segment ids are never reused, so a cached page never goes stale; errors are
//! never cached; concurrent look-ups of one missing page load it once (not so in `lru_pages`).
//!
//! Does not: read files. The caller's `load` does.

mod lru_pages;

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use page::Page;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

use crate::error::StoreError;
use crate::museum::{self, Exhibit};
use crate::segment::SegmentId;
use lru_pages::LruPages;

/// What a cached page costs beside its memory: key, hash slot, queue links.
const PAGE_OVERHEAD_BYTES: u64 = 256;

/// There is room to spare while less than all but one in so many bytes are taken: shards do not fill
/// up all at once.
const SPARE_SHARE: u64 = 10;

/// A shard bounds the largest page that the cache takes, so shards are not cut smaller.
const SHARD_BYTES_MIN: usize = 4 << 20;

/// Enough that readers on many cores rarely meet at a lock.
const SHARDS_MAX: usize = 64;

/// Which page leaves the cache when it is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CachePolicy {
    /// S3-FIFO: scans do not drive out what is used again and again.
    #[default]
    ScanResistant,
    /// The one used longest ago; a baseline.
    LeastRecentlyUsed,
}

/// Which page: segment and index in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageKey {
    /// The segment.
    pub segment: SegmentId,
    /// The page's index in the segment.
    pub page: u32,
}

/// A page and the bytes that it is charged. Kept apart from what the page takes by now, because
/// what leaves the cache has to weigh what it weighed when it came.
#[derive(Clone)]
struct Charged {
    page: Arc<Page>,
    bytes: u64,
    /// It came when it was written, and nobody has asked for it.
    is_warmed: bool,
}

impl Charged {
    fn new(page: Arc<Page>) -> Self {
        Self {
            bytes: Self::bytes_of(&page),
            page,
            is_warmed: false,
        }
    }

    fn bytes_of(page: &Page) -> u64 {
        page.memory_bytes() as u64 + PAGE_OVERHEAD_BYTES
    }
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<PageKey, Charged> for ByBytes {
    fn weight(&self, _key: &PageKey, charged: &Charged) -> u64 {
        charged.bytes
    }
}

/// Multiplies and folds the two numbers of a [`PageKey`]. Unseeded, so that the same look-ups
/// evict the same pages in every run of a simulation; keys are ours, nobody can choose them to
/// collide.
#[derive(Default)]
struct PageKeyHasher(u64);

impl PageKeyHasher {
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

    fn mix(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value ^ Self::MULTIPLIER) * u128::from(Self::MULTIPLIER);
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

impl Hasher for PageKeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.mix(u64::from(byte)));
    }

    fn write_u32(&mut self, value: u32) {
        self.mix(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type PageKeyHash = BuildHasherDefault<PageKeyHasher>;

type ScanResistant = Cache<PageKey, Charged, ByBytes, PageKeyHash>;

enum Pages {
    ScanResistant(Box<ScanResistant>),
    LeastRecentlyUsed(LruPages),
}

/// The cache. Shared by all readers of a store.
pub struct PageCache {
    pages: Pages,
    bytes_max: u64,
    dead_pages_stay: bool,
    hits: AtomicU64,
    misses: AtomicU64,
    pages_warmed: AtomicU64,
    warmed_pages_used: AtomicU64,
}

impl PageCache {
    /// An empty cache of at most `bytes_max` bytes, for pages of about `page_bytes`.
    pub fn new(bytes_max: usize, page_bytes: usize, policy: CachePolicy) -> Self {
        let pages = match policy {
            CachePolicy::ScanResistant => {
                Pages::ScanResistant(Box::new(scan_resistant(bytes_max, page_bytes)))
            }
            CachePolicy::LeastRecentlyUsed => {
                Pages::LeastRecentlyUsed(LruPages::new(bytes_max as u64))
            }
        };
        Self {
            pages,
            bytes_max: bytes_max as u64,
            dead_pages_stay: false,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            pages_warmed: AtomicU64::new(0),
            warmed_pages_used: AtomicU64::new(0),
        }
    }

    /// The same, but pages of segments that are gone leave it only when space is needed.
    pub fn with_dead_pages(self) -> Self {
        Self {
            dead_pages_stay: true,
            ..self
        }
    }

    /// The page from the cache, else from `load`, which is then kept. Errors are not kept.
    pub fn get_or_load(
        &self,
        key: PageKey,
        load: impl FnOnce() -> Result<Page, StoreError>,
    ) -> Result<Arc<Page>, StoreError> {
        let key = match museum::shows(Exhibit::PageOfAnotherSegment) {
            true => PageKey {
                segment: SegmentId::default(),
                ..key
            },
            false => key,
        };
        let mut loaded = false;
        let load = || {
            loaded = true;
            load().map(|page| Charged::new(Arc::new(page)))
        };
        let charged = match &self.pages {
            Pages::ScanResistant(pages) => pages.get_or_insert_with(&key, load),
            Pages::LeastRecentlyUsed(pages) => pages.get(key).map_or_else(
                || load().inspect(|charged| pages.insert(key, charged.clone())),
                Ok,
            ),
        };
        let counter = if loaded { &self.misses } else { &self.hits };
        counter.fetch_add(1, Ordering::Relaxed);
        let charged = charged?;
        if !loaded {
            self.note_use(key, &charged);
        }
        Ok(charged.page)
    }

    /// The page, if it is in the cache. Counts as a look-up then.
    pub fn get(&self, key: PageKey) -> Option<Arc<Page>> {
        let charged = match &self.pages {
            Pages::ScanResistant(pages) => pages.get(&key),
            Pages::LeastRecentlyUsed(pages) => pages.get(key),
        }?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        self.note_use(key, &charged);
        Some(charged.page)
    }

    /// Whether the page is in the cache now. Does not count as a look-up.
    pub fn holds(&self, key: PageKey) -> bool {
        match &self.pages {
            Pages::ScanResistant(pages) => pages.contains_key(&key),
            Pages::LeastRecentlyUsed(pages) => pages.contains(key),
        }
    }

    /// Charges a cached page what it has grown by, if it has, and notes that it is used.
    fn note_use(&self, key: PageKey, charged: &Charged) {
        if charged.is_warmed {
            self.warmed_pages_used.fetch_add(1, Ordering::Relaxed);
        }
        if Charged::bytes_of(&charged.page) > charged.bytes || charged.is_warmed {
            let now = Charged::new(Arc::clone(&charged.page));
            match &self.pages {
                // Where the page has left the cache meanwhile, there is nothing to charge.
                Pages::ScanResistant(pages) => drop(pages.replace(key, now, true)),
                Pages::LeastRecentlyUsed(pages) => pages.replace(key, now),
            }
        }
    }

    /// Forgets one page.
    pub fn remove(&self, key: PageKey) {
        match &self.pages {
            Pages::ScanResistant(pages) => drop(pages.remove(&key)),
            Pages::LeastRecentlyUsed(pages) => pages.remove(key),
        }
    }

    /// Forgets a page that nobody can ask for any more, unless such pages stay.
    pub fn remove_dead(&self, key: PageKey) {
        if !self.dead_pages_stay {
            self.remove(key);
        }
    }

    /// The same for all pages of a segment that has `pages` of them.
    pub fn remove_segment(&self, segment: SegmentId, pages: u32) {
        for page in 0..pages {
            self.remove_dead(PageKey { segment, page });
        }
    }

    /// Takes a page that was written a moment ago and that nobody has asked for. One that `is_used`
    /// is kept like one that was asked for again.
    pub fn warm(&self, key: PageKey, page: Page, is_used: bool) {
        let charged = Charged {
            is_warmed: true,
            ..Charged::new(Arc::new(page))
        };
        self.pages_warmed.fetch_add(1, Ordering::Relaxed);
        match &self.pages {
            Pages::ScanResistant(pages) => {
                pages.insert(key, charged);
                if is_used {
                    pages.get(&key);
                }
            }
            Pages::LeastRecentlyUsed(pages) => pages.insert(key, charged),
        }
    }

    /// Whether a page can enter without driving another one out.
    pub fn has_spare_room(&self) -> bool {
        self.bytes() < self.bytes_max / SPARE_SHARE * (SPARE_SHARE - 1)
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        match &self.pages {
            Pages::ScanResistant(pages) => pages.weight(),
            Pages::LeastRecentlyUsed(pages) => pages.bytes(),
        }
    }

    /// Pages that entered when they were written.
    pub fn pages_warmed(&self) -> u64 {
        self.pages_warmed.load(Ordering::Relaxed)
    }

    /// Those of them that were asked for later, while they were there.
    pub fn warmed_pages_used(&self) -> u64 {
        self.warmed_pages_used.load(Ordering::Relaxed)
    }

    /// Look-ups served from memory.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Look-ups that had to load.
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }
}

fn scan_resistant(bytes_max: usize, page_bytes: usize) -> ScanResistant {
    let options = OptionsBuilder::new()
        .estimated_items_capacity(bytes_max / page_bytes.max(1))
        .weight_capacity(bytes_max as u64)
        .shards((bytes_max / SHARD_BYTES_MIN).clamp(1, SHARDS_MAX))
        .build()
        .expect("capacity, weight and shards are all given");
    Cache::with_options(
        options,
        ByBytes,
        PageKeyHash::default(),
        DefaultLifecycle::default(),
    )
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int64Array, StringArray};
    use page::{PageEncoder, PageIdentity};
    use types::ColumnType;

    use super::*;
    use crate::test_rows::noise;

    const PAGE_BYTES: usize = 16 << 10;

    fn page() -> Result<Page, StoreError> {
        let types = [ColumnType::Int64];
        let identity = PageIdentity { file: 1, offset: 0 };
        let noise = |n: i64| n.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_pow(3);
        let numbers = (0..1_800_i64).map(noise);
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
        let mut bytes = Vec::new();
        PageEncoder::new(&types, PAGE_BYTES).encode(&[column], 0, identity, &mut bytes);
        Ok(Page::open(bytes.into(), &Arc::from(&types[..]), identity).expect("an intact page"))
    }

    fn long_page() -> Result<Page, StoreError> {
        let types = [ColumnType::Text];
        let identity = PageIdentity { file: 1, offset: 0 };
        let text = noise(1, 4 * PAGE_BYTES);
        let column: ArrayRef = Arc::new(StringArray::from(vec![text]));
        let mut bytes = Vec::new();
        PageEncoder::new(&types, PAGE_BYTES).encode(&[column], 0, identity, &mut bytes);
        Ok(Page::open(bytes.into(), &Arc::from(&types[..]), identity).expect("an intact page"))
    }

    fn key(segment: u64, page: u32) -> PageKey {
        PageKey {
            segment: SegmentId(segment),
            page,
        }
    }

    const POLICIES: [CachePolicy; 2] = [CachePolicy::ScanResistant, CachePolicy::LeastRecentlyUsed];

    fn caches(bytes_max: usize) -> [PageCache; 2] {
        POLICIES.map(|policy| PageCache::new(bytes_max, PAGE_BYTES, policy))
    }

    #[test]
    fn a_page_is_loaded_once() {
        for cache in caches(1 << 20) {
            cache.get_or_load(key(1, 0), page).expect("load");
            let again = cache
                .get_or_load(key(1, 0), || panic!("it is cached"))
                .expect("cached");
            assert!(again.rows() > 0);
            assert_eq!((cache.hits(), cache.misses()), (1, 1));
        }
    }

    #[test]
    fn an_error_is_not_kept() {
        for cache in caches(1 << 20) {
            let failed = || Err(StoreError::Poisoned("a test".to_owned()));
            assert!(cache.get_or_load(key(1, 0), failed).is_err());
            assert!(cache.get_or_load(key(1, 0), page).is_ok());
            assert_eq!(cache.misses(), 2);
        }
    }

    #[test]
    fn an_opened_column_is_charged_at_the_next_look_up() {
        for cache in caches(1 << 20) {
            let loaded = cache.get_or_load(key(1, 0), page).expect("load");
            let closed = cache.bytes();
            loaded.column(0).expect("intact");
            assert_eq!(cache.bytes(), closed, "nobody has told the cache");
            for _ in 0..2 {
                cache.get_or_load(key(1, 0), page).expect("cached");
                let opened = loaded.memory_bytes() as u64 + PAGE_OVERHEAD_BYTES;
                assert!(opened > closed);
                assert_eq!(cache.bytes(), opened);
            }
            cache.remove(key(1, 0));
            assert_eq!(cache.bytes(), 0);
        }
    }

    #[test]
    fn a_page_larger_than_the_cache_is_handed_out_and_not_kept() {
        for cache in caches(2 * PAGE_BYTES) {
            cache.get_or_load(key(1, 0), page).expect("load");
            let kept = cache.bytes();
            assert!(kept > 0);
            for misses in 2..4 {
                let loaded = cache.get_or_load(key(1, 1), long_page).expect("load");
                assert!(loaded.bytes() > 2 * PAGE_BYTES);
                loaded.column(0).expect("intact");
                assert_eq!((cache.bytes(), cache.misses()), (kept, misses));
            }
            let again = cache.get_or_load(key(1, 0), || panic!("it is cached"));
            assert!(again.is_ok(), "it drives no other page out");
        }
    }

    #[test]
    fn it_stays_within_its_bytes_and_loses_a_dead_segment_at_once() {
        let bytes_max = 256 << 10;
        for cache in caches(bytes_max) {
            for segment in 0..4 {
                for index in 0..20 {
                    cache.get_or_load(key(segment, index), page).expect("load");
                    assert!(cache.bytes() <= bytes_max as u64);
                }
            }
            assert!(cache.bytes() > 0);
            for segment in 0..4 {
                cache.remove_segment(SegmentId(segment), 20);
            }
            assert_eq!(cache.bytes(), 0);
        }
    }

    #[test]
    fn the_page_used_longest_ago_goes_first() {
        let page_bytes = Charged::new(Arc::new(page().expect("intact"))).bytes as usize;
        let policy = CachePolicy::LeastRecentlyUsed;
        let cache = PageCache::new(3 * page_bytes, PAGE_BYTES, policy);
        for index in [0, 1, 2, 0, 3, 0, 4] {
            cache.get_or_load(key(1, index), page).expect("load");
        }
        let held = (0..5).filter(|&index| cache.holds(key(1, index)));
        assert!(held.eq([0, 3, 4]));
    }
}
