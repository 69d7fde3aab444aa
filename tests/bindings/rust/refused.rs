//! Code that must not compile. Each line that the compiler refuses has the message after `//~`. refused.py compares
//! them.
use opdyno::*;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Mutex;

// The borrowed arguments of a callback are valid until it returns.

static KEPT: Mutex<Option<TensorRef<'static>>> = Mutex::new(None);

fn a_lent_tensor_is_kept() -> Result<Function> {
    Function::from_args(|args: &[ValueRef<'_>]| {
        *KEPT.lock().unwrap() = args[0].as_tensor(); //~ E0521 borrowed data escapes outside of closure
    })
}

fn a_lent_tensor_leaves_by_a_capture() -> Result<()> {
    let kept = Mutex::new(Vec::new());
    Function::from_args(move |args: &[ValueRef<'_>]| kept.lock().unwrap().push(args[0]))?; //~ E0521 borrowed data escapes outside of closure
    Ok(())
}

fn elements_of_a_lent_tensor_are_returned() -> Result<Function> {
    Function::from_args(|args: &[ValueRef<'_>]| args[0].to::<TensorRef<'_>>()?.as_slice::<f32>()) //~ E0277 the trait bound `&[f32]: opdyno::IntoResult` is not satisfied
}

fn metrics_are_used_on_another_thread(metrics: &mut Metrics) {
    std::thread::scope(|scope| {
        scope.spawn(|| metrics.set("late", Metric::Count(1))); //~ E0277 `*mut opd_metrics` cannot be sent between threads safely
    });
}

// A closure may be called on any thread, at any later time.

fn a_closure_is_not_send() -> Result<Function> {
    let count = Rc::new(1_i64);
    Function::from_fn(move || *count) //~ E0277 `Rc<i64>` cannot be sent between threads safely
    //~^ E0277 `Rc<i64>` cannot be shared between threads safely
}

fn a_closure_is_not_sync() -> Result<Function> {
    let count = Cell::new(1_i64);
    Function::from_fn(move || count.replace(2)) //~ E0277 `Cell<i64>` cannot be shared between threads safely
}

fn a_closure_changes_what_it_captured() -> Result<Function> {
    let mut count = 0_i64;
    Function::from_args(move |_: &[ValueRef<'_>]| {
        count += 1; //~ E0594 cannot assign to `count`, as it is a captured variable in a `Fn` closure
        count
    })
}

fn a_closure_borrows_a_local() -> Result<Function> {
    let count = 1_i64;
    Function::from_fn(|| count + 1) //~ E0373 closure may outlive the current function, but it borrows `count`, which is owned by the current function
}

fn a_log_is_not_send() {
    let seen = Rc::new(());
    set_log(Some(move |_: LogLevel, _: &str| drop(seen.clone()))); //~ E0277 `Rc<()>` cannot be sent between threads safely
    //~^ E0277 `Rc<()>` cannot be shared between threads safely
}

fn a_collector_is_not_sync(state: Cell<i64>) -> Result<Collector> {
    struct Counting(Cell<i64>);
    impl MetricCollector for Counting {
        //~^ E0277 `Cell<i64>` cannot be shared between threads safely
        type State = Rc<i64>; //~ E0277 `Rc<i64>` cannot be sent between threads safely
        fn start(&self, _: Device) -> Result<Option<Self::State>> {
            Ok(None)
        }
        fn stop(&self, _: Self::State, _: &mut Metrics) -> Result<()> {
            Ok(())
        }
    }
    Collector::new("counting", Counting(state))
}

// The owner of a tensor's elements may be dropped on any thread, at any later time.

fn an_owner_is_not_send() -> Result<Tensor> {
    let elements: Rc<[f32]> = [1.0].into();
    Tensor::from_owner(elements, [1]) //~ E0277 `Rc<[f32]>` cannot be sent between threads safely
}

fn an_owner_is_a_local_of_the_function() -> Result<Tensor> {
    let elements = [1.0_f32];
    Tensor::from_owner::<f32, &[f32]>(&elements, [1]) //~ E0597 `elements` does not live long enough
}

// A range ends on the thread that began it.

fn a_range_is_sent(range: Range) {
    std::thread::spawn(move || drop(range)); //~ E0277 `*const ()` cannot be sent between threads safely
}

fn a_range_is_shared(range: Range) {
    std::thread::scope(|scope| {
        scope.spawn(|| format!("{range:?}")); //~ E0277 `*const ()` cannot be shared between threads safely
    });
}

// A moved value cannot be used.

fn a_handle_is_used_behind_into_raw(function: Function) -> Result<()> {
    function.into_raw();
    function.call::<()>(()) //~ E0382 borrow of moved value: `function`
}

fn arguments_serve_two_calls(f: &Function, x: &mut Tensor) -> Result<()> {
    let args = args![x];
    f.call::<()>(args)?;
    f.call::<()>(args) //~ E0382 use of moved value: `args`
}

fn a_builder_is_used_when_it_has_finished(builder: ReportBuilder) -> Result<Report> {
    builder.finish()?;
    builder.finish() //~ E0382 use of moved value: `builder`
}

// Elements and arguments must not outlive their tensor.

fn elements_outlive_their_tensor(x: Tensor) -> Result<()> {
    let elements = x.as_slice::<f32>()?;
    drop(x); //~ E0505 cannot move out of `x` because it is borrowed
    println!("{elements:?}");
    Ok(())
}

fn a_view_is_returned(x: Tensor) -> TensorRef<'static> {
    x.view() //~ E0515 cannot return value referencing function parameter `x`
}

fn arguments_outlive_their_tensor(f: &Function, x: Tensor) -> Result<()> {
    let args = args![&x];
    drop(x); //~ E0505 cannot move out of `x` because it is borrowed
    f.call::<()>(args)
}

fn arguments_outlive_a_text(f: &Function) -> Result<()> {
    let args = {
        let text = "local".to_owned();
        args![&text] //~ E0597 `text` does not live long enough
    };
    f.call::<()>(args)
}

fn options_outlive_what_they_name(vm: &VirtualMachine) -> Result<()> {
    let time = Collector::builtin(CollectorKind::Time, &CounterOptions::new())?;
    let collectors = [&time];
    let options = ProfileOptions::new().collectors(&collectors);
    drop(time); //~ E0505 cannot move out of `time` because it is borrowed
    vm.profile("main", (), &options)?;
    Ok(())
}

fn the_text_of_an_error_outlives_it(error: Error) -> &'static str {
    error.message() //~ E0515 cannot return value referencing function parameter `error`
}

// While an object is written, no other reader or writer is allowed.

fn elements_are_read_while_they_are_written(x: &mut Tensor) -> Result<()> {
    let before = x.as_slice::<f32>()?;
    x.copy_from_slice(&[1.0_f32])?; //~ E0502 cannot borrow `*x` as mutable because it is also borrowed as immutable
    println!("{before:?}");
    Ok(())
}

fn elements_are_written_twice_at_once(x: &mut Tensor) -> Result<()> {
    let (first, second) = (x.as_mut_slice::<f32>()?, x.as_mut_slice::<f32>()?); //~ E0499 cannot borrow `*x` as mutable more than once at a time
    first.swap_with_slice(second);
    Ok(())
}

fn elements_are_written_by_a_shared_reference(x: &Tensor) -> Result<()> {
    x.as_mut_slice::<f32>()?[0] = 1.0; //~ E0596 cannot borrow `*x` as mutable, as it is behind a `&` reference
    Ok(())
}

fn an_output_is_an_input_too(vm: &VirtualMachine, x: &mut Tensor) -> Result<()> {
    vm.call::<()>("main", args![&mut *x, &*x]) //~ E0502 cannot borrow `*x` as immutable because it is also borrowed as mutable
}

fn an_output_is_given_twice(vm: &VirtualMachine, x: &mut Tensor) -> Result<()> {
    vm.call_with("main", ()).outputs(&mut [&mut *x, &mut *x]).run() //~ E0499 cannot borrow `*x` as mutable more than once at a time
}

fn parameters_are_set_by_a_shared_reference(params: &Params, x: &Tensor) -> Result<()> {
    params.set("x", x) //~ E0596 cannot borrow `*params` as mutable, as it is behind a `&` reference
}

fn an_evaluator_is_called_by_two_threads(evaluator: &mut Evaluator) {
    std::thread::scope(|scope| {
        scope.spawn(|| evaluator.call(()));
        scope.spawn(|| evaluator.call(())); //~ E0499 cannot borrow `*evaluator` as mutable more than once at a time
    });
}

fn a_report_is_built_by_a_shared_reference(builder: &ReportBuilder) -> Result<()> {
    builder.add_call() //~ E0596 cannot borrow `*builder` as mutable, as it is behind a `&` reference
}

// An object with a single owner cannot be cloned.

fn parameters_are_cloned(params: &Params) -> Params {
    params.clone() //~ E0308 mismatched types
}

fn a_range_is_cloned(range: &Range) -> Range {
    range.clone() //~ E0308 mismatched types
}

// Functions whose requirements cannot be checked are unsafe.

fn a_c_function_is_safe(pointer: *mut std::ffi::c_void) -> Result<Function> {
    Function::from_c(pointer, "i32()", None, std::ptr::null_mut()) //~ E0133 call to unsafe function `opdyno::Function::from_c` is unsafe and requires unsafe block
}

fn native_code_is_loaded_by_safe_code() -> Result<Module> {
    Module::load("model.so") //~ E0133 call to unsafe function `opdyno::Module::load` is unsafe and requires unsafe block
}

fn native_code_of_bytes_is_loaded_by_safe_code(data: &[u8]) -> Result<Module> {
    Module::load_bytes(data, None, &ModuleOptions::new()) //~ E0133 call to unsafe function `opdyno::Module::load_bytes` is unsafe and requires unsafe block
}

fn a_recorded_call_is_made_by_safe_code() -> Result<Replayed> {
    replay("call.opdrec", &ReplayOptions::new()) //~ E0133 call to unsafe function `opdyno::replay` is unsafe and requires unsafe block
}

fn a_file_is_mapped_by_safe_code() -> Result<Params> {
    Params::map("weights.npz", &ParamsOptions::new()) //~ E0133 call to unsafe function `opdyno::Params::map` is unsafe and requires unsafe block
}

fn a_symbol_of_a_library_is_safe(library: &Module) -> Result<Function> {
    library.native_function("strlen", "i64(str)") //~ E0133 call to unsafe function `opdyno::Module::native_function` is unsafe and requires unsafe block
}

fn symbols_of_a_library_are_safe() -> Result<Module> {
    Module::load_native("libc.so.6", &[("strlen", "i64(ptr)")], &ModuleOptions::new()) //~ E0133 call to unsafe function `opdyno::Module::load_native` is unsafe and requires unsafe block
}

fn a_foreign_tensor_is_safe(managed: *mut ffi::DLManagedTensorVersioned) -> Result<Tensor> {
    Tensor::from_dlpack(managed) //~ E0133 call to unsafe function `opdyno::Tensor::from_dlpack` is unsafe and requires unsafe block
}

fn writing_a_lent_tensor_is_safe(x: TensorRef<'_>) -> Result<()> {
    x.as_mut_slice::<f32>()?[0] = 1.0; //~ E0133 call to unsafe function `opdyno::TensorRef::<'a>::as_mut_slice` is unsafe and requires unsafe block
    Ok(())
}

fn a_pointer_becomes_a_handle(pointer: *mut ffi::opd_tensor) -> Option<Tensor> {
    Tensor::from_raw(pointer) //~ E0133 call to unsafe function `opdyno::Tensor::from_raw` is unsafe and requires unsafe block
}

// Elements are primitive numbers. Only the crate can write results.

fn elements_are_references(x: &Tensor) -> Result<&[&'static str]> {
    x.as_slice::<&'static str>() //~ E0277 the trait bound `&'static str: Element` is not satisfied
}

fn elements_have_patterns_that_are_no_values(x: &Tensor) -> Result<&[bool]> {
    x.as_slice::<bool>() //~ E0277 the trait bound `bool: Element` is not satisfied
}

struct Wild;
impl IntoResult for Wild {
    fn into_result(self) -> Result<Value> {
        Ok(Value::None)
    }
    fn into_c(self, out: &mut ffi::opd_value) -> Result<()> {
        //~^ E0053 method `into_c` has an incompatible type for trait
        out.r#type = ffi::OPD_TENSOR as i32;
        Ok(())
    }
}

// A match of kinds must have a wildcard, because later versions may have more kinds.

fn kinds_are_counted(value: Value) -> i64 {
    match value {
        //~^ E0004 non-exhaustive patterns: `_` not covered
        Value::None => 0,
        Value::Int(x) => x,
    }
}
