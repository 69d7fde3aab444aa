//! Tests of functions: Rust closures, the registry, C functions by signature, and callbacks for C.
use opdyno::*;
use std::sync::Arc;

mod common;
use common::{expect, refused};

#[test]
fn a_closure_gets_values_and_gives_one() -> Result<()> {
    let counted = Arc::new(());
    let held = counted.clone();
    let describe = Function::from_args(move |args: &[ValueRef<'_>]| {
        let _ = &held;
        let values = args.iter().map(ValueRef::to_value).collect::<Result<Vec<_>>>()?;
        Ok::<_, Error>(format!("{values:?}"))
    })?;
    let args = args!["größer 😀", 7, 2.5, true, (), &b"\0\x01"[..], &[2_i64, 3][..]];
    let expected = r#"[Text("größer 😀"), Int(7), Float(2.5), Bool(true), None, Bytes([0, 1]), Shape([2, 3])]"#;
    assert_eq!(describe.call::<String>(&args[..])?, expected);
    assert_eq!(describe.call::<String>(args)?, expected);
    drop(describe);
    assert_eq!(Arc::strong_count(&counted), 1, "the closure is dropped with its function");
    Ok(())
}

#[test]
fn closures_of_no_to_six_arguments_are_functions() -> Result<()> {
    let all = [
        Function::from_fn(|| 0)?,
        Function::from_fn(|a: i64| a)?,
        Function::from_fn(|a: i64, b: i32| a + i64::from(b))?,
        Function::from_fn(|a: i64, b: u8, c: i16| a + i64::from(b) + i64::from(c))?,
        Function::from_fn(|a: i64, b: i64, c: i64, d: i64| a + b + c + d)?,
        Function::from_fn(|a: i64, b: i64, c: i64, d: i64, e: i64| a + b + c + d + e)?,
        Function::from_fn(|a: i64, b: i64, c: i64, d: i64, e: i64, f: i64| a + b + c + d + e + f)?,
    ];
    for (count, function) in all.iter().enumerate() {
        let args: Vec<Arg<'_>> = (1..=count).map(Arg::from).collect();
        assert_eq!(function.call::<usize>(&args)?, (1..=count).sum(), "{count} arguments");
        let one_more: Vec<Arg<'_>> = (0..=count).map(Arg::from).collect();
        let message = format!("takes {count} arguments, but got {}", count + 1);
        assert_eq!(expect(function.call::<()>(one_more), Code::InvalidArgument, &message).kind(), "TypeError");
    }
    Ok(())
}

#[test]
fn an_argument_of_another_kind_is_named() -> Result<()> {
    let f = Function::from_fn(|a: i64, b: String| format!("{a}{b}"))?;
    assert_eq!(f.call::<String>(args![1, "x"])?, "1x");
    expect(f.call::<()>(args![1, 2]), Code::InvalidArgument, "argument 1: expected a string, but got an int");
    expect(f.call::<()>(args!["1", "2"]), Code::InvalidArgument, "argument 0: expected an int");
    let small = Function::from_fn(|a: u8| a)?;
    expect(small.call::<()>(args![300]), Code::OutOfRange, "argument 0: 300 does not fit u8");
    Ok(())
}

#[test]
fn arguments_are_taken_as_all_their_types() -> Result<()> {
    let f = Function::from_fn(|t: Tensor, s: Vec<i64>, b: Vec<u8>, d: DType, v: Device, o: Option<f64>| {
        format!("{:?} {s:?} {b:?} {d} {v} {o:?}", t.shape())
    })?;
    let x = common::input();
    let text: String = f.call(args![&x, &[2_i64][..], &b"ab"[..], DType::INT8, Device::CPU, ()])?;
    assert_eq!(text, "[4] [2] [97, 98] int8 cpu:0 None");
    let g = Function::from_fn(|f: Function, a: Array, m: Map, p: Pointer, b: bool, r: f32| {
        f.call::<i64>(args![a.len(), m.len()]).map(|sum| format!("{sum} {} {b} {r}", p.0.is_null()))
    })?;
    let plus = Function::from_fn(|a: usize, b: usize| (a + b) as i64)?;
    let (array, map) = (Array::new(&args![1, 2])?, Map::new([(1, 2)])?);
    let text: String = g.call(args![&plus, &array, &map, Pointer(std::ptr::null_mut()), true, 0.5])?;
    assert_eq!(text, "3 true true 0.5");
    let kind = Function::from_fn(|m: Module, v: Value| format!("{} {}", m.kind(), v.kind()))?;
    assert_eq!(kind.call::<String>(args![&common::module(), 1.0])?, "relax.VMExecutable a float");
    let by_tuple: String = kind.call((&common::module(), 1.0))?;
    assert_eq!(by_tuple, "relax.VMExecutable a float");
    Ok(())
}

