//! Reports, which have rows of metrics for each call and each device, and a configuration; and builders of reports.
use crate::containers::place;
use crate::object::{check, create, given, handle, unique_handle};
use crate::options::Kept;
use crate::text::{text, with_optional, with_text};
use crate::value::{FromValue, NONE, Value};
use crate::{
    Arg, Array, DiffOptions, Metric, MetricKind, ReportFormat, ReportSection, ReportWriteOptions, Result, ffi,
};
use core::ffi::c_void;
use core::ptr::null_mut;

handle! {
    /// A report. It prints as its table: `println!("{report}")`.
    Report, opd_report
}

impl Report {
    /// Reads a report from JSON that TVM or [`Report::write`] wrote.
    pub fn from_json(json: &str) -> Result<Self> {
        create!(Report, opd_report_from_json(json.as_ptr().cast(), json.len()))
    }
    /// Joins reports of several runs, machines or ranks into one.
    pub fn merge(reports: &[&Report]) -> Result<Self> {
        let reports = pointers(reports);
        create!(Report, opd_report_merge(reports.as_ptr(), crate::object::num_of(reports.len())))
    }
    /// Writes the report as text: JSON, CSV, a table, Markdown or an HTML page.
    pub fn write(&self, format: ReportFormat) -> Result<String> {
        self.write_with(format, &ReportWriteOptions::new())
    }
    /// [`Report::write`] with options.
    pub fn write_with(&self, format: ReportFormat, options: &ReportWriteOptions) -> Result<String> {
        let mut kept = Kept::default();
        text!(opd_report_write(self.as_ptr(), format as _, &options.raw(&mut kept, 0)?))
    }
    /// Exports the calls as an Arrow stream.
    ///
    /// # Safety
    /// `out_stream` points to a struct `ArrowArrayStream` of Arrow's C stream interface. The function writes it without
    /// reading it.
    pub unsafe fn to_arrow(&self, out_stream: *mut c_void) -> Result<()> {
        check!(opd_report_to_arrow(self.as_ptr(), out_stream))
    }

    /// The number of rows of a section.
    pub fn count(&self, section: ReportSection) -> usize {
        unsafe { ffi::opd_report_count(self.as_ptr(), section as _) as usize }
    }
    /// The names of the metrics of a section's rows.
    pub fn list(&self, section: ReportSection) -> Result<Vec<String>> {
        create!(Array, opd_report_list(self.as_ptr(), section as _))?.into_texts()
    }
    /// A metric of a row; `None` if this row lacks the metric, but other rows have it.
    pub fn get<R: FromValue>(&self, section: ReportSection, row: usize, name: &str) -> Result<Option<R>> {
        let (value, kind) = self.cell(section, row, name)?;
        if kind == Some(MetricKind::None) { Ok(None) } else { value.to().map(Some) }
    }
    /// The kind of a row's metric.
    pub fn kind(&self, section: ReportSection, row: usize, name: &str) -> Result<Option<MetricKind>> {
        let (_, kind) = self.cell(section, row, name)?;
        Ok(kind.filter(|kind| *kind != MetricKind::None))
    }
    fn cell(&self, section: ReportSection, row: usize, name: &str) -> Result<(Value, Option<MetricKind>)> {
        let (mut value, mut kind) = (NONE, 0);
        with_text(name, |name| {
            check!(opd_report_get(self.as_ptr(), section as _, place(row), name, &mut value, &mut kind))
        })?;
        Ok((unsafe { Value::from_raw(value) }, MetricKind::of(kind)))
    }
    /// A metric of all rows of a section; `None` for rows that lack it.
    pub fn column<R: FromValue>(&self, section: ReportSection, name: &str) -> Result<Vec<Option<R>>> {
        let mut values = null_mut();
        with_text(name, |name| {
            check!(opd_report_get_column(self.as_ptr(), section as _, name, &mut values, null_mut()))
        })?;
        given(unsafe { Array::from_raw(values) }).iter().map(|value| Option::from_value(value?)).collect()
    }
    /// The rows of operators in program order, with the columns that every report has.
    pub fn operators(&self) -> Result<impl Iterator<Item = Operator> + use<>> {
        let names = self.column::<String>(ReportSection::Calls, "Name")?;
        let durations = self.column::<f64>(ReportSection::Calls, "Duration (us)")?;
        let percents = self.column::<f64>(ReportSection::Calls, "Percent")?;
        let counts = self.column::<i64>(ReportSection::Calls, "Count")?;
        let rows = names.into_iter().zip(durations).zip(percents.into_iter().zip(counts));
        Ok(rows.map(|((name, microseconds), (percent, count))| Operator {
            name: name.unwrap_or_default(),
            duration: core::time::Duration::from_secs_f64((microseconds.unwrap_or(0.0) / 1e6).clamp(0.0, 1e9)),
            percent: percent.unwrap_or(0.0),
            count: count.unwrap_or(0),
        }))
    }

