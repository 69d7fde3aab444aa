//! Tests of profilers, ranges and traces. A profiler records all threads of the process, so each test uses its own
//! names.
use common::{Directory, expect, input, vm};
use opdyno::*;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

mod common;

/// Allows one profiler at a time, because a recording has the ranges of all tests.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The names of a trace's spans, in the order of their start times.
fn names(trace: &Trace) -> Result<Vec<String>> {
    let report = trace.to_report(TraceView::Events)?;
    Ok(report.column::<String>(ReportSection::Calls, "Name")?.into_iter().flatten().collect())
}

/// The trace of the calls and ranges of `run`.
fn recorded(options: &ProfilerOptions<'_>, run: impl FnOnce()) -> Result<Trace> {
    let profiler = Profiler::with(options)?;
    profiler.start()?;
    run();
    Ok(profiler.stop()?.expect("it was recording"))
}

#[test]
fn ranges_are_recorded() -> Result<()> {
    let _alone = alone();
    let trace = recorded(&ProfilerOptions::new(), || {
        assert!(is_recording() && !stack_is_recorded());
        let outer = Range::new(RangeName::new("outer"));
        for _ in 0..3 {
            span!("inner");
            span!("inner of inner");
        }
        mark("mark");
        drop(outer);
        assert_eq!((range_push("pushed"), range_push("twice")), (0, 1));
        assert_eq!((range_pop(), range_pop(), range_pop()), (1, 0, -1));
    })?;
    assert!(!is_recording());
    mark("nobody sees it");
    assert_eq!(RangeName::new("outer"), RangeName::from("outer\0 and more"));
    assert_ne!(RangeName::new("outer"), RangeName::new("inner"));
    let names = names(&trace)?;
    let count = |name: &str| names.iter().filter(|other| *other == name).count();
    assert_eq!(["outer", "inner", "inner of inner", "pushed", "twice"].map(count), [1, 3, 3, 1, 1], "{names:?}");
    assert!(trace.to_chrome()?.contains("\"mark\"") && !trace.to_chrome()?.contains("nobody sees it"));
    let averages = trace.to_report(TraceView::KeyAverages)?;
    let rows = averages.operators().map(|_| ()).and(averages.column::<String>(ReportSection::Calls, "Name"));
    assert!(rows?.contains(&Some("inner".to_owned())));
    Ok(())
}

#[test]
fn ranges_end_in_any_order_and_on_unwinding() -> Result<()> {
    let _alone = alone();
    let trace = recorded(&ProfilerOptions::new(), || {
        let (first, second) = (Range::new("first".into()), Range::new("second".into()));
        drop(first);
        drop(second);
        let unwound = std::panic::catch_unwind(|| {
            span!("unwound");
            std::panic::resume_unwind(Box::new(1));
        });
        assert!(unwound.is_err());
        std::mem::forget(Range::new("never ends".into()));
    })?;
    let names = names(&trace)?;
    assert!(["first", "second", "unwound"].iter().all(|name| names.contains(&(*name).to_owned())), "{names:?}");
    Ok(())
}

#[test]
fn a_schedule_says_which_steps_are_recorded() -> Result<()> {
    let _alone = alone();
    let options = ProfilerOptions::new().skip_first(1).wait(1).warmup(1).active(2).repeat(2);
    let profiler = Profiler::with(&options)?;
    profiler.start()?;
    let mut traces = Vec::new();
    for step in 0..12 {
        let range = Range::new(RangeName::new(&format!("step {step}")));
        drop(range);
        traces.extend(profiler.step()?);
    }
    assert!(profiler.stop()?.is_none(), "both cycles are over");
    let found = traces.iter().map(names).collect::<Result<Vec<_>>>()?;
    let steps = |trace: &[String]| trace.iter().filter(|name| name.starts_with("step ")).cloned().collect::<Vec<_>>();
    assert_eq!(
        found.iter().map(|trace| steps(trace)).collect::<Vec<_>>(),
        [["step 3", "step 4"], ["step 7", "step 8"]]
    );
    let at_once = Profiler::with(&options.skip_first(0).skip_first_wait(true))?;
    at_once.start()?;
    at_once.step()?;
    drop(Range::new("the second step".into()));
    at_once.step()?;
    let trace = at_once.step()?.expect("a cycle ends");
    assert!(names(&trace)?.contains(&"the second step".to_owned()));
    Ok(())
}

