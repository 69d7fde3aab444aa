//! Tests of structural equality, and of the paths to the place where values differ.
use opdyno::*;

fn list(items: &[Value]) -> Value {
    let items: Vec<Arg<'_>> = items.iter().map(Arg::from).collect();
    Array::new(&items).expect("an array").into()
}
fn map(pairs: &[(Value, Value)]) -> Value {
    Map::new(pairs.iter().map(|(key, value)| (key, value))).expect("a map").into()
}
fn doubles(elements: &[f64], shape: &[i64]) -> Value {
    Tensor::from_slice(elements, shape).expect("a tensor").into()
}

#[test]
fn what_a_function_gives_back_is_equal_to_what_it_got() -> Result<()> {
    let same = Function::from_fn(|x: Value| x)?;
    let values = [
        Value::None,
        true.into(),
        3.into(),
        2.5.into(),
        "text".into(),
        vec![1_u8, 2].into(),
        f64::NAN.into(),
        list(&[]),
        list(&[1.into(), list(&[2.into(), "x".into()])]),
        map(&[("a".into(), list(&[1.into()])), (2.into(), Value::None)]),
        Device { device_type: 1, device_id: 1 }.into(),
        DType::INT8.into(),
        vec![1_i64, 2].into(),
        doubles(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]),
        map(&[("w".into(), Tensor::zeros([0, 4], DType::INT8, Device::CPU)?.into())]),
        Pointer(std::ptr::without_provenance_mut(5)).into(),
    ];
    for value in &values {
        let back: Value = same.call(args![value])?;
        assert!(
            structural_equal(value, &back)? && structural_equal(&back, value)? && structural_equal(value, value)?,
            "{value}"
        );
    }
    assert!(structural_equal(&doubles(&[1.0, 2.0], &[2]), &doubles(&[1.0, 2.0], &[2]))?, "the elements count");
    let (a, b) = (("a".into(), list(&[1.into()])), ("b".into(), Value::None));
    assert!(structural_equal(&map(&[a.clone(), b.clone()]), &map(&[b, a]))?, "in any order");
    Ok(())
}

#[test]
fn the_first_mismatch_is_told_in_both() -> Result<()> {
    let one = |value: i32| (Value::from("a"), Value::from(value));
    let b = (Value::from("b"), Value::from(1));
    let cases = [
        (1.into(), 2.into(), "<root> and <root>"),
        (1.into(), 1.0.into(), "<root> and <root>"),
        (1.into(), true.into(), "<root> and <root>"),
        (Value::None, 0.into(), "<root> and <root>"),
        ("a".into(), b"a".to_vec().into(), "<root> and <root>"),
        ("int8".into(), DType::INT8.into(), "<root> and <root>"),
        (list(&[1.into(), 2.into()]), vec![1_i64, 2].into(), "<root> and <root>"),
        (vec![1_i64, 2].into(), vec![1_i64, 3].into(), "<root>[1] and <root>[1]"),
        (
            list(&[1.into(), list(&[2.into(), 3.into()])]),
            list(&[1.into(), list(&[2.into(), 4.into()])]),
            "<root>[1][1] and <root>[1][1]",
        ),
        (list(&[1.into()]), list(&[1.into(), 2.into()]), "<root>[<missing element #1>] and <root>[1]"),
        (list(&[1.into(), 2.into(), 3.into()]), list(&[1.into()]), "<root>[1] and <root>[<missing element #1>]"),
        (list(&[9.into(), 2.into()]), list(&[1.into()]), "<root>[0] and <root>[0]"),
        (map(&[one(1)]), map(&[one(2)]), "<root>[\"a\"] and <root>[\"a\"]"),
        (map(&[one(1), b.clone()]), map(&[one(1)]), "<root>[\"b\"] and <root>[<missing entry>]"),
        (map(&[one(1)]), map(&[b, one(1)]), "<root>[<missing entry>] and <root>[\"b\"]"),
        (map(&[(1.into(), "x".into())]), map(&[(true.into(), "x".into())]), "<root>[1] and <root>[<missing entry>]"),
        (list(&[doubles(&[0.0; 2], &[2])]), list(&[doubles(&[1.0; 2], &[2])]), "<root>[0] and <root>[0]"),
        (doubles(&[0.0; 2], &[2]), Tensor::from_slice(&[0_i64; 2], [2])?.into(), "<root>.dtype and <root>.dtype"),
        (doubles(&[0.0; 6], &[2, 3]), doubles(&[0.0; 8], &[2, 4]), "<root>.shape[1] and <root>.shape[1]"),
        (
            doubles(&[0.0; 2], &[2]),
            doubles(&[0.0; 2], &[2, 1]),
            "<root>.shape[<missing element #1>] and <root>.shape[1]",
        ),
    ];
    for (lhs, rhs, paths) in &cases {
        assert!(!structural_equal(lhs, rhs)?, "{lhs} is equal to {rhs}");
        assert_eq!(first_structural_mismatch(lhs, rhs)?.expect("they differ").to_string(), *paths);
    }
    Ok(())
}

#[test]
fn other_objects_are_only_equal_to_themselves() -> Result<()> {
    let (function, other) = (Function::from_fn(|| 1_i64)?, Function::from_fn(|| 1_i64)?);
    let (function, other) = (Value::from(function), Value::from(other));
    let listed = || list(std::slice::from_ref(&function));
    assert!(structural_equal(&listed(), &listed())?);
    assert!(!structural_equal(&function, &other)? && !structural_equal(&function, &1.into())?);
    let keyed = |key: &Value| map(&[(key.clone(), 1.into())]);
    assert!(structural_equal(&keyed(&function), &keyed(&function))?);
    assert!(!structural_equal(&keyed(&function), &keyed(&other))?);
    Ok(())
}

#[test]
fn a_path_is_made_of_steps() {
    let body = || ObjectPath::root().attr("body");
    let path = body().array_index(3).map_value("key");
    assert_eq!(path.to_string(), "<root>.body[3][\"key\"]");
    assert_eq!((path.steps().len(), path.parent()), (4, Some(body().array_index(3))));
    assert_eq!(ObjectPath::root().parent(), None);
    assert_eq!(
        ObjectPath::named_root("model").step(PathStep::UnknownAttribute).to_string(),
        "model.<unknown attribute>"
    );
    assert_eq!(ObjectPath::root().missing_array_element(2).to_string(), "<root>[<missing element #2>]");
    assert_eq!(ObjectPath::root().missing_map_entry().to_string(), "<root>[<missing entry>]");
    assert_eq!(path, body().array_index(3).map_value("key"));
    assert_ne!(path, body().array_index(3).map_value("other"));
    assert_ne!(ObjectPath::root().array_index(1), ObjectPath::root().missing_array_element(1));
    assert!(body().is_prefix_of(&path) && path.is_prefix_of(&path) && !path.is_prefix_of(&body()));
    assert!(!ObjectPath::root().attr("b").is_prefix_of(&path));
    assert_eq!((path.prefix(2), path.prefix(0), path.prefix(5)), (Some(body()), None, None));
}

#[test]
fn the_size_of_an_item_is_rounded_up() {
    assert_eq!((DType::FLOAT64.item_size(), DType { lanes: 4, ..DType::FLOAT32 }.item_size()), (8, 16));
    let nibbles = DType { bits: 4, ..DType::INT8 };
    assert_eq!((nibbles.item_size(), DType { lanes: 3, ..nibbles }.item_size()), (1, 2));
}
