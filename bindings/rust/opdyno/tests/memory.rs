//! Tests of the crate's unsafe code for Miri, which finds violations of Rust's memory rules: dangling and aliasing
//! references, leaks, data races, reads of uninitialised memory. Miri runs these tests with a stand-in for the library.
//! Without Miri, they run with the library.
use opdyno::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

#[cfg(miri)]
mod stand_in;

#[test]
fn arguments_of_every_kind_reach_a_callback_and_come_back() -> Result<()> {
    let first = Function::from_args(|args: &[ValueRef<'_>]| args[0].to_value())?;
    let (shape, place) = ([2_i64, 3], 7_u8);
    let pointer = Pointer((&raw const place).cast_mut().cast());
    assert_eq!(first.call::<i64>((-5,))?, -5);
    assert_eq!(first.call::<f64>((0.5,))?, 0.5);
    assert!(first.call::<bool>((true,))?);
    assert_eq!(first.call::<String>(("short",))?, "short");
    assert_eq!(first.call::<String>(("longer than seven bytes",))?, "longer than seven bytes");
    assert_eq!(first.call::<Vec<u8>>((&b"\0\xff"[..],))?, b"\0\xff");
    assert_eq!(first.call::<Vec<i64>>((&shape[..],))?, shape);
    assert_eq!(first.call::<Device>((Device::CPU,))?, Device::CPU);
    assert_eq!(first.call::<DType>((DType::INT16,))?, DType::INT16);
    assert_eq!(first.call::<Pointer>((pointer,))?, pointer);
    assert!(matches!(first.call::<Value>(((),))?, Value::None));
    assert_eq!(first.call::<Function>((&first,))?.call::<i64>((9,))?, 9);

    let array = Array::new(&args![1, "two of more than seven", &shape[..]])?;
    let (one, two, three) = first.call::<(i64, String, Vec<i64>)>((&array,))?;
    assert_eq!((one, two.as_str(), three.as_slice()), (1, "two of more than seven", &shape[..]));
    let map = first.call::<Map>((&Map::new([("a key that is long", 3)])?,))?;
    let (key, value) = map.entry(0)?;
    assert_eq!((key.to::<String>()?.as_str(), value.to::<i64>()?), ("a key that is long", 3));
    Ok(())
}

#[test]
fn arguments_that_no_call_takes_are_released() -> Result<()> {
    let tensor = Tensor::scalar(1.0_f32)?;
    let args = vec![Arg::from("text of more than seven bytes"), Arg::from(&tensor), Arg::from(&[1_i64, 2][..])];
    assert!(format!("{:?}", Arg::from(u64::MAX)).contains("failed"));
    drop(args);
    assert!(tensor.is_unique());
    let count = Function::from_args(|args: &[ValueRef<'_>]| args.len() as i64)?;
    assert_eq!(
        count.call::<i64>(args![u64::MAX, "text of more than seven bytes"]).unwrap_err().code(),
        Code::OutOfRange
    );
    let args = args!["text of more than seven bytes", 2];
    assert_eq!((count.call::<i64>(&args[..])?, count.call::<i64>(&args[1..])?), (2, 1));
    assert_eq!(count.call::<i64>(())?, 0);
    Ok(())
}

#[test]
fn typed_closures_take_their_arguments_apart() -> Result<()> {
    let join = Function::from_fn(|x: i64, text: String, tensor: Tensor| format!("{x} {text} {:?}", tensor.shape()))?;
    let tensor = Tensor::from_slice(&[1_i32, 2], [2])?;
    assert_eq!(join.call::<String>((1, "of more than seven bytes", &tensor))?, "1 of more than seven bytes [2]");
    let error = join.call::<String>((1, 2, &tensor)).unwrap_err();
    assert!(error.message().starts_with("argument 1: expected a string"), "{error}");
    assert!(join.call::<String>((1,)).unwrap_err().message().contains("takes 3 arguments"));
    assert!(tensor.is_unique());
    Ok(())
}

#[test]
fn captures_live_as_long_as_the_function_and_errors_and_panics_come_out() -> Result<()> {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("the panic's payload panics, too");
        }
    }
    let counted = Arc::new(5_i64);
    let held = counted.clone();
    let function = Function::from_fn(move |kind: i64| match kind {
        0 => Ok(*held),
        1 => Err(Error::new(Code::OutOfRange, "IndexError", "out of paper")),
        2 => panic!("a defect"),
        _ => std::panic::panic_any(Bomb),
    })?;
    let again = function.clone();
    drop(function);
    assert_eq!((again.call::<i64>((0,))?, Arc::strong_count(&counted)), (5, 2));
    let error = again.call::<i64>((1,)).unwrap_err();
    assert_eq!((error.code(), error.kind(), error.clone().message()), (Code::OutOfRange, "IndexError", "out of paper"));
    assert_eq!(again.call::<i64>((2,)).unwrap_err().to_string(), "Panic: a defect");
    assert_eq!(again.call::<i64>((3,)).unwrap_err().to_string(), "Panic: a callback panicked");
    drop(again);
    assert_eq!(Arc::strong_count(&counted), 1);
    Ok(())
}

#[test]
fn elements_are_read_and_written_while_nothing_else_refers_to_them() -> Result<()> {
    let mut x = Tensor::zeros([2, 2], DType::FLOAT32, Device::CPU)?;
    x.as_mut_slice::<f32>()?[1] = 1.5;
    x.copy_from_slice(&[1.0_f32, 2.0, 3.0, 4.0])?;
    x.as_mut_slice::<f32>()?[0] = 0.5;
    let flat = x.reshape([4])?;
    assert!(x.as_mut_slice::<f32>().is_err() && !flat.is_unique());
    assert_eq!((flat.as_slice::<f32>()?, x.view().shape()), (&[0.5_f32, 2.0, 3.0, 4.0][..], &[2_i64, 2][..]));
    assert!(x.as_slice::<i32>().unwrap_err().message().contains("float32, not int32"));
    drop(flat);
    let y = x.to_device(Device::CPU)?;
    x.copy_from(&y)?;
    assert_eq!(x.to_vec::<f32>()?, y.as_slice::<f32>()?);
    let empty = Tensor::from_slice::<i64>(&[], [0, 3])?;
    assert_eq!((empty.as_slice::<i64>()?, empty.len()), (&[][..], 0));
    Ok(())
}

#[test]
fn outputs_are_written_by_the_callee() -> Result<()> {
    let double = Function::from_args(|args: &[ValueRef<'_>]| {
        let (from, to) = (args[0].to::<TensorRef<'_>>()?, args[1].to::<TensorRef<'_>>()?);
        let to = unsafe { to.as_mut_slice::<f32>()? }; // SAFETY: the caller passes the tensor as an output
        to.iter_mut().zip(from.as_slice::<f32>()?).for_each(|(to, from)| *to = 2.0 * from);
        Ok::<_, Error>(())
    })?;
    let x = Tensor::from_slice(&[1.0_f32, 2.0], [2])?;
    let mut y = Tensor::zeros([2], DType::FLOAT32, Device::CPU)?;
    double.call::<()>(args![&x, &mut y])?;
    double.call::<()>((&x, &mut y))?;
    assert_eq!(y.as_mut_slice::<f32>()?, [2.0, 4.0]);
    let other = y.clone();
    assert_eq!(double.call::<()>(args![&x, &mut y]).unwrap_err().code(), Code::FailedPrecondition);
    drop(other);
    let args = args![&x, &mut y];
    assert!(double.call::<()>(&args[..]).unwrap_err().message().contains("&mut"));
    Ok(())
}

#[test]
fn a_tensor_is_shared_to_be_kept_and_a_lent_one_copied() -> Result<()> {
    let kept: Arc<Mutex<Vec<Tensor>>> = Arc::default();
    let keep = kept.clone();
    let keeper = Function::from_args(move |args: &[ValueRef<'_>]| {
        let view = args[0].to::<TensorRef<'_>>()?;
        assert_eq!(view.strides(), if view.shape().is_empty() { vec![] } else { vec![2, 1] });
        keep.lock().expect("no panic").push(view.to_tensor()?);
        args[0].to_value()
    })?;
    let mine = Tensor::scalar(7.0_f32)?;
    assert!(!keeper.call::<Tensor>((&mine,))?.is_unique());
    drop(mine);
    let shared = kept.lock().expect("no panic").remove(0);
    assert_eq!((shared.is_unique(), shared.as_slice::<f32>()?), (true, &[7.0][..]));

    let (mut numbers, mut shape) = ([1.0_f32, 2.0, 3.0], [1_i64, 2]);
    let mut lent = ffi::DLTensor {
        data: numbers.as_mut_ptr().cast(),
        device: Device::CPU.into(),
        ndim: 2,
        dtype: DType::FLOAT32.into(),
        shape: shape.as_mut_ptr(),
        strides: std::ptr::null_mut(),
        byte_offset: 4,
    };
    let u = ffi::opd_value_u { dltensor: &raw mut lent };
    let arg = ffi::opd_value { r#type: ffi::OPD_DLTENSOR as i32, length: 0, u };
    let mut result = ffi::opd_value { r#type: ffi::OPD_NONE as i32, length: 0, u: ffi::opd_value_u { int64: 0 } };
    assert!(unsafe { ffi::opd_function_call(keeper.as_ptr(), &arg, 1, &mut result) }.is_null());
    numbers.fill(0.0);
    let result = unsafe { Tensor::from_raw(result.u.pointer.cast()) }.expect("a tensor");
    assert_eq!(
        (result.as_slice::<f32>()?, kept.lock().expect("no panic")[0].to_vec::<f32>()?),
        (&[2.0, 3.0][..], vec![2.0, 3.0])
    );
    Ok(())
}

#[test]
fn dlpack_shares_the_elements_with_their_strides() -> Result<()> {
    let x = Tensor::from_slice(&[0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0], [2, 3])?;
    let managed = x.to_dlpack()?;
    let (mut shape, mut strides) = ([3_i64, 2], [1_i64, 3]);
    let columns = unsafe {
        (*managed).dl_tensor.shape = shape.as_mut_ptr();
        (*managed).dl_tensor.strides = strides.as_mut_ptr();
        Tensor::from_dlpack(managed)?
    };
    assert!(!x.is_unique() && !columns.view().is_contiguous() && columns.as_slice::<f32>().is_err());
    assert_eq!(columns.to_vec::<f32>()?, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    #[cfg(feature = "ndarray")]
    assert_eq!(columns.as_array::<f32>()?, ndarray::arr2(&[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]).into_dyn());
    drop(columns);
    assert!(x.is_unique());
    Ok(())
}

#[test]
fn handles_are_used_by_several_threads() -> Result<()> {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let sum = Function::from_fn(move |x: Tensor, y: i64| {
        counter.fetch_add(1, Ordering::Relaxed);
        x.as_slice::<i64>().map(|x| x.iter().sum::<i64>() + y)
    })?;
    let x = Tensor::from_slice(&[1_i64, 2, 3], [3])?;
    std::thread::scope(|scope| {
        for y in 0..3 {
            let (sum, x) = (sum.clone(), &x);
            scope.spawn(move || assert_eq!(sum.call::<i64>((x, y)).expect("a sum"), 6 + y));
        }
        let value = Value::Tensor(x.clone());
        scope.spawn(move || drop(value));
    });
    assert!(x.is_unique() && calls.load(Ordering::Relaxed) == 3);
    Ok(())
}

#[test]
fn tensors_are_made_of_memory_of_the_program() -> Result<()> {
    let mut others = Vec::new();
    for is_aligned in [true, false] {
        let elements = loop {
            let mut made = Vec::with_capacity(4 * (1 + others.len() % 7)); // varied sizes for varied addresses
            made.extend([1.0_f32, 2.0, 3.0]);
            if (made.as_ptr().addr() % 64 == 0) == is_aligned {
                break made;
            }
            others.push(made);
        };
        let mut x = Tensor::from_vec(elements, [3])?;
        x.as_mut_slice::<f32>()?[1] = 5.0;
        let line = x.reshape([3, 1])?;
        drop(x);
        assert_eq!(line.as_slice::<f32>()?, [1.0, 5.0, 3.0]);
    }
    let shared: Arc<[i32]> = [1, 2].into();
    let x = Tensor::from_owner::<i32, _>(shared.clone(), [2])?;
    let (own, other) = (Tensor::from_owner::<i32, _>([3, 4], [2])?, x.clone());
    let thread = std::thread::spawn(move || (other.to_vec::<i32>(), own.to_vec::<i32>()));
    let (others, owns) = thread.join().expect("a thread");
    assert_eq!((x.as_slice::<i32>()?, others?, owns?), (&[1, 2][..], vec![1, 2], vec![3, 4]));
    let mut x = x;
    let write = Function::from_args(|args: &[ValueRef<'_>]| args.len() as i64)?;
    assert!(write.call::<i64>((&mut x,)).unwrap_err().message().contains("read-only"));
    assert!(x.as_mut_slice::<i32>().is_err() && Arc::strong_count(&shared) == 2);
    drop(x);
    assert!(Arc::strong_count(&shared) == 1 && Tensor::from_owner::<i32, _>(shared.clone(), [3]).is_err());
    assert!(Arc::strong_count(&shared) == 1 && Tensor::from_owner::<i32, _>(shared.clone(), [-2]).is_err());
    assert_eq!(Arc::strong_count(&shared), 1);
    Ok(())
}

#[test]
fn errors_keep_their_causes() -> Result<()> {
    let fails = Function::from_fn(|| {
        let reason = "x".parse::<i64>().expect_err("no number");
        Err::<(), _>(Error::with_cause(Code::NotFound, "KeyError", "no size", &reason))
    })?;
    let error = fails.call::<()>(()).unwrap_err();
    drop(fails);
    let outer = Error::with_cause(Code::Io, "", "no file", &error.clone());
    drop(error);
    let inner = outer.cause().and_then(Error::cause).expect("a cause").clone();
    assert_eq!((outer.cause().map(Error::kind), inner.message()), (Some("KeyError"), "invalid digit found in string"));
    drop(outer);
    assert!(inner.cause().is_none());
    Ok(())
}

struct Stopwatch(Arc<AtomicUsize>);
impl MetricCollector for Stopwatch {
    type State = (Arc<AtomicUsize>, Device);
    fn init(&self, devices: &[Device]) -> Result<()> {
        assert_eq!(devices, [Device::CPU]);
        Ok(())
    }
    fn start(&self, device: Device) -> Result<Option<Self::State>> {
        match self.0.fetch_add(1, Ordering::Relaxed) {
            0 => Ok(Some((self.0.clone(), device))),
            1 => panic!("it cannot start"),
            _ => Ok(None),
        }
    }
    fn stop(&self, (_, device): Self::State, metrics: &mut Metrics) -> Result<()> {
        metrics.set("Text", Metric::Text("of more than seven bytes"))?;
        metrics.set("Device", Metric::Count(device.device_id.into()))?;
        Err(Error::invalid("what it gave stays"))
    }
}

#[test]
fn collectors_give_their_state_from_start_to_stop() -> Result<()> {
    let started = Arc::new(AtomicUsize::new(0));
    let collector = Collector::new("stopwatch", Stopwatch(started.clone()))?;
    let square = Function::from_fn(|x: f64| x * x)?;
    for _ in 0..3 {
        let _: Result<Map> = square.profile(Device::CPU, &[&collector], 0)?.call((3.0,)); // stop() fails
    }
    drop(collector);
    assert_eq!(Arc::strong_count(&started), 1, "states and the collector are dropped");
    assert!(started.load(Ordering::Relaxed) > 0);
    Ok(())
}

#[test]
fn programs_are_called_with_outputs_and_measured() -> Result<()> {
    let vm = Executable::assemble(".func main(x) {\n  ret %x\n}")?.to_module()?;
    let vm = VirtualMachine::with(&vm, &VmOptions::new().devices(&[Device::CPU]))?;
    let x = Tensor::from_slice(&[1.0_f32, 2.0], [2])?;
    assert_eq!(vm.call::<Tensor>("main", (&x,))?.as_slice::<f32>()?, [1.0, 2.0]);
    let mut y = Tensor::zeros([2], DType::FLOAT32, Device::CPU)?;
    vm.call_with("main", (&x,)).names(&[Some("x")]).outputs(&mut [&mut y]).run::<()>()?;
    assert_eq!(y.as_mut_slice::<f32>()?, [1.0, 2.0]);

    let (started, others) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let collector = Collector::new("stopwatch", Stopwatch(started.clone()))?;
    let other = Collector::new("another", Stopwatch(others.clone()))?;
    let profiled = vm.profile("main", (&x,), &ProfileOptions::new().warmup(0).collectors(&[&collector, &other]))?;
    drop((profiled, collector, other, vm));
    assert!(started.load(Ordering::Relaxed) > 0 && others.load(Ordering::Relaxed) > 0);
    assert_eq!((Arc::strong_count(&started), Arc::strong_count(&others), x.is_unique()), (1, 1, true));
    Ok(())
}

#[test]
fn options_last_as_long_as_the_call() -> Result<()> {
    let options = ModuleOptions::new().compiler("cc").c_flags("-O2").cache_dir("/a/cache").format("so");
    let error = Module::inspect("/nowhere/model.so", &options).unwrap_err();
    assert!(error.message().contains("/nowhere/model.so"), "{error}");
    let events = ["opdyno::no_such_event", "opdyno::nor_this"];
    assert!(Collector::builtin(CollectorKind::Papi, &CounterOptions::new().events(&events)).is_err());
    Ok(())
}

#[test]
fn bytes_of_parameters_belong_to_the_set() -> Result<()> {
    let bytes = Params::new()?.save_bytes()?;
    assert_eq!(Params::from_bytes(bytes, &ParamsOptions::new())?.len(), 0);
    assert!(Params::from_bytes(b"of no format".to_vec(), &ParamsOptions::new()).is_err());
    Ok(())
}

#[test]
fn the_log_is_called_and_dropped() -> Result<()> {
    let heard = Arc::new(AtomicUsize::new(0));
    let count = heard.clone();
    set_log(Some(move |level, text: &str| {
        assert_eq!((level, text.is_empty()), (LogLevel::Info, false));
        count.fetch_add(1, Ordering::Relaxed);
        set_log(None::<fn(LogLevel, &str)>); // this closure is dropped when it returns
    }));
    Function::global("relax.run.print")?.call::<()>(args!["{}", "printed"])?;
    assert_eq!((heard.load(Ordering::Relaxed), Arc::strong_count(&heard)), (1, 1));
    Ok(())
}
