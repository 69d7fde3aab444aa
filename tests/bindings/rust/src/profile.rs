//! Profiles with options and with collectors of Rust.
use crate::collectors::{Counting, Fails};
use crate::{CPU, expect, floats, input};
use opdyno::*;
use std::sync::Arc;

const ADDITIONS: usize = 100; // of the chain
const CALLS: usize = ADDITIONS + 2; // with those that check its argument
const COMPUTED: usize = 2; // the rows (dispatch) and (profiler)

pub fn run(path: &str) -> Result<(), Error> {
    let vm = VirtualMachine::create(&Module::load(path, None)?, None)?;
    let x = input()?;
    let args = [Arg::from(&x)];
    reports(&vm, &args)?;
    counts(&vm, &args)?;
    failures(&vm, &args)?;
    failing_calls(path, &args)?;
    built_in(&vm, &args)?;
    session(&vm, &args)?;
    function()
}

fn reports(vm: &VirtualMachine, args: &[Arg]) -> Result<(), Error> {
    let (report, trace) = vm.profile("main", args, None, None)?;
    assert_eq!((report.call_count(), trace.call_count()), (CALLS + COMPUTED, CALLS));
    expect(report.get(ffi::OPD_REPORT_CALLS, 0, "Run"), ffi::OPD_NOT_FOUND, "Run");
    let plain = ReportWriteOptions::new().aggregate(0).sort(0).col_sums(0);
    assert!(report.write(ffi::OPD_REPORT_TABLE, &plain)?.lines().count() > report.write(ffi::OPD_REPORT_TABLE, None)?.lines().count() + CALLS - 10);
    assert!(report.write(ffi::OPD_REPORT_MARKDOWN, None)?.contains("Sum") && !report.write(ffi::OPD_REPORT_MARKDOWN, &plain)?.contains("Sum"));

    let options = ProfileOptions::new().warmup(0).repeat(3).builtins(ffi::OPD_BUILTINS_FOLDED).details(1);
    let calls = CallOptions::new().names(&[Some("x")]);
    let (report, _) = vm.profile("main", args, &calls, &options)?;
    let names = (0..report.call_count()).map(|row| text(report.get(ffi::OPD_REPORT_CALLS, row, "Name")?.0));
    let names = names.collect::<Result<Vec<_>, Error>>()?;
    assert_eq!(names.iter().filter(|name| name.starts_with("add")).count(), 3 * ADDITIONS, "{names:?}");
    let last = names.iter().rposition(|name| name.starts_with("add")).expect("additions");
    assert_eq!(int(report.get(ffi::OPD_REPORT_CALLS, last, "Run")?.0), 2, "of runs 0, 1 and 2");
    let (few, _) = vm.profile("main", args, None, &options.max_records(7))?;
    assert!(few.call_count() < report.call_count());
    expect(vm.profile("main", args, None, &options.repeat(0)), ffi::OPD_INVALID_ARGUMENT, "repeat");
    let metric = |name| Report::diff(&[&report], &[&report], &DiffOptions::new().metric(name));
    assert_eq!(metric("Count")?.call_count(), 1, "what is of all runs together is no operator");
    expect(metric("none such"), ffi::OPD_NOT_FOUND, "none such");
    Ok(())
}

