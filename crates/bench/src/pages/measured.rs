//! What is measured of a data set, and the arithmetic over it.

use std::hint::black_box;

use anyhow::{Result, ensure};
use arrow_array::Array;

use super::contender::{Contender, MemoryCopy, Wanted};
use super::data_set::DataSet;
use super::lookup::Lookups;
use super::multicolumn::Multicolumn;
use super::segment_file::SegmentSize;
use super::stopwatch::{five, gigabytes_a_second, nanoseconds_each};
use crate::results::median;

/// One format on one data set.
#[derive(Clone, Debug)]
pub struct FormatFigures {
    /// The format.
    pub name: String,
    /// Encoded bytes.
    pub bytes: usize,
    /// Pieces: pages, blocks, files.
    pub pieces: usize,
    /// GB/s of uncompressed bytes.
    pub encode: Vec<f64>,
    /// GB/s of uncompressed bytes, all columns.
    pub decode: Vec<f64>,
    /// Seconds to decode one column over the seconds for all.
    pub one_of_all: f64,
}

/// What only our pages can do.
#[derive(Clone, Debug)]
pub struct LookupFigures {
    /// Nanoseconds for a value by slot.
    pub value: Vec<f64>,
    /// Nanoseconds for a row by key.
    pub row: Vec<f64>,
}

/// Everything about one data set. The first format is ours.
#[derive(Clone, Debug)]
pub struct DataSetFigures {
    /// The data set.
    pub name: &'static str,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Uncompressed bytes.
    pub uncompressed: usize,
    /// GB/s of a plain memory copy.
    pub copy: Vec<f64>,
    /// The formats.
    pub formats: Vec<FormatFigures>,
    /// Look-ups in our pages.
    pub lookups: LookupFigures,
    /// As a segment file.
    pub segment: SegmentSize,
}

impl DataSetFigures {
    /// Measures our pages of this capacity, then the others.
    pub fn measure(
        data: &DataSet,
        page_bytes: usize,
        others: &[&dyn Contender],
        lookups: usize,
    ) -> Result<Self> {
        let ours = Multicolumn::new(page_bytes);
        let mut copy = MemoryCopy::new(data);
        let copy = five(|| {
            copy.copy();
            Ok(())
        })?;
        let mut formats = vec![FormatFigures::measure(&ours, data)?];
        for other in others {
            formats.push(FormatFigures::measure(*other, data)?);
        }
        Ok(Self {
            name: data.name,
            rows: data.rows(),
            columns: data.arrays.len(),
            uncompressed: data.bytes(),
            copy: gigabytes_a_second(data.bytes(), &copy),
            formats,
            lookups: LookupFigures::measure(data, &ours, lookups)?,
            segment: SegmentSize::measure(data, page_bytes)?,
        })
    }

    /// Ours.
    pub fn ours(&self) -> &FormatFigures {
        &self.formats[0]
    }

    /// The format of this name, if it took part.
    pub fn format(&self, name: &str) -> Option<&FormatFigures> {
        self.formats.iter().find(|format| format.name == name)
    }

    /// Uncompressed bytes over a format's.
    pub fn ratio(&self, format: &FormatFigures) -> f64 {
        self.uncompressed as f64 / format.bytes as f64
    }

    /// Our decoding speed over the memory copy's.
    pub fn decode_over_copy(&self) -> f64 {
        median(&self.ours().decode) / median(&self.copy)
    }

    /// Our size over another format's.
    pub fn size_over(&self, other: &FormatFigures) -> f64 {
        self.ours().bytes as f64 / other.bytes as f64
    }

    /// Our decoding speed over another format's.
    pub fn decode_over(&self, other: &FormatFigures) -> f64 {
        median(&self.ours().decode) / median(&other.decode)
    }
}

impl FormatFigures {
    fn measure(contender: &dyn Contender, data: &DataSet) -> Result<Self> {
        let mut pieces = Vec::new();
        let encode = five(|| {
            pieces = black_box(contender.encode(data)?);
            Ok(())
        })?;
        let decode = |wanted| {
            five(|| {
                let mut rows = 0;
                contender.decode(data, &pieces, wanted, &mut |arrays| {
                    rows += black_box(arrays)[0].len();
                })?;
                ensure!(rows == data.rows(), "{} lost rows", contender.name());
                Ok(())
            })
        };
        let (all, one) = (decode(Wanted::All)?, decode(Wanted::One(data.probe))?);
        Ok(Self {
            name: contender.name().to_owned(),
            bytes: pieces.iter().map(|piece| piece.len()).sum(),
            pieces: pieces.len(),
            encode: gigabytes_a_second(data.bytes(), &encode),
            decode: gigabytes_a_second(data.bytes(), &all),
            one_of_all: median(&one) / median(&all),
        })
    }
}

impl LookupFigures {
    /// Measures so many look-ups.
    pub fn measure(data: &DataSet, ours: &Multicolumn, count: usize) -> Result<Self> {
        let pages = Multicolumn::open(&data.types(), &ours.encode(data)?)?;
        let lookups = Lookups::new(data, &pages, count)?;
        let value = five(|| lookups.values_by_slot())?;
        let row = five(|| lookups.rows_by_key())?;
        Ok(Self {
            value: nanoseconds_each(lookups.count(), &value),
            row: nanoseconds_each(lookups.count(), &row),
        })
    }
}

/// Our pages at one capacity.
#[derive(Clone, Debug)]
pub struct CapacityFigures {
    /// Capacity of a page.
    pub page_bytes: usize,
    /// Size and speed.
    pub format: FormatFigures,
    /// Look-ups.
    pub lookups: LookupFigures,
}

impl CapacityFigures {
    /// Measures pages of this capacity.
    pub fn measure(data: &DataSet, page_bytes: usize, lookups: usize) -> Result<Self> {
        let ours = Multicolumn::new(page_bytes);
        Ok(Self {
            page_bytes,
            format: FormatFigures::measure(&ours, data)?,
            lookups: LookupFigures::measure(data, &ours, lookups)?,
        })
    }
}
