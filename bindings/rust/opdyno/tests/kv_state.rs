//! Tests of KV states: sequences and passes of a recurrent network, whose kernels are Rust closures that do nothing;
//! and the cache of a decoder that TVM compiled.
use opdyno::{Arg, Array, Code, Error, Function, KvState, Module, Params, Result, Tensor, ValueRef, args};
use std::collections::BTreeMap;
use std::path::Path;

mod common;

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

#[test]
fn a_decoder_of_tvm_shares_a_prompt() -> Result<()> {
    let Some(artifact) = common::artifact() else { return Ok(()) };
    let data = artifact.parent().and_then(Path::parent).expect("tests/interop/data").join("language");
    let vm = unsafe { Module::load(data.join("tiny_llama.so")) }?.vm()?;
    let params = Params::open(data.join("weights.npz"))?;
    let tensors = params.names()?.iter().map(|name| params.get(name)).collect::<Result<Vec<_>>>()?;
    let weights = Array::new(&tensors.iter().map(Arg::from).collect::<Vec<_>>())?;
    let sizes = [2_i64, 128, 64, 16, 0].map(|size| [size]); // most sequences and tokens, tokens of a pass and a page, windows
    let cache: KvState = vm.call("create_paged_kv_cache", sizes.each_ref().map(|size| Arg::from(&size[..])))?;
    // Returns the logits of all tokens, 97 for each token.
    let compute = |function: &str, ids: &[i64], counts: &[i64], tokens: &[i32]| {
        cache.forward(ids, counts, || {
            let rows = tokens.len() as i64;
            let x: Tensor = vm.call("embed", args![&Tensor::from_slice(tokens, [rows])?, &weights])?;
            let x = x.reshape(if function == "decode" { [rows, 1, 64] } else { [1, rows, 64] })?;
            let result: Array = vm.call(function, args![&x, &cache, &weights])?;
            result.get(0)?.to::<Tensor>()?.to_vec::<f32>()
        })
    };
    let mut prompt: Vec<i32> = (0..20).map(|i| (3 + 7 * i) % 97).collect();
    cache.add(0)?;
    compute("prefill", &[0], &[20], &prompt)?;
    cache.fork(0, 1, None)?;
    let decoded = compute("decode", &[0, 1], &[1, 1], &[21, 34])?;
    assert_eq!(cache.lengths()?, BTreeMap::from([(0, 21), (1, 21)]));
    let failed: Result<()> = cache.forward(&[1], &[1], || Err(Error::invalid("no more")));
    assert!(failed.is_err() && cache.lengths()?[&1] == 21);
    let stats = cache.stats()?;
    assert_eq!((stats.page_size, stats.num_pages - stats.free_pages), (16, 3), "the first page is of both");
    // Compute each sequence again in one pass, without a shared page.
    for (token, logits) in [21, 34].into_iter().zip(decoded.chunks(97)) {
        cache.clear()?;
        cache.add(5)?;
        prompt.truncate(20);
        prompt.push(token);
        let whole = compute("prefill", &[5], &[21], &prompt)?;
        let expected = &whole[20 * 97..];
        assert!(logits.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4), "{token}: {logits:?} {expected:?}");
    }
    Ok(())
}
