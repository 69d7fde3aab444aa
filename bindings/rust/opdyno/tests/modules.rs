//! Tests of modules, which are loaded, inspected, imported, saved and exported, and of executables.
use opdyno::*;
use std::time::Duration;

mod common;
use common::{C_KERNELS, Directory, expect};

/// Compiles C kernels into a directory of the test and loads them.
fn c_kernels(directory: &Directory) -> Result<Module> {
    let options = ModuleOptions::new().format("c").cache_dir(directory.path());
    unsafe { Module::load_bytes(C_KERNELS.as_bytes(), Some("kernels.c"), &options) }
}

#[test]
fn a_c_source_is_a_module() -> Result<()> {
    let directory = Directory::new();
    let module = c_kernels(&directory)?;
    assert_eq!((module.kind(), module.format()), ("c", "c"));
    assert_eq!(module.function("count")?.call::<i64>(args![1, 2, 3])?, 3);
    assert_eq!(module.main()?.call::<f64>(())?, 0.5);
    assert_eq!(module.list_functions()?, ["count", "fail", "main"]);
    assert!(module.has_function("count") && !module.has_function("nothing") && !module.has_function("a\0b"));
    expect(module.function("cuont"), Code::NotFound, "count");
    expect(module.find_function("nothing"), Code::NotFound, "nothing");
    let error = module.function("fail")?.call::<()>(()).expect_err("an error of C");
    assert_eq!((error.kind(), error.message()), ("IndexError", "out of paper"));
    assert_eq!(module.source(None)?, C_KERNELS);
    assert_eq!(module.source(Some("c"))?, C_KERNELS);
    assert!(module.source(Some("none such")).is_err());
    assert!(module.is_runnable() && module.is_serializable() && module.is_compilation_exportable());
    assert!(module.to_json()?.contains("\"count\""));
    assert!(module.imports()?.is_empty());
    let area = unsafe { module.native_function("area", "f64(f64, f64)") }?;
    drop(module);
    assert_eq!(area.call::<f64>((2.0, 3.0))?, 6.0, "the function keeps its module");
    Ok(())
}

#[test]
fn options_say_how_a_module_is_loaded() -> Result<()> {
    let directory = Directory::new();
    let source = directory.join("kernels.c");
    std::fs::write(&source, C_KERNELS).expect("written");
    let options = ModuleOptions::new().cache_dir(directory.path());
    let load = |options: ModuleOptions<'_>| unsafe { Module::load_with(&source, &options) };
    let counts = |options: ModuleOptions<'_>| load(options)?.function("count")?.call::<i64>(());
    assert_eq!(counts(options)?, 0);
    assert_eq!(counts(options.c_flags("-O1 -DADDEND=5"))?, 5);
    assert!(std::fs::read_dir(directory.path()).expect("a directory").count() > 1, "the cache is there");
    expect(counts(options.format("none such")), Code::InvalidArgument, "none such");
    expect(counts(options.c_flags("-O\0")), Code::InvalidArgument, "NUL");
    expect(counts(options.c_flags("-DADDEND=6").compiler("/no/such/compiler")), Code::NotFound, "/no/such/compiler");
    let slow = options.c_flags("-DADDEND=7").build_timeout(Duration::from_millis(1));
    expect(counts(slow), Code::DeadlineExceeded, "");
    let inspected = Module::inspect(&source, &options)?;
    assert!(inspected.list_functions()?.contains(&"count".to_owned()));
    expect(inspected.function("count"), Code::FailedPrecondition, "inspect");
    assert!(unsafe { inspected.native_function("area", "f64(f64, f64)") }.is_err());
    for copy in [CopyPolicy::Always, CopyPolicy::WhenShared, CopyPolicy::Never] {
        assert_eq!(counts(options.copy(copy))?, 0, "{copy:?}");
    }
    expect(unsafe { Module::load("/no/such/file.so") }, Code::NotFound, "/no/such/file.so");
    expect(unsafe { Module::load("a\0b") }, Code::InvalidArgument, "NUL");
    expect(unsafe { Module::load_bytes(b"not a module", Some("m"), &ModuleOptions::new()) }, Code::BadFormat, "m");
    Ok(())
}

#[test]
fn a_shared_library_offers_c_functions_by_signature() -> Result<()> {
    let directory = Directory::new();
    let library = directory.join("area.so");
    let source = directory.join("area.c");
    std::fs::write(&source, "double area(double w, double h) { return w * h; }").expect("written");
    let done = std::process::Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(done.expect("cc").success());
    let options = ModuleOptions::new().copy(CopyPolicy::Never);
    let module = unsafe { Module::load_native(&library, &[("area", "f64(f64, f64)")], &options) }?;
    assert_eq!(module.function("area")?.call::<f64>((2.0, 4.0))?, 8.0);
    let missing = unsafe { Module::load_native(&library, &[("volume", "f64()")], &options) };
    expect(missing, Code::NotFound, "volume");
    Ok(())
}

#[test]
fn modules_import_modules() -> Result<()> {
    let directory = Directory::new();
    let text = ".func f(x) {\n  %n = call count(%x, 1)\n  ret %n\n}";
    let program = Executable::assemble(text)?.to_module()?;
    let kernels = c_kernels(&directory)?;
    assert!(program.vm().is_err(), "nobody offers count");
    program.add_import(&kernels)?;
    assert_eq!(program.imports()?.len(), 1);
    assert!(program.has_function("count") && program.function("count").is_err());
    assert_eq!(program.find_function("count")?.call::<i64>(())?, 0);
    assert_eq!(program.vm()?.call::<i64>("f", (1,))?, 2);
    expect(kernels.add_import(&program), Code::InvalidArgument, "");

    let tree = directory.join("tree.so");
    program.export(&tree, &ExportOptions::new())?;
    assert_eq!(unsafe { Module::load(&tree) }?.vm()?.call::<i64>("f", (1,))?, 2);
    Ok(())
}

