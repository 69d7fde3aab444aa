//! Tests of VMs: calls with options, saved calls, calls in three steps, closures, the instrument, cancellation.
use opdyno::*;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

mod common;
use common::{OUTPUT, expect, input, vm};

#[test]
fn a_program_is_called_by_name() -> Result<()> {
    let (vm, x) = (vm(), input());
    let y: Tensor = vm.call("chain", args![&x])?;
    assert_eq!((y.as_slice::<f32>()?, y.shape()), (&OUTPUT[..], &[4_i64][..]));
    assert_eq!(vm.call::<Tensor>("chain", (&x,))?.to_vec::<f32>()?, OUTPUT);
    assert_eq!(vm.call::<i64>("plus", args![40, 2])?, 42);
    expect(vm.call::<()>("chian", args![&x]), Code::NotFound, "chain");
    expect(vm.call::<()>("chain", ()), Code::InvalidArgument, "chain");
    expect(vm.call::<()>("chain", args![&x, 1]), Code::InvalidArgument, "chain");
    expect(vm.call::<()>("a\0b", ()), Code::InvalidArgument, "NUL");
    let ((five, seven), again): ((i64, i64), i64) = vm.call("pair", args![5])?;
    assert_eq!((five, seven, again), (5, 7, 5));
    assert!(vm.has_function("chain") && !vm.has_function("chian") && !vm.has_function("a\0b"));
    assert!(vm.list_functions()?.contains(&"chain".to_owned()));
    assert_eq!(vm.list_params("plus")?, ["x", "y"]);
    expect(vm.list_params("none"), Code::NotFound, "none");
    vm.trim()?;
    Ok(())
}

#[test]
fn arguments_have_names() -> Result<()> {
    let vm = vm();
    let named = |names: &[Option<&str>]| vm.call_with("plus", args![40, 2]).names(names).run::<i64>();
    assert_eq!(named(&[Some("y"), Some("x")])?, 42);
    assert_eq!(named(&[None, Some("y")])?, 42);
    assert_eq!(named(&[None, None])?, 42);
    expect(named(&[None, Some("z")]), Code::InvalidArgument, "z");
    expect(named(&[None, Some("y\0")]), Code::InvalidArgument, "NUL");
    for names in [&[][..], &[None][..], &[None, None, None][..]] {
        let expected = format!("option names: its length is {}, but must be 2", names.len());
        expect(named(names), Code::InvalidArgument, &expected);
    }
    Ok(())
}

#[test]
fn results_are_copied_into_outputs() -> Result<()> {
    let (vm, x) = (vm(), input());
    let zeros = || Tensor::zeros([4], DType::FLOAT32, Device::CPU);
    let mut y = zeros()?;
    vm.call_with("chain", args![&x]).outputs(&mut [&mut y]).run::<()>()?;
    assert_eq!(y.as_slice::<f32>()?, OUTPUT);
    let mut z = zeros()?;
    expect(
        vm.call_with("chain", args![&x]).outputs(&mut [&mut y, &mut z]).run::<()>(),
        Code::InvalidArgument,
        "output",
    );
    let mut small = Tensor::zeros([3], DType::FLOAT32, Device::CPU)?;
    assert!(vm.call_with("chain", args![&x]).outputs(&mut [&mut small]).run::<()>().is_err());
    let clone = y.clone();
    expect(
        vm.call_with("chain", args![&x]).outputs(&mut [&mut y]).run::<()>(),
        Code::FailedPrecondition,
        "something else",
    );
    drop(clone);
    let result: Value = vm.call_with("chain", args![&x]).outputs(&mut [&mut y]).run()?;
    drop(result);
    assert!(y.is_unique());
    Ok(())
}

#[test]
fn a_program_writes_a_tensor_that_is_passed_as_mut() -> Result<()> {
    let (vm, x) = (vm(), input());
    let mut y = Tensor::zeros([4], DType::FLOAT32, Device::CPU)?;
    let same: Tensor = vm.call("into", args![&x, &mut y])?;
    assert_eq!(same.as_ptr(), y.as_ptr());
    drop(same);
    assert_eq!(y.as_slice::<f32>()?, [2.0, 3.0, 4.0, -3.5]);
    // Stored arguments are refused as &mut, because the crate cannot know whether later calls write them.
    let none = CallOptions::new();
    let kept = "argument 1 is a &mut Tensor";
    expect(vm.set_input("into", args![&x, &mut y], &none), Code::InvalidArgument, kept);
    expect(vm.save_function("into", "saved", args![&x, &mut y], &none, true), Code::InvalidArgument, kept);
    Ok(())
}

