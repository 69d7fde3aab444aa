//! Tests that nothing leaks: the memory in use does not grow with the rounds. The file has only one test, because it
//! measures the memory of the whole process.
use common::{Directory, input, vm};
use opdyno::*;
use std::sync::Arc;

mod common;

/// Uses every type that owns something once.
fn round(counted: &Arc<()>, directory: &Directory) -> Result<()> {
    let (vm, x) = (vm(), input());
    let held = counted.clone();
    let keep = Function::from_args(move |args: &[ValueRef<'_>]| {
        let _ = &held;
        Array::new(&args.iter().map(|arg| Arg::from(*arg)).collect::<Vec<_>>())
    })?;
    let error = vm.call::<()>("fail", args!["a long text for an error"]).expect_err("an error");
    let map = Map::new([("a key that is long", &x)])?;
    let text = "a text beyond seven bytes";
    let args = args![&x, text, text.as_bytes(), &[1_i64, 2, 3][..], &map, &error, &keep, u64::MAX];
    assert!(keep.call::<()>(&args[..]).is_err(), "the last one does not fit");
    let kept: Array = keep.call(&args[..7])?;
    for item in kept.iter() {
        let item = item?;
        let again: Value = keep.call::<Array>((&item, item.clone().to::<Value>()?.kind()))?.get(0)?;
        drop((item, again.to_string()));
    }
    drop(args);
    let panics =
        Function::from_args(|_: &[ValueRef<'_>]| -> i64 { std::panic::resume_unwind(Box::new(text.to_owned())) })?;
    panics.call::<()>((&kept,)).expect_err("a panic");
    let closure: Function = vm.call("closure", (1,))?;
    assert_eq!(closure.call::<i64>((1,))?, 2);
    vm.set_input("same", (&x,), &CallOptions::new())?;
    vm.save_function("same", "saved", (&x,), &CallOptions::new(), true)?;
    vm.set_instrument(Some(&keep))?;
    let y: Tensor = vm.call("chain", (&x,))?;
    let mut out = Tensor::zeros([4], DType::FLOAT32, Device::CPU)?;
    vm.call_with("chain", (&x,)).outputs(&mut [&mut out]).run::<()>()?;
    let (report, trace) = vm.profile("chain", (&y,), &ProfileOptions::new())?;
    Report::from_json(&report.write(ReportFormat::Json)?)?;
    drop(Report::merge(&[&report, &report])?.operators()?);
    trace.write(TraceFormat::Html, &TraceWriteOptions::new().before(&trace))?;
    let mut params = Params::new()?;
    params.set("x", &x)?;
    let opened = Params::from_bytes(params.save_bytes()?, &ParamsOptions::new())?;
    assert!(Params::from_bytes(vec![1, 2, 3], &ParamsOptions::new()).is_err());
    params.save(directory.join("x.npz"))?;
    let viewed = unsafe { Params::map(directory.join("x.npz"), &ParamsOptions::new()) }?.get("x")?;
    drop((opened.get("x")?.reshape([2, 2])?, viewed));
    let managed = x.to_dlpack()?;
    drop(unsafe { Tensor::from_dlpack(managed) }?);
    let mut evaluator = Evaluator::new(&keep, &EvaluatorOptions::new().preprocess(&keep).number(2))?;
    drop(evaluator.call((&x, text))?.diff(&Benchmark::from_seconds(&[1.0])?, &DiffOptions::new()));
    let time = Collector::builtin(CollectorKind::Time, &CounterOptions::new())?;
    keep.profile(Device::CPU, &[&time], 1)?.call::<Map>((&x,))?;
    Closure::new(&panics, "i64()")?;
    drop(CancelToken::new()?);
    Ok(())
}

/// The resident memory of this process, in bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number") * 4096
}

#[test]
fn many_rounds_leave_nothing_behind() -> Result<()> {
    let (counted, directory) = (Arc::new(()), Directory::new());
    for _ in 0..3 {
        round(&counted, &directory)?;
    }
    assert_eq!(Arc::strong_count(&counted), 1, "every closure is dropped");
    let live = Device::CPU.memory_stats()?.live_bytes;
    let before = resident();
    for _ in 0..300 {
        round(&counted, &directory)?;
    }
    assert_eq!(Arc::strong_count(&counted), 1);
    assert_eq!(Device::CPU.memory_stats()?.live_bytes, live, "every tensor is dropped");
    let grown = resident().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes more");

    // Threads clone and drop a million handles.
    let before = resident();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let x = input();
                for i in 0..250_000_i64 {
                    let f = Array::new(&args![&x, i, "a text beyond seven bytes"]).expect("an array");
                    drop((f.clone(), f.get(2).expect("an item")));
                    if i % 100 == 0 {
                        drop((
                            x.reshape([2, 2]).expect("a view"),
                            Error::invalid("x"),
                            Function::from_fn(|| 1).expect("f"),
                        ));
                    }
                }
            });
        }
    });
    let grown = resident().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes more");
    assert_eq!(Device::CPU.memory_stats()?.live_bytes, live);
    Ok(())
}
