//! Tests of profiles of a VM, and of collectors written in Rust.
use common::{ADDITIONS, COMPUTED, OUTPUT, expect, input, vm};
use opdyno::*;
use std::sync::{Arc, Mutex, MutexGuard};

mod common;

/// The number of rows of a run of "chain": its kernels, and the builtins that check its argument and make tensors.
fn calls(vm: &VirtualMachine) -> usize {
    let (report, trace) = vm.profile("chain", (&input(),), &ProfileOptions::new()).expect("a profile");
    assert_eq!(report.count(ReportSection::Calls), trace.call_count() + COMPUTED);
    trace.call_count()
}

#[test]
fn a_profile_has_a_row_for_each_call() -> Result<()> {
    let vm = vm();
    let (report, trace) = vm.profile("chain", args![&input()], &ProfileOptions::new())?;
    let names: Vec<_> = report.operators()?.map(|operator| (operator.name, operator.count)).collect();
    assert_eq!(names.iter().filter(|(name, _)| name == "test.add").count(), ADDITIONS, "{names:?}");
    assert!(names.iter().any(|(name, _)| name == "(dispatch)") && trace.call_count() >= ADDITIONS);
    let share: f64 = report.operators()?.map(|operator| operator.percent).sum();
    assert!(share > 99.0 && share < 101.0, "{share}");
    assert!(report.operators()?.any(|operator| operator.duration.as_nanos() > 0));
    assert!(trace.to_chrome()?.contains("\"traceEvents\""));
    assert_eq!(trace.dropped_count(), 0);
    expect(vm.profile("chian", (), &ProfileOptions::new()), Code::NotFound, "chain");
    expect(vm.profile("fail", args!["in a profile"], &ProfileOptions::new()), Code::OutOfRange, "in a profile");
    Ok(())
}

#[test]
fn a_program_that_writes_its_argument_is_profiled() -> Result<()> {
    let (vm, x) = (vm(), input());
    let mut y = Tensor::zeros([4], DType::FLOAT32, Device::CPU)?;
    vm.profile("into", args![&x, &mut y], &ProfileOptions::new().repeat(2))?;
    assert_eq!(y.as_slice::<f32>()?[0], 2.0);
    Ok(())
}

#[test]
fn options_say_what_is_profiled() -> Result<()> {
    let (vm, x) = (vm(), input());
    let profile = |options: &ProfileOptions<'_>| vm.profile("chain", args![&x], options).map(|(report, _)| report);
    let adds = |report: &Report| report.operators().map(|all| all.filter(|one| one.name == "test.add").count());
    let plain = profile(&ProfileOptions::new())?;
    let three = profile(&ProfileOptions::new().warmup(0).repeat(3).details(true))?;
    assert_eq!((adds(&plain)?, adds(&three)?), (ADDITIONS, 3 * ADDITIONS));
    let runs: Vec<Option<i64>> = three.column(ReportSection::Calls, "Run")?;
    assert_eq!(runs.iter().flatten().max(), Some(&2), "of runs 0, 1 and 2");
    expect(plain.column::<i64>(ReportSection::Calls, "Run"), Code::NotFound, "Run");
    let few = profile(&ProfileOptions::new().max_records(2))?;
    assert!(few.count(ReportSection::Calls) < plain.count(ReportSection::Calls));
    let count =
        |builtins| profile(&ProfileOptions::new().builtins(builtins)).map(|report| report.count(ReportSection::Calls));
    let (all, folded) = (count(ProfileBuiltins::All)?, count(ProfileBuiltins::Folded)?);
    assert!(all > folded && count(ProfileBuiltins::WithTensors)? <= all, "{all} {folded}");
    let turn = profile(&ProfileOptions::new().turn(7))?.write(ReportFormat::Json)?;
    assert!(turn.contains("\"Turn\"") && !plain.write(ReportFormat::Json)?.contains("\"Turn\""), "{turn}");
    expect(profile(&ProfileOptions::new().repeat(0)), Code::InvalidArgument, "repeat");
    expect(profile(&ProfileOptions::new().warmup(-1)), Code::InvalidArgument, "warmup");
    Ok(())
}

#[test]
fn calls_are_recorded_from_start_to_stop() -> Result<()> {
    let (vm, x) = (vm(), input());
    let calls = calls(&vm);
    expect(vm.profile_stop(), Code::FailedPrecondition, "");
    vm.profile_start(&ProfileOptions::new().sample_interval(2).details(true))?;
    expect(vm.profile_start(&ProfileOptions::new()), Code::FailedPrecondition, "");
    for _ in 0..4 {
        assert_eq!(vm.call::<Tensor>("chain", (&x,))?.to_vec::<f32>()?, OUTPUT);
    }
    let (report, trace) = vm.profile_stop()?;
    assert_eq!(trace.call_count(), 2 * calls, "one of two calls is recorded");
    assert_eq!(report.get::<i64>(ReportSection::Calls, calls, "Run")?, Some(1));
    Ok(())
}

