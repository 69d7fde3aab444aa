//! Tests of tensors, which are made, read, written while they are unique, and exported.
use opdyno::*;

mod common;
use common::expect;

fn counting(count: usize) -> Vec<f32> {
    (0..count).map(|i| i as f32).collect()
}

#[test]
fn tensors_are_made_of_slices_of_all_numbers() -> Result<()> {
    fn there_and_back<T: Element + PartialEq + std::fmt::Debug>(items: &[T], name: &str) -> Result<()> {
        let tensor = Tensor::from_slice(items, [items.len()])?;
        assert_eq!((tensor.as_slice::<T>()?, tensor.to_vec::<T>()?), (items, items.to_vec()));
        assert_eq!((tensor.dtype(), tensor.dtype().to_string().as_str()), (T::DTYPE, name));
        assert_eq!(tensor.size_in_bytes() as usize, size_of_val(items));
        Ok(())
    }
    there_and_back(&[0.5_f32, f32::INFINITY], "float32")?;
    there_and_back(&[0.5_f64], "float64")?;
    there_and_back(&[i8::MIN, 1], "int8")?;
    there_and_back(&[i16::MIN, 1], "int16")?;
    there_and_back(&[i32::MIN, 1], "int32")?;
    there_and_back(&[i64::MIN, 1], "int64")?;
    there_and_back(&[u8::MAX, 1, 3], "uint8")?;
    there_and_back(&[u16::MAX, 1], "uint16")?;
    there_and_back(&[u32::MAX, 1], "uint32")?;
    there_and_back(&[u64::MAX, 1], "uint64")?;
    let none: &[f32] = &[];
    there_and_back(none, "float32")
}

#[test]
fn shapes_are_integers_of_any_type() -> Result<()> {
    let items = counting(6);
    for tensor in [
        Tensor::from_slice(&items, [2, 3])?,
        Tensor::from_slice(&items, [2_usize, 3])?,
        Tensor::from_slice(&items, vec![2_u32, 3])?,
        Tensor::from_slice(&items, &[2_u64, 3][..])?,
        Tensor::from_slice(&items, [2_i64, 3])?,
    ] {
        assert_eq!((tensor.shape(), tensor.len(), tensor.is_empty()), (&[2_i64, 3][..], 6, false));
        assert!(tensor.is_contiguous() && !tensor.is_read_only());
        assert_eq!((tensor.device(), tensor.view().shape()), (Device::CPU, &[2_i64, 3][..]));
    }
    let scalar = Tensor::scalar(7_i64)?;
    assert_eq!((scalar.shape(), scalar.as_slice::<i64>()?), (&[][..], &[7][..]));
    expect(Tensor::from_slice(&items, [7]), Code::InvalidArgument, "6 elements do not fill [7]");
    expect(Tensor::from_slice(&items, [u64::MAX]), Code::InvalidArgument, "a size of 18446744073709551615");
    Ok(())
}

#[test]
fn zeros_are_zeros_and_impossible_sizes_errors() -> Result<()> {
    assert_eq!(Tensor::zeros([3], DType::INT32, Device::CPU)?.as_slice::<i32>()?, [0; 3]);
    assert_eq!(Tensor::zeros([3], "int8x4".parse()?, Device::CPU)?.size_in_bytes(), 12);
    expect(Tensor::zeros([-1], DType::INT8, Device::CPU), Code::InvalidArgument, "-1");
    expect(Tensor::zeros([i64::MAX, 3], DType::INT8, Device::CPU), Code::InvalidArgument, "");
    assert!(Tensor::zeros([i64::MAX], DType::INT8, Device::CPU).is_err());
    let cuda = Device { device_type: 2, device_id: 0 };
    assert!(!cuda.is_cpu());
    assert!(Tensor::zeros([1], DType::INT8, cuda).is_err());
    Ok(())
}

