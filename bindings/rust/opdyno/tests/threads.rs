//! Tests of threads: handles are shared and sent, calls run at the same time, and objects are dropped on other threads.
use common::{OUTPUT, input, vm};
use opdyno::*;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Barrier};

mod common;

const THREADS: usize = 4;

#[test]
fn one_vm_is_called_by_many_threads() -> Result<()> {
    let (vm, x, barrier) = (vm(), input(), Barrier::new(THREADS));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                barrier.wait();
                let chain = vm.function("chain").expect("a function");
                for _ in 0..200 {
                    assert_eq!(
                        vm.call::<Tensor>("chain", (&x,)).expect("a call").to_vec::<f32>().expect("floats"),
                        OUTPUT
                    );
                    assert_eq!(chain.call::<Tensor>((&x,)).expect("a call").len(), 4);
                    assert!(vm.call::<()>("chain", (Arg::from(1),)).is_err());
                }
            });
        }
    });
    assert!(x.is_unique());
    Ok(())
}

#[test]
fn arguments_are_read_by_many_calls_at_once() -> Result<()> {
    let (x, text) = (input(), "a text beyond seven bytes".to_owned());
    let args = args![&x, &text, 3, &[1_i64, 2][..]];
    let f = Function::from_args(|args: &[ValueRef<'_>]| args.len() as i64)?;
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..500).for_each(|_| assert_eq!(f.call::<i64>(&args[..]).expect("a call"), 4)));
        }
    });
    Ok(())
}

#[test]
fn handles_end_on_other_threads() -> Result<()> {
    let (vm, x, counted) = (vm(), input(), Arc::new(()));
    let held = counted.clone();
    let function = Function::from_fn(move |x: i64| {
        let _ = &held;
        x
    })?;
    let closure: Function = vm.call("closure", (40,))?;
    let array = Array::new(&args![&function, &x, &closure])?;
    let error = vm.call::<()>("fail", ("far",)).expect_err("an error");
    let (report, trace) = vm.profile("chain", (&x,), &ProfileOptions::new())?;
    let params = Params::new()?;
    let value: Value = array.clone().into();
    std::thread::spawn(move || drop((error, value, trace, vm))).join().expect("a thread");
    std::thread::spawn(move || drop((report, array, params))).join().expect("a thread");
    assert_eq!((closure.call::<i64>((2,))?, Arc::strong_count(&counted)), (42, 2));
    std::thread::spawn(move || drop((function, closure, x))).join().expect("a thread");
    assert_eq!(Arc::strong_count(&counted), 1);
    Ok(())
}

/// Each thread makes tensors repeatedly. Another thread drops all of them.
#[test]
fn tensors_wander() -> Result<()> {
    let (send, receive) = std::sync::mpsc::channel::<Tensor>();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let send = send.clone();
            scope.spawn(move || {
                for i in 0..500 {
                    let mut tensor = Tensor::zeros([16], DType::INT64, Device::CPU).expect("a tensor");
                    tensor.as_mut_slice::<i64>().expect("unique")[i % 16] = thread as i64;
                    send.send(tensor).expect("somebody listens");
                }
            });
        }
        drop(send);
        let mut sum = 0;
        for mut tensor in receive {
            sum += tensor.as_slice::<i64>().expect("ints").iter().sum::<i64>();
            tensor.as_mut_slice::<i64>().expect("unique")[0] = 1;
        }
        assert_eq!(sum, 500 * (0..THREADS as i64).sum::<i64>());
    });
    Ok(())
}

/// When another thread drops the clone, the tensor becomes unique. Reads through the clone happen before the write.
#[test]
fn a_tensor_is_written_once_the_last_reader_is_gone() -> Result<()> {
    for _ in 0..200 {
        let mut x = Tensor::zeros([1000], DType::INT32, Device::CPU)?;
        let clone = x.clone();
        std::thread::scope(|scope| {
            scope.spawn(move || assert_eq!(clone.as_slice::<i32>().expect("ints").iter().sum::<i32>(), 0));
            loop {
                if let Ok(elements) = x.as_mut_slice::<i32>() {
                    elements.fill(1);
                    break;
                }
                std::thread::yield_now();
            }
        });
    }
    Ok(())
}

#[test]
fn functions_are_registered_and_removed_by_many_threads() -> Result<()> {
    let counted = Arc::new(AtomicI64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for i in 0..200 {
                    let held = counted.clone();
                    let f = Function::from_fn(move || held.fetch_add(1, Ordering::Relaxed)).expect("a function");
                    f.register("test.threads", true).expect("registered");
                    if let Ok(global) = Function::global("test.threads") {
                        global.call::<i64>(()).expect("a call");
                    }
                    if i % 3 == 0 {
                        let _ = Function::remove_global("test.threads"); // another thread may have removed it
                    }
                }
            });
        }
    });
    let _ = Function::remove_global("test.threads");
    assert_eq!(Arc::strong_count(&counted), 1);
    Ok(())
}

