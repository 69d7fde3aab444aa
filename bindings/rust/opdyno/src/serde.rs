//! Serialisation of reports by serde. A report is an object with "configuration" and two lists of rows, "calls" and
//! "device_metrics". A row is a map from names of metrics to numbers and texts. It leaves out metrics that it lacks.
use crate::{Report, ReportSection, Value};
use serde::ser::{Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, Serializer};

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sections = [ReportSection::Calls, ReportSection::Devices, ReportSection::Configuration];
        let [calls, devices, configuration] = sections.map(|section| Rows::of(self, section).map_err(S::Error::custom));
        let mut report = serializer.serialize_struct("Report", 3)?;
        report.serialize_field("calls", &calls?)?;
        report.serialize_field("device_metrics", &devices?)?;
        report.serialize_field("configuration", &configuration?.row(0))?;
        report.end()
    }
}

/// The rows of a section, stored by column.
struct Rows {
    count: usize,
    columns: Vec<(String, Vec<Option<Value>>)>,
}

impl Rows {
    fn of(report: &Report, section: ReportSection) -> crate::Result<Self> {
        let column = |name: String| report.column(section, &name).map(|values| (name, values));
        let columns = report.list(section)?.into_iter().map(column).collect::<crate::Result<_>>()?;
        Ok(Self { count: report.count(section), columns })
    }
    fn row(&self, row: usize) -> Row<'_> {
        Row { rows: self, row }
    }
}

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.count))?;
        (0..self.count).try_for_each(|row| rows.serialize_element(&self.row(row)))?;
        rows.end()
    }
}

struct Row<'a> {
    rows: &'a Rows,
    row: usize,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_map(None)?;
        for (name, values) in &self.rows.columns {
            match values.get(self.row).and_then(Option::as_ref) {
                Some(Value::Int(x)) => row.serialize_entry(name, x)?,
                Some(Value::Float(x)) => row.serialize_entry(name, x)?,
                Some(Value::Text(x)) => row.serialize_entry(name, x)?,
                _ => {}
            }
        }
        row.end()
    }
}
