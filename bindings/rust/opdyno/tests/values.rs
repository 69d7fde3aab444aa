//! Tests of values: every kind passes through a call unchanged and can be converted to its Rust type.
use opdyno::*;
use std::sync::Arc;

mod common;
use common::expect;

/// Makes a function that returns its argument.
fn same() -> Function {
    Function::from_fn(|x: Value| x).expect("a function")
}

#[test]
fn every_kind_of_value_goes_through_a_call() -> Result<()> {
    let (same, x) = (same(), common::input());
    assert!(matches!(same.call(args![()])?, Value::None));
    assert!(matches!(same.call(args![Arg::NONE])?, Value::None));
    assert!(matches!(same.call(args![i64::MIN])?, Value::Int(i64::MIN)));
    assert!(matches!(same.call(args![true])?, Value::Bool(true)));
    assert!(matches!(same.call(args![-2.5])?, Value::Float(-2.5)));
    assert!(matches!(same.call(args![0.5_f32])?, Value::Float(0.5)));
    let pointer = Pointer(std::ptr::without_provenance_mut(0x1234));
    assert_eq!(same.call::<Pointer>(args![pointer])?, pointer);
    let vector = DType { lanes: 4, ..DType::INT8 };
    assert_eq!(same.call::<DType>(args![vector])?, vector);
    assert_eq!(same.call::<Device>(args![Device { device_id: 3, ..Device::CPU }])?.device_id, 3);
    for text in ["", "ä", "1234567", "12345678", "größer 😀", "a\0b", "longer than a value \0 itself"] {
        assert_eq!(same.call::<String>(args![text])?, text);
        assert_eq!(same.call::<String>(args![&text.to_owned()])?, text);
        assert_eq!(same.call::<Vec<u8>>(args![text.as_bytes()])?, text.as_bytes());
    }
    for shape in [&[][..], &[0], &[2, 3], &[i64::MAX, -1]] {
        assert_eq!(same.call::<Vec<i64>>(args![shape])?, shape);
    }
    assert_eq!(same.call::<Tensor>(args![&x])?.as_slice::<f32>()?, x.as_slice::<f32>()?);
    assert_eq!(same.call::<Tensor>(args![x.view()])?.as_ptr(), x.as_ptr(), "the same tensor");
    assert_eq!(same.call::<Function>(args![&same])?.as_ptr(), same.as_ptr());
    let module = common::module();
    assert_eq!(same.call::<Module>(args![&module])?.as_ptr(), module.as_ptr());
    let array = Array::new(&args![1, "two"])?;
    assert_eq!(same.call::<Array>(args![&array])?.as_ptr(), array.as_ptr());
    let map = Map::new([("one", 1)])?;
    assert_eq!(same.call::<Map>(args![&map])?.as_ptr(), map.as_ptr());
    let error = same.call::<Error>(args![&common::refused("no")])?;
    assert_eq!((error.code(), error.kind(), error.message()), (Code::OutOfRange, "Refused", "no"));
    Ok(())
}

#[test]
fn every_value_can_be_an_argument_again() -> Result<()> {
    let same = same();
    let object: Object = Function::global("vm.builtin.attention_kv_cache_create")?.call(args![
        &common::input().reshape([4, 1])?,
        &[8_i64, 1][..],
        0
    ])?;
    assert_eq!(object.type_key(), "opdyno.vm.AttentionKVCache");
    let values = [
        Value::None,
        7.into(),
        true.into(),
        1.5.into(),
        Pointer(std::ptr::null_mut()).into(),
        DType::FLOAT32.into(),
        Device::CPU.into(),
        "a text that is long enough".into(),
        vec![0_u8, 1].into(),
        vec![2_i64, 3].into(),
        common::input().into(),
        same.clone().into(),
        common::module().into(),
        Array::new(&[])?.into(),
        Map::new::<&str, i64>([])?.into(),
        common::refused("no").into(),
        object.clone().into(),
    ];
    for value in &values {
        let back: Value = same.call(args![value])?;
        assert_eq!(back.kind(), value.kind());
        if !matches!(value, Value::Error(_)) {
            assert_eq!(back.to_string(), value.to_string());
        }
        let through: Value = same.call((value,))?;
        assert_eq!(through.kind(), value.clone().kind());
    }
    let array = Array::new(&values.iter().map(Arg::from).collect::<Vec<_>>())?;
    assert_eq!(array.len(), values.len());
    for (item, value) in array.iter().zip(&values) {
        assert_eq!(item?.kind(), value.kind());
    }
    assert_eq!(format!("{object:?}").split('(').next(), Some("Object"));
    Ok(())
}

