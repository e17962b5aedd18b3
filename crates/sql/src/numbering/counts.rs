//! The numbers of rows in their partitions.

use datafusion::arrow::array::Int64Array;
use datafusion::arrow::buffer::BooleanBuffer;

/// What a window function counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    RowNumber,
    Rank,
    DenseRank,
}

impl Count {
    /// The one that a function of this name counts.
    pub(super) fn of_function(name: &str) -> Option<Self> {
        match name {
            "row_number" => Some(Self::RowNumber),
            "rank" => Some(Self::Rank),
            "dense_rank" => Some(Self::DenseRank),
            _ => None,
        }
    }

    /// Whether it depends on which rows are peers.
    pub(super) fn needs_peers(self) -> bool {
        self != Self::RowNumber
    }
}

/// The numbers of one row; zeros before the first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    row_number: i64,
    rank: i64,
    dense_rank: i64,
}

impl Counts {
    const FIRST: Self = Self {
        row_number: 1,
        rank: 1,
        dense_rank: 1,
    };

    /// Those of the next row.
    #[inline]
    fn next(self, starts_partition: bool, starts_peers: bool) -> Self {
        if starts_partition || self.row_number == 0 {
            return Self::FIRST;
        }
        let row_number = self.row_number + 1;
        Self {
            row_number,
            rank: if starts_peers { row_number } else { self.rank },
            dense_rank: self.dense_rank + i64::from(starts_peers),
        }
    }

    #[inline]
    fn of(self, count: Count) -> i64 {
        match count {
            Count::RowNumber => self.row_number,
            Count::Rank => self.rank,
            Count::DenseRank => self.dense_rank,
        }
    }

    /// The counts of the next rows, and the numbers of the last of them. A bit says of each row whether it
    /// starts a partition, another whether it is no peer of the row before.
    pub(super) fn number(
        self,
        counts: &[Count],
        starts_partition: &BooleanBuffer,
        starts_peers: &BooleanBuffer,
    ) -> (Vec<Int64Array>, Self) {
        let mut last = self;
        let numbered = counts.iter().map(|&count| {
            let mut now = self;
            let starts = starts_partition.iter().zip(starts_peers.iter());
            let numbers = starts.map(|(partition, peers)| {
                now = now.next(partition, peers);
                now.of(count)
            });
            let numbers: Vec<i64> = numbers.collect();
            last = now;
            Int64Array::from(numbers)
        });
        (numbered.collect(), last)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// By definition (PostgreSQL's documentation, 9.22): of rows as (partition, value), in order.
    fn expected(rows: &[(u8, u8)], row: usize) -> [i64; 3] {
        let (partition, value) = rows[row];
        let before = || rows[..row].iter().filter(|other| other.0 == partition);
        let smaller = || before().filter(|other| other.1 < value);
        let mut values: Vec<u8> = smaller().map(|other| other.1).collect();
        values.dedup();
        [before().count(), smaller().count(), values.len()].map(|count| count as i64 + 1)
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_definition_however_rows_come_in_batches(
            mut rows in prop::collection::vec((0..4_u8, 0..4_u8), 1..60),
            batch_rows in 1..20_usize,
        ) {
            rows.sort_unstable();
            let differs = |row: usize, of: fn(&(u8, u8)) -> (u8, u8)| {
                row > 0 && of(&rows[row]) != of(&rows[row - 1])
            };
            let counts = [Count::RowNumber, Count::Rank, Count::DenseRank];
            let (mut now, mut first) = (Counts::default(), 0);
            while first < rows.len() {
                let end = rows.len().min(first + batch_rows);
                let bits = |of: fn(&(u8, u8)) -> (u8, u8)| {
                    BooleanBuffer::from_iter((first..end).map(|row| differs(row, of)))
                };
                let (partitions, peers) = (bits(|row| (row.0, 0)), bits(|row| *row));
                let (numbered, last) = now.number(&counts, &partitions, &peers);
                for row in first..end {
                    let numbers: Vec<i64> = numbered.iter().map(|each| each.value(row - first)).collect();
                    prop_assert_eq!(numbers, expected(&rows, row));
                }
                (now, first) = (last, end);
            }
        }
    }
}
