//! Helpers of the tests: programs assembled from text, with closures as kernels; checks of errors; temporary
//! directories.
#![allow(dead_code)] // no test uses all helpers
use opdyno::*;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of calls of `test.add` in a run of "chain".
pub const ADDITIONS: usize = 5;
/// The number of rows that the profiler adds to a report: "(dispatch)" and "(profiler)".
pub const COMPUTED: usize = 2;

/// Registers the kernels, once.
pub fn kernels() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let kernels = [
            ("test.add", Function::from_args(add)),
            ("test.plus", Function::from_fn(|x: i64, y: i64| x + y)),
            ("test.call", Function::from_fn(|f: Function, x: Value| f.call::<Value>(args![&x]))),
            ("test.fail", Function::from_fn(|text: String| -> Result<()> { Err(refused(&text)) })),
        ];
        for (name, kernel) in kernels {
            kernel.and_then(|kernel| kernel.register(name, false)).expect(name);
        }
    });
}

/// Adds 1 to the elements of a tensor of floats, into the second argument.
fn add(args: &[ValueRef<'_>]) -> Result<()> {
    let [from, to] = args else { return Err(Error::invalid("test.add takes two tensors")) };
    let (from, to) = (from.to::<TensorRef<'_>>()?, to.to::<TensorRef<'_>>()?);
    // SAFETY: a program passes an output that no other code uses during the call.
    let (from, to) = (from.as_slice::<f32>()?, unsafe { to.as_mut_slice::<f32>()? });
    for (to, from) in to.iter_mut().zip(from) {
        *to = from + 1.0;
    }
    Ok(())
}

pub fn refused(text: &str) -> Error {
    Error::new(Code::OutOfRange, "Refused", text)
}

const PROGRAM: &str = r#"
.func chain(x) {
  call vm.builtin.check_tensor_info(%x, 1, dtype(float32), "x must be a vector of float32")
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8))
  %a = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  %t = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8))
  %b = call vm.builtin.alloc_tensor(%t, 0, shape(4), dtype(float32))
  call test.add(%x, %a)
  call test.add(%a, %b)
  call test.add(%b, %a)
  call test.add(%a, %b)
  call test.add(%b, %a)
  ret %a
}
.func into(x, y) {
  call test.add(%x, %y)
  ret %y
}
.func plus(x, y) {
  %r = call test.plus(%x, %y)
  ret %r
}
.func apply(f, x) {
  %r = call test.call(%f, %x)
  ret %r
}
.func closure(y) {
  %c = call vm.builtin.make_closure(@plus, %y)
  ret %c
}
.func pair(x) {
  %inner = call vm.builtin.make_tuple(%x, 7)
  %outer = call vm.builtin.make_tuple(%inner, %x)
  ret %outer
}
.func deep(n) {
  if %n else done
  %n = call test.plus(%n, -1)
  %n = call deep(%n)
  goto done
done:
  ret %n
}
.func spin(n) {
again:
  %n = call test.plus(%n, 0)
  if %n else done
  goto again
done:
  ret %n
}
.func fail(text) {
  %r = call test.fail(%text)
  ret %r
}
.func same(x) {
  ret %x
}
"#;

pub fn program() -> Executable {
    kernels();
    Executable::assemble(PROGRAM).expect("the program assembles")
}

pub fn module() -> Module {
    program().to_module().expect("a module")
}

pub fn vm() -> VirtualMachine {
    module().vm().expect("a VM")
}

pub fn input() -> Tensor {
    Tensor::from_slice(&[1.0_f32, 2.0, 3.0, -4.5], [4]).expect("a tensor")
}
/// The result of "chain" for input().
pub const OUTPUT: [f32; 4] = [6.0, 7.0, 8.0, 0.5];

/// Checks that a result is an error with this code and that its message contains this text.
#[track_caller]
pub fn expect<T: Debug>(result: Result<T>, code: Code, part: &str) -> Error {
    let error = result.expect_err("an error");
    assert!(error.code() == code && error.message().contains(part), "{error:?}, but not {code:?} with {part:?}");
    error
}

/// The path of a program compiled by TVM, which adds 1 to four floats 100 times; `None`: the file does not exist.
pub fn artifact() -> Option<PathBuf> {
    let path = std::env::var_os("OPDYNO_TEST_ARTIFACT").map(PathBuf::from);
    if path.is_none() {
        println!("skipped: OPDYNO_TEST_ARTIFACT names no artifact of TVM");
    }
    path
}

/// A temporary directory, which the drop removes.
#[derive(Debug)]
pub struct Directory(PathBuf);
impl Directory {
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("opdyno-rust-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary directory");
        Self(path)
    }
    pub fn path(&self) -> &Path {
        &self.0
    }
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}
impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// C kernels in the form that TVM's compiler writes.
pub const C_KERNELS: &str = r#"
#include <stdint.h>
typedef struct { int32_t type; uint32_t length; union { int64_t i; double f; void *p; } u; } Any;
extern void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
#ifndef ADDEND
#define ADDEND 0
#endif
int __tvm_ffi_count(void *self, const Any *args, int32_t n, Any *result) {
  result->type = 1, result->u.i = n + ADDEND;
  return 0;
}
int __tvm_ffi_main(void *self, const Any *args, int32_t n, Any *result) {
  result->type = 3, result->u.f = 0.5;
  return 0;
}
int __tvm_ffi_fail(void *self, const Any *args, int32_t n, Any *result) {
  TVMFFIErrorSetRaisedFromCStr("IndexError", "out of paper");
  return -1;
}
double area(double width, double height) { return width * height; }
"#;
