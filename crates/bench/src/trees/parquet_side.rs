//! The same rows in a Parquet file, in key order, zstd level 3, everything else as the crate has it.
//!
//! Read chunk by chunk of a column, see [`super::parquet_chunks`]. It can be scanned only, and does not change.

use std::fs::File;
use std::path::Path;

use anyhow::Result;
use contender::disk_use::bytes_on_disk;
use contender::record::SCANNED_COLUMN;
use contender::{Cells, ReadingArguments, ReadingReport, Scan, Wanted, reading};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::arrays::add_up;
use super::parquet_chunks::ParquetChunks;
use crate::direct_file::DirectFile;
use crate::pages::data_set::DataSet;

/// The file in a folder.
const FILE: &str = "rows.parquet";

/// The level whose figures goals name.
const ZSTD_LEVEL: i32 = 3;

/// Rows of a batch: as many as a query engine asks for.
const BATCH_ROWS: usize = 8 << 10;

/// Writes the file into a folder, which it makes.
pub fn write(data: &DataSet, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let file = File::create(folder.join(FILE))?;
    let batch = data.batch()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .build();
    let mut writer = ArrowWriter::try_new(&file, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(file.sync_all()?)
}

/// Scans the file, and prints the report.
pub fn run(arguments: &ReadingArguments) -> Result<()> {
    let folder = &arguments.common.folder;
    arguments.common.enter()?;
    allocator::give_back_early()?;
    let path = folder.join(FILE);
    let file = ParquetFile {
        metadata: ArrowReaderMetadata::load(&File::open(&path)?, ArrowReaderOptions::default())?,
        file: DirectFile::open(&path)?,
    };
    let report = ReadingReport {
        settings: format!("zstd-{ZSTD_LEVEL}, defaults else, batches of {BATCH_ROWS} rows"),
        bytes_on_disk: bytes_on_disk(folder)?,
        look_ups: Vec::new(),
        scans: reading::scan(&file)?,
        fresh_scans: Vec::new(),
    };
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

struct ParquetFile {
    file: DirectFile,
    /// Read once: ours has its page index in memory, too.
    metadata: ArrowReaderMetadata,
}

impl Scan for ParquetFile {
    fn scan(&self, wanted: Wanted) -> Result<Cells> {
        let chunks = ParquetChunks::new(self.file.clone(), self.metadata.metadata());
        let metadata = self.metadata.clone();
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(chunks, metadata);
        if wanted == Wanted::OneColumn {
            let mask = ProjectionMask::roots(builder.parquet_schema(), [SCANNED_COLUMN]);
            builder = builder.with_projection(mask);
        }
        let mut found = Cells::default();
        for batch in builder.with_batch_size(BATCH_ROWS).build()? {
            let batch = batch?;
            found += add_up(batch.num_rows(), batch.columns());
        }
        Ok(found)
    }
}