#[derive(Clone, Default)]
struct Log {
    devices: Vec<Device>,
    inits: usize,
    starts: usize,
    stops: usize,
    open: i64,
}

#[derive(Default)]
struct Seen(Mutex<Log>);
impl Seen {
    fn log(&self) -> Log {
        self.lock().clone()
    }
    fn lock(&self) -> MutexGuard<'_, Log> {
        self.0.lock().expect("nobody panics with the lock")
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fails {
    Init,
    Start,
    Stop,
}

/// A collector that counts its calls and can fail.
struct Counting {
    seen: Arc<Seen>,
    fails: Option<(Fails, bool)>, // the function that fails; true: by a panic
    supports: bool,
}
impl Counting {
    fn new(seen: &Arc<Seen>) -> Self {
        Self { seen: seen.clone(), fails: None, supports: true }
    }
    fn fail_in(&self, place: Fails) -> Result<()> {
        match self.fails {
            Some((at, true)) if at == place => panic!("fails in {place:?}"),
            Some((at, false)) if at == place => Err(common::refused(&format!("fails in {place:?}"))),
            _ => Ok(()),
        }
    }
}

/// The state between start and stop. It counts as open until it is dropped.
struct Open {
    seen: Arc<Seen>,
    ordinal: usize,
}
impl Drop for Open {
    fn drop(&mut self) {
        self.seen.lock().open -= 1;
    }
}

impl MetricCollector for Counting {
    type State = Open;