#[test]
fn options_say_how_a_tree_is_exported() -> Result<()> {
    let directory = Directory::new();
    let program = Executable::assemble(".func f(x) {\n  %n = call count(%x, 1)\n  ret %n\n}")?.to_module()?;
    let source = directory.join("kernels.c");
    std::fs::write(&source, C_KERNELS).expect("written");
    let source = source.to_str().expect("UTF-8").to_owned();
    let (tree, addons) = (directory.join("tree.so"), [source.as_str()]);
    let workspace = directory.join("work");
    std::fs::create_dir(&workspace).expect("made");
    let options = ExportOptions::new().addons(&addons).workspace_dir(&workspace).c_flags("-O1 -DADDEND=40");
    program.export(&tree, &options)?;
    assert!(std::fs::read_dir(&workspace).expect("a directory").count() > 0, "intermediate files are kept");
    assert_eq!(unsafe { Module::load(&tree) }?.vm()?.call::<i64>("f", (1,))?, 42);
    expect(program.export(&tree, &options.compiler("/no/such/compiler")), Code::NotFound, "/no/such/compiler");
    expect(program.export(directory.join("tree.zip"), &options), Code::InvalidArgument, "tree.zip");
    Ok(())
}

#[test]
fn a_static_library_waits_for_the_export() -> Result<()> {
    let directory = Directory::new();
    let (source, object) = (directory.join("kernels.c"), directory.join("kernels.o"));
    std::fs::write(&source, C_KERNELS).expect("written");
    let done = std::process::Command::new("cc").args(["-c", "-fPIC", "-o"]).arg(&object).arg(&source).status();
    assert!(done.expect("cc").success());
    let library = Module::load_static_library(&object, &["count"])?;
    assert_eq!(library.list_functions()?, ["count"]);
    assert!(!library.is_runnable());
    assert!(Module::load_static_library(directory.join("none.o"), &[]).is_err());
    Ok(())
}

#[test]
fn a_module_is_saved_and_loaded() -> Result<()> {
    let directory = Directory::new();
    let module = common::module();
    let formats = module.list_formats()?;
    let path = directory.join("program.vmexec");
    module.save(&path, None)?;
    module.save(directory.join("again"), Some(&formats[0]))?;
    let bytes = std::fs::read(&path).expect("a file");
    let options = ModuleOptions::new().format("vmexec");
    for again in unsafe { [Module::load(&path)?, Module::load_bytes(&bytes, None, &options)?] } {
        assert_eq!((again.kind(), again.vm()?.call::<i64>("plus", (1, 2))?), ("relax.VMExecutable", 3));
    }
    expect(module.save(&path, Some("none such")), Code::Unsupported, "none such");
    assert!(Module::enabled("llvm") && !Module::enabled("none such") && !Module::enabled("a\0b"));
    assert!(unsafe { Module::system_lib(Some("none_such_")) }?.list_functions()?.is_empty());
    expect(unsafe { Module::system_lib(Some("a\0b")) }, Code::InvalidArgument, "NUL");
    Ok(())
}

#[test]
fn executables_are_text_and_bytes() -> Result<()> {
    let program = common::program();
    let bytes = program.save_bytes()?;
    let again = Executable::load_bytes(&bytes)?;
    assert_eq!(again.save_bytes()?, bytes);
    let text = again.write(ExecutableFormat::Assembly)?;
    assert!(text.contains("call test.plus"));
    assert_eq!(Executable::assemble(&text)?.save_bytes()?, bytes);
    assert!(again.write(ExecutableFormat::Python)?.contains("plus"));
    assert!(again.write(ExecutableFormat::Json)?.starts_with('{'));
    assert!(again.write(ExecutableFormat::Stats)?.contains("function"));
    let of_module = Executable::from_module(&again.to_module()?)?;
    assert_eq!(of_module.save_bytes()?, bytes);
    let error = expect(Executable::assemble(".func f( {"), Code::BadFormat, "");
    assert!(error.message().contains('1'), "a line: {error}");
    expect(Executable::load_bytes(&bytes[..bytes.len() / 2]), Code::BadFormat, "");
    expect(Executable::load_bytes(&[]), Code::BadFormat, "");
    let directory = Directory::new();
    assert!(Executable::from_module(&c_kernels(&directory)?).is_err());
    Ok(())
}

#[test]
fn what_tvm_compiled_is_loaded_and_run() -> Result<()> {
    let Some(path) = common::artifact() else { return Ok(()) };
    let module = unsafe { Module::load(&path) }?;
    let vm = module.vm()?;
    let y: Tensor = vm.call("main", args![&common::input()])?;
    assert_eq!((y.as_slice::<f32>()?, y.shape()), (&[101.0, 102.0, 103.0, 95.5][..], &[4_i64][..]), "main adds 100");
    expect(vm.call::<()>("mian", args![&common::input()]), Code::NotFound, "main");
    expect(vm.call::<()>("main", ()), Code::InvalidArgument, "main");
    drop((module, vm));
    assert_eq!(y.to_vec::<f32>()?[0], 101.0, "the result outlives its VM");
    Ok(())
}
