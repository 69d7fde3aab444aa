//! Loads and runs programs made by Apache TVM and by plain compilers. Shows where time and memory go, with hardware
//! counters.
//!
//! ```no_run
//! # fn main() -> opdyno::Result<()> {
//! use opdyno::{Module, ProfileOptions, Tensor, args};
//! let vm = unsafe { Module::load("model.so") }?.vm()?; // its code is trusted
//! let x = Tensor::from_slice(&[0.5_f32; 784], [1, 784])?;
//! let y: Tensor = vm.call("main", args![&x])?;
//! println!("{:?}", y.as_slice::<f32>()?);
//!
//! let (report, trace) = vm.profile("main", args![&x], &ProfileOptions::new().repeat(10))?;
//! println!("{report}");
//! std::fs::write("trace.json", trace.to_chrome()?).expect("the file can be written");
//! # Ok(()) }
//! ```
//!
//! # What is safe
//!
//! Safe code of this crate is memory-safe. Functions that may break memory safety are `unsafe`, and their documentation
//! says what the caller must guarantee. They load native code ([`Module::load`], [`replay`]), take the signature of a C
//! function ([`Function::from_c`]), take ownership of a tensor of another library ([`Tensor::from_dlpack`]), or map a
//! file that other programs could change ([`Params::map`]).
//!
//! A packed function reads its arguments and writes only its outputs. Outputs are passed as `&mut Tensor`, which must
//! be unique. While a tensor is passed as `&Tensor`, other threads may read it, and slices of it may be borrowed. A
//! call cannot check that native code follows these rules, so whoever loads the code must guarantee it. The library's
//! builtins follow the rules, except those that work in place ([`Function::global`]): no other code may use an argument
//! that such a builtin changes during the call. The same applies to the array of `vm.builtin.tuple_reset_item`.
//!
//! Callbacks get [`ValueRef`] and [`TensorRef`], which are valid only during the call.
//!
//! Loading native code is `unsafe`, because it must be trusted:
//! ```compile_fail,E0133
//! # use opdyno::*;
//! # fn load() -> Result<VirtualMachine> {
//! Module::load("model.so")?.vm()
//! # }
//! ```
//! Options borrow the objects that they name:
//! ```compile_fail,E0505
//! # use opdyno::*;
//! # fn profile(vm: &VirtualMachine) -> Result<()> {
//! let time = Collector::builtin(CollectorKind::Time, &CounterOptions::new())?;
//! let collectors = [&time];
//! let options = ProfileOptions::new().repeat(3).collectors(&collectors);
//! drop(time);
//! vm.profile("main", (), &options)?;
//! # Ok(())
//! # }
//! ```
//! A callback cannot keep a tensor that is lent to it:
//! ```compile_fail,E0521
//! # use opdyno::*;
//! use std::sync::Mutex;
//! static KEPT: Mutex<Option<TensorRef<'static>>> = Mutex::new(None);
//! let keep = Function::from_args(|args: &[ValueRef<'_>]| {
//!     *KEPT.lock().unwrap() = args[0].as_tensor();
//! });
//! ```
//! While a tensor is written, it must not be read:
//! ```compile_fail,E0502
//! # use opdyno::*;
//! # fn write(tensor: &mut Tensor) -> Result<()> {
//! let before = tensor.as_slice::<f32>()?;
//! tensor.copy_from_slice(&[1.0_f32])?;
//! println!("{before:?}");
//! # Ok(())
//! # }
//! ```
//! If a call writes a tensor, no other reference to the tensor may exist during the call:
//! ```compile_fail,E0502
//! # use opdyno::*;
//! # fn write(vm: &VirtualMachine, x: &mut Tensor) -> Result<()> {
//! vm.call::<()>("main", args![&mut *x, &*x])?;
//! # Ok(())
//! # }
//! ```
//! ```compile_fail,E0499
//! # use opdyno::*;
//! # fn write(vm: &VirtualMachine, x: &mut Tensor) -> Result<()> {
//! vm.call_with("main", ()).outputs(&mut [&mut *x, &mut *x]).run::<()>()?;
//! # Ok(())
//! # }
//! ```
//! Elements and arguments must not outlive their tensor:
//! ```compile_fail,E0505
//! # use opdyno::*;
//! # fn read(x: Tensor) -> Result<()> {
//! let elements = x.as_slice::<f32>()?;
//! drop(x);
//! println!("{elements:?}");
//! # Ok(())
//! # }
//! ```
//! ```compile_fail,E0505
//! # use opdyno::*;
//! # fn pass(f: &Function, x: Tensor) -> Result<()> {
//! let args = args![&x];
//! drop(x);
//! f.call::<()>(args)?;
//! # Ok(())
//! # }
//! ```
//! A closure may be called on any thread at any later time, so it must be `Send` and must not borrow:
//! ```compile_fail,E0277
//! # use opdyno::*;
//! let count = std::rc::Rc::new(1);
//! let function = Function::from_fn(move || *count);
//! ```
//! ```compile_fail,E0373
//! # use opdyno::*;
//! let count = 1_i64;
//! let function = Function::from_fn(|| count + 1);
//! ```
//! Only this crate can write the result of a callback as a raw value:
//! ```compile_fail,E0053
//! # use opdyno::*;
//! struct Wild;
//! impl IntoResult for Wild {
//!     fn into_result(self) -> Result<Value> {
//!         Ok(Value::None)
//!     }
//!     fn into_c(self, out: &mut ffi::opd_value) -> Result<()> {
//!         out.r#type = ffi::OPD_TENSOR as i32;
//!         Ok(())
//!     }
//! }
//! ```
//! A collector sets its metrics while `stop` runs, on the same thread:
//! ```compile_fail,E0277
//! # use opdyno::*;
//! # fn stop(metrics: &mut Metrics) {
//! std::thread::scope(|scope| {
//!     scope.spawn(|| metrics.set("late", Metric::Count(1)));
//! });
//! # }
//! ```
//! A range ends on the thread that began it:
//! ```compile_fail,E0277
//! # use opdyno::*;
//! let range = Range::new("of this thread".into());
//! std::thread::spawn(move || drop(range));
//! ```
//!
//! # Features
//! - `arrow`: [`Report`]s as record batches of the crate `arrow-array`.
//! - `ndarray`: conversion of [`Tensor`]s from arrays of that crate and to its views.
//! - `serde`: [`Report`]s can be serialized, as their rows.
//! - `tracing`: `SpanLayer` shows spans of that crate as ranges on the time line.
//! - `bundled`: builds the library from the crate's sources. Needed if the library is neither installed nor included.
#![warn(missing_docs, missing_debug_implementations)]

