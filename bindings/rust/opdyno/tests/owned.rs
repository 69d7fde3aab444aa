//! Tests of tensors of memory that Rust code owns, and of the errors for writes to read-only tensors.
use opdyno::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

mod common;
use common::expect;

const ELEMENTS: [f32; 4] = [1.0, 2.0, 3.0, -4.5]; // the elements of common::input()

fn read_only() -> Result<Tensor> {
    Tensor::from_owner(vector(true), [4])
}

/// Tests all ways to pass a tensor that will be written.
#[test]
fn a_read_only_tensor_is_not_written_by_a_call() -> Result<()> {
    let refused = |result: Result<()>| drop(expect(result, Code::InvalidArgument, "read-only"));
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let write = Function::from_args(move |_: &[ValueRef<'_>]| {
        counter.fetch_add(1, Ordering::Relaxed);
    })?;
    let mut x = read_only()?;
    assert!(x.is_read_only() && x.is_unique());
    refused(write.call(args![&mut x]));
    refused(write.call((1, &mut x)));
    refused(write.call(vec![Arg::from(&mut x)]));
    refused(write.call(args![Some(&mut x)]));
    let vm = common::vm();
    refused(vm.call("same", args![&mut x]));
    refused(vm.call_with("same", args![&mut x]).run());
    refused(vm.call_with("same", args![7]).outputs(&mut [&mut x]).run());
    refused(vm.invoke_closure(&write, args![&mut x], &CallOptions::new()));
    refused(vm.profile("same", args![&mut x], &ProfileOptions::new()).map(drop));
    let options = EvaluatorOptions::new().number(1).repeat(1);
    refused(Evaluator::new(&write, &options)?.call(args![&mut x]).map(drop));
    refused(x.as_mut_slice::<f32>().map(drop));
    refused(x.copy_from_slice(&[0.0_f32; 4]));
    refused(x.copy_from(&common::input()));
    let callback = Function::from_args(|args: &[ValueRef<'_>]| {
        let lent = args[0].to::<TensorRef<'_>>()?;
        unsafe { lent.as_mut_slice::<f32>() }.map(drop)
    })?;
    refused(callback.call(args![&x]));
    assert_eq!((x.as_slice::<f32>()?, calls.load(Ordering::Relaxed)), (&ELEMENTS[..], 0));
    write.call::<()>(args![&x])?; // reading the tensor is allowed
    assert_eq!(vm.call::<Tensor>("chain", args![&x])?.as_slice::<f32>()?, common::OUTPUT);
    Ok(())
}

/// Makes a vector whose memory begins at a multiple of 64 bytes, or one whose memory does not.
fn vector(is_aligned: bool) -> Vec<f32> {
    let mut others = Vec::new();
    loop {
        let mut made = Vec::with_capacity(4 * (1 + others.len() % 7));
        made.extend(ELEMENTS);
        if (made.as_ptr().addr() % 64 == 0) == is_aligned {
            return made;
        }
        others.push(made);
        assert!(others.len() < 100_000, "no vector begins where it should");
    }
}

#[test]
fn an_aligned_vector_is_taken_over_and_another_one_copied() -> Result<()> {
    for is_aligned in [true, false] {
        let elements = vector(is_aligned);
        let place = elements.as_ptr();
        let mut x = Tensor::from_vec(elements, [2, 2])?;
        assert_eq!(x.as_slice::<f32>()?.as_ptr() == place, is_aligned);
        assert!(x.as_slice::<f32>()?.as_ptr().addr() % 64 == 0);
        assert!(x.is_unique() && !x.is_read_only() && x.is_contiguous());
        assert_eq!((x.shape(), x.to_vec::<f32>()?), (&[2_i64, 2][..], ELEMENTS.to_vec()));
        x.as_mut_slice::<f32>()?[3] = 5.0;
        let line = x.reshape([4])?;
        expect(x.as_mut_slice::<f32>(), Code::FailedPrecondition, "something else");
        drop(x);
        assert_eq!(line.as_slice::<f32>()?, [1.0, 2.0, 3.0, 5.0]);
        expect(Tensor::from_vec(vector(is_aligned), [5]), Code::InvalidArgument, "4 elements do not fill [5]");
        expect(Tensor::from_vec(vector(is_aligned), [-4]), Code::InvalidArgument, "negative");
    }
    assert_eq!(Tensor::from_vec(Vec::<i64>::new(), [0, 3])?.shape(), [0, 3]);
    expect(Tensor::from_vec(Vec::<i64>::new(), [1]), Code::InvalidArgument, "0 elements do not fill [1]");
    Ok(())
}

