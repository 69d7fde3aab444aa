//! Tests of the recording and replay of calls.

use opdyno::{
    Error, Executable, Function, RecordOptions, ReplayOptions, ReportSection, Result, ValueRef, args, replay,
};

#[test]
fn a_recorded_call_is_made_again() -> Result<()> {
    Function::from_args(|_: &[ValueRef<'_>]| Ok::<f64, Error>(7.0))?.register("replay.ask", true)?;
    let text = ".func main(x) {\n  %y = call replay.ask(%x)\n  ret %y\n}";
    let vm = Executable::assemble(text)?.to_module()?.vm()?;
    let path = std::env::temp_dir().join(format!("rust-{}.opdrec", std::process::id()));
    assert!(vm.end_recording().unwrap_err().message().contains("no recording of a call"));
    vm.record_next_call(&path, &RecordOptions::new())?;
    let result: f64 = vm.call("main", args![1.5])?;
    vm.end_recording()?;
    assert_eq!(result, 7.0);
    let replayed = unsafe { replay(&path, &ReplayOptions::new().repeat(0)) }?;
    assert!(replayed.module.is_some() && replayed.profile.is_none());
    assert_eq!(replayed.report.get(ReportSection::Configuration, 0, "Same")?, Some(1_i64));
    let read = unsafe { replay(&path, &ReplayOptions::new().run(false)) }?;
    assert!(read.report.get::<String>(ReportSection::Configuration, 0, "Verdict").is_err(), "the call was not made");
    std::fs::remove_file(&path).ok();
    assert!(unsafe { replay(&path, &ReplayOptions::new()) }.unwrap_err().message().contains("cannot open"));
    Ok(())
}
