//! Tests of the comparison of two builds of a program on the same input.

use opdyno::{CompareOptions, Error, Executable, Function, ReportSection, Result, ValueRef, VirtualMachine, args};

fn program(kernel: &str) -> Result<VirtualMachine> {
    let text = format!(".func main(x) {{\n  %y = call {kernel}(%x)\n  ret %y\n}}");
    Executable::assemble(&text)?.to_module()?.vm()
}

#[test]
fn builds_that_differ_are_told_apart() -> Result<()> {
    for (name, number) in [("compare.one", 1.0), ("compare.other", 2.0)] {
        Function::from_args(move |_: &[ValueRef<'_>]| Ok::<f64, Error>(number))?.register(name, true)?;
    }
    let (one, other, same) = (program("compare.one")?, program("compare.other")?, program("compare.one")?);
    let options = CompareOptions::new().repeat(0);
    let equal = |b: &VirtualMachine| -> Result<Option<i64>> {
        let (report, times) = one.compare(b, "main", args![1.5], &options)?;
        assert!(times.is_none(), "nothing was measured");
        assert!(report.get::<String>(ReportSection::Configuration, 0, "Verdict")?.is_some());
        report.get(ReportSection::Configuration, 0, "Equal")
    };
    assert_eq!(equal(&same)?, Some(1));
    assert_eq!(equal(&other)?, Some(0));
    let refused = one.compare(&same, "mian", args![1.5], &options).unwrap_err();
    assert!(refused.message().contains("main"), "{refused}");
    Ok(())
}
