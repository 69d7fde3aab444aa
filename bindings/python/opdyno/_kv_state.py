"""KV states: what a language model's program stores for its sequences between calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from . import _native
from ._objects import Object
from ._results import KVStats


class KVState(Object):
    """A paged attention cache, or the states of a recurrent network. A function of the program makes it.

        cache = vm["create_tir_paged_kv_cache"](...)
        cache.add(0)
        with cache.forward([0], [len(prompt)]):
            logits, _ = vm["prefill"](embeddings, cache, params)

    The caller chooses the ids of the sequences. Only one thread at a time may use the state. While another thread
    uses it, even in a call of the program, each method raises an error. Source: TVM's KVState.
    """

    __slots__ = ()

    def __new__(cls, value: Any) -> KVState:
        return _native.opd_kv_state_from_value(value)

    def add(self, seq_id: int) -> None:
        """Adds an empty sequence."""
        _native.opd_kv_state_add(self, seq_id)

    def remove(self, seq_id: int) -> None:
        """Removes a sequence and frees its pages, except pages that other sequences share."""
        _native.opd_kv_state_remove(self, seq_id)

    def clear(self) -> None:
        """Removes all sequences."""
        _native.opd_kv_state_clear(self)

    def fork(self, parent: int, child: int, num_tokens: int | None = None) -> None:
        """Makes the sequence `child`, which begins with the first `num_tokens` tokens of `parent`; None: all tokens."""
        _native.opd_kv_state_fork(self, parent, child, -1 if num_tokens is None else num_tokens)

    def pop(self, seq_id: int, num_tokens: int) -> None:
        """Removes the last tokens of a sequence."""
        _native.opd_kv_state_pop(self, seq_id, num_tokens)

    def begin(self, seq_ids: Sequence[int], counts: Sequence[int], parents: Sequence[int] | None = None) -> None:
        """Begins a pass, which computes `counts[i]` new tokens of the sequence `seq_ids[i]`. If this fails, the state
        is unchanged.

        `parents`: the parent of each new token, as an index into the tree of its sequence; -1: a root. None: no trees.
        """
        _native.opd_kv_state_begin(self, seq_ids, counts, () if parents is None else parents)

    def end(self, keep: bool = True) -> None:
        """Ends the pass. If `keep` is false, its tokens are removed."""
        _native.opd_kv_state_end(self, keep)

    @contextmanager
    def forward(self, seq_ids: Sequence[int], counts: Sequence[int], parents: Sequence[int] | None = None) -> Iterator[None]:
        """Runs a pass as a with statement. If its body raises, the tokens of the pass are removed."""
        self.begin(seq_ids, counts, parents)
        try:
            yield
        except BaseException:
            self.end(keep=False)
            raise
        self.end()

    @property
    def lengths(self) -> dict[int, int]:
        """The number of tokens of each sequence, by the sequence's id."""
        return dict(_native.opd_kv_state_lengths(self))

    def stats(self) -> KVStats:
        """Returns the counts of the state: sequences, tokens, pages and bytes."""
        return _native.opd_kv_state_get_stats(self)


_native.register_class("KvState", KVState)

__all__ = ["KVState"]
