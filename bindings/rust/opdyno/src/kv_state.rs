//! The state that the program of a language model keeps of its sequences between calls.
use crate::arg::{Arg, as_raw};
use crate::object::{check, create, handle};
use crate::value::{FromValue, Value};
use crate::{KvStats, Map, Result, ffi};
use std::collections::BTreeMap;

handle! {
    /// A paged attention cache, or the states of a recurrent network. A function of the program makes it
    /// (`let cache: KvState = vm.call("create_tir_paged_kv_cache", …)?`), and others take it as an argument. Sequences have numbers
    /// of the caller's choice. One thread at a time: a use of the state while another thread uses it, a call of the program
    /// among them, is an error of code `FailedPrecondition`.
    KvState, opd_kv_state
}

impl KvState {
    /// The state that a value holds.
    pub fn new<'a>(value: impl Into<Arg<'a>>) -> Result<Self> {
        let value = [value.into()];
        create!(KvState, opd_kv_state_from_value(as_raw(&value)?.as_ptr()))
    }
    /// Adds an empty sequence.
    pub fn add(&self, id: i64) -> Result<()> {
        check!(opd_kv_state_add(self.as_ptr(), id))
    }
    /// Removes a sequence. Its pages are free, but for those that others share.
    pub fn remove(&self, id: i64) -> Result<()> {
        check!(opd_kv_state_remove(self.as_ptr(), id))
    }
    /// Removes all sequences.
    pub fn clear(&self) -> Result<()> {
        check!(opd_kv_state_clear(self.as_ptr()))
    }
    /// Makes the sequence `child`, which begins with so many tokens of `parent`, or with all.
    pub fn fork(&self, parent: i64, child: i64, num_tokens: Option<i64>) -> Result<()> {
        check!(opd_kv_state_fork(self.as_ptr(), parent, child, num_tokens.unwrap_or(-1)))
    }
    /// Takes the last tokens of a sequence back.
    pub fn pop(&self, id: i64, num_tokens: i64) -> Result<()> {
        check!(opd_kv_state_pop(self.as_ptr(), id, num_tokens))
    }
    /// Begins a pass, which computes so many new tokens of each sequence. If it fails, nothing has changed.
    pub fn begin(&self, ids: &[i64], counts: &[i64]) -> Result<()> {
        self.begin_trees(ids, counts, &[])
    }
    /// Begins a pass of trees: for each new token the one in its sequence's tree that it follows, -1 for a root.
    pub fn begin_trees(&self, ids: &[i64], counts: &[i64], parents: &[i64]) -> Result<()> {
        check!(opd_kv_state_begin(
            self.as_ptr(),
            ids.as_ptr(),
            ids.len() as i32,
            counts.as_ptr(),
            counts.len() as i32,
            parents.as_ptr(),
            parents.len() as i32,
        ))
    }
    /// Ends the pass. Unless its tokens are to be kept, they are taken back.
    pub fn end(&self, keep: bool) -> Result<()> {
        check!(opd_kv_state_end(self.as_ptr(), keep.into()))
    }
    /// Runs a pass. If the body fails or panics, the tokens of the pass are taken back.
    pub fn forward<T>(&self, ids: &[i64], counts: &[i64], body: impl FnOnce() -> Result<T>) -> Result<T> {
        struct Pass<'a>(&'a KvState);
        impl Drop for Pass<'_> {
            fn drop(&mut self) {
                let _ = self.0.end(false); // without a pass that runs, it does nothing
            }
        }
        self.begin(ids, counts)?;
        let pass = Pass(self);
        let given = body()?;
        pass.0.end(true)?;
        Ok(given)
    }
    /// The tokens of each sequence, by its number.
    pub fn lengths(&self) -> Result<BTreeMap<i64, i64>> {
        let lengths = create!(Map, opd_kv_state_lengths(self.as_ptr()))?;
        lengths.iter().map(|entry| entry.and_then(|(id, length)| Ok((id.to()?, length.to()?)))).collect()
    }
    /// How full it is.
    pub fn stats(&self) -> Result<KvStats> {
        KvStats::of(|raw| unsafe { ffi::opd_kv_state_get_stats(self.as_ptr(), raw) })
    }
}

impl FromValue for KvState {
    fn from_value(value: Value) -> Result<Self> {
        KvState::new(&value)
    }
}