/// The product of the sizes does not fit 64 bits, but there are no elements.
#[test]
fn empty_tensors_may_have_huge_axes() -> Result<()> {
    for shape in [vec![0], vec![0, 5], vec![1 << 62, 0], vec![0, 1 << 62, 1 << 62]] {
        let mut tensor = Tensor::zeros(&shape, DType::FLOAT32, Device::CPU)?;
        assert_eq!((tensor.shape(), tensor.len(), tensor.is_empty(), tensor.size_in_bytes()), (&shape[..], 0, true, 0));
        assert!(tensor.is_contiguous() && tensor.view().is_contiguous());
        assert!(tensor.as_slice::<f32>()?.is_empty() && tensor.to_vec::<f32>()?.is_empty());
        assert!(tensor.as_mut_slice::<f32>()?.is_empty());
        tensor.copy_from_slice::<f32>(&[])?;
        assert!(format!("{:?}", tensor.view()).contains("float32"));
    }
    match Tensor::zeros([1_i64 << 62, 1 << 62, 0], DType::FLOAT32, Device::CPU) {
        Ok(tensor) => assert!(tensor.is_empty() && tensor.as_slice::<f32>()?.is_empty()),
        Err(error) => assert_eq!(error.code(), Code::InvalidArgument),
    }
    Ok(())
}

#[test]
fn elements_of_another_type_are_refused() -> Result<()> {
    let mut x = common::input();
    let wrong = "float32, not int64";
    assert_eq!(expect(x.as_slice::<i64>(), Code::InvalidArgument, wrong).kind(), "TypeError");
    expect(x.to_vec::<i64>(), Code::InvalidArgument, wrong);
    expect(x.as_mut_slice::<i64>(), Code::InvalidArgument, wrong);
    expect(x.copy_from_slice(&[1_i64; 4]), Code::InvalidArgument, wrong);
    let half = Tensor::zeros([2], DType::FLOAT16, Device::CPU)?;
    expect(half.as_slice::<u16>(), Code::InvalidArgument, "float16, not uint16");
    Ok(())
}

#[test]
fn what_nothing_else_refers_to_is_written() -> Result<()> {
    let mut x = common::input();
    x.as_mut_slice::<f32>()?[0] = 9.0;
    x.copy_from_slice(&[8.0_f32, 7.0, 6.0, 5.0])?;
    expect(x.copy_from_slice(&[1.0_f32]), Code::InvalidArgument, "");
    let y = Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0], [4])?;
    x.copy_from(&y)?;
    assert_eq!(x.as_slice::<f32>()?, y.as_slice::<f32>()?);
    expect(x.copy_from(&Tensor::scalar(1.0_f32)?), Code::InvalidArgument, "");
    let copy = x.to_device(Device::CPU)?;
    assert!(x.is_unique() && copy.is_unique(), "a copy shares nothing");
    Ok(())
}

#[test]
fn what_something_else_refers_to_is_not_written() -> Result<()> {
    #[track_caller]
    fn refused(tensor: &mut Tensor) {
        assert!(!tensor.is_unique());
        expect(tensor.as_mut_slice::<f32>(), Code::FailedPrecondition, "something else refers to them");
        expect(tensor.copy_from_slice(&[0.0_f32; 4]), Code::FailedPrecondition, "something else refers to them");
        expect(tensor.copy_from(&common::input()), Code::FailedPrecondition, "something else refers to them");
    }
    let mut x = common::input();
    let mut clone = x.clone();
    refused(&mut x);
    refused(&mut clone);
    drop(x);
    clone.as_mut_slice::<f32>()?[0] = 5.0; // no other tensor shares the elements now

    let mut x = clone;
    let mut square = x.reshape([2, 2])?;
    refused(&mut x);
    expect(square.as_mut_slice::<f32>(), Code::FailedPrecondition, "something else");
    let mut line = square.reshape([4])?;
    drop(square);
    refused(&mut x);
    refused(&mut line);
    drop(x);
    line.as_mut_slice::<f32>()?[0] = 6.0;

    let mut x = line;
    let mut params = Params::new()?;
    params.set("x", &x)?;
    refused(&mut x);
    drop(params);
    let array = Array::new(&args![&x])?;
    refused(&mut x);
    drop(array);
    let vm = common::vm();
    vm.set_input("same", args![&x], &CallOptions::new())?;
    refused(&mut x);
    vm.invoke_stateful("same", &CallOptions::new())?;
    drop(vm);
    let vm = common::vm();
    vm.save_function("same", "saved", args![&x], &CallOptions::new(), true)?;
    refused(&mut x);
    let mut result: Tensor = vm.call("saved", ())?;
    drop(vm);
    refused(&mut x);
    refused(&mut result);
    drop(result);
    let held = x.clone();
    let function = Function::from_fn(move || held.len())?;
    refused(&mut x);
    drop(function);
    let cache = Function::global("vm.builtin.tensor_cache.update")?;
    cache.call::<()>(args!["test.tensors", &x])?;
    refused(&mut x);
    Function::global("vm.builtin.tensor_cache.remove")?.call::<()>(args!["test.tensors"])?;
    x.as_mut_slice::<f32>()?[0] = 7.0;
    Ok(())
}

