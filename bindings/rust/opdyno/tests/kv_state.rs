//! The state of a recurrent network whose kernels are Rust's, and do nothing: its sequences and passes.
use opdyno::{Array, Code, Error, Function, KvState, Result, Tensor, ValueRef, args};
use std::collections::BTreeMap;

fn state() -> Result<KvState> {
    let kernel = Function::from_args(|_: &[ValueRef<'_>]| Ok::<(), Error>(()))?;
    let kernels = Array::new(&args![&kernel])?;
    let initial = Array::new(&args![&Tensor::from_slice(&[0.5_f32], [1])?])?;
    Function::global("vm.builtin.rnn_state_create")?.call(args![1, 3, 4, &kernels, &kernels, &initial])
}

#[test]
fn sequences_are_added_forked_popped_and_removed() -> Result<()> {
    let state = state()?;
    state.add(7)?;
    state.begin(&[7], &[2])?;
    state.end(true)?;
    assert_eq!(state.forward(&[7], &[1], || Ok(3))?, 3);
    state.fork(7, 8, None)?;
    state.pop(7, 1)?;
    assert_eq!(state.lengths()?, BTreeMap::from([(7, 2), (8, 3)]));
    let stats = state.stats()?;
    assert_eq!((stats.num_sequences, stats.num_tokens, stats.num_pages, stats.free_pages), (2, 5, 3, 1));
    state.remove(7)?;
    state.clear()?;
    assert!(state.lengths()?.is_empty());
    assert_eq!(state.pop(7, 1).unwrap_err().code(), Code::NotFound);
    Ok(())
}

#[test]
fn a_pass_that_fails_gives_its_tokens_back() -> Result<()> {
    let state = state()?;
    state.add(0)?;
    let failed: Result<()> = state.forward(&[0], &[5], || Err(Error::invalid("the program failed")));
    assert_eq!(failed.unwrap_err().message(), "the program failed");
    state.begin_trees(&[0], &[1], &[-1])?;
    state.end(false)?;
    assert_eq!(state.lengths()?, BTreeMap::from([(0, 0)]));
    Ok(())
}

#[test]
fn a_state_is_an_argument_and_other_values_are_none() -> Result<()> {
    let state = state()?;
    state.add(4)?;
    Function::global("vm.builtin.kv_state_remove_sequence")?.call::<()>(args![&state, 4])?;
    assert!(KvState::new(&state)?.lengths()?.is_empty());
    assert!(KvState::new(3).unwrap_err().message().contains("must be a paged KV cache or an RNN state"));
    Ok(())
}