    fn init(&self, devices: &[Device]) -> Result<()> {
        let mut log = self.seen.lock();
        log.inits += 1;
        log.devices = devices.to_vec();
        drop(log);
        self.fail_in(Fails::Init)
    }
    fn start(&self, _: Device) -> Result<Option<Open>> {
        if !self.supports {
            return Ok(None);
        }
        let mut log = self.seen.lock();
        let ordinal = log.starts;
        log.starts += 1;
        log.open += 1;
        drop(log);
        let state = Open { seen: self.seen.clone(), ordinal };
        self.fail_in(Fails::Start)?; // a failure drops the state
        Ok(Some(state))
    }
    fn stop(&self, state: Open, metrics: &mut Metrics) -> Result<()> {
        self.seen.lock().stops += 1;
        self.fail_in(Fails::Stop)?;
        metrics.set("ordinal", Metric::Count(-1))?; // the later value counts
        metrics.set("ordinal", Metric::Count(state.ordinal as i64))?;
        metrics.set("moved", Metric::Bytes(16))?;
        metrics.set("took", Metric::Duration(1.5))?;
        metrics.set("share", Metric::Percent(25.0))?;
        metrics.set("half", Metric::Ratio(0.5))?;
        metrics.set("rate", Metric::Hertz(2e9))?;
        assert!(metrics.set("", Metric::Count(0)).is_err() && metrics.set("a\0b", Metric::Count(0)).is_err());
        metrics.set("wörld", Metric::Text("größer"))
    }
}

#[test]
fn a_collector_measures_around_each_call() -> Result<()> {
    let (vm, x) = (vm(), input());
    let calls = calls(&vm);
    let seen = Arc::default();
    let collector = Collector::new("Rust", Counting::new(&seen))?;
    let collectors = [&collector];
    let (report, _) = vm.profile("chain", args![&x], &ProfileOptions::new().repeat(3).collectors(&collectors))?;
    assert_eq!(report.count(ReportSection::Calls), 3 * (calls + COMPUTED));
    for run in 0..3 {
        for call in 0..calls {
            // In each run, the collector starts once for the whole run and then for each call.
            let ordinal = (run * (calls + 1) + 1 + call) as i64;
            let found: Option<i64> = report.get(ReportSection::Calls, run * calls + call, "ordinal")?;
            assert_eq!(found, Some(ordinal), "call {call} of run {run}");
        }
    }
    let totals = (0..3).map(|run| (run * (calls + 1)) as i64).sum::<i64>();
    assert_eq!(report.get(ReportSection::Devices, 0, "ordinal")?, Some(totals));
    let kinds = [
        ("ordinal", MetricKind::Count, "Int(1)"),
        ("moved (bytes)", MetricKind::Bytes, "Int(16)"),
        ("took", MetricKind::Duration, "Float(1.5)"),
        ("share", MetricKind::Percent, "Float(25.0)"),
        ("half", MetricKind::Ratio, "Float(0.5)"),
        ("rate (Hz)", MetricKind::Hertz, "Float(2000000000.0)"),
        ("wörld", MetricKind::String, r#"Text("größer")"#),
    ];
    for (column, kind, value) in kinds {
        let found: Option<Value> = report.get(ReportSection::Calls, 0, column)?;
        assert_eq!(format!("{:?}", found.expect("a value")), value, "{column}");
        assert_eq!(report.kind(ReportSection::Calls, 0, column)?, Some(kind), "{column}");
    }
    let log = seen.log();
    assert_eq!((log.inits, log.starts, log.stops), (1, 3 * (calls + 1), 3 * (calls + 1)));
    assert_eq!((log.devices, log.open), (vec![Device::CPU], 0));
    assert_eq!(Arc::strong_count(&seen), 2, "every state is dropped; the collector is left");
    drop(collector);
    assert_eq!(Arc::strong_count(&seen), 1, "the collector is dropped with its last reference");
    Ok(())
}

#[test]
fn a_collector_may_not_support_the_device() -> Result<()> {
    let seen = Arc::default();
    let elsewhere = Collector::new("GPU", Counting { supports: false, ..Counting::new(&seen) })?;
    let collectors = [&elsewhere];
    let (report, _) = vm().profile("chain", args![&input()], &ProfileOptions::new().collectors(&collectors))?;
    expect(report.column::<i64>(ReportSection::Calls, "ordinal"), Code::NotFound, "ordinal");
    drop(elsewhere);
    assert_eq!(Arc::strong_count(&seen), 1);
    expect(Collector::new("a\0b", Counting::new(&seen)), Code::InvalidArgument, "NUL");
    assert_eq!(Arc::strong_count(&seen), 1, "one that was refused is dropped");
    Ok(())
}

#[test]
fn a_collector_that_fails_is_not_asked_any_more() -> Result<()> {
    let (vm, x) = (vm(), input());
    let calls = calls(&vm);
    let cases = [Fails::Init, Fails::Start, Fails::Stop].map(|place| [(place, false), (place, true)]);
    for (place, panics) in cases.into_iter().flatten() {
        let seen = Arc::default();
        let failing = Collector::new("failing", Counting { fails: Some((place, panics)), ..Counting::new(&seen) })?;
        let good = Collector::new("good", Counting::new(&Arc::default()))?;
        let collectors = [&failing, &good];
        let (report, _) = vm.profile("chain", args![&x], &ProfileOptions::new().collectors(&collectors))?;
        let configured = |name| report.get::<String>(ReportSection::Configuration, 0, name);
        assert_eq!(configured("Collector error: failing")?, Some(format!("fails in {place:?}")));
        expect(configured("Collector error: good"), Code::NotFound, "good");
        assert_eq!(report.count(ReportSection::Calls), calls + COMPUTED, "the run goes on");
        let last: Option<i64> = report.get(ReportSection::Calls, calls - 1, "ordinal")?;
        assert_eq!(last, Some(calls as i64), "with the other collector");
        let log = seen.log();
        let starts = match place {
            Fails::Init => 0,
            Fails::Start => 1,
            Fails::Stop => 2,
        };
        assert_eq!(log.starts, starts, "{place:?}");
        assert_eq!((log.open, Arc::strong_count(&seen)), (0, 2), "{place:?}: states are dropped once");
        drop(failing);
        assert_eq!(Arc::strong_count(&seen), 1);
    }
    Ok(())
}

#[test]
fn a_collector_stops_also_when_the_call_fails() -> Result<()> {
    let vm = VirtualMachine::with(&common::module(), &VmOptions::new().memory_limit_bytes(1))?;
    let seen = Arc::default();
    let collector = Collector::new("Rust", Counting::new(&seen))?;
    let collectors = [&collector];
    let options = ProfileOptions::new().warmup(0).collectors(&collectors).builtins(ProfileBuiltins::All);
    expect(vm.profile("chain", args![&input()], &options), Code::OutOfMemory, "limit");
    let log = seen.log();
    assert!(log.starts > 1 && log.stops == log.starts && log.open == 0, "{} starts, {} stops", log.starts, log.stops);
    Ok(())
}

/// A started profile keeps the collectors of its options.
#[test]
fn collectors_outlive_their_handles() -> Result<()> {
    let (vm, seen) = (vm(), Arc::default());
    let collector = Collector::new("Rust", Counting::new(&seen))?;
    vm.profile_start(&ProfileOptions::new().collectors(&[&collector]))?;
    drop(collector);
    vm.call::<()>("chain", (&input(),))?;
    let (report, _) = vm.profile_stop()?;
    assert!(report.column::<i64>(ReportSection::Calls, "ordinal").is_ok());
    drop(vm);
    assert_eq!((Arc::strong_count(&seen), seen.log().open), (1, 0));
    Ok(())
}

#[test]
fn built_in_collectors_have_columns() -> Result<()> {
    let (vm, x) = (vm(), input());
    let profile = |collectors: &[&Collector]| {
        vm.profile("chain", args![&x], &ProfileOptions::new().collectors(collectors)).map(|(report, _)| report)
    };
    let time = Collector::builtin(CollectorKind::Time, &CounterOptions::new())?;
    let memory = Collector::builtin(CollectorKind::Memory, &CounterOptions::new())?;
    let report = profile(&[&time, &memory])?;
    assert!(report.get::<f64>(ReportSection::Calls, 0, "Wall time (us)")?.is_some_and(|time| time > 0.0));
    assert!(report.get::<i64>(ReportSection::Calls, 0, "Peak (bytes)")?.is_some_and(|peak| peak >= 0));
    let threads = Collector::builtin(CollectorKind::Time, &CounterOptions::new().per_thread(true))?;
    let csv = profile(&[&threads])?.write(ReportFormat::Csv)?;
    assert!(csv.lines().next().is_some_and(|header| header.contains("(most of threads)")));
    let more = CounterOptions::new().events(&["task-clock (ns)"]).devices(&[Device::CPU, Device::CPU]);
    expect(Collector::builtin(CollectorKind::Perf, &more), Code::InvalidArgument, "option devices: its length is 2");
    let perf = |options: &CounterOptions<'_>| Collector::builtin(CollectorKind::Perf, options);
    expect(perf(&CounterOptions::new().events(&["no such event"])), Code::NotFound, "no such event");
    expect(perf(&CounterOptions::new().events(&["a\0b"])), Code::InvalidArgument, "NUL");
    // The available events depend on the machine. PAPI and energy counters may be missing altogether.
    for kind in [CollectorKind::Perf, CollectorKind::Papi, CollectorKind::Energy] {
        let Ok(events) = Collector::list_events(kind) else { continue };
        let Some(first) = events.first() else { continue };
        let some = [first.as_str()];
        Collector::builtin(kind, &CounterOptions::new().events(&some).devices(&[Device::CPU]))?;
        if kind == CollectorKind::Perf {
            let both = [first.as_str(), "cycles"];
            perf(&CounterOptions::new().events(&both).best_effort(true))?;
        }
    }
    assert!(Collector::list_events(CollectorKind::Time)?.is_empty());
    Ok(())
}

#[test]
fn a_function_is_measured_by_a_collector() -> Result<()> {
    let seen = Arc::default();
    let inner = Function::from_args(|args: &[ValueRef<'_>]| args.len() as i64)?;
    let collector = Collector::new("Rust", Counting::new(&seen))?;
    let measured = inner.profile(Device::CPU, &[&collector], 2)?;
    drop(collector); // the function keeps a reference
    for calls in 1..3 {
        let metrics: Map = measured.call((1,))?;
        let (kind, half): (i64, f64) = metrics.get("half")?.to()?;
        assert_eq!((kind, half), (MetricKind::Ratio as i64, 0.5));
        assert!(metrics.get("Duration (us)").is_ok());
        let log = seen.log();
        assert_eq!((log.starts, log.stops), (calls, calls), "warm-up calls are not measured");
    }
    drop(measured);
    assert_eq!(Arc::strong_count(&seen), 1);

    let failing = Collector::new("failing", Counting { fails: Some((Fails::Stop, true)), ..Counting::new(&seen) })?;
    let error = inner.profile(Device::CPU, &[&failing], 0)?.call::<()>(()).expect_err("an error here");
    assert_eq!((error.kind(), error.message()), ("Panic", "fails in Stop"));

    let seen = Arc::default();
    let collector = Collector::new("Rust", Counting::new(&seen))?;
    let refuse = Function::from_args(|_: &[ValueRef<'_>]| Err::<(), _>(common::refused("not now")))?;
    expect(refuse.profile(Device::CPU, &[&collector], 0)?.call::<()>(()), Code::OutOfRange, "not now");
    assert_eq!((seen.log().starts, seen.log().stops, seen.log().open), (1, 1, 0), "also when the call fails");
    Ok(())
}

#[test]
fn what_tvm_compiled_is_profiled() -> Result<()> {
    let Some(path) = common::artifact() else { return Ok(()) };
    let vm = unsafe { Module::load(&path) }?.vm()?;
    let (report, trace) = vm.profile("main", args![&input()], &ProfileOptions::new())?;
    assert_eq!((report.count(ReportSection::Calls), trace.call_count()), (102 + COMPUTED, 102));
    let adds = report.operators()?.filter(|operator| operator.name.starts_with("add")).count();
    assert_eq!(adds, 100);
    let plain = ReportWriteOptions::new().aggregate(false).sort(false).col_sums(false);
    let lines = |options| report.write_with(ReportFormat::Table, options).map(|table| table.lines().count());
    assert!(lines(&plain)? > lines(&ReportWriteOptions::new())? + 92);
    Ok(())
}
