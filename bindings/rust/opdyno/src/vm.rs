//! The VM, which is a program bound to devices; its calls, recordings and replays; cancel tokens.
use crate::arg::IntoArgs;
use crate::ffi;
use crate::object::{check, create, given, handle};
use crate::options::{Kept, count_of};
use crate::text::{c_path, with_text};
use crate::value::{FromValue, NONE, Value};
use crate::{
    Array, CallOptions, CompareOptions, Function, Module, ProfileOptions, RecordOptions, ReplayOptions, Report, Result,
    Tensor, Trace, VmOptions,
};
use core::ffi::c_char;
use core::ptr::{null, null_mut};
use core::time::Duration;
use std::path::Path;

handle! {
    /// A program bound to devices. Any number of threads may call it at once.
    /// ```no_run
    /// # fn main() -> opdyno::Result<()> {
    /// use opdyno::{Module, Tensor, args};
    /// let vm = unsafe { Module::load("model.so") }?.vm()?; // its code is trusted
    /// let x = Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0], [4])?;
    /// let y: Tensor = vm.call("main", args![&x])?;
    /// println!("{:?}", y.as_slice::<f32>()?);
    /// # Ok(()) }
    /// ```
    VirtualMachine, opd_vm
}

impl VirtualMachine {
    /// Makes a VM of a module of kind "relax.VMExecutable", on the CPU.
    pub fn new(module: &Module) -> Result<Self> {
        Self::with(module, &VmOptions::new())
    }
    /// [`VirtualMachine::new`] with options.
    pub fn with(module: &Module, options: &VmOptions<'_>) -> Result<Self> {
        let mut kept = Kept::default();
        create!(VirtualMachine, opd_vm_create(module.as_ptr(), &options.raw(&mut kept, 0)?))
    }