/// Runs a program that returns two tensors over one block of memory.
fn halves() -> Result<(Tensor, Tensor)> {
    common::kernels();
    let text = r#"
.func halves() {
  %s = call vm.builtin.alloc_storage(%vm, shape(128), 0, dtype(uint8))
  %a = call vm.builtin.alloc_tensor(%s, 0, shape(32), dtype(float32))
  %b = call vm.builtin.alloc_tensor(%s, 0, shape(32), dtype(float32))
  %r = call vm.builtin.make_tuple(%a, %b)
  ret %r
}"#;
    Executable::assemble(text)?.to_module()?.vm()?.call("halves", ())
}

#[test]
fn tensors_of_one_storage_are_not_written() -> Result<()> {
    let (a, mut b) = halves()?;
    expect(b.as_mut_slice::<f32>().map(|_| ()), Code::FailedPrecondition, "something else");
    drop(a);
    b.as_mut_slice::<f32>()?[0] = 1.0;
    Ok(())
}

#[test]
fn nor_is_a_view_of_one() -> Result<()> {
    let (a, b) = halves()?;
    let mut view = a.reshape([4, 8])?;
    drop(a);
    expect(view.as_mut_slice::<f32>().map(|_| ()), Code::FailedPrecondition, "something else");
    drop(b);
    view.as_mut_slice::<f32>()?[0] = 1.0;
    Ok(())
}

#[test]
fn reshaped_tensors_share_their_elements() -> Result<()> {
    let x = Tensor::from_slice(&counting(6), [6])?;
    let y = x.reshape([2, -1 + 4])?;
    assert_eq!((y.shape(), y.as_slice::<f32>()?.as_ptr()), (&[2_i64, 3][..], x.as_slice::<f32>()?.as_ptr()));
    drop(x);
    assert_eq!(y.to_vec::<f32>()?, counting(6));
    expect(y.reshape([4]), Code::InvalidArgument, "the tensor has 6 elements, but the shape has 4");
    expect(y.reshape([-6]), Code::InvalidArgument, "-6");
    assert_eq!(y.clone().reshape(Vec::<i64>::new()).expect_err("an error").code(), Code::InvalidArgument);
    Ok(())
}

/// A view may begin at any byte.
#[test]
fn elements_that_are_not_aligned_are_copied() -> Result<()> {
    let bytes = Tensor::from_slice(&[0_u8, 0, 0, 128, 63, 0, 0, 0, 64, 9], [10])?;
    let create_view = Function::global("runtime.TVMTensorCreateView")?;
    let mut view: Tensor = create_view.call(args![&bytes, &[2_i64][..], DType::FLOAT32, 1])?;
    drop(bytes);
    assert_eq!(view.as_slice::<f32>().expect_err("odd").code(), Code::InvalidArgument);
    expect(view.as_slice::<f32>(), Code::InvalidArgument, "do not lie at a multiple of 4 bytes");
    expect(view.as_mut_slice::<f32>(), Code::InvalidArgument, "do not lie at a multiple of 4 bytes");
    assert_eq!(view.to_vec::<f32>()?, [1.0, 2.0]);
    assert_eq!(view.to_device(Device::CPU)?.as_slice::<f32>()?, [1.0, 2.0]);
    let callback = Function::from_args(|args: &[ValueRef<'_>]| {
        let view = args[0].to::<TensorRef<'_>>()?;
        assert!(view.as_slice::<f32>().is_err() && unsafe { view.as_mut_slice::<f32>() }.is_err());
        view.to_vec::<f32>().map(|items| items.len() as i64)
    })?;
    assert_eq!(callback.call::<i64>(args![&view])?, 2);
    Ok(())
}