#[test]
fn calls_end_in_time_or_when_they_are_cancelled() -> Result<()> {
    let vm = vm();
    assert_eq!(vm.call_with("plus", (40, 2)).timeout(Duration::from_secs(60)).run::<i64>()?, 42);
    let spin = |timeout| vm.call_with("spin", (1,)).timeout(timeout).run::<()>();
    expect(spin(Duration::from_millis(10)), Code::DeadlineExceeded, "");
    expect(spin(Duration::ZERO), Code::DeadlineExceeded, "");
    assert_eq!(vm.call_with("plus", (40, 2)).timeout(Duration::MAX).run::<i64>()?, 42);

    let token = CancelToken::new()?;
    assert_eq!(vm.call_with("plus", (40, 2)).cancel(&token).run::<i64>()?, 42);
    std::thread::scope(|scope| {
        let spinning = scope.spawn(|| vm.call_with("spin", (1,)).cancel(&token).run::<()>());
        while unsafe { token.current_operator() }.is_none() {
            std::thread::yield_now();
        }
        token.cancel();
        expect(spinning.join().expect("a thread"), Code::Cancelled, "");
    });
    assert!(unsafe { token.current_operator() }.is_none());
    expect(vm.call_with("plus", (40, 2)).cancel(&token).run::<()>(), Code::Cancelled, "");
    token.reset();
    assert_eq!(vm.call_with("plus", (40, 2)).cancel(&token.clone()).run::<i64>()?, 42);

    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            CancelToken::set_default(Some(&token)).expect("set");
            token.cancel();
            expect(vm.call::<()>("spin", (1,)), Code::Cancelled, "");
            CancelToken::set_default(None).expect("set");
            vm.call::<i64>("plus", (40, 2))
        });
        assert_eq!(thread.join().expect("a thread").expect("no token any more"), 42);
    });
    Ok(())
}

/// A thread keeps its default token even if all other references are dropped.
#[test]
fn a_default_token_outlives_its_handle() -> Result<()> {
    let vm = vm();
    std::thread::spawn(move || {
        let token = CancelToken::new()?;
        token.cancel();
        CancelToken::set_default(Some(&token))?;
        drop(token);
        expect(vm.call::<()>("spin", (1,)), Code::Cancelled, "");
        Ok::<_, Error>(())
    })
    .join()
    .expect("a thread")
}

#[test]
fn functions_of_a_program_are_values() -> Result<()> {
    let vm = vm();
    let plus = vm.function("plus")?;
    expect(vm.function("minus"), Code::NotFound, "");
    let closure: Function = vm.call("closure", (40,))?;
    let none = CallOptions::new();
    assert_eq!(vm.invoke_closure::<i64>(&closure, (2,), &none)?, 42);
    let cancelled = CancelToken::new()?;
    cancelled.cancel();
    expect(vm.invoke_closure::<()>(&closure, (2,), &none.cancel(&cancelled)), Code::Cancelled, "");
    let twice = Function::from_fn(|x: i64| 2 * x)?;
    assert_eq!(vm.call::<i64>("apply", args![&twice, 21])?, 42);
    drop(vm);
    assert_eq!(plus.call::<i64>((40, 2))?, 42, "a function keeps its VM");
    assert_eq!(closure.call::<i64>((2,))?, 42);
    Ok(())
}

#[test]
fn calls_are_saved() -> Result<()> {
    let (vm, none) = (vm(), CallOptions::new());
    vm.save_function("plus", "saved", (20, 22), &none, true)?;
    assert_eq!(vm.call::<i64>("saved", ())?, 42);
    assert!(vm.has_function("saved"));
    expect(
        vm.save_function("plus", "saved", (1, 2), &none.names(&[Some("z"), None]), false),
        Code::InvalidArgument,
        "z",
    );
    vm.save_function("plus", "saved", (1, 2), &none.names(&[Some("y"), Some("x")]), false)?;
    assert!(matches!(vm.call("saved", ())?, Value::None), "without its result");
    expect(vm.save_function("plus", "chain", (1, 2), &none, true), Code::AlreadyExists, "chain");
    expect(vm.call::<()>("saved", (1,)), Code::InvalidArgument, "takes no arguments");
    Ok(())
}