fn counts(vm: &VirtualMachine, args: &[Arg]) -> Result<(), Error> {
    let seen = Arc::default();
    let collector = Collector::create("Rust", Counting::new(&seen))?;
    let collectors = [&collector];
    let (report, _) = vm.profile("main", args, None, &ProfileOptions::new().repeat(3).collectors(&collectors))?;
    assert_eq!(report.call_count(), 3 * CALLS + COMPUTED);
    for run in 0..3 {
        for call in 0..CALLS {
            // Each run has a start for the device before those of its calls.
            let ordinal = run * (CALLS + 1) + 1 + call;
            let (found, _) = report.get(ffi::OPD_REPORT_CALLS, run * CALLS + call, "ordinal")?;
            assert_eq!(int(found), ordinal as i64, "call {call} of run {run}");
        }
    }
    let totals = (0..3).map(|run| run * (CALLS + 1)).sum::<usize>();
    assert_eq!(int(report.get(ffi::OPD_REPORT_DEVICES, 0, "ordinal")?.0), totals as i64);
    let kinds = [
        ("ordinal", ffi::OPD_METRIC_COUNT, "Int(0)"),
        ("moved (bytes)", ffi::OPD_METRIC_BYTES, "Int(16)"),
        ("took", ffi::OPD_METRIC_DURATION, "Float(1.5)"),
        ("share", ffi::OPD_METRIC_PERCENT, "Float(25.0)"),
        ("half", ffi::OPD_METRIC_RATIO, "Float(0.5)"),
        ("rate (Hz)", ffi::OPD_METRIC_HERTZ, "Float(2000000000.0)"),
        ("wörld", ffi::OPD_METRIC_STRING, r#"Text("größer")"#),
    ];
    for (column, kind, value) in &kinds[1..] {
        let (found, its_kind) = report.get(ffi::OPD_REPORT_CALLS, 0, column)?;
        assert_eq!((format!("{found:?}"), its_kind), ((*value).into(), *kind), "{column}");
    }
    assert_eq!(report.get(ffi::OPD_REPORT_CALLS, 0, kinds[0].0)?.1, kinds[0].1);
    let log = seen.log();
    assert_eq!((log.inits, log.starts, log.stops), (1, 3 * (CALLS + 1), 3 * (CALLS + 1)));
    assert_eq!((log.devices, log.open), (vec![CPU], 0));
    assert_eq!(Arc::strong_count(&seen), 2, "every state is dropped; the collector is left");
    drop(collector);
    assert_eq!(Arc::strong_count(&seen), 1, "the collector is dropped with its last reference");

    let elsewhere = Collector::create("GPU", Counting::unsupported(&seen))?;
    let (report, _) = vm.profile("main", args, None, &ProfileOptions::new().collectors(&[&elsewhere]))?;
    expect(report.get(ffi::OPD_REPORT_CALLS, 0, "ordinal"), ffi::OPD_NOT_FOUND, "ordinal");
    expect(Collector::create("a\0b", Counting::new(&seen)), ffi::OPD_INVALID_ARGUMENT, "NUL");
    drop(elsewhere);
    assert_eq!(Arc::strong_count(&seen), 1);
    Ok(())
}

fn failures(vm: &VirtualMachine, args: &[Arg]) -> Result<(), Error> {
    let cases = [Fails::Init, Fails::Start, Fails::Stop].map(|place| [(place, false), (place, true)]);
    for (place, panics) in cases.into_iter().flatten() {
        let seen = Arc::default();
        let failing = Collector::create("failing", Counting::failing(&seen, place, panics))?;
        let good = Collector::create("good", Counting::new(&Arc::default()))?;
        let collectors = [&failing, &good];
        let (report, _) = vm.profile("main", args, None, &ProfileOptions::new().collectors(&collectors))?;
        assert_eq!(text(report.get(ffi::OPD_REPORT_CONFIGURATION, 0, "Collector error: failing")?.0)?, format!("fails in {place:?}"));
        expect(report.get(ffi::OPD_REPORT_CONFIGURATION, 0, "Collector error: good"), ffi::OPD_NOT_FOUND, "good");
        assert_eq!(report.call_count(), CALLS + COMPUTED, "the run goes on");
        assert_eq!(int(report.get(ffi::OPD_REPORT_CALLS, CALLS - 1, "ordinal")?.0), CALLS as i64, "with the other collector");
        let log = seen.log();
        assert_eq!(
            log.starts,
            match place {
                Fails::Init => 0,
                Fails::Start => 1,
                Fails::Stop => 2,
            },
            "{place:?}"
        );
        assert_eq!((log.open, Arc::strong_count(&seen)), (0, 2), "{place:?}: states are dropped once");
        drop(failing);
        assert_eq!(Arc::strong_count(&seen), 1);
    }
    Ok(())
}

fn failing_calls(path: &str, args: &[Arg]) -> Result<(), Error> {
    let full = VmOptions::new().memory_limit_bytes(1);
    let vm = VirtualMachine::create(&Module::load(path, None)?, &full)?;
    let seen = Arc::default();
    let collector = Collector::create("Rust", Counting::new(&seen))?;
    let collectors = [&collector];
    let options = ProfileOptions::new().warmup(0).collectors(&collectors).builtins(ffi::OPD_BUILTINS_ALL);
    expect(vm.profile("main", args, None, &options), ffi::OPD_OUT_OF_MEMORY, "limit");
    let log = seen.log();
    assert!(log.starts > 1 && log.stops == log.starts && log.open == 0, "{} starts, {} stops", log.starts, log.stops);
    Ok(())
}

fn built_in(vm: &VirtualMachine, args: &[Arg]) -> Result<(), Error> {
    let time = Collector::create_builtin(ffi::OPD_COLLECTOR_TIME, None)?;
    let memory = Collector::create_builtin(ffi::OPD_COLLECTOR_MEMORY, None)?;
    let both = [&time, &memory];
    let (report, _) = vm.profile("main", args, None, &ProfileOptions::new().collectors(&both))?;
    assert!(float(report.get(ffi::OPD_REPORT_CALLS, 0, "Wall time (us)")?.0) > 0.0 && int(report.get(ffi::OPD_REPORT_CALLS, 0, "Peak (bytes)")?.0) >= 0);
    let threads = Collector::create_builtin(ffi::OPD_COLLECTOR_TIME, &CounterOptions::new().per_thread(1))?;
    let (report, _) = vm.profile("main", args, None, &ProfileOptions::new().collectors(&[&threads]))?;
    assert!(report.write(ffi::OPD_REPORT_CSV, None)?.lines().next().is_some_and(|header| header.contains("(most of threads)")));
    let more = CounterOptions::new().events(&["task-clock (ns)"]).devices(&[CPU, CPU]);
    expect(Collector::create_builtin(ffi::OPD_COLLECTOR_PERF, &more), ffi::OPD_INVALID_ARGUMENT, "option devices: its length is 2");
    Ok(())
}

fn session(vm: &VirtualMachine, args: &[Arg]) -> Result<(), Error> {
    vm.profile_start(&ProfileOptions::new().sample_interval(2).details(1))?;
    expect(vm.profile_start(None), ffi::OPD_FAILED_PRECONDITION, "");
    for _ in 0..4 {
        assert_eq!(floats(vm.call("main", args, None)?)?, [101.0, 102.0, 103.0, 95.5]);
    }
    let (report, trace) = vm.profile_stop()?;
    assert_eq!(trace.call_count(), 2 * CALLS, "one of two calls is recorded");
    assert_eq!(int(report.get(ffi::OPD_REPORT_CALLS, CALLS, "Run")?.0), 1);
    Ok(())
}

fn function() -> Result<(), Error> {
    let seen = Arc::default();
    let inner = Function::create(|args: &[Value]| Ok(Value::Int(args.len() as i64)))?;
    let collector = Collector::create("Rust", Counting::new(&seen))?;
    let measured = inner.profile(CPU, &[&collector], 2)?;
    drop(collector); // the function has a reference
    for calls in 1..3 {
        let Value::Map(metrics) = measured.call(&[Arg::Int(1)])? else { panic!("a map") };
        let Value::Array(half) = metrics.get("half".into())? else { panic!("kind and value") };
        assert_eq!(int(half.get(0)?), ffi::OPD_METRIC_RATIO.into());
        assert_eq!(float(half.get(1)?), 0.5);
        assert!(metrics.get("Duration (us)".into()).is_ok());
        let log = seen.log();
        assert_eq!((log.starts, log.stops), (calls, calls), "warm-up calls are not measured");
    }
    drop(measured);
    assert_eq!(Arc::strong_count(&seen), 1);

    let failing = Collector::create("failing", Counting::failing(&seen, Fails::Stop, true))?;
    let error = inner.profile(CPU, &[&failing], 0)?.call(&[]).expect_err("an error here");
    assert_eq!((error.kind(), error.message()), ("Panic", "fails in Stop"));

    let seen = Arc::default();
    let collector = Collector::create("Rust", Counting::new(&seen))?;
    let refuse = Function::create(|_: &[Value]| Err(Error::new(ffi::OPD_OUT_OF_RANGE, "Refused", "not now")))?;
    expect(refuse.profile(CPU, &[&collector], 0)?.call(&[]), ffi::OPD_OUT_OF_RANGE, "not now");
    assert_eq!((seen.log().starts, seen.log().stops, seen.log().open), (1, 1, 0), "also when the call fails");
    Ok(())
}

#[track_caller]
fn int(value: Value) -> i64 {
    let Value::Int(number) = value else { panic!("{value:?} is no int") };
    number
}

#[track_caller]
fn float(value: Value) -> f64 {
    let Value::Float(number) = value else { panic!("{value:?} is no float") };
    number
}

#[track_caller]
fn text(value: Value) -> Result<String, Error> {
    let Value::Text(text) = value else { panic!("{value:?} is no text") };
    Ok(text)
}
