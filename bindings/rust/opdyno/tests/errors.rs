//! Errors: what they tell, and that they may go anywhere.
use opdyno::*;
use std::error::Error as _;

mod common;
use common::expect;

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
    let _ = error.backtrace(); // none, unless the library was asked to keep it
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