#[test]
fn the_program_says_what_steps_are_for() -> Result<()> {
    let _alone = alone();
    let profiler = Profiler::with(&ProfilerOptions::new().active(1))?;
    let actions = [ProfilerAction::None, ProfilerAction::Warmup, ProfilerAction::Record, ProfilerAction::RecordAndSave];
    profiler.set_action(actions[0])?;
    profiler.start()?;
    let mut traces = Vec::new();
    for (step, next) in actions.into_iter().skip(1).chain([ProfilerAction::None]).enumerate() {
        drop(Range::new(RangeName::new(&format!("action {step}"))));
        profiler.set_action(next)?;
        traces.extend(profiler.step()?);
    }
    assert_eq!(traces.len(), 1);
    let names = names(&traces[0])?;
    assert!(names.contains(&"action 3".to_owned()) && !names.contains(&"action 0".to_owned()), "{names:?}");
    Ok(())
}

#[test]
fn a_snapshot_does_not_end_the_recording() -> Result<()> {
    let _alone = alone();
    let profiler = Profiler::new()?;
    expect(profiler.stop(), Code::FailedPrecondition, "");
    profiler.start()?;
    expect(profiler.start(), Code::FailedPrecondition, "");
    drop(Range::new("before".into()));
    let snapshot = profiler.snapshot()?.expect("it is recording");
    drop(Range::new("behind".into()));
    let trace = profiler.stop()?.expect("it was recording");
    assert!(!names(&snapshot)?.contains(&"behind".to_owned()) && names(&trace)?.contains(&"behind".to_owned()));
    Ok(())
}

#[test]
fn a_profiler_that_is_dropped_stops() -> Result<()> {
    let _alone = alone();
    let profiler = Profiler::new()?;
    profiler.start()?;
    let clone = profiler.clone();
    drop(profiler);
    assert!(is_recording());
    drop(clone);
    assert!(!is_recording());
    Ok(())
}

#[test]
fn options_say_what_is_recorded() -> Result<()> {
    let _alone = alone();
    let (vm, x) = (vm(), input());
    let run = || {
        vm.call::<()>("chain", (&x,)).expect("a call");
        vm.call::<()>("plus", (1, 2)).expect("a call");
    };
    let none = ProfilerOptions::new();
    let plain = recorded(&none, run)?;
    assert!(!names(&plain)?.contains(&"test.plus".to_owned()), "a call without tensors");
    assert!(names(&recorded(&none.all_calls(true), run)?)?.contains(&"test.plus".to_owned()));
    let memory = recorded(&none.profile_memory(true), || {
        VirtualMachine::new(&common::module()).and_then(|vm| vm.call::<()>("chain", (&x,))).expect("a call");
    })?;
    let timeline = |trace: &Trace| trace.write(TraceFormat::MemoryTimelineRaw, &TraceWriteOptions::new());
    assert!(timeline(&memory)?.len() > timeline(&plain).map_or(0, |timeline| timeline.len()));
    let stacks = recorded(&none.with_stack(true), || {
        assert!(stack_is_recorded());
        run();
    })?;
    assert!(stacks.call_count() >= plain.call_count());
    let many = || (0..5000).for_each(|_| drop(Range::new("many".into())));
    let few = recorded(&none.max_events(10), many)?;
    assert!(few.dropped_count() >= 4990 && names(&few)?.len() <= 10);
    let ring = none.buffer(ProfilerBuffer::Last).max_bytes(2 << 16);
    let last = recorded(&ring, || {
        (0..50_000).for_each(|_| drop(Range::new("old".into())));
        drop(Range::new("newest".into()));
    })?;
    assert!(last.dropped_count() > 0 && names(&last)?.contains(&"newest".to_owned()));
    let first = recorded(&none.buffer(ProfilerBuffer::First).max_bytes(2 << 16), || {
        (0..50_000).for_each(|_| drop(Range::new("old".into())));
        drop(Range::new("newest".into()));
    })?;
    assert!(!names(&first)?.contains(&"newest".to_owned()));
    recorded(&none.parallel_tasks(false), run)?;
    let only_last = recorded(&ring.last(Duration::from_nanos(1)), run)?;
    assert!(names(&only_last)?.is_empty());
    expect(Profiler::with(&none.repeat(3)), Code::InvalidArgument, "active");
    Ok(())
}

#[test]
fn a_recording_goes_to_a_file() -> Result<()> {
    let _alone = alone();
    let directory = Directory::new();
    let path = directory.join("recording.opdtrace");
    let options = ProfilerOptions::new().file(&path).flush_interval(Duration::from_millis(50));
    let trace = recorded(&options, || drop(Range::new("in a file".into())))?;
    assert!(names(&trace)?.contains(&"in a file".to_owned()));
    assert_eq!(names(&Trace::load(&path)?)?, names(&trace)?);
    let profiler = Profiler::with(&options.keep_in_file(true))?;
    profiler.start()?;
    drop(Range::new("kept there".into()));
    assert!(profiler.stop()?.is_none());
    assert!(names(&Trace::load(&path)?)?.contains(&"kept there".to_owned()));
    expect(Trace::load(directory.join("none")), Code::NotFound, "none");
    std::fs::write(directory.join("other"), "no recording").expect("written");
    expect(Trace::load(directory.join("other")), Code::BadFormat, "");
    expect(Trace::load("a\0b"), Code::InvalidArgument, "NUL");
    Ok(())
}

