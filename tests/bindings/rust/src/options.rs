//! Options of all kinds: what is set counts, what is not has its default, and what does not fit is refused.
use crate::{CPU, expect, floats, input};
use opdyno::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

pub fn run(path: &str) -> Result<(), Error> {
    calls(path)?;
    machines(path)?;
    evaluators()
}

fn calls(path: &str) -> Result<(), Error> {
    let vm = VirtualMachine::create(&Module::load(path, None)?, None)?;
    let x = input()?;
    let args = [Arg::from(&x)];
    let by_name = vm.call("main", &args, &CallOptions::new().names(&[Some("x")]))?;
    assert_eq!(floats(by_name)?, floats(vm.call("main", &args, &CallOptions::new().names(&[None]))?)?);
    expect(vm.call("main", &args, &CallOptions::new().names(&[Some("y")])), ffi::OPD_INVALID_ARGUMENT, "y");
    let nul = vm.call("main", &args, &CallOptions::new().names(&[Some("x\0")]));
    expect(nul, ffi::OPD_INVALID_ARGUMENT, "NUL");
    for names in [&[][..], &[None, None][..]] {
        let result = vm.call("main", &args, &CallOptions::new().names(names));
        expect(result, ffi::OPD_INVALID_ARGUMENT, "but must be 1");
    }

    let output = Tensor::from_slice(&[0f32; 4], &[4])?;
    vm.call("main", &args, &CallOptions::new().outputs(&[&output]).timeout_ns(60_000_000_000))?;
    assert_eq!(output.to_vec::<f32>()?, [101.0, 102.0, 103.0, 95.5], "the result is copied into the output");
    let two = [&output, &output];
    expect(vm.call("main", &args, &CallOptions::new().outputs(&two)), ffi::OPD_INVALID_ARGUMENT, "output");
    expect(vm.call("main", &args, &CallOptions::new().timeout_ns(-1)), ffi::OPD_INVALID_ARGUMENT, "timeout_ns");

    let cancel = Cancel::create()?;
    let options = CallOptions::new().cancel(&cancel);
    vm.call("main", &args, &options)?;
    cancel.cancel();
    expect(vm.call("main", &args, &options), ffi::OPD_CANCELLED, "cancel");

    vm.save_function("main", "saved", &args, &CallOptions::new().names(&[Some("x")]), 1)?;
    assert_eq!(floats(vm.call("saved", &[], None)?)?, [101.0, 102.0, 103.0, 95.5]);
    Ok(())
}

fn machines(path: &str) -> Result<(), Error> {
    let none_such = ModuleOptions::new().format("none such").copy(ffi::OPD_COPY_ALWAYS);
    expect(Module::load(path, &none_such), ffi::OPD_INVALID_ARGUMENT, "none such");
    expect(Module::load(path, &ModuleOptions::new().c_flags("-O\0")), ffi::OPD_INVALID_ARGUMENT, "NUL");

    let (module, x) = (Module::load(path, None)?, input()?);
    let naive = [ffi::OPD_ALLOCATOR_NAIVE];
    for options in [VmOptions::new().allocators(&naive), VmOptions::new().devices(&[CPU]).allocators(&naive)] {
        let vm = VirtualMachine::create(&module, &options)?;
        assert_eq!(floats(vm.call("main", &[(&x).into()], None)?)?, [101.0, 102.0, 103.0, 95.5]);
        let too_many = [ffi::OPD_ALLOCATOR_NAIVE; 2];
        let refused = VirtualMachine::create(&module, &options.allocators(&too_many));
        expect(refused, ffi::OPD_INVALID_ARGUMENT, "option allocators: its length is 2");
    }
    let small = VirtualMachine::create(&module, &VmOptions::new().memory_limit_bytes(1))?;
    expect(small.call("main", &[(&x).into()], None), ffi::OPD_OUT_OF_MEMORY, "limit");
    Ok(())
}

fn evaluators() -> Result<(), Error> {
    let counter = || {
        let count = Arc::new(AtomicI64::new(0));
        let held = count.clone();
        let function = Function::create(move |_: &[Value]| Ok(Value::Int(held.fetch_add(1, Ordering::Relaxed))));
        function.map(|function| (count, function))
    };
    let ((calls, function), (prepared, preprocess)) = (counter()?, counter()?);
    let options = EvaluatorOptions::new().device(CPU).number(3).repeat(2).limit_zero_time_iterations(0);
    let evaluator = Evaluator::create(&function, &options.preprocess(&preprocess))?;
    drop((function, preprocess)); // it has references of its own
    let benchmark = evaluator.call(&[])?;
    assert_eq!((benchmark.get_stats()?.number, calls.load(Ordering::Relaxed)), (3, 1 + 3 * 2));
    assert_eq!(prepared.load(Ordering::Relaxed), 2, "before each repeat");
    drop(evaluator);
    assert_eq!((Arc::strong_count(&calls), Arc::strong_count(&prepared)), (1, 1));
    let diff = benchmark.diff(&benchmark, &DiffOptions::new().min_effect(0.5).confidence(0.9))?;
    assert_eq!(diff.call_count(), 1);
    expect(benchmark.diff(&benchmark, &DiffOptions::new().level(2.0)), ffi::OPD_INVALID_ARGUMENT, "level");
    Ok(())
}