#[test]
fn calls_go_in_three_steps() -> Result<()> {
    let (vm, none) = (vm(), CallOptions::new());
    expect(vm.invoke_stateful("pair", &none), Code::FailedPrecondition, "set_input");
    vm.set_input("pair", (5,), &none)?;
    expect(vm.outputs::<()>("pair", &[]), Code::FailedPrecondition, "");
    vm.invoke_stateful("pair", &none)?;
    let ((five, seven), _): ((i64, i64), i64) = vm.outputs("pair", &[])?;
    assert_eq!((five, seven, vm.outputs::<i64>("pair", &[0, 1])?), (5, 7, 7));
    let arity = |path: &[i64]| vm.output_arity("pair", path);
    assert_eq!((arity(&[])?, arity(&[0])?, arity(&[0, 1])?), (Some(2), Some(2), None));
    expect(arity(&[2]), Code::OutOfRange, "2");
    expect(vm.outputs::<()>("pair", &[2]), Code::OutOfRange, "2");
    expect(vm.outputs::<()>("pair", &[1, 0]), Code::InvalidArgument, "");
    expect(vm.call::<()>("pair", ()), Code::FailedPrecondition, "invoke_stateful");
    vm.set_input("spin", (1,), &none)?;
    expect(vm.invoke_stateful("spin", &none.timeout(Duration::from_millis(10))), Code::DeadlineExceeded, "");
    Ok(())
}

#[test]
fn a_module_of_parameters_gives_the_last_input() -> Result<()> {
    common::kernels();
    let text = ".func main(x, p) {\n  %r = call vm.builtin.make_tuple(%x, %p)\n  ret %r\n}";
    let vm = Executable::assemble(text)?.to_module()?.vm()?;
    let cache = Function::global("vm.builtin.tensor_cache.update")?;
    cache.call::<()>(args!["test.vm.param", &input()])?;
    let names = Array::new(&args!["test.vm.param"])?;
    let params: Module = Function::global("vm.builtin.param_module_from_cache_by_name")?.call((&names,))?;
    vm.set_input("main", (1,), &CallOptions::new().param_module(&params))?;
    drop(params);
    vm.invoke_stateful("main", &CallOptions::new())?;
    let (one, (param,)): (i64, (Tensor,)) = vm.outputs("main", &[])?;
    assert_eq!((one, param.as_slice::<f32>()?[3]), (1, -4.5));
    let other = common::module();
    expect(vm.set_input("main", (1,), &CallOptions::new().param_module(&other)), Code::NotFound, "get_params");
    Ok(())
}