#[test]
fn the_kinds_of_arguments_are_as_the_library_names_them() -> Result<()> {
    let kinds = Function::from_args(|args: &[ValueRef<'_>]| {
        let names: Vec<_> = args.iter().map(ValueRef::kind).collect();
        names.join(" ")
    })?;
    let (array, x) = (Array::new(&[])?, common::input());
    let of = kinds.call::<String>(args![
        (),
        1_u8,
        true,
        0.5,
        "text",
        "a longer text",
        &b"bytes"[..],
        &[1_i64][..],
        &x,
        &array
    ])?;
    assert_eq!(of, "None int bool float ffi.SmallStr ffi.String ffi.SmallBytes ffi.Shape ffi.Tensor ffi.Array");
    let debug = Function::from_args(|args: &[ValueRef<'_>]| format!("{args:?}"))?;
    assert_eq!(debug.call::<String>(args![1, "two", &[3_i64][..]])?, "[1, \"two\", [3]]");
    assert_eq!(format!("{:?}", args![1, "two"]), "[Arg(1), Arg(\"two\")]");
    assert_eq!(format!("{:?}", args![u64::MAX]), "[Arg(failed)]");
    Ok(())
}

#[test]
fn numbers_are_what_they_are_asked_for_or_an_error() -> Result<()> {
    let same = same();
    assert_eq!(same.call::<i8>(args![-128])?, -128);
    assert_eq!(same.call::<u8>(args![255])?, 255);
    expect(same.call::<u8>(args![256]), Code::OutOfRange, "256 does not fit u8");
    expect(same.call::<u64>(args![-1]), Code::OutOfRange, "-1 does not fit u64");
    assert_eq!(same.call::<usize>(args![7_usize])?, 7);
    expect(same.call::<()>(args![u64::MAX]), Code::OutOfRange, "18446744073709551615 does not fit");
    expect(same.call::<()>(args![usize::MAX]), Code::OutOfRange, "does not fit");
    assert_eq!(same.call::<f64>(args![3])?, 3.0, "an int is a float");
    assert_eq!(same.call::<f32>(args![0.25])?, 0.25);
    expect(same.call::<i64>(args![3.0]), Code::InvalidArgument, "expected an int, but got a float");
    assert!(same.call::<bool>(args![1])?);
    expect(same.call::<bool>(args![2]), Code::InvalidArgument, "expected a bool, but got an int");
    expect(same.call::<i64>(args![true]), Code::InvalidArgument, "expected an int, but got a bool");
    assert_eq!(same.call::<Option<i64>>(args![()])?, None);
    assert_eq!(same.call::<Option<i64>>(args![Some(5)])?, Some(5));
    assert_eq!(same.call::<Option<String>>(args![None::<&str>])?, None);
    expect(same.call::<Tensor>(args!["x"]), Code::InvalidArgument, "expected a tensor, but got a string");
    expect(same.call::<String>(args![()]), Code::InvalidArgument, "expected a string, but got None");
    assert!(same.call::<f64>(args![f64::NAN])?.is_nan());
    Ok(())
}

#[test]
fn tuples_and_lists_are_taken_apart() -> Result<()> {
    let same = same();
    let array = Array::new(&args![1, "two", 3.0])?;
    let (one, two, three): (i64, String, f64) = same.call(args![&array])?;
    assert_eq!((one, two.as_str(), three), (1, "two", 3.0));
    expect(same.call::<(i64, String)>(args![&array]), Code::InvalidArgument, "expected a tuple of 2, but got one of 3");
    expect(same.call::<(i64, i64, f64)>(args![&array]), Code::InvalidArgument, "expected an int, but got a string");
    let (only,): (i64,) = same.call(args![&Array::new(&args![4])?])?;
    assert_eq!(only, 4);
    assert_eq!(same.call::<Vec<Value>>(args![&array])?.len(), 3);
    let texts = Array::new(&args!["a", "b"])?;
    assert_eq!(same.call::<Vec<String>>(args![&texts])?, ["a", "b"]);
    let x = common::input();
    let tensors = Array::new(&args![&x, &x])?;
    assert_eq!(same.call::<Vec<Tensor>>(args![&tensors])?.len(), 2);
    let six = Array::new(&args![1, 2, 3, 4, 5, 6])?;
    let (.., last): (i64, i64, i64, i64, i64, i64) = same.call(args![&six])?;
    assert_eq!(last, 6);
    Ok(())
}

#[test]
fn arrays_know_their_items() -> Result<()> {
    let array = Array::new(&args![1, "two"])?;
    assert_eq!((array.len(), array.is_empty()), (2, false));
    assert_eq!(array.get(0)?.to::<i64>()?, 1);
    expect(array.get(2), Code::OutOfRange, "2");
    expect(array.get(usize::MAX), Code::OutOfRange, "");
    assert_eq!(array.iter().len(), 2);
    let texts = array.iter().map(|item| item.map(|item| item.to_string())).collect::<Result<Vec<_>>>()?;
    assert_eq!(texts, ["1", "\"two\""]);
    assert!(Array::new(&[])?.is_empty());
    expect(Array::new(&args![u64::MAX]), Code::OutOfRange, "does not fit");
    let nested = Array::new(&args![&array, &array])?;
    drop(array);
    assert_eq!(nested.get(1)?.to::<(i64, String)>()?.1, "two");
    Ok(())
}

#[test]
fn maps_find_values_by_key() -> Result<()> {
    let map = Map::new([("a", 1), ("b", 2), ("a", 3)])?;
    assert_eq!((map.len(), map.is_empty()), (2, false));
    assert_eq!(map.get("a")?.to::<i64>()?, 3, "the last value counts");
    expect(map.get("c"), Code::NotFound, "c");
    expect(map.get(u64::MAX), Code::OutOfRange, "does not fit");
    let (key, value) = map.entry(0)?;
    assert_eq!((key.to::<String>()?, value.to::<i64>()?), ("a".to_owned(), 3), "in its first place");
    expect(map.entry(2), Code::OutOfRange, "2");
    let keys = map.iter().map(|entry| entry?.0.to()).collect::<Result<Vec<String>>>()?;
    assert_eq!(keys, ["a", "b"]);
    let x = common::input();
    let by_object = Map::new([(Arg::from(&x), "x"), (Arg::from(7), "seven"), (Arg::from("long enough text"), "t")])?;
    assert_eq!(by_object.get(&x)?.to::<String>()?, "x");
    assert_eq!(by_object.get("long enough text")?.to::<String>()?, "t");
    assert!(Map::new::<i64, i64>([])?.is_empty());
    Ok(())
}

#[test]
fn what_arguments_hold_is_counted() -> Result<()> {
    let counted = Arc::new(());
    let held = counted.clone();
    let f = Function::from_args(move |_: &[ValueRef<'_>]| {
        let _ = &held;
    })?;
    let array = Array::new(&args![&f, &f])?;
    let value: Value = array.clone().into();
    drop(f);
    assert_eq!(Arc::strong_count(&counted), 2);
    let clone = value.clone();
    drop((array, value));
    assert_eq!(Arc::strong_count(&counted), 2);
    drop(clone);
    assert_eq!(Arc::strong_count(&counted), 1);
    Ok(())
}

#[test]
fn handles_cross_as_raw_pointers() -> Result<()> {
    let x = common::input();
    let raw = x.clone().into_raw();
    assert_eq!(raw, x.as_ptr());
    assert!(!x.is_unique());
    drop(unsafe { Tensor::from_raw(raw) });
    assert!(x.is_unique());
    assert!(unsafe { Tensor::from_raw(std::ptr::null_mut()) }.is_none());
    Ok(())
}

/// `try_into()` returns the same as `to()`.
#[test]
fn values_are_converted_by_the_standard_trait() -> Result<()> {
    #[track_caller]
    fn same<T: FromValue + TryFrom<Value, Error = Error> + PartialEq + std::fmt::Debug>(
        value: impl Into<Value>,
        expected: T,
    ) {
        let value = value.into();
        assert_eq!(T::try_from(value.clone()).expect("of that type"), expected);
        assert_eq!(value.to::<T>().expect("of that type"), expected);
    }
    same(7_i64, 7_i64);
    same(7_i64, 7_i8);
    same(7_i64, 7_u8);
    same(-7_i64, -7_i16);
    same(7_i64, 7_u16);
    same(7_i64, 7_i32);
    same(7_i64, 7_u32);
    same(7_i64, 7_u64);
    same(7_i64, 7_usize);
    same(7_i64, 7_isize);
    same(7_i64, 7.0_f64);
    same(0.5_f64, 0.5_f32);
    same(true, true);
    same("text", "text".to_owned());
    same(vec![1_u8, 2], vec![1_u8, 2]);
    same(vec![1_i64, 2], vec![1_i64, 2]);
    same(DType::INT8, DType::INT8);
    same(Device::CPU, Device::CPU);
    same((), ());
    same(Array::new(&args![1, "two"])?, (1_i64, "two".to_owned()));
    same(Array::new(&args!["one", "two"])?, vec!["one".to_owned(), "two".to_owned()]);
    let y: Tensor = same_value(common::input())?.try_into()?;
    assert_eq!(y.as_slice::<f32>()?.len(), 4);
    let (a, b): (Tensor, Tensor) = same_value(Array::new(&args![&y, &y])?)?.try_into()?;
    assert_eq!((a.as_ptr(), b.as_ptr()), (y.as_ptr(), y.as_ptr()));
    let all: Vec<Value> = same_value(Array::new(&args![1, 2, 3])?)?.try_into()?;
    assert_eq!(all.len(), 3);
    expect(Tensor::try_from(Value::Int(1)), Code::InvalidArgument, "expected a tensor, but got an int");
    expect(u8::try_from(Value::Int(256)), Code::OutOfRange, "256 does not fit u8");
    expect(KvState::try_from(Value::Int(1)), Code::InvalidArgument, "");
    expect(<(i64, i64)>::try_from(Value::Array(Array::new(&args![1])?)), Code::InvalidArgument, "a tuple of 2");
    Ok(())
}

fn same_value(value: impl Into<Value>) -> Result<Value> {
    let value = value.into();
    same().call(args![&value])
}
