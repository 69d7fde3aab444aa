//! Reports as record batches of the crate `arrow-array`.
use crate::{Error, Report, Result};
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};

impl Report {
    /// The calls as record batches. Columns without gaps share the report's memory. Texts are dictionaries with keys of 64 bits.
    /// ```
    /// # fn main() -> opdyno::Result<()> {
    /// use arrow_array::{StringArray, cast::AsArray, types::Int64Type};
    /// let mut builder = opdyno::ReportBuilder::new()?;
    /// builder.add_call()?;
    /// builder.set("Name", opdyno::Metric::Text("add"))?;
    /// let report = builder.finish()?;
    /// for batch in report.record_batches()? {
    ///     let batch = batch.unwrap();
    ///     let names = batch["Name"].as_dictionary::<Int64Type>().downcast_dict::<StringArray>().unwrap();
    ///     assert_eq!(names.into_iter().collect::<Vec<_>>(), [Some("add")]);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn record_batches(&self) -> Result<ArrowArrayStreamReader> {
        let mut stream = FFI_ArrowArrayStream::empty();
        unsafe { self.to_arrow((&raw mut stream).cast())? };
        ArrowArrayStreamReader::try_new(stream).map_err(|error| Error::invalid(&error.to_string()))
    }
}