#[test]
fn the_instrument_sees_every_call() -> Result<()> {
    let vm = vm();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let watch = Function::from_args(move |args: &[ValueRef<'_>]| {
        let [_, name, before, result, rest @ ..] = args else { panic!("four arguments") };
        let entry = (name.to::<String>()?, before.to::<bool>()?, result.to_value()?.to_string(), rest.len());
        log.lock().expect("no panic").push(entry);
        Ok::<_, Error>(InstrumentAction::NoOp as i64)
    })?;
    vm.set_instrument(Some(&watch))?;
    drop(watch);
    assert_eq!(vm.call::<i64>("plus", (1, 2))?, 3);
    vm.set_instrument(Some(&Function::from_args(|_: &[ValueRef<'_>]| InstrumentAction::SkipRun as i64)?))?;
    assert!(matches!(vm.call("plus", (1, 2))?, Value::None));
    vm.set_instrument(Some(&Function::from_args(|_: &[ValueRef<'_>]| Err::<(), _>(common::refused("stop")))?))?;
    expect(vm.call::<()>("plus", (1, 2)), Code::OutOfRange, "stop");
    vm.set_instrument(None)?;
    assert_eq!(vm.call::<i64>("plus", (1, 2))?, 3);
    let plus = "test.plus".to_owned();
    assert_eq!(
        *seen.lock().expect("no panic"),
        [(plus.clone(), true, "None".to_owned(), 2), (plus, false, "3".into(), 2)]
    );
    assert_eq!(Arc::strong_count(&seen), 1, "the instrument is dropped");
    Ok(())
}

/// An instrument may remove itself while it runs.
#[test]
fn an_instrument_removes_itself() -> Result<()> {
    let vm = vm();
    let (send, receive) = mpsc::channel();
    let (own, counted) = (Mutex::new(Some(vm.clone())), Arc::new(7));
    let held = counted.clone();
    let once = Function::from_args(move |_: &[ValueRef<'_>]| {
        if let Some(vm) = own.lock().expect("no panic").take() {
            vm.set_instrument(None)?;
        }
        send.send(*held).expect("somebody listens"); // the captures are still valid
        Ok::<_, Error>(())
    })?;
    vm.set_instrument(Some(&once))?;
    drop(once);
    assert_eq!(vm.call::<i64>("plus", (1, 2))?, 3);
    assert_eq!((receive.try_iter().all(|number| number == 7), Arc::strong_count(&counted)), (true, 1));
    Ok(())
}

#[test]
fn options_say_how_a_vm_is_made() -> Result<()> {
    let (module, x) = (common::module(), input());
    let naive = [AllocatorKind::Naive];
    for options in [VmOptions::new().allocators(&naive), VmOptions::new().devices(&[Device::CPU]).allocators(&naive)] {
        let vm = VirtualMachine::with(&module, &options)?;
        assert_eq!(vm.call::<Tensor>("chain", (&x,))?.to_vec::<f32>()?, OUTPUT);
        let too_many = [AllocatorKind::Naive, AllocatorKind::Pooled];
        let refused = VirtualMachine::with(&module, &options.allocators(&too_many));
        expect(refused, Code::InvalidArgument, "option allocators: its length is 2");
    }
    let small = VirtualMachine::with(&module, &VmOptions::new().memory_limit_bytes(1))?;
    expect(small.call::<()>("chain", (&x,)), Code::OutOfMemory, "limit");
    let flat = VirtualMachine::with(&module, &VmOptions::new().max_depth(5))?;
    assert_eq!(flat.call::<i64>("deep", (3,))?, 0);
    assert!(flat.call::<i64>("deep", (10,)).is_err(), "too deep");
    let deep = VirtualMachine::new(&module)?;
    assert_eq!(deep.call::<i64>("deep", (10,))?, 0);
    let cuda = [Device { device_type: 2, device_id: 0 }];
    assert!(VirtualMachine::with(&module, &VmOptions::new().devices(&cuda)).is_err());
    Ok(())
}

#[test]
fn evaluators_call_a_function_as_often_as_they_are_told() -> Result<()> {
    use std::sync::atomic::{AtomicI64, Ordering};
    let counter = || {
        let count = Arc::new(AtomicI64::new(0));
        let held = count.clone();
        let function = Function::from_args(move |_: &[ValueRef<'_>]| held.fetch_add(1, Ordering::Relaxed));
        function.map(|function| (count, function))
    };
    let ((calls, function), (prepared, preprocess)) = (counter()?, counter()?);
    let options = EvaluatorOptions::new().device(Device::CPU).number(3).repeat(2).limit_zero_time_iterations(0);
    let mut evaluator = Evaluator::new(&function, &options.preprocess(&preprocess))?;
    drop((function, preprocess)); // the evaluator keeps its own references
    let benchmark = evaluator.call(())?;
    assert_eq!((benchmark.stats()?.number, calls.load(Ordering::Relaxed)), (3, 1 + 3 * 2));
    assert_eq!(prepared.load(Ordering::Relaxed), 2, "before each repeat");
    assert_eq!(benchmark.seconds().len(), 2);
    drop(evaluator);
    assert_eq!((Arc::strong_count(&calls), Arc::strong_count(&prepared)), (1, 1));

    let (calls, function) = counter()?;
    let once = EvaluatorOptions::new().number(1);
    let count = |options: &EvaluatorOptions<'_>| {
        calls.store(0, Ordering::Relaxed);
        let benchmark = Evaluator::new(&function, options)?.call(())?;
        Ok::<_, Error>((calls.load(Ordering::Relaxed), benchmark.stats()?))
    };
    assert_eq!(count(&once.warmup(5))?.0, 6);
    let (concurrent, stats) = count(&once.warmup(2).repeat(3).concurrency(2))?;
    assert_eq!((concurrent, stats.warmup_count), ((2 + 3) * 2, 4));
    assert!(count(&once.min_repeat(Duration::from_millis(2)))?.1.number > 1);
    assert!(count(&once.steady(Duration::from_millis(20)))?.0 > 2, "further warm-up calls");
    let cooled = once.repeat(2).cooldown_interval(Duration::from_millis(1)).repeats_to_cooldown(1);
    assert_eq!(count(&cooled.cache_flush_bytes(1024))?.0, 3);
    assert!(count(&once.cache_flush_bytes(1024).concurrency(2)).is_err());
    assert!(count(&once.number(0)).is_err() && count(&once.repeat(-1)).is_err());
    assert!(count(&once.repeats_to_cooldown(0)).is_err());
    let cuda = Device { device_type: 2, device_id: 0 };
    assert!(count(&once.device(cuda)).is_err());
    let failing = Function::from_args(|_: &[ValueRef<'_>]| Err::<(), _>(common::refused("no benchmark")))?;
    expect(Evaluator::new(&failing, &once)?.call(()), Code::OutOfRange, "no benchmark");
    Ok(())
}