    /// Calls a function of the program and waits for its result. `R` is the type of the result: [`Tensor`], numbers,
    /// [`Value`], a tuple if the function returns several results …
    pub fn call<'a, R: FromValue>(&self, name: &str, args: impl IntoArgs<'a>) -> Result<R> {
        let args = args.into_args();
        let (args, mut result) = (args.raw()?, NONE);
        with_text(name, |name| {
            check!(opd_vm_call(
                self.as_ptr(),
                name,
                args.as_ptr(),
                crate::object::num_of(args.len()),
                core::ptr::null(),
                &mut result
            ))
        })?;
        unsafe { R::from_c(&result) }
    }
    /// Begins a call with options: `vm.call_with("main", args![&x]).timeout(limit).run()?`.
    pub fn call_with<'a, A: IntoArgs<'a>>(&'a self, name: &'a str, args: A) -> Call<'a, A> {
        Call { vm: self, name, args, options: CallOptions::new(), outputs: None }
    }
    /// Gets a function of the program. The function keeps the VM alive. Its calls need no look-up by name.
    pub fn function(&self, name: &str) -> Result<Function> {
        with_text(name, |name| create!(Function, opd_vm_get_function(self.as_ptr(), name)))
    }
    /// Calls a closure that a function of the program returned, or any packed function. The call has the deadline and
    /// cancel token of a call of the VM, and profiles and the instrument see it.
    pub fn invoke_closure<'a, R: FromValue>(
        &self,
        closure: &Function,
        args: impl IntoArgs<'a>,
        options: &CallOptions<'_>,
    ) -> Result<R> {
        let args = args.into_args();
        let (args, mut kept, mut result) = (args.raw()?, Kept::default(), NONE);
        let (options, count) = (options.raw(&mut kept, args.len())?, crate::object::num_of(args.len()));
        let closure = closure.as_ptr();
        check!(opd_vm_invoke_closure(self.as_ptr(), closure, args.as_ptr(), count, &options, &mut result))?;
        unsafe { R::from_c(&result) }
    }
    /// Saves a function with its arguments under a name. Calls by this name need no arguments. Without
    /// `include_return`, such calls return nothing.
    pub fn save_function<'a>(
        &self,
        name: &str,
        saved_name: &str,
        args: impl IntoArgs<'a>,
        options: &CallOptions<'_>,
        include_return: bool,
    ) -> Result<()> {
        self.with_args(args.into_args().raw_to_share()?, name, options, |name, args, options| {
            let (data, count) = (args.as_ptr(), crate::object::num_of(args.len()));
            with_text(saved_name, |saved| {
                check!(opd_vm_save_function(self.as_ptr(), name, saved, data, count, options, include_return.into()))
            })
        })
    }
    /// Stores the arguments of a function for [`VirtualMachine::invoke_stateful`]. The function must not write them.
    pub fn set_input<'a>(&self, name: &str, args: impl IntoArgs<'a>, options: &CallOptions<'_>) -> Result<()> {
        self.with_args(args.into_args().raw_to_share()?, name, options, |name, args, options| {
            check!(opd_vm_set_input(self.as_ptr(), name, args.as_ptr(), crate::object::num_of(args.len()), options))
        })
    }
    /// Runs a function on its stored inputs and stores the result.
    pub fn invoke_stateful(&self, name: &str, options: &CallOptions<'_>) -> Result<()> {
        self.with_args(&[], name, options, |name, _, options| {
            check!(opd_vm_invoke_stateful(self.as_ptr(), name, options))
        })
    }
    /// The result of the last [`VirtualMachine::invoke_stateful`]. If the result is a tuple, `path` selects an item by
    /// its indices in nested tuples.
    pub fn outputs<R: FromValue>(&self, name: &str, path: &[i64]) -> Result<R> {
        let (count, mut result) = (count_of(path)?, NONE);
        with_text(name, |name| check!(opd_vm_get_outputs(self.as_ptr(), name, path.as_ptr(), count, &mut result)))?;
        unsafe { R::from_c(&result) }
    }
    /// The number of items in the result of the last [`VirtualMachine::invoke_stateful`], or in the item that `path`
    /// selects by its indices in nested tuples; `None` if the result or item is not a tuple.
    pub fn output_arity(&self, name: &str, path: &[i64]) -> Result<Option<usize>> {
        match self.outputs::<Value>(name, path)? {
            Value::Array(items) => Ok(Some(items.len())),
            _ => Ok(None),
        }
    }
    fn with_args<R>(
        &self,
        args: &[ffi::opd_value],
        name: &str,
        options: &CallOptions<'_>,
        run: impl FnOnce(*const c_char, &[ffi::opd_value], &ffi::opd_call_options) -> Result<R>,
    ) -> Result<R> {
        let mut kept = Kept::default();
        let options = options.raw(&mut kept, args.len())?;
        with_text(name, |name| run(name, args, &options))
    }

    /// Sets a function that is called before and after every call that the program makes, with `(function, name,
    /// before, result, arguments …)`; `None`: no instrument. Before a call, it may return an
    /// [`InstrumentAction`](crate::InstrumentAction) to skip the call.
    pub fn set_instrument(&self, instrument: Option<&Function>) -> Result<()> {
        check!(opd_vm_set_instrument(self.as_ptr(), instrument.map_or(null_mut(), Function::as_ptr)))
    }
    /// Whether the program has a function of that name, or a function was saved under that name.
    pub fn has_function(&self, name: &str) -> bool {
        with_text(name, |name| Ok(unsafe { ffi::opd_vm_has_function(self.as_ptr(), name) } != 0)).unwrap_or(false)
    }
    /// The program's functions.
    pub fn list_functions(&self) -> Result<Vec<String>> {
        create!(Array, opd_vm_list_functions(self.as_ptr()))?.into_texts()
    }
    /// The names of a function's parameters.
    pub fn list_params(&self, name: &str) -> Result<Vec<String>> {
        with_text(name, |name| create!(Array, opd_vm_list_params(self.as_ptr(), name)))?.into_texts()
    }
    /// Returns memory to the system: what idle frames keep, and what the pools of the VM's devices keep.
    pub fn trim(&self) -> Result<()> {
        check!(opd_vm_trim(self.as_ptr()))
    }

    /// Calls a function and measures every operator call. Returns a report and a trace of the same calls.
    pub fn profile<'a>(
        &self,
        name: &str,
        args: impl IntoArgs<'a>,
        options: &ProfileOptions<'_>,
    ) -> Result<(Report, Trace)> {
        let mut kept = Kept::default();
        let options = options.raw(&mut kept, 0)?;
        let (mut report, mut trace) = (null_mut(), null_mut());
        self.with_args(args.into_args().raw()?, name, &CallOptions::new(), |name, args, call| {
            let (data, count) = (args.as_ptr(), crate::object::num_of(args.len()));
            check!(opd_vm_profile(self.as_ptr(), name, data, count, call, &options, &mut report, &mut trace))
        })?;
        Ok(unsafe { (given(Report::from_raw(report)), given(Trace::from_raw(trace))) })
    }
    /// Runs a function of this program and of another build on the same arguments, and compares the results of their
    /// operators. Returns a report, whose configuration has the "Verdict". If times were measured, also returns a
    /// report of the operators that became slower.
    pub fn compare<'a>(
        &self,
        other: &VirtualMachine,
        name: &str,
        args: impl IntoArgs<'a>,
        options: &CompareOptions<'_>,
    ) -> Result<(Report, Option<Report>)> {
        let args = args.into_args();
        let (args, mut kept) = (args.raw_to_share()?, Kept::default());
        let (options, count) = (options.raw(&mut kept, args.len())?, crate::object::num_of(args.len()));
        let (mut report, mut times) = (null_mut(), null_mut());
        with_text(name, |name| {
            let (a, b, data) = (self.as_ptr(), other.as_ptr(), args.as_ptr());
            check!(opd_compare(a, b, name, data, count, &options, &mut report, &mut times))
        })?;
        Ok(unsafe { (given(Report::from_raw(report)), Report::from_raw(times)) })
    }
    /// Records the next call, on any thread, in a file for [`replay`].
    pub fn record_next_call(&self, path: impl AsRef<Path>, options: &RecordOptions) -> Result<()> {
        let (path, mut kept) = (c_path(path.as_ref())?, Kept::default());
        check!(opd_vm_record_next_call(self.as_ptr(), path.as_ptr(), &options.raw(&mut kept, 0)?))
    }
    /// Ends [`VirtualMachine::record_next_call`]. It is an error if no call was made since then, or if the call could
    /// not be recorded.
    pub fn end_recording(&self) -> Result<()> {
        check!(opd_vm_record_next_call(self.as_ptr(), null(), null()))
    }
    /// Profiles every call from now on, on any thread, until [`VirtualMachine::profile_stop`].
    pub fn profile_start(&self, options: &ProfileOptions<'_>) -> Result<()> {
        let mut kept = Kept::default();
        check!(opd_vm_profile_start(self.as_ptr(), &options.raw(&mut kept, 0)?))
    }
    /// Waits until the calls that are being profiled have ended, then ends the profile.
    pub fn profile_stop(&self) -> Result<(Report, Trace)> {
        let (mut report, mut trace) = (null_mut(), null_mut());
        check!(opd_vm_profile_stop(self.as_ptr(), &mut report, &mut trace))?;
        Ok(unsafe { (given(Report::from_raw(report)), given(Trace::from_raw(trace))) })
    }
}

