//! Tests that handles can be dropped in any order, before and after the handles that they came from. The remaining
//! handles still work, and nothing leaks. The file has only one test, because it measures the memory of the whole
//! process.
use common::{OUTPUT, input, kernels, module};
use opdyno::*;
use std::cell::RefCell;

mod common;

const ORDERS: u64 = 300;
const KINDS: usize = 24;

/// A name and a closure that uses a handle. The use may need the objects from which the handle came.
type Open = (&'static str, Box<dyn Fn() -> bool>);

fn sum(x: &Tensor) -> f32 {
    x.as_slice::<f32>().expect("floats").iter().sum()
}

fn made(own: Device) -> Result<Vec<Open>> {
    let mut open: Vec<Open> = Vec::new();
    macro_rules! add {
        ($name:literal, $handle:expr, $use:expr) => {{
            let (handle, works) = ($handle, $use);
            open.push(($name, Box::new(move || works(&handle))));
        }};
    }
    let program = common::program();
    let (module, state) = (module(), rnn_state()?);
    let vm = module.vm()?;
    let x = input().to_device(own)?;
    let same = Function::from_fn(|x: Value| x)?;
    add!("executable", program.clone(), |it: &Executable| it.save_bytes().is_ok());
    add!("module", module.clone(), |it: &Module| it.list_functions().is_ok_and(|names| names.len() > 5));
    add!("VM", vm.clone(), |it: &VirtualMachine| it
        .call::<Tensor>("chain", (&input(),))
        .is_ok_and(|y| sum(&y) == OUTPUT.iter().sum()));
    add!("its function", vm.function("plus")?, |it: &Function| it.call::<i64>((3, 4)).is_ok_and(|y| y == 7));
    add!("its closure", vm.call::<Function>("closure", (40,))?, |it: &Function| it
        .call::<i64>((2,))
        .is_ok_and(|y| y == 42));
    add!("function", same.clone(), |it: &Function| it.call::<i64>((4,)).is_ok_and(|y| y == 4));
    add!("tensor", x.clone(), |it: &Tensor| sum(it) == 1.5);
    add!("view", x.reshape([2, 2])?, |it: &Tensor| sum(it) == 1.5);
    let array = Array::new(&args![1, &x])?;
    add!("array", array.clone(), |it: &Array| it.get(1).and_then(Value::to::<Tensor>).is_ok_and(|x| sum(&x) == 1.5));
    add!("value", Value::from(array), |it: &Value| matches!(it, Value::Array(items) if items.len() == 2));
    add!("map", Map::new([("key", &x)])?, |it: &Map| it.get("key").is_ok());
    let mut params = Params::new()?;
    params.set("x", &x)?;
    add!("their tensor", params.get("x")?, |it: &Tensor| sum(it) == 1.5);
    add!("params", params, |it: &Params| it.get("x").is_ok_and(|x| sum(&x) == 1.5));
    let collector = Collector::builtin(CollectorKind::Time, &CounterOptions::new())?;
    let (report, trace) = vm.profile("chain", (&input(),), &ProfileOptions::new().collectors(&[&collector]))?;
    let measured = same.clone();
    add!("collector", collector, move |it: &Collector| {
        measured
            .profile(Device::CPU, &[it], 0)
            .and_then(|f| f.call::<Map>((1,)))
            .is_ok_and(|metrics| !metrics.is_empty())
    });
    add!("report", report, |it: &Report| it.count(ReportSection::Calls) > 5);
    add!("its report", trace.to_report(TraceView::KeyAverages)?, |it: &Report| it.write(ReportFormat::Csv).is_ok());
    add!("trace", trace, |it: &Trace| it.dropped_count() == 0);
    add!("profiler", Profiler::new()?, |it: &Profiler| it.dump_count() == 0);
    let mut evaluator = Evaluator::new(&same, &EvaluatorOptions::new().number(1).repeat(1))?;
    add!("benchmark", evaluator.call((1,))?, |it: &Benchmark| it.seconds().len() == 1);
    add!("evaluator", RefCell::new(evaluator), |it: &RefCell<Evaluator>| it.borrow_mut().call((1,)).is_ok());
    add!("token", CancelToken::new()?, |it: &CancelToken| {
        it.reset();
        CancelToken::set_default(Some(it)).and_then(|()| CancelToken::set_default(None)).is_ok()
    });
    add!("closure", Closure::new(&same, "i64(i64)")?, |it: &Closure| !it.pointer().is_null());
    add!("error", vm.call::<()>("fail", ("text",)).expect_err("an error"), |it: &Error| it.message().contains("text"));
    add!("state", state, |it: &KvState| it.stats().is_ok_and(|stats| stats.num_sequences == 0));
    Ok(open)
}

fn rnn_state() -> Result<KvState> {
    let kernel = Function::from_args(|_: &[ValueRef<'_>]| ())?;
    let (kernels, initial) = (Array::new(&args![&kernel])?, Array::new(&args![&Tensor::scalar(0.5_f32)?])?);
    Function::global("vm.builtin.rnn_state_create")?.call(args![1, 3, 4, &kernels, &kernels, &initial])
}

#[test]
fn handles_are_dropped_in_any_order() -> Result<()> {
    kernels();
    let own: Device = "cpu:8".parse()?; // a device whose memory only this test uses
    let mut live = 0;
    for order in 0..ORDERS {
        let mut open = made(own)?;
        assert_eq!(open.len(), KINDS);
        let mut random = order; // Knuth's generator; its high half selects the handles
        let mut draw = |count: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % count
        };
        while !open.is_empty() {
            let (name, works) = &open[draw(open.len())];
            assert!(works(), "order {order}: {name}, with {} others", open.len() - 1);
            drop(open.swap_remove(draw(open.len())));
        }
        assert_eq!(own.memory_stats()?.live_bytes, 0, "order {order}");
        live = if order == 0 { Device::CPU.memory_stats()?.live_bytes } else { live };
        assert_eq!(Device::CPU.memory_stats()?.live_bytes, live, "order {order}");
    }
    Ok(())
}