const SIGUSR2: i32 = 12; // the number on Linux

fn wait_until(is_so: impl Fn() -> bool) {
    for _ in 0..60_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("it did not come");
}

#[test]
fn a_flight_recorder_writes_what_came_before() -> Result<()> {
    let _alone = alone();
    let (directory, vm) = (Directory::new(), vm());
    let path = directory.join("%n.json");
    let profiler = Profiler::with(&ProfilerOptions::new().buffer(ProfilerBuffer::Last))?;
    expect(profiler.set_dumps(Some(&ProfilerDumpOptions::new())), Code::InvalidArgument, "path");
    let none = ProfilerDumpOptions::new().path(&path).min_interval(Duration::ZERO);
    profiler.set_dumps(Some(&none.on_error(true).slow(Duration::from_secs(3600)).max_dumps(5).signal(SIGUSR2)))?;
    profiler.start()?;
    drop(Range::new("before the dump".into()));
    let wait_for = |count| wait_until(|| profiler.dump_count() >= count);
    profiler.dump("a reason")?;
    wait_for(1);
    expect(vm.call::<()>("fail", args!["an error asks, too"]), Code::OutOfRange, "");
    wait_for(2);
    unsafe extern "C" {
        fn raise(signal: i32) -> i32;
    }
    assert_eq!(unsafe { raise(SIGUSR2) }, 0);
    wait_for(3);
    expect(profiler.dump("a\0b"), Code::InvalidArgument, "NUL");
    expect(profiler.set_dumps(None), Code::FailedPrecondition, "before the profiler is started");
    profiler.stop()?;
    profiler.set_dumps(None)?;
    profiler.start()?;
    assert!(profiler.dump("nowhere").is_err());
    profiler.stop()?;
    let dump = std::fs::read_to_string(directory.join("1.json")).expect("a file");
    assert!(dump.contains("a reason") && dump.contains("before the dump"));
    assert!(std::fs::read_to_string(directory.join("2.json")).expect("a file").contains("failed"));

    profiler.set_dumps(Some(&none.format(TraceFormat::Speedscope).slow(Duration::from_nanos(1)).max_dumps(1)))?;
    profiler.start()?;
    drop(Range::new("slow".into()));
    drop(Range::new("no more".into()));
    let written = || {
        let files = std::fs::read_dir(directory.path()).expect("a directory").map(|file| file.expect("a file").path());
        files.filter(|file| std::fs::read_to_string(file).is_ok_and(|text| text.contains("speedscope"))).count()
    };
    wait_until(|| written() == 1);
    profiler.stop()?;
    assert_eq!(written(), 1);
    Ok(())
}

