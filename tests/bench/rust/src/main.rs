//! What calls cost from Rust, by the crate or by the C API as it is. Speaks as harness.cc --serve does.
//!
//! calls rust|c KERNELS: the library of kernels.c.
use opdyno::{Executable, FromValue, Function, Module, Result, Tensor, ValueRef, VirtualMachine, ffi};
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

const BATCH: Duration = Duration::from_millis(1);
type Call<'a> = Box<dyn Fn() + 'a>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let by_crate = arguments.next().as_deref() == Some("rust");
    let kernels = unsafe { Module::load(arguments.next().expect("calls rust|c KERNELS")) }?;
    let things = Things::new(&kernels)?;
    let rows = if by_crate { things.by_crate() } else { things.by_c() };
    for (name, _) in &rows {
        println!("{name} ns");
    }
    println!();
    for line in std::io::stdin().lock().lines() {
        let Ok(name) = line else { break };
        match rows.iter().find(|row| row.0 == name.trim()) {
            Some((_, call)) => println!("{}", sample(call)),
            None => println!("! there is no row {name}"),
        }
        let _ = std::io::stdout().flush();
    }
    Ok(())
}

/// Nanoseconds a call: the median of five batches.
fn sample(call: &Call<'_>) -> f64 {
    let batch = |count: u32| {
        let begin = Instant::now();
        for _ in 0..count {
            call();
        }
        begin.elapsed()
    };
    let mut count = 1;
    while batch(count) < BATCH {
        count *= 2;
    }
    let mut times: Vec<f64> = (0..5).map(|_| batch(count).as_secs_f64() * 1e9 / f64::from(count)).collect();
    times.sort_by(f64::total_cmp);
    times[2]
}

struct Things {
    nop: Function,
    echo: Function,
    twice: Function,
    vm: VirtualMachine,
    main: Function,
    x: Tensor,
}

impl Things {
    fn new(kernels: &Module) -> Result<Self> {
        kernels.function("nop")?.register("opdyno.bench.rust.nop", true)?;
        let program = ".func main(a) {\n  call opdyno.bench.rust.nop(%a)\n  ret %void\n}";
        let vm = Executable::assemble(program)?.to_module()?.vm()?;
        Ok(Self {
            nop: kernels.function("nop")?,
            echo: kernels.function("echo")?,
            twice: Function::from_args(|args: &[ValueRef<'_>]| args[0].to::<i64>().map(|x| 2 * x))?,
            main: vm.function("main")?,
            vm,
            x: Tensor::from_slice(&[0_f32; 16], [16])?,
        })
    }

    fn by_crate(&self) -> Vec<(&'static str, Call<'_>)> {
        fn call<R: FromValue>(result: Result<R>) {
            black_box(result.expect("the call works"));
        }
        vec![
            ("rust_nop", Box::new(|| call::<()>(self.nop.call(())))),
            ("rust_echo_int", Box::new(|| call::<i64>(self.echo.call((black_box(5_i64),))))),
            ("rust_echo_tensor", Box::new(|| call::<Tensor>(self.echo.call((&self.x,))))),
            ("rust_vm", Box::new(|| call::<()>(self.vm.call("main", (&self.x,))))),
            ("rust_callback", Box::new(|| self.raw(&self.twice, Some(int(black_box(5)))))),
        ]
    }

    /// The same calls, and those of the Java package, as a program in C makes them.
    fn by_c(&self) -> Vec<(&'static str, Call<'_>)> {
        vec![
            ("rust_nop", Box::new(|| self.raw(&self.nop, None))),
            ("rust_echo_int", Box::new(|| self.raw(&self.echo, Some(int(black_box(5)))))),
            ("rust_echo_tensor", Box::new(|| self.raw(&self.echo, Some(self.tensor())))),
            ("rust_vm", Box::new(|| self.raw_vm())),
            ("rust_callback", Box::new(|| self.raw(&self.nop, Some(int(black_box(5)))))), // what a call of C costs anyway
            ("java_nop", Box::new(|| self.raw(&self.nop, None))),
            ("java_echo_long", Box::new(|| self.raw(&self.echo, Some(int(black_box(5)))))),
            ("java_echo_tensor", Box::new(|| self.raw(&self.echo, Some(self.tensor())))),
            ("java_lambda", Box::new(|| self.raw(&self.nop, Some(int(black_box(5)))))), // likewise
            ("java_vm", Box::new(|| self.raw(&self.main, Some(self.tensor())))),
        ]
    }

    fn tensor(&self) -> ffi::opd_value {
        unsafe { ffi::opd_value_of_object(self.x.as_ptr().cast()) }
    }

    fn raw(&self, function: &Function, arg: Option<ffi::opd_value>) {
        let mut result = int(0);
        let arg = arg.as_ref();
        let pointer = arg.map_or(core::ptr::null(), core::ptr::from_ref);
        let count = arg.is_some().into();
        let error = unsafe { ffi::opd_function_call(function.as_ptr(), pointer, count, &mut result) };
        assert!(error.is_null());
        unsafe { ffi::opd_value_release(black_box(&mut result)) };
    }

    fn raw_vm(&self) {
        let (mut result, arg) = (int(0), self.tensor());
        let (vm, name) = (self.vm.as_ptr(), c"main".as_ptr());
        let error = unsafe { ffi::opd_vm_call(vm, name, &arg, 1, core::ptr::null(), &mut result) };
        assert!(error.is_null());
        unsafe { ffi::opd_value_release(black_box(&mut result)) };
    }
}

fn int(int64: i64) -> ffi::opd_value {
    ffi::opd_value { r#type: ffi::OPD_INT as i32, length: 0, u: ffi::opd_value_u { int64 } }
}
