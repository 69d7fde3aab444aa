//! Tests that calls of functions allocate nothing. The file has only one test, because it replaces the program's
//! allocator.
use opdyno::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The program's allocator. It counts the allocations of each thread.
struct Counting;
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        unsafe { System.realloc(pointer, layout, size) }
    }
}
#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SOURCE: &str = r"
    #include <stdint.h>
    typedef struct { int32_t type; uint32_t length; union { int64_t i; void *p; } u; } Any;
    extern int TVMFFIObjectIncRef(void *object);
    int __tvm_ffi_nop(void *self, const Any *args, int32_t n, Any *result) { return 0; }
    int __tvm_ffi_echo(void *self, const Any *args, int32_t n, Any *result) {
      if (args->type >= 64) TVMFFIObjectIncRef(args->u.p);
      *result = *args;
      return 0;
    }";

/// The number of allocations in a hundred calls. A first call, which is not counted, fills caches.
fn allocations(mut call: impl FnMut() -> Result<()>) -> Result<usize> {
    call()?;
    let before = COUNT.get();
    for _ in 0..100 {
        call()?;
    }
    Ok(COUNT.get() - before)
}

#[test]
fn calls_allocate_nothing() -> Result<()> {
    let c = unsafe { Module::load_bytes(SOURCE.as_bytes(), Some("echo.c"), &ModuleOptions::new().format("c")) }?;
    let (nop, echo) = (c.function("nop")?, c.function("echo")?);
    let x = Tensor::from_slice(&[1.0_f32, 2.0], [2])?;
    assert_eq!(allocations(|| nop.call::<()>(()))?, 0, "nop");
    assert_eq!(allocations(|| echo.call::<i64>((5,)).map(|y| assert_eq!(y, 5)))?, 0, "echo of an integer");
    assert_eq!(
        allocations(|| echo.call::<Tensor>((&x,)).map(|y| assert_eq!(y.as_ptr(), x.as_ptr())))?,
        0,
        "echo of a tensor"
    );

    let twice = Function::from_fn(|x: i64| 2 * x)?;
    let first = Function::from_args(|args: &[ValueRef<'_>]| args[0].to::<i64>())?;
    let sum = Function::from_fn(|x: Tensor, y: i64| x.as_slice::<f32>().map(|x| x[0] as i64 + y))?;
    assert_eq!(allocations(|| twice.call::<i64>((21,)).map(|y| assert_eq!(y, 42)))?, 0, "a closure");
    assert_eq!(
        allocations(|| first.call::<i64>(args![1, 2]).map(|y| assert_eq!(y, 1)))?,
        0,
        "a closure of any arguments"
    );
    assert_eq!(allocations(|| sum.call::<i64>((&x, 2)).map(|y| assert_eq!(y, 3)))?, 0, "a closure of a tensor");
    assert!(
        allocations(|| twice.call::<i64>((21,)).map(|y| drop(black_box(y.to_string()))))? >= 100,
        "a text is counted"
    );
    Ok(())
}
