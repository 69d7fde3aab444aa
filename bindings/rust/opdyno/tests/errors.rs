//! Tests of errors: their code, kind, message and causes, and their way through callbacks and threads.
use opdyno::*;
use std::error::Error as _;

mod common;
use common::{Directory, expect};

#[test]
fn errors_have_a_code_a_kind_and_a_message() {
    let error = Error::new(Code::NotFound, "KeyError", "no größer key");
    assert_eq!((error.code(), error.kind(), error.message()), (Code::NotFound, "KeyError", "no größer key"));
    assert_eq!(
        (error.to_string().as_str(), format!("{error:?}").as_str()),
        ("KeyError: no größer key", "NotFound(KeyError: no größer key)")
    );
    assert!(error.cause().is_none() && error.source().is_none());
    assert_eq!(Error::invalid("x").code(), Code::InvalidArgument);
    assert_eq!(Error::new(Code::InvalidArgument, "", "x").kind(), "ValueError", "the usual one");
}

#[test]
fn every_code_is_one_of_an_error() {
    let codes = [
        Code::InvalidArgument,
        Code::NotFound,
        Code::AlreadyExists,
        Code::OutOfRange,
        Code::BadFormat,
        Code::Unsupported,
        Code::OutOfMemory,
        Code::Cancelled,
        Code::DeadlineExceeded,
        Code::FailedPrecondition,
        Code::Io,
        Code::CallFailed,
        Code::Internal,
    ];
    for code in codes {
        assert_eq!(Error::new(code, "", "x").code(), code);
    }
    assert_eq!(Error::new(Code::Ok, "", "x").code(), Code::Internal, "no error is none");
}

#[test]
fn texts_end_at_a_nul_character_and_may_be_long() {
    let error = Error::new(Code::Io, "Kind\0more", "message\0more");
    assert_eq!((error.kind(), error.message()), ("Kind", "message"));
    for size in [0, 1, 126, 127, 128, 129, 100_000] {
        let text = "x".repeat(size);
        assert_eq!(Error::new(Code::Io, &text, &text).message(), text);
    }
}

#[test]
fn an_error_of_a_program_names_its_operator() {
    let vm = common::vm();
    let error = expect(vm.call::<()>("fail", args!["first"]), Code::OutOfRange, "first");
    assert_eq!(error.kind(), "Refused");
    expect(vm.call::<()>("chain", args![1]), Code::InvalidArgument, "x must be a vector");
    expect(vm.call::<()>("chian", args![1]), Code::NotFound, "chain");
    let _ = error.backtrace(); // empty unless OPDYNO_BACKTRACE is set
}

#[test]
fn errors_are_cloned_and_go_to_other_threads() {
    let error = common::refused("far away");
    let clone = error.clone();
    std::thread::spawn(move || assert_eq!(error.message(), "far away")).join().expect("a thread");
    assert_eq!(clone.message(), "far away");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let own = clone.clone();
            std::thread::spawn(move || {
                (0..1000).for_each(|_| drop((own.clone(), own.cause().is_none(), own.to_string())))
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
}

#[test]
fn the_question_mark_makes_them_boxes() {
    fn fails() -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Tensor::from_slice(&[1.0_f32], [2])?;
        Ok(())
    }
    let error = fails().expect_err("an error").downcast::<Error>().expect("one of this crate");
    assert_eq!(error.code(), Code::InvalidArgument);
}

#[test]
fn an_error_is_a_value_too() -> Result<()> {
    let same = Function::from_fn(|x: Value| x)?;
    let error = common::refused("as a value");
    let back: Error = same.call((&error,))?;
    drop(error);
    assert_eq!(back.message(), "as a value");
    expect(same.call::<i64>((&back,)), Code::InvalidArgument, "expected an int, but got an error");
    Ok(())
}

/// An error type of a Rust program, with a source.
#[derive(Debug)]
struct Failed(&'static str, Option<Box<dyn std::error::Error + Send + Sync>>);
impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}
impl std::error::Error for Failed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.1.as_deref().map(|error| error as _)
    }
}

/// The messages of an error and of its sources.
fn messages(error: &Error) -> Vec<&str> {
    fn source<'a>(error: &&'a Error) -> Option<&'a Error> {
        let error: &'a Error = error;
        error.source().map(|source| source.downcast_ref().expect("of this crate"))
    }
    std::iter::successors(Some(error), source).map(Error::message).collect()
}

