//! COPY TO STDOUT: a query's rows as a stream of data messages.

use futures::StreamExt;
use sql::CopyOptions;

use super::backend;
use super::connection::Trouble;
use super::copy_rows::CopyWriter;
use super::query::ResultRows;
use super::wire::Output;
use protocol::encode::RowEncoder;

/// Sends all rows, then that they are complete.
pub async fn send(
    mut rows: ResultRows,
    options: &CopyOptions,
    output: &mut Output,
) -> Result<(), Trouble> {
    let mut writer = CopyWriter::new(options, &rows.schema);
    let format = writer.format();
    let encoder = RowEncoder::new(&rows.schema, |_| format);
    let columns = rows.schema.fields().len();
    backend::copy_out_response(format, columns, &mut output.buffer);
    backend::copy_data(&mut output.buffer, |out| {
        writer.begin(out);
        Ok(())
    })?;
    let mut sent: u64 = 0;
    while let Some(batch) = rows.stream.next().await {
        let bound = encoder.bind(&batch?)?;
        for row in 0..bound.len() {
            backend::copy_data(&mut output.buffer, |out| writer.row(&bound, row, out))?;
            sent += 1;
            output.flush_if_full().await?;
        }
    }
    backend::copy_data(&mut output.buffer, |out| {
        writer.end(out);
        Ok(())
    })?;
    backend::copy_done(&mut output.buffer);
    backend::command_complete(&format!("COPY {sent}"), &mut output.buffer);
    Ok(())
}
