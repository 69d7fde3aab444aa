//! The scenario of tests/bindings/golden/golden.c in Rust. Arguments: a library made by TVM, the directory
//! examples/digits.
use opdyno::{
    Arg, CallOptions, Executable, Function, Module, Params, ProfileOptions, Report, ReportFormat, ReportSection,
    Result, Tensor, ValueRef, VirtualMachine, args,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn main() -> Result<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    show_artifact(&arguments[0])?;
    call_back()?;
    show_digits(&arguments[1])
}

fn show_artifact(path: &Path) -> Result<()> {
    show(&unsafe { Module::load(path) }?, &args![&Tensor::from_slice(&[0.0_f32, 1.0, 2.0, 3.0], [4])?], "add")
}

fn show_digits(directory: &Path) -> Result<()> {
    let text = std::fs::read_to_string(directory.join("digits.opdasm")).expect("the program's text");
    let module = Executable::assemble(&text)?.to_module()?;
    module.add_import(&unsafe { Module::load(directory.join("kernels.c")) }?)?;
    let pixels = Params::open(directory.join("data/digits_test.npz"))?.get("images")?;
    let images: Vec<f32> =
        pixels.as_slice::<u8>()?[..20 * 8 * 8].iter().map(|&pixel| f32::from(pixel) / 16.0).collect();
    let mut tensors = vec![Tensor::from_slice(&images, [20, 8, 8, 1])?];
    let trained = Params::open(directory.join("data/digits.params"))?;
    for name in trained.names()? {
        tensors.push(trained.get(&name)?);
    }
    let args: Vec<Arg<'_>> = tensors.iter().map(Arg::from).collect();
    show(&module, &args, "conv2d")
}

fn show(module: &Module, args: &[Arg<'_>], name: &str) -> Result<()> {
    println!("module {}", module.kind());
    let vm = module.vm()?;
    run(&vm, args)?;
    instrument(&vm, args)?;
    profile(&module.vm()?, args, name) // a new VM, whose inputs are not set
}

/// Prints the elements of a tensor. For a matrix, prints the index of the largest element in each row.
fn print(what: &str, tensor: &Tensor) -> Result<()> {
    let elements = tensor.as_slice::<f32>()?;
    let texts: Vec<String> = match *tensor.shape() {
        [_, columns] => elements.chunks(columns as usize).map(|row| largest(row).to_string()).collect(),
        _ => elements.iter().map(f32::to_string).collect(),
    };
    println!("{what} {}", texts.join(" "));
    Ok(())
}

fn largest(row: &[f32]) -> usize {
    (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0)
}

fn run(vm: &VirtualMachine, args: &[Arg<'_>]) -> Result<()> {
    println!("functions {}", vm.list_functions()?.join(" "));
    println!("parameters {}", vm.list_params("main")?.join(" "));
    print("result", &vm.call("main", args)?)?;
    vm.set_input("main", args, &CallOptions::new())?;
    vm.invoke_stateful("main", &CallOptions::new())?;
    print("stateful", &vm.outputs("main", &[])?)?;
    let error = vm.call::<()>("mian", args).expect_err("there is no such function");
    println!("error {}: {}", error.kind(), error.message());
    Ok(())
}

fn call_back() -> Result<()> {
    Function::from_fn(|n: i64| 6 * n)?.register("golden.scale", true)?;
    let program = Executable::assemble(".func main(n) {\n  %m = call golden.scale(%n)\n  ret %m\n}")?;
    println!("callback {}", program.to_module()?.vm()?.call::<i64>("main", args![7])?);
    Function::remove_global("golden.scale")
}

fn instrument(vm: &VirtualMachine, args: &[Arg<'_>]) -> Result<()> {
    let counts: Arc<[AtomicUsize; 2]> = Arc::default();
    let seen = counts.clone();
    let count = Function::from_args(move |args: &[ValueRef<'_>]| -> Result<()> {
        let before: bool = args[2].to()?;
        seen[usize::from(!before)].fetch_add(1, Relaxed);
        Ok(())
    })?;
    vm.set_instrument(Some(&count))?;
    vm.call::<Tensor>("main", args)?;
    vm.set_instrument(None)?;
    println!("instrument {} before, {} after", counts[0].load(Relaxed), counts[1].load(Relaxed));
    Ok(())
}

fn profile(vm: &VirtualMachine, args: &[Arg<'_>], name: &str) -> Result<()> {
    let (report, trace) = vm.profile("main", args, &ProfileOptions::new())?;
    let calls = report.operators()?.filter(|operator| operator.name == name).count();
    println!("profile {} rows, {calls} of {name}", report.count(ReportSection::Calls));
    println!("trace {} calls, {} dropped", trace.call_count(), trace.dropped_count());
    let again = Report::from_json(&report.write(ReportFormat::Json)?)?;
    println!("JSON {} rows", again.count(ReportSection::Calls));
    Ok(())
}
