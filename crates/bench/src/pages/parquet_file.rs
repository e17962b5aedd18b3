//! Parquet beside us: the same Arrow arrays through the `parquet` crate's writer and reader.
//!
//! Settings are the crate's defaults (dictionaries first, 1 MiB pages, statistics) but for the
//! compression. Its reader checks no checksums.

use anyhow::Result;
use arrow_array::ArrayRef;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::contender::{Contender, Wanted};
use super::data_set::DataSet;

/// Rows decoded at once: as many as a page of ours may hold.
const BATCH_ROWS: usize = page::ROWS_MAX;

/// The level whose figures goals name.
const ZSTD_LEVEL: i32 = 3;

/// One compression.
#[derive(Clone, Debug)]
pub struct ParquetFile {
    name: &'static str,
    compression: Compression,
}

impl ParquetFile {
    /// Encodings only.
    pub fn uncompressed() -> Self {
        Self {
            name: "parquet",
            compression: Compression::UNCOMPRESSED,
        }
    }

    /// LZ4 over the encodings.
    pub fn lz4() -> Self {
        Self {
            name: "parquet lz4",
            compression: Compression::LZ4_RAW,
        }
    }

    /// zstd over the encodings.
    pub fn zstd() -> Result<Self> {
        Ok(Self {
            name: "parquet zstd-3",
            compression: Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?),
        })
    }
}

impl Contender for ParquetFile {
    fn name(&self) -> &str {
        self.name
    }

    fn encode(&self, data: &DataSet) -> Result<Vec<Bytes>> {
        let batch = data.batch()?;
        let properties = WriterProperties::builder()
            .set_compression(self.compression)
            .build();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))?;
        writer.write(&batch)?;
        Ok(vec![writer.into_inner()?.into()])
    }

    fn decode(
        &self,
        _data: &DataSet,
        pieces: &[Bytes],
        wanted: Wanted,
        each: &mut dyn FnMut(&[ArrayRef]),
    ) -> Result<()> {
        for piece in pieces {
            let mut builder = ParquetRecordBatchReaderBuilder::try_new(piece.clone())?
                .with_batch_size(BATCH_ROWS);
            if let Wanted::One(column) = wanted {
                let mask = ProjectionMask::roots(builder.parquet_schema(), [column]);
                builder = builder.with_projection(mask);
            }
            for batch in builder.build()? {
                each(batch?.columns());
            }
        }
        Ok(())
    }
}
