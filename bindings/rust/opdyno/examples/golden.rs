//! The scenario of tests/bindings/golden/golden.c. Argument: a library of TVM's.
use opdyno::{
    CallOptions, Executable, Function, Module, ProfileOptions, Report, ReportFormat, ReportSection, Result, Tensor,
    ValueRef, VirtualMachine, args,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn main() -> Result<()> {
    let module = Module::load(std::env::args().nth(1).expect("golden LIBRARY"))?;
    println!("module {}", module.kind());
    let x = Tensor::from_slice(&[0.0_f32, 1.0, 2.0, 3.0], [4])?;
    let vm = module.vm()?;
    run(&vm, &x)?;
    call_back()?;
    instrument(&vm, &x)?;
    profile(&module.vm()?, &x) // without inputs that were set
}

fn print(what: &str, tensor: &Tensor) -> Result<()> {
    let elements: Vec<String> = tensor.as_slice::<f32>()?.iter().map(f32::to_string).collect();
    println!("{what} {}", elements.join(" "));
    Ok(())
}

fn run(vm: &VirtualMachine, x: &Tensor) -> Result<()> {
    println!("functions {}", vm.list_functions()?.join(" "));
    println!("parameters {}", vm.list_params("main")?.join(" "));
    print("result", &vm.call("main", args![x])?)?;
    vm.set_input("main", args![x], &CallOptions::new())?;
    vm.invoke_stateful("main", &CallOptions::new())?;
    print("stateful", &vm.outputs("main", &[])?)?;
    let error = vm.call::<()>("mian", args![x]).expect_err("there is no such function");
    println!("error {}: {}", error.kind(), error.message());
    Ok(())
}

fn call_back() -> Result<()> {
    Function::from_fn(|n: i64| 6 * n)?.register("golden.scale", true)?;
    let program = Executable::assemble(".func main(n) {\n  %m = call golden.scale(%n)\n  ret %m\n}")?;
    println!("callback {}", program.to_module()?.vm()?.call::<i64>("main", args![7])?);
    Function::remove_global("golden.scale")
}

fn instrument(vm: &VirtualMachine, x: &Tensor) -> Result<()> {
    let counts: Arc<[AtomicUsize; 2]> = Arc::default();
    let seen = counts.clone();
    let count = Function::from_args(move |args: &[ValueRef<'_>]| -> Result<()> {
        let before: bool = args[2].to()?;
        seen[usize::from(!before)].fetch_add(1, Relaxed);
        Ok(())
    })?;
    vm.set_instrument(Some(&count))?;
    vm.call::<Tensor>("main", args![x])?;
    vm.set_instrument(None)?;
    println!("instrument {} before, {} after", counts[0].load(Relaxed), counts[1].load(Relaxed));
    Ok(())
}

fn profile(vm: &VirtualMachine, x: &Tensor) -> Result<()> {
    let (report, trace) = vm.profile("main", args![x], &ProfileOptions::new())?;
    let adds = report.operators()?.filter(|operator| operator.name == "add").count();
    println!("profile {} rows, {adds} of add", report.count(ReportSection::Calls));
    println!("trace {} calls, {} dropped", trace.call_count(), trace.dropped_count());
    let again = Report::from_json(&report.write(ReportFormat::Json)?)?;
    println!("JSON {} rows", again.count(ReportSection::Calls));
    Ok(())
}
