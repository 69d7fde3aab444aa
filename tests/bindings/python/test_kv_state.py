"""Tests of KV states with an RNN state whose kernels are Python functions. tests/interop/language tests TVM's programs
with a paged cache."""

import threading

import numpy as np
import pytest

import opdyno


def make_state(sequences=3, histories=4):
    def read(storage, slots, places, out):
        for row, (slot, place) in enumerate(zip(slots.numpy(), places.numpy(), strict=True)):
            np.from_dlpack(out)[row] = np.from_dlpack(storage)[slot, place]

    def write(storage, slots, places, new):
        for slot, place, row in zip(slots.numpy(), places.numpy(), new.numpy(), strict=True):
            np.from_dlpack(storage)[slot, (place + 1) % histories] = row

    initial = opdyno.tensor(np.array([0.5], "float32"))
    create = opdyno.get_global_func("vm.builtin.rnn_state_create")
    return create(1, sequences, histories, (read,), (write,), (initial,))


def add_to(state, more):
    """Does the work of a program in a pass: adds to the states of all its sequences."""
    now = opdyno.tensor(np.zeros((1, 1), "float32"))
    opdyno.get_global_func("vm.builtin.rnn_state_get")(state, 0, 0, now)
    np.from_dlpack(now)[:] += more
    opdyno.get_global_func("vm.builtin.rnn_state_set")(state, 0, 0, now)


def now(state, seq_id):
    return float(opdyno.get_global_func("vm.builtin.rnn_state_debug_get")(state, 0, 0, seq_id).numpy()[0])


def test_what_a_function_returns_is_a_state():
    state = make_state()
    assert isinstance(state, opdyno.KVState)
    assert opdyno.KVState(state).same_as(state)
    with pytest.raises(TypeError, match="must be a paged KV cache or an RNN state, but is int"):
        opdyno.KVState(3)


def test_sequences_are_added_forked_popped_and_removed():
    state = make_state()
    state.add(7)
    for _ in range(2):
        with state.forward([7], [1]):
            add_to(state, 1)
    assert now(state, 7) == 2.5
    state.fork(7, 8)
    state.pop(7, 1)
    assert (now(state, 7), now(state, 8)) == (1.5, 2.5)
    assert state.lengths == {7: 1, 8: 2}
    stats = state.stats()
    assert (stats.num_sequences, stats.num_tokens, stats.num_pages, stats.free_pages) == (2, 3, 3, 1)
    assert stats.bytes == 3 * 4 * 4
    state.remove(7)
    assert state.lengths == {8: 2}
    state.clear()
    assert state.lengths == {}


def test_a_pass_that_raises_gives_its_tokens_back():
    state = make_state()
    state.add(0)
    with pytest.raises(ZeroDivisionError), state.forward([0], [1]):
        add_to(state, 1)
        raise ZeroDivisionError
    assert state.lengths == {0: 0}
    assert now(state, 0) == 0.5
    state.begin([0], [1])
    add_to(state, 2)
    state.end()
    assert (state.lengths, now(state, 0)) == ({0: 1}, 2.5)


def test_errors_name_the_sequence():
    state = make_state()
    with pytest.raises(opdyno.Error, match="the state has no sequence 4"):
        state.begin([4], [1])
    with pytest.raises(ValueError, match="must be of one length, but are of 1 and 2"):
        state.begin([4], [1, 1])
    state.add(4)
    with pytest.raises(ValueError, match="the tokens|form a tree"):
        state.begin([4], [2], [-1, -1])
    with pytest.raises(TypeError):
        state.begin(["x"], [1])


def test_one_thread_at_a_time():
    told = []

    def read(*_):
        def other():
            try:
                state.add(1)
            except opdyno.Error as error:
                told.append(str(error))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    create = opdyno.get_global_func("vm.builtin.rnn_state_create")
    state = create(1, 2, 2, (read,), (read,), (opdyno.tensor(np.array([0.5], "float32")),))
    state.add(0)
    with state.forward([0], [1]):
        opdyno.get_global_func("vm.builtin.rnn_state_get")(state, 0, 0, opdyno.tensor(np.zeros((1, 1), "float32")))
    assert len(told) == 1
    assert "use one state from one thread at a time" in told[0]
