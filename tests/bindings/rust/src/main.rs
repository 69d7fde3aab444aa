//! Loads an artifact of TVM, calls it, calls back into Rust, meets errors, and drops everything. Argument: the artifact.
use opdyno::{Arg, Error, Function, Module, Tensor, Value, VirtualMachine, ffi};
use std::sync::Arc;

mod collectors;
mod options;
mod profile;

const CPU: ffi::DLDevice = ffi::DLDevice { device_type: ffi::kDLCPU, device_id: 0 };

fn main() -> Result<(), Error> {
    let path = std::env::args().nth(1).expect("the artifact's path");
    let live = opdyno::memory_get_stats(CPU)?.live_bytes;
    {
        let vm = VirtualMachine::create(&Module::load(&path, None)?, None)?;
        vm.set_instrument(None)?; // one of the few arguments that may be missing
        let x = input()?;
        let Value::Tensor(y) = vm.call("main", &[(&x).into()], None)? else { panic!("main gives a tensor") };
        assert_eq!(y.to_vec::<f32>()?, [101.0, 102.0, 103.0, 95.5], "main adds 100");
        assert_eq!(y.shape(), [4]);
        expect(vm.call("mian", &[(&x).into()], None), ffi::OPD_NOT_FOUND, "main");
        expect(vm.call("main", &[], None), ffi::OPD_INVALID_ARGUMENT, "main");
        expect(y.to_vec::<i64>(), ffi::OPD_INVALID_ARGUMENT, "another type");
        std::thread::scope(|scope| scope.spawn(|| vm.call("main", &[Arg::Int(1)], None).unwrap_err()).join())
            .expect("a thread");
    }
    callbacks()?;
    options::run(&path)?;
    profile::run(&path)?;
    assert_eq!(opdyno::memory_get_stats(CPU)?.live_bytes, live, "everything is dropped");
    println!("ok");
    Ok(())
}

fn callbacks() -> Result<(), Error> {
    let counted = Arc::new(());
    let held = counted.clone();
    let describe = Function::create(move |args: &[Value]| {
        let _ = &held;
        Ok(Value::Text(format!("{args:?}")))
    })?;
    let args: [Arg; 7] =
        ["größer 😀".into(), 7.into(), 2.5.into(), true.into(), Arg::None, b"\0\x01"[..].into(), [2i64, 3][..].into()];
    let Value::Text(text) = describe.call(&args)? else { panic!("a text") };
    let expected = r#"[Text("größer 😀"), Int(7), Float(2.5), Bool(true), None, Bytes([0, 1]), Shape([2, 3])]"#;
    assert_eq!(text, expected, "values cross");
    drop(describe);
    assert_eq!(Arc::strong_count(&counted), 1, "the closure is dropped with its function");

    let same = Function::create(|args: &[Value]| match args {
        [Value::Function(f)] => f.call(&["inner".into()]),
        _ => panic!("one function is needed, not {} arguments", args.len()),
    })?;
    let refuse =
        Function::create(|args: &[Value]| Err(Error::new(ffi::OPD_OUT_OF_RANGE, "Refused", &format!("not {args:?}"))))?;
    let error = same.call(&[(&refuse).into()]).expect_err("an error crosses two functions");
    assert_eq!((error.code(), error.kind()), (ffi::OPD_OUT_OF_RANGE, "Refused"));
    assert_eq!(error.message(), r#"not [Text("inner")]"#);
    let panic = same.call(&[]).expect_err("a panic becomes an error");
    assert_eq!((panic.kind(), panic.message()), ("Panic", "one function is needed, not 0 arguments"));
    Ok(())
}

fn input() -> Result<Tensor, Error> {
    Tensor::from_slice(&[1.0f32, 2.0, 3.0, -4.5], &[4])
}

fn floats(value: Value) -> Result<Vec<f32>, Error> {
    let Value::Tensor(tensor) = value else { panic!("{value:?} is no tensor") };
    tensor.to_vec()
}

#[track_caller]
fn expect<T>(result: Result<T, Error>, code: ffi::opd_code, part: &str) {
    let Err(error) = result else { panic!("no error of {part}") };
    assert!(error.code() == code && error.message().contains(part), "{error:?}");
    println!("{error}");
}