/// The result of [`replay`]: a recorded call that was made again.
#[derive(Debug)]
pub struct Replayed {
    /// The program; `None` if the recording has only the program's hash.
    pub module: Option<Module>,
    /// A row for each argument and each part of the result. The configuration has "Verdict", which is a sentence, and
    /// "Same".
    pub report: Report,
    /// A profile like that of [`VirtualMachine::profile`]; `None` if nothing was measured.
    pub profile: Option<Report>,
}

/// Makes a recorded call again, and compares the results.
///
/// # Safety
/// Unless [`ReplayOptions::run`] is false, the code in the file is run. It must follow the rules of
/// [`Module::load`].
pub unsafe fn replay(path: impl AsRef<Path>, options: &ReplayOptions<'_>) -> Result<Replayed> {
    let (path, mut kept) = (c_path(path.as_ref())?, Kept::default());
    let (mut module, mut report, mut profile) = (null_mut(), null_mut(), null_mut());
    check!(opd_replay(path.as_ptr(), &options.raw(&mut kept, 0)?, &mut module, &mut report, &mut profile))?;
    Ok(unsafe {
        Replayed {
            module: Module::from_raw(module),
            report: given(Report::from_raw(report)),
            profile: Report::from_raw(profile),
        }
    })
}

/// A call with options. [`VirtualMachine::call_with`] begins it, and [`Call::run`] makes it.
#[must_use = "the call is made by run()"]
#[derive(Debug)]
pub struct Call<'a, A> {
    vm: &'a VirtualMachine,
    name: &'a str,
    args: A,
    options: CallOptions<'a>,
    outputs: Option<&'a mut [&'a mut Tensor]>,
}

