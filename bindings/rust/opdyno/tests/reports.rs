//! Tests of reports, which are built, read, written, merged and compared, and of benchmarks.
use common::expect;
use opdyno::*;
use std::ffi::c_void;

mod common;

/// Operator k of run r takes 10 (k + 1) + r µs.
fn sample(run: i64) -> Result<Report> {
    let mut builder = ReportBuilder::new()?;
    for k in 0..4_u8 {
        builder.add_call()?;
        builder.set("Name", Metric::Text(&format!("op{k}")))?;
        builder.set("Duration (us)", Metric::Duration(10.0 * f64::from(k + 1) + run as f64))?;
        builder.set("Count", Metric::Count(1))?;
        builder.set("Percent", Metric::Percent(25.0))?;
        builder.set("Read", Metric::Bytes(4096 * i64::from(k)))?;
        if k == 1 {
            builder.set("IPC", Metric::Ratio(1.5))?;
            builder.set("Clock", Metric::Hertz(2e9))?;
        }
    }
    builder.set_device("cpu0", "Duration (us)", Metric::Duration(900.0))?;
    builder.set_configuration("Executor", Metric::Text("VM"))?;
    builder.set_configuration("Run", Metric::Count(run))?;
    builder.finish()
}

#[test]
fn a_report_is_made_of_metrics() -> Result<()> {
    let report = sample(0)?;
    let (calls, devices, configuration) = (ReportSection::Calls, ReportSection::Devices, ReportSection::Configuration);
    assert_eq!((report.count(calls), report.count(devices), report.count(configuration)), (4, 1, 1));
    assert_eq!(report.get::<f64>(calls, 1, "Duration (us)")?, Some(20.0));
    assert_eq!(report.get::<i64>(calls, 3, "Read (bytes)")?, Some(3 * 4096), "the unit stands behind the name");
    assert_eq!(report.kind(calls, 1, "Clock (Hz)")?, Some(MetricKind::Hertz));
    assert_eq!((report.get::<f64>(calls, 0, "IPC")?, report.get::<f64>(calls, 1, "IPC")?), (None, Some(1.5)));
    assert_eq!((report.kind(calls, 0, "IPC")?, report.kind(calls, 1, "IPC")?), (None, Some(MetricKind::Ratio)));
    assert_eq!(report.column::<f64>(calls, "IPC")?, [None, Some(1.5), None, None]);
    assert_eq!(report.column::<String>(calls, "Name")?[3].as_deref(), Some("op3"));
    assert_eq!(report.get::<String>(configuration, 0, "Executor")?.as_deref(), Some("VM"));
    assert_eq!(report.get::<f64>(devices, 0, "Duration (us)")?, Some(900.0));
    assert!(report.list(calls)?.contains(&"IPC".to_owned()) && report.list(configuration)?.contains(&"Run".to_owned()));
    expect(report.get::<f64>(calls, 0, "none"), Code::NotFound, "none");
    expect(report.get::<f64>(calls, 4, "IPC"), Code::OutOfRange, "4");
    expect(report.get::<i64>(calls, 1, "Name"), Code::InvalidArgument, "expected an int, but got a string");
    expect(report.get::<i64>(calls, 1, "a\0b"), Code::InvalidArgument, "NUL");
    let first = report.operators()?.next().expect("a row");
    let ten = std::time::Duration::from_micros(10);
    assert_eq!(first, Operator { name: "op0".into(), duration: ten, percent: 25.0, count: 1 });
    Ok(())
}

#[test]
fn what_is_no_metric_is_refused() -> Result<()> {
    let mut builder = ReportBuilder::new()?;
    expect(builder.set("Name", Metric::Text("x")), Code::FailedPrecondition, "");
    builder.add_call()?;
    expect(builder.set("a\0b", Metric::Count(1)), Code::InvalidArgument, "NUL");
    expect(builder.set_device("a\0b", "x", Metric::Count(1)), Code::InvalidArgument, "NUL");
    assert_eq!(builder.finish()?.count(ReportSection::Calls), 1);
    Ok(())
}

#[test]
fn reports_are_written_and_read() -> Result<()> {
    let report = sample(0)?;
    let json = report.write(ReportFormat::Json)?;
    assert_eq!(Report::from_json(&json)?.write(ReportFormat::Json)?, json);
    assert_eq!(report.to_string(), report.write(ReportFormat::Table)?);
    assert_eq!(report.write(ReportFormat::Csv)?.lines().count(), 1 + 4);
    assert!(report.write(ReportFormat::Html)?.contains("<html"));
    assert!(report.write(ReportFormat::Markdown)?.contains("| op3"));
    expect(Report::from_json("{\"calls\": ["), Code::BadFormat, "");
    Ok(())
}

#[test]
fn options_say_how_a_report_is_written() -> Result<()> {
    let report = Report::merge(&[&sample(0)?, &sample(0)?])?;
    let none = ReportWriteOptions::new();
    let table = |options: ReportWriteOptions| report.write_with(ReportFormat::Table, &options);
    let place = |text: &str, name: &str| text.find(name).expect("a row");
    let (sorted, as_is) = (table(none)?, table(none.sort(false))?);
    assert!(place(&sorted, "op3") < place(&sorted, "op0") && place(&as_is, "op0") < place(&as_is, "op3"));
    assert_eq!(table(none.aggregate(false))?.matches("op2").count(), 2 * sorted.matches("op2").count());
    assert!(sorted.contains("Sum") && !table(none.col_sums(false))?.contains("Sum"));
    let summary = table(none.width(60))?;
    assert!(summary.lines().all(|line| line.chars().count() <= 60), "{summary}");
    assert!(!table(none.width(60).max_rows(2))?.contains("op0") && summary.contains("op0"));
    assert!(table(none.width(60).colored(true))?.contains('\x1b') && !summary.contains('\x1b'));
    expect(table(none.width(-1)), Code::InvalidArgument, "width");
    Ok(())
}

