//! Which partitions of a primary a call names.

/// Partitions that a primary has at most.
pub const PARTITIONS_MAX: u16 = 64;

/// Numbers a partition: its place in the primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionNumber(pub u16);

/// Partitions, in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionSet(u64);

/// A partition among its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartitionPlace {
    pub(crate) number: PartitionNumber,
    /// How many there are.
    pub(crate) partitions: u16,
}

impl PartitionPlace {
    /// A partition that is all there is.
    pub(crate) const ALONE: Self = Self {
        number: PartitionNumber(0),
        partitions: 1,
    };

    /// The first transaction number after this one that is the partition's own: numbers modulo
    /// [`PARTITIONS_MAX`] are. So rows with numbers as keys can be in one partition when the primary is
    /// opened with fewer.
    pub(crate) fn number_after(self, last: u64) -> u64 {
        let all = u64::from(PARTITIONS_MAX);
        (last / all + 1) * all + u64::from(self.number.0)
    }
}

impl PartitionSet {
    /// One partition.
    pub fn only(partition: PartitionNumber) -> Self {
        Self(0).with(partition)
    }

    /// The same with one more.
    ///
    /// # Panics
    /// When the number is [`PARTITIONS_MAX`] or more.
    #[must_use]
    pub fn with(self, partition: PartitionNumber) -> Self {
        assert!(
            partition.0 < PARTITIONS_MAX,
            "partition {} of at most {PARTITIONS_MAX}",
            partition.0
        );
        Self(self.0 | 1 << partition.0)
    }

    /// The first one.
    pub fn first(self) -> PartitionNumber {
        PartitionNumber(self.0.trailing_zeros() as u16)
    }

    /// Whether it is one partition.
    pub fn is_single(self) -> bool {
        self.0.is_power_of_two()
    }

    /// Whether the partition is among them.
    pub fn contains(self, partition: PartitionNumber) -> bool {
        partition.0 < PARTITIONS_MAX && self.0 & 1 << partition.0 != 0
    }

    /// The partitions, in order.
    pub fn iter(self) -> impl Iterator<Item = PartitionNumber> {
        (0..PARTITIONS_MAX)
            .map(PartitionNumber)
            .filter(move |number| self.contains(*number))
    }
}