impl<'a, A: IntoArgs<'a>> Call<'a, A> {
    /// Limits the time of the call.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options = self.options.timeout(timeout);
        self
    }
    /// Sets the token by which other threads can cancel the call.
    pub fn cancel(mut self, token: &'a CancelToken) -> Self {
        self.options = self.options.cancel(token);
        self
    }
    /// Sets the name of the parameter for each argument; `None`: the argument is positional.
    pub fn names(mut self, names: &'a [Option<&'a str>]) -> Self {
        self.options = self.options.names(names);
        self
    }
    /// Sets the tensors into which the results are copied, in order. They must be unique and must not be read-only.
    pub fn outputs(mut self, outputs: &'a mut [&'a mut Tensor]) -> Self {
        self.outputs = Some(outputs);
        self
    }
    /// Makes the call.
    pub fn run<R: FromValue>(self) -> Result<R> {
        let args = self.args.into_args();
        let (args, mut kept, mut result) = (args.raw()?, Kept::default(), NONE);
        let mut options = self.options.raw(&mut kept, args.len())?;
        if let Some(outputs) = self.outputs {
            outputs.iter_mut().try_for_each(|each| each.require_writable())?;
            options.num_outputs = count_of(outputs)?;
            options.outputs = kept.handles(outputs.iter().map(|each| each.as_ptr()));
        }
        with_text(self.name, |name| {
            let (data, count) = (args.as_ptr(), crate::object::num_of(args.len()));
            check!(opd_vm_call(self.vm.as_ptr(), name, data, count, &options, &mut result))
        })?;
        unsafe { R::from_c(&result) }
    }
}

handle! {
    /// Cancels calls of a VM from another thread.
    CancelToken, opd_cancel_token
}

impl CancelToken {
    /// Makes a token that no call uses yet.
    pub fn new() -> Result<Self> {
        create!(CancelToken, opd_cancel_token_create())
    }
    /// Ends all running and future calls that use this token: they return an error of code `Cancelled`.
    pub fn cancel(&self) {
        unsafe { ffi::opd_cancel_token_cancel(self.as_ptr()) }
    }
    /// Makes the token usable again.
    pub fn reset(&self) {
        unsafe { ffi::opd_cancel_token_reset(self.as_ptr()) }
    }
    /// Sets the default token of the calling thread. It also cancels calls that have a token of their own. `None`: no
    /// default.
    pub fn set_default(token: Option<&CancelToken>) -> Result<()> {
        check!(opd_cancel_token_set_default(token.map_or(null_mut(), CancelToken::as_ptr)))
    }
    /// The operator that a call with this token is running; `None` if there is none. Use it in messages about calls
    /// that hang.
    ///
    /// # Safety
    /// The VM of the running call lives until this function returns.
    pub unsafe fn current_operator(&self) -> Option<String> {
        let name = unsafe { ffi::opd_cancel_token_current_operator(self.as_ptr()) };
        (!name.is_null()).then(|| unsafe { crate::text::borrowed(name) }.to_owned())
    }
}