    /// Adds counts of operations and bytes to the operators for which names and shapes tell them. Pass 0 and 0 if the
    /// peaks are not known. See [`MachinePeak`](crate::MachinePeak).
    pub fn add_roofline(&self, peak_gflops: f64, peak_bandwidth_gbps: f64) -> Result<Self> {
        create!(Report, opd_report_add_roofline(self.as_ptr(), peak_gflops, peak_bandwidth_gbps))
    }
    /// Compares two sets of runs, each in order of time. Returns a report with a row for each operator: its change and
    /// a verdict.
    pub fn diff(before: &[&Report], after: &[&Report], options: &DiffOptions<'_>) -> Result<Self> {
        let (before, after, mut kept) = (pointers(before), pointers(after), Kept::default());
        let options = options.raw(&mut kept, 0)?;
        create!(
            Report,
            opd_report_diff(
                before.as_ptr(),
                crate::object::num_of(before.len()),
                after.as_ptr(),
                crate::object::num_of(after.len()),
                &options
            )
        )
    }
}

fn pointers(reports: &[&Report]) -> Vec<*const ffi::opd_report> {
    reports.iter().map(|report| report.as_ptr().cast_const()).collect()
}

impl core::fmt::Display for Report {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.write(ReportFormat::Table).map_err(|_| core::fmt::Error)?)
    }
}

/// The row of an operator in a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// The name of the operator; "(dispatch)" for the VM's own time, "(profiler)" for the time of the recording.
    pub name: String,
    /// The duration of the calls.
    pub duration: core::time::Duration,
    /// The share of the total; 100 is the whole.
    pub percent: f64,
    /// The number of calls.
    pub count: i64,
}

unique_handle! {
    /// A report under construction.
    ReportBuilder, opd_report_builder
}

impl ReportBuilder {
    /// Begins a report without calls.
    pub fn new() -> Result<Self> {
        create!(ReportBuilder, opd_report_builder_create())
    }
    /// Starts a new row of calls, which [`ReportBuilder::set`] fills.
    pub fn add_call(&mut self) -> Result<()> {
        check!(opd_report_builder_add_call(self.as_ptr()))
    }
    /// Sets a metric of the newest call.
    pub fn set(&mut self, name: &str, metric: Metric<'_>) -> Result<()> {
        self.set_in(ReportSection::Calls, None, name, metric)
    }
    /// Sets a metric of a device, by a name such as "cpu0".
    pub fn set_device(&mut self, device: &str, name: &str, metric: Metric<'_>) -> Result<()> {
        self.set_in(ReportSection::Devices, Some(device), name, metric)
    }
    /// Sets an entry of the configuration.
    pub fn set_configuration(&mut self, name: &str, metric: Metric<'_>) -> Result<()> {
        self.set_in(ReportSection::Configuration, None, name, metric)
    }
    fn set_in(&mut self, section: ReportSection, device: Option<&str>, name: &str, metric: Metric<'_>) -> Result<()> {
        let (kind, value): (_, [Arg<'_>; 1]) = metric.parts();
        let value = crate::arg::as_raw(&value)?.as_ptr();
        with_optional(device, |device| {
            with_text(name, |name| {
                check!(opd_report_builder_set(self.as_ptr(), section as _, device, name, kind as _, value))
            })
        })
    }
    /// Ends the construction and returns the report.
    pub fn finish(self) -> Result<Report> {
        create!(Report, opd_report_builder_finish(self.as_ptr()))
    }
}