#[test]
fn instruments_change_while_calls_run() -> Result<()> {
    let (vm, x) = (vm(), input());
    let done = AtomicI64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..500 {
                    vm.call::<()>("chain", (&x,)).expect("a call");
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        while done.load(Ordering::Relaxed) < 2 {
            let watch = Function::from_args(|_: &[ValueRef<'_>]| ()).expect("a function");
            vm.set_instrument(Some(&watch)).expect("set");
            drop(watch);
            vm.set_instrument(None).expect("set");
        }
    });
    Ok(())
}

/// The three steps are meant for one thread at a time. If several threads use them, they get errors or each other's
/// results, but the memory stays safe.
#[test]
fn stateful_calls_of_many_threads_do_no_harm() -> Result<()> {
    let (vm, none) = (vm(), CallOptions::new());
    std::thread::scope(|scope| {
        for thread in 0..THREADS as i64 {
            let (vm, none) = (&vm, &none);
            scope.spawn(move || {
                for _ in 0..300 {
                    let x = input();
                    vm.set_input("same", (&x,), none).expect("set");
                    vm.invoke_stateful("same", none).expect("run");
                    let _ = vm.outputs::<Tensor>("same", &[]);
                    vm.save_function("plus", "saved", (thread, 1), none, true).expect("saved");
                    let sum = vm.call::<i64>("saved", ()).expect("a call");
                    assert!((1..=THREADS as i64).contains(&sum));
                }
            });
        }
    });
    Ok(())
}

#[test]
fn a_profile_and_calls_go_on_at_once() -> Result<()> {
    let (vm, x) = (vm(), input());
    std::thread::scope(|scope| {
        scope.spawn(|| (0..300).for_each(|_| vm.call::<()>("chain", (&x,)).expect("a call")));
        for _ in 0..20 {
            vm.profile("chain", (&x,), &ProfileOptions::new()).expect("a profile");
            vm.profile_start(&ProfileOptions::new()).expect("started");
            vm.profile_stop().expect("stopped");
        }
    });
    Ok(())
}

#[test]
fn ranges_begin_and_end_on_threads_that_end() -> Result<()> {
    let profiler = Profiler::new()?;
    profiler.start()?;
    for _ in 0..20 {
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    span!("on a thread");
                    range_push("never popped");
                    mark("mark");
                });
            }
            assert!(profiler.snapshot().expect("a snapshot").is_some());
        });
    }
    let names = profiler.stop()?.expect("it was recording").to_report(TraceView::Events)?;
    let names: Vec<Option<String>> = names.column(ReportSection::Calls, "Name")?;
    assert_eq!(names.iter().filter(|name| name.as_deref() == Some("on a thread")).count(), 20 * THREADS);
    Ok(())
}

/// Thread-local state is freed when the thread ends, in any order of the thread's variables.
#[test]
fn variables_of_a_thread_end_behind_it() -> Result<()> {
    struct Ends(Option<(Range, Tensor, Function, VirtualMachine, Error)>);
    impl Drop for Ends {
        fn drop(&mut self) {
            let Some((range, x, function, vm, error)) = self.0.take() else { return };
            assert_eq!(function.call::<i64>((1,)).expect("a call"), 1);
            assert_eq!(vm.call::<Tensor>("chain", (&x,)).expect("a call").len(), 4);
            vm.call::<()>("fail", (error.message(),)).expect_err("an error");
            span!("behind the thread");
            mark("behind the thread");
            range_push("behind the thread");
            range_pop();
            drop(range);
        }
    }
    thread_local! {
        static FIRST: std::cell::RefCell<Ends> = const { std::cell::RefCell::new(Ends(None)) };
        static LAST: std::cell::RefCell<Ends> = const { std::cell::RefCell::new(Ends(None)) };
    }
    let make = || {
        let function = Function::from_fn(|x: i64| x).expect("a function");
        Ends(Some((Range::new("of the thread".into()), input(), function, vm(), common::refused("text"))))
    };
    let profiler = Profiler::new()?;
    for is_recording in [false, true] {
        if is_recording {
            profiler.start()?;
        }
        for _ in 0..3 {
            let thread = std::thread::spawn(move || {
                FIRST.with(|first| assert!(first.borrow().0.is_none())); // before the library knows the thread
                FIRST.set(make());
                LAST.set(make());
            });
            thread.join().expect("a thread");
        }
    }
    profiler.stop()?;
    Ok(())
}