/// Programs require tensors whose data begins at a multiple of 64 bytes.
#[test]
fn an_owner_that_begins_anywhere_is_read_and_copied() -> Result<()> {
    let x = Tensor::from_owner(vector(false), [4])?;
    assert_eq!(x.as_slice::<f32>()?, ELEMENTS);
    let vm = common::vm();
    expect(vm.call::<()>("chain", args![&x]), Code::InvalidArgument, "must be aligned to 64 bytes");
    let copy = x.to_device(Device::CPU)?;
    assert!(!copy.is_read_only());
    assert_eq!(vm.call::<Tensor>("chain", args![&copy])?.as_slice::<f32>()?, common::OUTPUT);
    Ok(())
}

#[derive(Clone, Default)]
struct Drops(Arc<Mutex<Vec<ThreadId>>>);
impl Drops {
    fn count(&self) -> usize {
        self.0.lock().expect("no panic").len()
    }
}
struct Owner(Vec<f32>, Drops);
impl AsRef<[f32]> for Owner {
    fn as_ref(&self) -> &[f32] {
        if self.0.is_empty() {
            panic!("it has none");
        }
        &self.0
    }
}
impl Drop for Owner {
    fn drop(&mut self) {
        assert!(self.0.is_empty() || self.0 == ELEMENTS, "its elements are there still");
        self.1.0.lock().expect("no panic").push(std::thread::current().id());
    }
}

#[test]
fn an_owner_is_dropped_once_behind_the_last_tensor() -> Result<()> {
    let drops = Drops::default();
    let x = Tensor::from_owner(Owner(vector(true), drops.clone()), [4])?;
    let square = x.reshape([2, 2])?;
    let vm = common::vm();
    assert_eq!(x.as_slice::<f32>()?, ELEMENTS);
    vm.set_input("same", args![&square], &CallOptions::new())?;
    drop((x, square));
    assert_eq!(drops.count(), 0, "the VM has it");
    let managed = {
        vm.invoke_stateful("same", &CallOptions::new())?;
        vm.outputs::<Tensor>("same", &[])?.to_dlpack()?
    };
    drop(vm);
    assert_eq!(drops.count(), 0, "the consumer has it");
    let last = unsafe { Tensor::from_dlpack(managed) }?;
    assert!(last.is_read_only() && last.as_slice::<f32>()? == ELEMENTS);
    let thread = std::thread::spawn(move || {
        drop(last);
        std::thread::current().id()
    });
    let thread = thread.join().expect("a thread");
    assert_eq!(*drops.0.lock().expect("no panic"), [thread]);
    Ok(())
}

#[test]
fn an_owner_without_a_tensor_is_dropped_at_once() {
    let drops = Drops::default();
    let owner = || Owner(Vec::from(ELEMENTS), drops.clone());
    expect(Tensor::from_owner(owner(), [2, 3]), Code::InvalidArgument, "4 elements do not fill [2, 3]");
    assert_eq!(drops.count(), 1);
    expect(Tensor::from_owner(owner(), [-2, -2]), Code::InvalidArgument, "negative");
    assert_eq!(drops.count(), 2);
    expect(Tensor::from_owner(owner(), [u64::MAX]), Code::InvalidArgument, "a size of");
    assert_eq!(drops.count(), 3);
    let none = Owner(Vec::new(), drops.clone());
    catch_unwind(AssertUnwindSafe(|| Tensor::from_owner(none, [4]))).expect_err("as_ref() panics");
    assert_eq!(drops.count(), 4);
}

#[test]
fn owners_of_many_kinds_lend_their_elements() -> Result<()> {
    let shared: Arc<[i64]> = [1, 2, 3].into();
    let x = Tensor::from_owner::<i64, _>(shared.clone(), [3])?;
    assert_eq!((x.as_slice::<i64>()?.as_ptr(), Arc::strong_count(&shared)), (shared.as_ptr(), 2));
    drop(x);
    assert_eq!(Arc::strong_count(&shared), 1);
    let fixed = Tensor::from_owner::<u8, _>(*b"bytes", [5])?; // the owner itself contains the elements
    assert_eq!(fixed.as_slice::<u8>()?, b"bytes");
    let constant = Tensor::from_owner::<u8, &'static [u8]>(b"static", [2, 3])?;
    assert_eq!(constant.to_vec::<u8>()?, b"static");
    let none = Tensor::from_owner::<f64, _>(Vec::new(), [3, 0])?;
    assert!(none.is_empty() && none.as_slice::<f64>()?.is_empty());
    Ok(())
}

#[test]
fn tensors_of_one_owner_are_used_by_many_threads() -> Result<()> {
    let drops = Drops::default();
    let x = Tensor::from_owner(Owner(vector(true), drops.clone()), [4])?;
    let vm = common::vm();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (x, vm) = (x.clone(), &vm);
            scope.spawn(move || {
                for _ in 0..50 {
                    let y: Tensor = vm.call("chain", args![&x]).expect("a call");
                    assert_eq!(y.as_slice::<f32>().expect("floats"), common::OUTPUT);
                }
            });
        }
    });
    drop((x, vm));
    assert_eq!(drops.count(), 1);
    Ok(())
}
