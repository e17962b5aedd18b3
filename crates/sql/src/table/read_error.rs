//! Why a batch of a scan could not be had.

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use lsm::StoreError;

/// Why a batch of a scan could not be had.
pub(super) enum ReadError {
    Store(StoreError),
    Condition(DataFusionError),
}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<DataFusionError> for ReadError {
    fn from(error: DataFusionError) -> Self {
        Self::Condition(error)
    }
}

impl From<ArrowError> for ReadError {
    fn from(error: ArrowError) -> Self {
        Self::Condition(error.into())
    }
}