#[test]
fn a_trace_is_written_in_many_formats() -> Result<()> {
    let _alone = alone();
    let (vm, x, directory) = (vm(), input(), Directory::new());
    let trace = recorded(&ProfilerOptions::new().profile_memory(true), || {
        span!("run");
        vm.call::<()>("chain", (&x,)).expect("a call");
    })?;
    let none = TraceWriteOptions::new();
    let text = |format, options: &TraceWriteOptions<'_>| {
        trace.write(format, options).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let formats = [
        (TraceFormat::Chrome, "traceEvents"),
        (TraceFormat::Table, "test.add"),
        (TraceFormat::Stacks, "test.add"),
        (TraceFormat::Speedscope, "speedscope"),
        (TraceFormat::Perfetto, "test.add"),
        (TraceFormat::Pprof, ""),
        (TraceFormat::Html, "<html"),
        (TraceFormat::FlameSvg, "<svg"),
        (TraceFormat::MemoryTimelineHtml, "<html"),
    ];
    for (format, part) in formats {
        assert!(text(format, &none)?.contains(part), "{format:?}");
        let path = directory.join("trace.gz");
        trace.save(&path, format, &none)?;
        assert_eq!(std::fs::read(&path).expect("a file")[..2], [0x1f, 0x8b], "compressed");
    }
    for view in [
        TraceView::KeyAverages,
        TraceView::KeyAveragesByShape,
        TraceView::Tasks,
        TraceView::Paths,
        TraceView::KeyAveragesByPart,
        TraceView::PathsByPart,
    ] {
        trace.to_report(view)?;
    }
    assert!(trace.save("/no/such/directory/x", TraceFormat::Chrome, &none).is_err());
    assert!(text(TraceFormat::Chrome, &none.metadata("{\"own\": 7}"))?.contains("\"own\""));
    expect(text(TraceFormat::Chrome, &none.metadata("{")), Code::BadFormat, "metadata");
    let stacks = |options: &TraceWriteOptions<'_>| text(TraceFormat::Stacks, options);
    assert_ne!(stacks(&none.per_event(true))?, stacks(&none)?);
    stacks(&none.metric("self_cpu_time_total"))?;
    assert!(stacks(&none.metric("none such")).is_err());
    let timeline = |device| text(TraceFormat::MemoryTimeline, &none.device(device));
    timeline("cpu:0")?;
    assert!(timeline("cuda:7").is_err(), "there is nothing of the other device");
    assert_ne!(text(TraceFormat::FlameSvg, &none.before(&trace))?, text(TraceFormat::FlameSvg, &none)?);

    let table = |options: TraceWriteOptions<'_>| text(TraceFormat::Table, &options);
    let plain = table(none)?;
    for other in [
        none.group_by_input_shape(true),
        none.sort_by("count").row_limit(1),
        none.top_level_events_only(true),
        none.max_name_column_width(5),
        none.header("a heading"),
        none.time_unit("s"),
        none.per_event(true),
        none.row_limit(1),
        none.group_by_input_shape(true).max_shapes_column_width(5),
    ] {
        assert_ne!(table(other)?, plain, "{other:?}");
    }
    assert!(table(none.header("größer"))?.contains("größer"));
    assert!(table(none.sort_by("none such")).is_err() && table(none.time_unit("parsec")).is_err());
    assert!(table(none.group_by_stack_n(2).max_src_column_width(20)).is_ok());
    assert!(table(none.group_by_stack_n(-1)).is_err());
    Function::from_args(|_: &[ValueRef<'_>]| ())?.register("matmul", false)?; // a name whose operations are known
    let text = ".func main(x, y, z) {\n  %r = call matmul(%x, %y, %z)\n  ret %r\n}";
    let (vm, x) = (Executable::assemble(text)?.to_module()?.vm()?, Tensor::zeros([4, 4], DType::FLOAT32, Device::CPU)?);
    let products = recorded(&ProfilerOptions::new(), || vm.call::<()>("main", (&x, &x, &x)).expect("a call"))?;
    let flops = |options: &TraceWriteOptions<'_>| {
        products.write(TraceFormat::Table, options).map(|table| String::from_utf8_lossy(&table).contains("FLOP"))
    };
    assert!(flops(&none.with_flops(true))? && !flops(&none)?);
    let averages = trace.to_averages(&none.group_by_input_shape(true))?;
    assert!(averages.count(ReportSection::Calls) > 0);
    Ok(())
}

#[test]
fn traces_are_joined() -> Result<()> {
    let _alone = alone();
    let one = recorded(&ProfilerOptions::new(), || drop(Range::new("of rank 0".into())))?;
    let two = recorded(&ProfilerOptions::new(), || drop(Range::new("of rank 1".into())))?;
    let none = TraceMergeOptions::new();
    let both = Trace::merge(&[&one, &two], &none.labels(&["rank 0", "rank 1"]).offsets_ns(&[0, 1_000_000]))?;
    let chrome = both.to_chrome()?;
    assert!(["of rank 0", "of rank 1", "rank 0", "rank 1"].iter().all(|part| chrome.contains(part)));
    Trace::merge(&[&one, &two], &none.clock_errors_ns(&[-1, 5]))?;
    expect(Trace::merge(&[&one, &two], &none.labels(&["alone"])), Code::InvalidArgument, "labels");
    expect(Trace::merge(&[&one, &two], &none.offsets_ns(&[0])), Code::InvalidArgument, "offsets_ns");
    assert!(Trace::merge(&[&one, &two], &none.clock_errors_ns(&[0])).is_err());
    assert!(Trace::merge(&[], &none).is_err());
    Ok(())
}

/// 2 selects CUPTI. A recording requests CUPTI only when it starts, so 2 is no error here.
#[test]
fn work_of_devices_is_recorded_as_the_program_says() -> Result<()> {
    for work in 0..=2 {
        Profiler::with(&ProfilerOptions::new().device_work(work))?;
    }
    let error = Profiler::with(&ProfilerOptions::new().device_work(3)).expect_err("an error");
    assert_eq!(error.message(), "device_work must be 0, 1 or 2, but is 3");
    Ok(())
}