#[test]
fn an_error_of_a_closure_keeps_its_sources() -> Result<()> {
    let fails = Function::from_fn(|with_own: bool| -> std::result::Result<(), Failed> {
        let file = std::io::Error::other("the file is gone");
        let own = Error::new(Code::NotFound, "KeyError", "no key");
        let deepest: Box<dyn std::error::Error + Send + Sync> = if with_own { own.into() } else { file.into() };
        Err(Failed("no model", Some(Failed("no parameters", Some(deepest)).into())))
    })?;
    let error = expect(fails.call::<()>((false,)), Code::CallFailed, "no model");
    assert_eq!(messages(&error), ["no model", "no parameters", "the file is gone"]);
    let cause = error.cause().expect("a cause");
    assert_eq!((cause.code(), cause.kind()), (Code::CallFailed, "RuntimeError"));

    let error = fails.call::<()>((true,)).expect_err("an error");
    assert_eq!(messages(&error), ["no model", "no parameters", "no key"]);
    let deepest = error.source().and_then(|error| error.source()).and_then(|error| error.downcast_ref::<Error>());
    assert_eq!(deepest.map(|error| (error.code(), error.kind())), Some((Code::NotFound, "KeyError")));

    // The error passes through a program and a Rust function.
    let vm = common::vm();
    let error = vm.call::<()>("apply", (&fails, true)).expect_err("an error");
    assert_eq!(messages(&error)[messages(&error).len() - 2..], ["no parameters", "no key"]);
    assert!(messages(&error)[0].contains("no model"), "{error}");
    let clone = error.clone();
    drop((error, fails, vm));
    assert_eq!(messages(&clone).last().copied(), Some("no key"), "a cause lives as long as its error");
    Ok(())
}

#[test]
fn an_error_is_made_with_its_cause() -> Result<()> {
    let reason = "x".parse::<i64>().expect_err("no number");
    let error = Error::with_cause(Code::OutOfRange, "SizeError", "no size", &reason);
    let outer = Error::with_cause(Code::Io, "", "no file", &error);
    assert_eq!((outer.code(), outer.kind(), outer.message()), (Code::Io, "OSError", "no file"));
    drop(error);
    assert_eq!(messages(&outer), ["no file", "no size", "invalid digit found in string"]);
    assert_eq!(outer.cause().map(|cause| (cause.code(), cause.kind())), Some((Code::OutOfRange, "SizeError")));
    let given = outer.clone();
    let refuse = Function::from_fn(move || Err::<(), _>(given.clone()))?;
    assert_eq!(messages(&refuse.call::<()>(()).expect_err("an error")).len(), 3);
    drop(refuse);
    std::thread::spawn(move || assert_eq!(messages(&outer).len(), 3)).join().expect("a thread");
    Ok(())
}

/// The source of `Round` is itself, so its chain of sources is infinite.
#[test]
fn a_chain_of_sources_without_an_end_is_cut() {
    #[derive(Debug)]
    struct Round;
    impl std::fmt::Display for Round {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("round")
        }
    }
    impl std::error::Error for Round {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(self)
        }
    }
    let error = Error::with_cause(Code::Internal, "", "outer", &Round);
    assert_eq!(messages(&error).len(), 1 + 64);
}

#[test]
fn an_argument_that_cannot_be_made_says_why() -> Result<()> {
    struct Size;
    impl<'a> FromArg<'a> for Size {
        fn from_arg(_: ValueRef<'a>) -> Result<Self> {
            Err(Error::with_cause(Code::OutOfRange, "", "no size", &std::io::Error::other("no disk")))
        }
    }
    let takes = Function::from_fn(|_: i64, _: Size| ())?;
    let error = expect(takes.call::<()>((1, 2)), Code::OutOfRange, "argument 1: no size");
    assert_eq!(messages(&error), ["argument 1: no size", "no disk"]);
    Ok(())
}

/// The C code makes errors in the same way as TVM's own code and code that TVM compiled.
#[test]
fn an_error_of_c_has_its_causes() -> Result<()> {
    const SOURCE: &str = r#"
#include <stddef.h>
#include <stdint.h>
typedef struct { const char *data; size_t size; } Text;
extern int TVMFFIErrorCreateWithCauseAndExtraContext(const Text *kind, const Text *message, const Text *backtrace,
                                                     void *cause, void *extra, void **out);
extern void TVMFFIErrorSetRaised(void *error);
extern int TVMFFIObjectDecRef(void *object);
int __tvm_ffi_fails(void *self, const void *args, int32_t n, void *result) {
  Text key = {"KeyError", 8}, no_key = {"no key", 6}, value = {"ValueError", 10}, no_model = {"no model", 8}, none = {"", 0};
  void *cause = NULL, *error = NULL;
  if (TVMFFIErrorCreateWithCauseAndExtraContext(&key, &no_key, &none, NULL, NULL, &cause)) return -1;
  if (TVMFFIErrorCreateWithCauseAndExtraContext(&value, &no_model, &none, cause, NULL, &error)) return -1;
  TVMFFIErrorSetRaised(error);
  TVMFFIObjectDecRef(cause), TVMFFIObjectDecRef(error);
  return -1;
}
"#;
    let directory = Directory::new();
    let options = ModuleOptions::new().format("c").cache_dir(directory.path());
    let module = unsafe { Module::load_bytes(SOURCE.as_bytes(), Some("fails.c"), &options) }?;
    let error = module.function("fails")?.call::<()>(()).expect_err("an error of C");
    drop(module);
    assert_eq!((error.kind(), messages(&error)), ("ValueError", vec!["no model", "no key"]));
    assert_eq!(error.cause().map(Error::kind), Some("KeyError"));
    Ok(())
}