#[test]
fn reports_of_several_runs_are_joined() -> Result<()> {
    let (a, b) = (sample(0)?, sample(1)?);
    assert_eq!(Report::merge(&[&a, &b])?.count(ReportSection::Calls), 8);
    assert!(Report::merge(&[]).is_err());
    Ok(())
}

#[test]
fn a_roofline_says_what_operators_compute() -> Result<()> {
    let mut builder = ReportBuilder::new()?;
    builder.add_call()?;
    builder.set("Name", Metric::Text("matmul"))?;
    builder.set("Duration (us)", Metric::Duration(10.0))?;
    builder.set("Count", Metric::Count(1))?;
    builder.set("Argument Shapes", Metric::Text("float32[8, 4], float32[4, 2], float32[8, 2]"))?;
    let report = builder.finish()?.add_roofline(0.0, 0.0)?;
    let flop: Option<f64> = report.get(ReportSection::Calls, 0, "FLOP")?;
    assert_eq!(flop, Some(2.0 * 8.0 * 4.0 * 2.0), "a multiplication and an addition each");
    Ok(())
}

#[test]
fn two_sets_of_runs_are_compared() -> Result<()> {
    let before = (0..6).map(sample).collect::<Result<Vec<_>>>()?;
    let after = (0..6).map(|run| sample(run + 30)).collect::<Result<Vec<_>>>()?;
    let (before, after): (Vec<_>, Vec<_>) = (before.iter().collect(), after.iter().collect());
    let none = DiffOptions::new();
    let diff = |options: &DiffOptions<'_>| Report::diff(&before, &after, options);
    let json = |options: &DiffOptions<'_>| diff(options)?.write(ReportFormat::Json);
    let plain = json(&none)?;
    assert!(plain.contains("op0") && plain.contains("regression"), "{plain}");
    assert!(!json(&none.min_effect(100.0))?.contains("regression"), "changes below 10000 % do not matter");
    for other in [
        none.is_paired(true),
        none.level(0.01),
        none.confidence(0.5),
        none.metric("Read (bytes)"),
        none.min_share(0.9),
        none.fail_above(0.03),
    ] {
        assert_ne!(json(&other)?, plain, "{other:?}");
    }
    expect(diff(&none.level(2.0)), Code::InvalidArgument, "level");
    expect(diff(&none.confidence(1.5)), Code::InvalidArgument, "confidence");
    expect(diff(&none.metric("none such")), Code::NotFound, "none such");
    expect(diff(&none.metric("a\0b")), Code::InvalidArgument, "NUL");
    assert!(Report::diff(&[], &after, &none).is_err());
    Ok(())
}

#[test]
fn a_report_goes_to_arrow() -> Result<()> {
    /// The struct of Arrow's C stream interface.
    #[repr(C)]
    struct Stream {
        get_schema: *mut c_void,
        get_next: *mut c_void,
        get_last_error: *mut c_void,
        release: Option<unsafe extern "C" fn(*mut Stream)>,
        private_data: *mut c_void,
    }
    let mut stream = std::mem::MaybeUninit::<Stream>::uninit();
    unsafe {
        sample(0)?.to_arrow(stream.as_mut_ptr().cast())?;
        let mut stream = stream.assume_init();
        assert!(!stream.get_next.is_null() && !stream.get_schema.is_null());
        stream.release.expect("a release")(&mut stream);
        assert!(stream.release.is_none());
    }
    expect(unsafe { sample(0)?.to_arrow(std::ptr::null_mut()) }, Code::InvalidArgument, "");
    Ok(())
}

#[test]
fn a_benchmark_has_figures() -> Result<()> {
    let seconds = [3.0, 1.0, 2.0, 5.0, 4.0, 6.0, 7.0];
    let benchmark = Benchmark::from_seconds(&seconds)?;
    assert_eq!(benchmark.seconds(), seconds);
    let stats = benchmark.stats()?;
    assert_eq!((stats.min, stats.max, stats.mean, stats.median), (1.0, 7.0, 4.0, 4.0));
    assert_eq!((benchmark.percentile(0.0), benchmark.percentile(50.0), benchmark.percentile(100.0)), (1.0, 4.0, 7.0));
    assert!(stats.is_noisy && stats.median_low <= 4.0 && stats.median_high >= 4.0 && stats.outlier_count == 0);
    assert!(benchmark.to_string().contains("mean"), "{benchmark}");
    let none = DiffOptions::new();
    let slower = Benchmark::from_seconds(&seconds.map(|seconds| 2.0 * seconds))?;
    let diff = benchmark.diff(&slower, &none.min_effect(0.5).confidence(0.9))?;
    assert_eq!(diff.count(ReportSection::Calls), 1);
    assert_eq!(diff.column::<String>(ReportSection::Calls, "Name")?[0].as_deref(), Some("call"));
    expect(benchmark.diff(&slower, &none.level(2.0)), Code::InvalidArgument, "level");
    assert!(Benchmark::from_seconds(&[]).is_err());
    assert!(Benchmark::from_seconds(&[f64::NAN]).is_err() && Benchmark::from_seconds(&[-1.0]).is_err());
    Ok(())
}