#[test]
fn dlpack_shares_the_elements() -> Result<()> {
    let mut x = common::input();
    let managed = x.to_dlpack()?;
    assert!(!x.is_unique());
    expect(x.as_mut_slice::<f32>(), Code::FailedPrecondition, "something else");
    let mut again = unsafe { Tensor::from_dlpack(managed) }?;
    assert_eq!(again.as_slice::<f32>()?.as_ptr(), x.as_slice::<f32>()?.as_ptr());
    drop(x);
    assert_eq!(again.to_vec::<f32>()?, [1.0, 2.0, 3.0, -4.5], "the exported tensor lives on");
    let managed = again.to_dlpack_unversioned()?;
    let once_more = unsafe { Tensor::from_dlpack_unversioned(managed) }?;
    drop(once_more);
    again.as_mut_slice::<f32>()?[0] = 1.5;
    let managed = again.to_dlpack()?;
    unsafe { (*managed).deleter.expect("a deleter")(managed) };
    assert!(again.is_unique(), "the export has ended");
    Ok(())
}

#[test]
fn strided_tensors_are_copied() -> Result<()> {
    // A tensor with strides, such as another library exports: columns of a matrix with 2 rows.
    let x = Tensor::from_slice(&counting(6), [2, 3])?;
    let managed = x.to_dlpack()?;
    let (mut shape, mut strides) = ([3_i64, 2], [1_i64, 3]);
    let mut strided = unsafe {
        (*managed).dl_tensor.shape = shape.as_mut_ptr();
        (*managed).dl_tensor.strides = strides.as_mut_ptr();
        Tensor::from_dlpack(managed)
    }?;
    assert!(!strided.is_contiguous() && !strided.view().is_contiguous());
    assert_eq!((strided.strides(), x.strides()), (vec![1, 3], vec![3, 1]));
    expect(strided.as_slice::<f32>(), Code::InvalidArgument, "strided");
    expect(strided.as_mut_slice::<f32>(), Code::InvalidArgument, "strided");
    assert_eq!(strided.to_vec::<f32>()?, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert!(strided.reshape([6]).is_err());
    drop(x);
    assert_eq!(strided.to_device(Device::CPU)?.as_slice::<f32>()?[1], 3.0);
    Ok(())
}

#[test]
fn read_only_tensors_are_not_written() -> Result<()> {
    let x = common::input();
    let managed = x.to_dlpack()?;
    drop(x);
    let mut read_only = unsafe {
        (*managed).flags |= 1; // DLPACK_FLAG_BITMASK_READ_ONLY
        Tensor::from_dlpack(managed)
    }?;
    assert!(read_only.is_read_only() && read_only.is_unique());
    expect(read_only.as_mut_slice::<f32>(), Code::InvalidArgument, "read-only");
    expect(read_only.copy_from_slice(&[0.0_f32; 4]), Code::InvalidArgument, "read-only");
    expect(read_only.copy_from(&common::input()), Code::InvalidArgument, "read-only");
    let mut reshaped = read_only.reshape([2, 2])?;
    drop(read_only);
    assert!(reshaped.is_read_only());
    expect(reshaped.as_mut_slice::<f32>(), Code::InvalidArgument, "read-only");
    assert!(reshaped.to_dlpack_unversioned().is_err(), "the old struct has no flag for it");
    assert_eq!(reshaped.to_vec::<f32>()?[0], 1.0);
    Ok(())
}

#[test]
fn dtypes_and_devices_are_read_and_written_as_text() -> Result<()> {
    for (text, dtype) in [("float32", DType::FLOAT32), ("bool", DType::BOOL), ("bfloat16", DType::BFLOAT16)] {
        assert_eq!((text.parse::<DType>()?, dtype.to_string()), (dtype, text.to_owned()));
    }
    assert_eq!("int8x4".parse::<DType>()?, DType { lanes: 4, ..DType::INT8 });
    expect("float33x".parse::<DType>(), Code::InvalidArgument, "float33x");
    expect("a\0".parse::<DType>(), Code::InvalidArgument, "NUL");
    assert_eq!(("cpu".parse::<Device>()?, Device::CPU.to_string()), (Device::CPU, "cpu:0".to_owned()));
    assert_eq!("cuda:1".parse::<Device>()?, Device { device_type: 2, device_id: 1 });
    expect("cpux".parse::<Device>(), Code::InvalidArgument, "cpux");
    Ok(())
}