pub use opdyno_sys as ffi;

// The published crate lacks these files, so only tests/bindings/rust/run.py sets this cfg.
/// The examples of docs/languages.md. They need a model, which run.py provides.
#[cfg(all(doctest, opdyno_docs))]
#[doc = include_str!("../../../../docs/languages.md")]
pub struct Languages;

/// The examples of the README.
#[cfg(all(doctest, opdyno_docs))]
#[doc = include_str!("../../README.md")]
pub struct Readme;

mod arg;
#[cfg(feature = "arrow")]
mod arrow;
mod benchmark;
mod callback;
mod collector;
mod containers;
mod error;
mod function;
#[allow(clippy::needless_lifetimes)]
mod generated;
mod kv_state;
mod machine;
mod module;
#[cfg(feature = "ndarray")]
mod ndarray;
mod object;
mod options;
mod owned;
mod params;
mod report;
mod rpc;
#[cfg(feature = "serde")]
mod serde;
#[cfg(feature = "tracing")]
mod spans;
mod stream;
mod structural;
mod telemetry;
mod tensor;
mod text;
mod trace;
mod value;
mod view;
mod vm;

pub use arg::{Arg, CallArgs, IntoArgs};
pub use benchmark::{Benchmark, Evaluator};
pub use collector::{Collector, Metric, MetricCollector, Metrics};
pub use containers::{Array, Map};
pub use error::{Error, Result};
pub use function::{Closure, Function, IntoFunction, IntoResult, set_log};
pub use generated::*;
pub use kv_state::KvState;
pub use machine::{build_info, set_threads_count, threads_count, write_file};
pub use module::{Executable, Module};
pub use params::Params;
pub use report::{Operator, Report, ReportBuilder};
pub use rpc::RpcSession;
#[cfg(feature = "tracing")]
pub use spans::SpanLayer;
pub use stream::Stream;
pub use structural::{ObjectPath, ObjectPathPair, PathStep, first_structural_mismatch, structural_equal};
pub use telemetry::Telemetry;
pub use tensor::{DType, Device, Dims, Element, Tensor};
pub use trace::{
    Profiler, Range, RangeName, Trace, is_recording, itt_is_available, mark, range_pop, range_push, stack_is_recorded,
    version,
};
pub use value::{FromValue, Object, Pointer, Value};
pub use view::{FromArg, TensorRef, ValueRef};
pub use vm::{Call, CancelToken, Replayed, VirtualMachine, replay};
