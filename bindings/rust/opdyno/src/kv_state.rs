//! KV states: what a language model's program stores for its sequences between calls.
use crate::arg::{Arg, as_raw};
use crate::object::{check, create, handle};
use crate::value::{FromValue, Value};
use crate::{KvStats, Map, Result, ffi};
use std::collections::BTreeMap;

handle! {
    /// A paged attention cache, or the states of a recurrent network. A function of the program makes it (`let cache:
    /// KvState = vm.call("create_tir_paged_kv_cache", …)?`), and other functions take it as an argument. The caller
    /// chooses the ids of the sequences. Only one thread at a time may use a state. While another thread uses
    /// it, even in a call of the program, the error has the code `FailedPrecondition`.
    KvState, opd_kv_state
}

impl KvState {
    /// Gets the state from a value, such as the result of a call.
    pub fn new<'a>(value: impl Into<Arg<'a>>) -> Result<Self> {
        let value = [value.into()];
        create!(KvState, opd_kv_state_from_value(as_raw(&value)?.as_ptr()))
    }
    /// Adds an empty sequence.
    pub fn add(&self, id: i64) -> Result<()> {
        check!(opd_kv_state_add(self.as_ptr(), id))
    }
    /// Removes a sequence and frees its pages, except pages that other sequences share.
    pub fn remove(&self, id: i64) -> Result<()> {
        check!(opd_kv_state_remove(self.as_ptr(), id))
    }
    /// Removes all sequences.
    pub fn clear(&self) -> Result<()> {
        check!(opd_kv_state_clear(self.as_ptr()))
    }
    /// Makes the sequence `child`, which begins with the first `num_tokens` tokens of `parent`; `None`: all tokens.
    pub fn fork(&self, parent: i64, child: i64, num_tokens: Option<i64>) -> Result<()> {
        check!(opd_kv_state_fork(self.as_ptr(), parent, child, num_tokens.unwrap_or(-1)))
    }
    /// Removes the last tokens of a sequence.
    pub fn pop(&self, id: i64, num_tokens: i64) -> Result<()> {
        check!(opd_kv_state_pop(self.as_ptr(), id, num_tokens))
    }
    /// Begins a pass, which computes `counts[i]` new tokens of the sequence `ids[i]`. If this fails, the state is
    /// unchanged.
    pub fn begin(&self, ids: &[i64], counts: &[i64]) -> Result<()> {
        self.begin_trees(ids, counts, &[])
    }
    /// Begins a pass of trees. `parents` has the parent of each new token, as an index into its sequence's tree; -1: a
    /// root.
    pub fn begin_trees(&self, ids: &[i64], counts: &[i64], parents: &[i64]) -> Result<()> {
        check!(opd_kv_state_begin(
            self.as_ptr(),
            ids.as_ptr(),
            crate::object::num_of(ids.len()),
            counts.as_ptr(),
            crate::object::num_of(counts.len()),
            parents.as_ptr(),
            crate::object::num_of(parents.len()),
        ))
    }
    /// Ends the pass. Without `keep`, its tokens are removed.
    pub fn end(&self, keep: bool) -> Result<()> {
        check!(opd_kv_state_end(self.as_ptr(), keep.into()))
    }
    /// Runs a pass. If the body fails or panics, the tokens of the pass are removed.
    pub fn forward<T>(&self, ids: &[i64], counts: &[i64], body: impl FnOnce() -> Result<T>) -> Result<T> {
        struct Pass<'a>(&'a KvState);
        impl Drop for Pass<'_> {
            fn drop(&mut self) {
                let _ = self.0.end(false); // does nothing if no pass is running
            }
        }
        self.begin(ids, counts)?;
        let pass = Pass(self);
        let given = body()?;
        pass.0.end(true)?;
        Ok(given)
    }
    /// The number of tokens of each sequence, by the sequence's id.
    pub fn lengths(&self) -> Result<BTreeMap<i64, i64>> {
        let lengths = create!(Map, opd_kv_state_lengths(self.as_ptr()))?;
        lengths.iter().map(|entry| entry.and_then(|(id, length)| Ok((id.to()?, length.to()?)))).collect()
    }
    /// The counts of the state: sequences, tokens, pages and bytes.
    pub fn stats(&self) -> Result<KvStats> {
        KvStats::of(|raw| unsafe { ffi::opd_kv_state_get_stats(self.as_ptr(), raw) })
    }
}

impl FromValue for KvState {
    fn from_value(value: Value) -> Result<Self> {
        KvState::new(&value)
    }
}