#[test]
fn value_refs_are_asked_for_what_they_are() -> Result<()> {
    let f = Function::from_args(|args: &[ValueRef<'_>]| {
        let [none, text, bytes, shape, tensor, number] = args else { panic!("six arguments") };
        assert!(none.is_none() && !text.is_none());
        assert_eq!(text.as_str(), Some("text"));
        assert_eq!((bytes.as_str(), bytes.as_bytes()), (None, Some(&b"\xff\0"[..])));
        assert_eq!(text.as_bytes(), Some(&b"text"[..]));
        assert_eq!((number.as_str(), number.as_bytes()), (None, None));
        assert_eq!((shape.as_shape(), number.as_shape()), (Some(&[1_i64, 2][..]), None));
        let view = tensor.as_tensor().expect("a tensor");
        assert_eq!((view.shape(), view.len(), view.is_empty(), view.is_contiguous()), (&[4_i64][..], 4, false, true));
        assert_eq!((view.dtype(), view.device()), (DType::FLOAT32, Device::CPU));
        assert_eq!(view.as_slice::<f32>()?, [1.0, 2.0, 3.0, -4.5]);
        assert_eq!(view.to_vec::<f32>()?.len(), 4);
        assert_eq!(format!("{view:?}"), "Tensor(float32[4], cpu:0)");
        assert!(number.as_tensor().is_none() && number.to::<TensorRef<'_>>().is_err());
        assert_eq!(number.to::<i64>()?, 7);
        assert_eq!(number.to::<f64>()?, 7.0);
        expect(text.to::<i64>(), Code::InvalidArgument, "expected an int");
        expect(text.to::<f64>(), Code::InvalidArgument, "expected a float");
        assert_eq!(none.to::<Option<i64>>()?, None);
        let again: ValueRef<'_> = number.to()?;
        assert_eq!(again.to_value()?.to::<i64>()?, 7);
        view.to_tensor()
    })?;
    let x = common::input();
    let kept: Tensor = f.call(args![(), "text", &b"\xff\0"[..], &[1_i64, 2][..], &x, 7])?;
    assert!(!x.is_unique(), "the result is the tensor itself");
    drop(kept);
    assert!(x.is_unique());
    Ok(())
}

#[test]
fn arguments_are_handed_on() -> Result<()> {
    let inner = Function::from_args(|args: &[ValueRef<'_>]| format!("{args:?}"))?;
    let outer = Function::from_args(move |args: &[ValueRef<'_>]| {
        let on: Vec<Arg<'_>> = args.iter().map(|arg| Arg::from(*arg)).collect();
        let twice: String = inner.call(&on[..])?;
        assert_eq!(inner.call::<String>(on)?, twice);
        Ok::<_, Error>(twice)
    })?;
    let x = common::input();
    let text: String =
        outer.call(args![1, "short", "a text beyond seven bytes", &[5_i64, 6][..], &common::refused("no"), &x])?;
    assert!(text.starts_with("[1, \"short\", \"a text beyond seven bytes\", [5, 6], "), "{text}");
    assert!(x.is_unique());
    Ok(())
}

#[test]
fn an_error_crosses_functions_as_itself() -> Result<()> {
    let call = Function::from_fn(|f: Function| f.call::<Value>(args!["inner"]))?;
    let refuse = Function::from_args(|args: &[ValueRef<'_>]| -> Result<()> { Err(refused(&format!("not {args:?}"))) })?;
    let error = expect(call.call::<()>(args![&refuse]), Code::OutOfRange, r#"not ["inner"]"#);
    assert_eq!(error.kind(), "Refused");
    let other = Function::from_fn(|| std::fs::read("/no/such/file").map(|_| ()))?;
    expect(other.call::<()>(()), Code::CallFailed, "No such file");
    let boxed = Function::from_fn(|| -> std::result::Result<i64, Box<dyn std::error::Error + Send + Sync>> {
        Err(Box::new(refused("in a box")))
    })?;
    assert_eq!(expect(boxed.call::<()>(()), Code::OutOfRange, "in a box").kind(), "Refused");
    let text = Function::from_fn(|| Err::<(), _>("just text"))?;
    expect(text.call::<()>(()), Code::CallFailed, "just text");
    Ok(())
}

#[test]
fn a_panic_is_an_error() -> Result<()> {
    let call = Function::from_fn(|f: Function| f.call::<Value>(()))?;
    let formatted = Function::from_fn(|| {
        if true {
            panic!("one function is needed, not {}", 0)
        }
    })?;
    let error = call.call::<()>(args![&formatted]).expect_err("a panic");
    assert_eq!((error.code(), error.kind()), (Code::Internal, "Panic"));
    assert_eq!(error.message(), "one function is needed, not 0");
    let plain = Function::from_fn(|| {
        if true {
            panic!("plain")
        }
    })?;
    assert_eq!(plain.call::<()>(()).expect_err("a panic").message(), "plain");
    let other = Function::from_fn(|| {
        if true {
            std::panic::panic_any(7)
        }
    })?;
    assert_eq!(other.call::<()>(()).expect_err("a panic").message(), "a callback panicked");

    struct PanicsAgain;
    impl Drop for PanicsAgain {
        fn drop(&mut self) {
            panic!("while it is dropped");
        }
    }
    let again = Function::from_fn(|| {
        if true {
            std::panic::panic_any(PanicsAgain)
        }
    })?;
    assert_eq!(again.call::<()>(()).expect_err("a panic").kind(), "Panic");

    struct PanicsForever;
    impl Drop for PanicsForever {
        fn drop(&mut self) {
            std::panic::panic_any(PanicsForever);
        }
    }
    let forever = Function::from_fn(|| {
        if true {
            std::panic::panic_any(PanicsForever)
        }
    })?;
    assert_eq!(forever.call::<()>(()).expect_err("a panic").kind(), "Panic");
    let captured = PanicsAgain;
    let held = Function::from_fn(move || {
        let _ = &captured;
    })?;
    drop(held); // the drop of its captures panics, and no caller can get the error
    Ok(())
}

#[test]
fn closures_return_all_kinds() -> Result<()> {
    let x = common::input();
    assert_eq!(Function::from_fn(|| "text")?.call::<String>(())?, "text");
    assert_eq!(Function::from_fn(|| vec![1_u8, 2])?.call::<Vec<u8>>(())?, [1, 2]);
    assert_eq!(Function::from_fn(|| vec![3_i64])?.call::<Vec<i64>>(())?, [3]);
    assert_eq!(Function::from_fn(|| Some(DType::INT64))?.call::<DType>(())?, DType::INT64);
    assert_eq!(Function::from_fn(|| None::<i64>)?.call::<Option<i64>>(())?, None);
    assert_eq!(Function::from_fn(|| Device::CPU)?.call::<Device>(())?, Device::CPU);
    assert_eq!(Function::from_fn(|| 5_usize)?.call::<usize>(())?, 5);
    expect(Function::from_fn(|| u64::MAX)?.call::<()>(()), Code::OutOfRange, "18446744073709551615 does not fit");
    assert!(Function::from_fn(|| true)?.call::<bool>(())?);
    assert_eq!(Function::from_fn(|| 0.5_f32)?.call::<f32>(())?, 0.5);
    let held = x.clone();
    assert_eq!(Function::from_fn(move || held.clone())?.call::<Tensor>(())?.as_ptr(), x.as_ptr());
    assert_eq!(Function::from_fn(|| Array::new(&args![1, 2]))?.call::<(i64, i64)>(())?, (1, 2));
    assert_eq!(Function::from_fn(|| Map::new([(1, 2)]))?.call::<Map>(())?.len(), 1);
    assert_eq!(Function::from_fn(|| Function::from_fn(|| 5))?.call::<Function>(())?.call::<i64>(())?, 5);
    Ok(())
}

#[test]
fn functions_are_registered_by_name() -> Result<()> {
    let f = Function::from_fn(|| 1)?;
    f.register("test.functions.one", false)?;
    assert!(Function::list_global()?.contains(&"test.functions.one".to_owned()));
    assert_eq!(Function::global("test.functions.one")?.call::<i64>(())?, 1);
    expect(f.register("test.functions.one", false), Code::AlreadyExists, "test.functions.one");
    Function::from_fn(|| 2)?.register("test.functions.one", true)?;
    let two = Function::global("test.functions.one")?;
    Function::remove_global("test.functions.one")?;
    expect(Function::remove_global("test.functions.one"), Code::NotFound, "test.functions.one");
    expect(Function::global("test.functions.one"), Code::NotFound, "test.functions.one");
    assert_eq!(two.call::<i64>(())?, 2, "who holds it keeps it");
    expect(f.register("a\0b", false), Code::InvalidArgument, "NUL");
    expect(Function::global("a\0b"), Code::InvalidArgument, "NUL");
    Ok(())
}

extern "C" fn scaled(x: f64, by: i32) -> f64 {
    x * f64::from(by)
}

#[test]
fn a_c_function_is_called_by_its_signature() -> Result<()> {
    let pointer = scaled as *mut std::ffi::c_void;
    let f = unsafe { Function::from_c(pointer, "f64(f64, i32)", Some("scaled"), std::ptr::null_mut()) }?;
    assert_eq!(f.call::<f64>((2.5, 4))?, 10.0);
    expect(f.call::<()>((2.5, i64::MAX)), Code::OutOfRange, "args[1] of scaled must fit i32");
    expect(f.call::<()>((2.5,)), Code::InvalidArgument, "scaled");
    let bad = unsafe { Function::from_c(pointer, "f64(f46)", None, std::ptr::null_mut()) };
    expect(bad, Code::InvalidArgument, "f46");
    Ok(())
}

/// A C function should return an owned value. The lifetime of a borrowed one is not known, so it becomes an address.
#[test]
fn a_result_that_is_a_view_is_only_an_address() -> Result<()> {
    unsafe extern "C" fn gives_a_view(
        _: *mut std::ffi::c_void,
        _: *const ffi::opd_value,
        _: i32,
        out: *mut ffi::opd_value,
    ) -> *mut ffi::opd_error {
        unsafe {
            (*out).r#type = ffi::OPD_CSTRING as i32;
            (*out).u.pointer = c"a view".as_ptr().cast_mut().cast();
        }
        std::ptr::null_mut()
    }
    let mut raw = std::ptr::null_mut();
    let function = unsafe {
        let error = ffi::opd_function_create(Some(gives_a_view), std::ptr::null_mut(), None, &mut raw);
        assert!(error.is_null());
        Function::from_raw(raw).expect("a function")
    };
    let result: Value = function.call(())?;
    assert!(matches!(result, Value::Pointer(_)), "{result:?}");
    function.call::<()>(())?;
    expect(function.call::<String>(()), Code::InvalidArgument, "expected a string, but got a pointer");
    Ok(())
}

#[test]
fn a_closure_is_a_callback_for_c() -> Result<()> {
    let compare = Function::from_fn(|a: Pointer, b: Pointer| -> i64 {
        let [a, b] = [a, b].map(|pointer| unsafe { *pointer.0.cast::<i32>() });
        (i64::from(a) - i64::from(b)).signum()
    })?;
    let closure = Closure::new(&compare, "i32(ptr, ptr)")?;
    drop(compare);
    unsafe extern "C" {
        fn qsort(base: *mut i32, count: usize, size: usize, compare: unsafe extern "C" fn());
    }
    let mut numbers = [3, 1, 2];
    unsafe {
        let pointer: unsafe extern "C" fn() = std::mem::transmute(closure.pointer());
        qsort(numbers.as_mut_ptr(), 3, 4, pointer);
    }
    assert_eq!(numbers, [1, 2, 3]);
    assert!(closure.take_error().is_none());

    let fails = Function::from_fn(|| -> Result<i64> { Err(refused("C cannot be told")) })?;
    let closure = Closure::new(&fails, "i64()")?;
    let call: extern "C" fn() -> i64 = unsafe { std::mem::transmute(closure.pointer()) };
    assert_eq!(call(), 0);
    assert_eq!(closure.take_error().expect("an error").message(), "C cannot be told");
    assert!(closure.take_error().is_none());
    expect(Closure::new(&fails, "i64(...)"), Code::InvalidArgument, "...");
    Ok(())
}

#[test]
fn what_is_written_is_passed_as_mut_and_nothing_else_may_refer_to_it() -> Result<()> {
    common::kernels();
    let add = Function::global("test.add")?;
    let (x, mut y) = (common::input(), Tensor::zeros([4], DType::FLOAT32, Device::CPU)?);
    add.call::<()>(args![&x, &mut y])?;
    assert_eq!(y.as_slice::<f32>()?, [2.0, 3.0, 4.0, -3.5]);
    add.call::<()>((&x, &mut y))?;
    add.call::<()>(vec![Arg::from(&x), Arg::from(&mut y)])?;
    for other in [y.clone(), y.reshape([2, 2])?] {
        expect(add.call::<()>(args![&x, &mut y]), Code::FailedPrecondition, "something else refers to them");
        drop(other);
    }
    let kept = Array::new(&args![&y])?;
    expect(add.call::<()>(args![&x, &mut y]), Code::FailedPrecondition, "something else refers to them");
    drop(kept);
    add.call::<()>(args![&x, Some(&mut y)])?;
    Ok(())
}

/// Otherwise two threads could write a tensor at once, or one thread could read while the other writes.
#[test]
fn an_argument_that_is_written_is_good_for_one_call() -> Result<()> {
    common::kernels();
    let add = Function::global("test.add")?;
    let (x, mut y) = (common::input(), Tensor::zeros([4], DType::FLOAT32, Device::CPU)?);
    let args = args![&x, &mut y];
    expect(add.call::<()>(&args[..]), Code::InvalidArgument, "as &mut");
    expect(Array::new(&args), Code::InvalidArgument, "as &mut");
    assert!(format!("{args:?}").contains("Tensor"));
    drop(args);
    let list = vec![Arg::from(&mut y)];
    expect(add.call::<()>(&list), Code::InvalidArgument, "as &mut");
    drop(list);
    expect(Map::new([(Arg::from(1), Arg::from(&mut y))]), Code::InvalidArgument, "as &mut");

    let benchmark = |concurrency| {
        let f = Function::from_args(|args: &[ValueRef<'_>]| args.len() as i64)?;
        let options = EvaluatorOptions::new().number(1).concurrency(concurrency);
        let mut y = Tensor::zeros([4], DType::FLOAT32, Device::CPU)?;
        Evaluator::new(&f, &options)?.call(args![&mut y])
    };
    benchmark(1)?;
    expect(benchmark(2), Code::InvalidArgument, "argument 0 is a &mut Tensor");
    Ok(())
}

#[test]
fn a_function_is_measured_by_collectors() -> Result<()> {
    let inner = Function::from_args(|args: &[ValueRef<'_>]| args.len() as i64)?;
    let time = Collector::builtin(CollectorKind::Time, &CounterOptions::new())?;
    let measured = inner.profile(Device::CPU, &[&time], 2)?;
    let metrics: Map = measured.call((1,))?;
    assert!(metrics.get("Wall time (us)").is_ok() && metrics.get("Duration (us)").is_ok());
    expect(inner.profile(Device::CPU, &[&time], -1), Code::InvalidArgument, "warmup_iters");
    Ok(())
}
