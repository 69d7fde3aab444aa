"""Random work on the cache of a language model: work.py tvm|opdyno PROGRAM PARAMETERS SEED STEPS [windows|hybrid] [DEVICE] > RESULTS.

The same seed does the same work with TVM's VM and with opdyno's. Each line of the results is what a pass computed or what the
cache says of itself afterwards. A hybrid model has the states of a recurrent network beside the cache, and computes one prompt in a pass.
"""

import json
import sys

import numpy as np
from runtimes import call_and_replay, on_host, open_program, read_arrays

runtime, program, parameters, seed, steps = sys.argv[1:6]
has_windows, is_hybrid = (word in sys.argv[6:] for word in ("windows", "hybrid"))
HISTORY = 5  # passes of one token that a recurrent network's states can take back, and one

vm, get, tensor, shape = open_program(runtime, program, *(word for word in sys.argv[6:] if word not in ("windows", "hybrid")))
arrays = read_arrays(parameters)
weights = [tensor(array) for array in arrays]
random = np.random.default_rng(int(seed))
cache = vm["create_paged_kv_cache"](shape([4]), shape([256]), shape([64]), shape([16]), shape([int(has_windows)]))
states = [cache, vm["create_rnn_state"](shape([6]), shape([HISTORY]))] if is_hybrid else [cache]
tokens_of, window_of = {}, {}
can_pop = {}  # tokens that the recurrent network's states can take back


def state(name, *arguments):
    for one in states:
        get(f"vm.builtin.kv_state_{name}")(one, *arguments)


def cache_call(name, *arguments):
    return get(f"vm.builtin.attention_kv_cache_{name}")(cache, *arguments)


def tell(**what):
    print(json.dumps(what))


def run(ids, counts):
    new = [random.integers(0, 97, count) for count in counts]
    state("begin_forward", shape(ids), shape(counts))
    embedded = arrays[0][np.concatenate(new)]
    decodes = all(count == 1 for count in counts)
    x = tensor(np.ascontiguousarray(embedded[:, None, :] if decodes else embedded[None]))
    function, arguments = "decode" if decodes else "prefill", (x, *states, weights)
    is_replayed = runtime == "opdyno" and sum(map(len, new)) % 3 == 0
    result = (call_and_replay(vm, function, *arguments) if is_replayed else vm[function](*arguments))[0]
    result = on_host(result).reshape(-1, 97)
    state("end_forward")
    first = 0
    for sequence, tokens in zip(ids, new):
        tokens_of[sequence] = [*tokens_of[sequence], *map(int, tokens)]
        can_pop[sequence] = min(can_pop[sequence] + 1, HISTORY - 1) if len(tokens) == 1 else 0
        tell(tokens=tokens_of[sequence], logits=result[first : first + len(tokens)].tolist())
        first += len(tokens)


def step(next_id):
    ids, choice = list(tokens_of), random.integers(0, 100)
    sequence = int(random.choice(ids)) if ids else None
    if not ids or (choice < 12 and len(ids) < 6):
        state("add_sequence", next_id)
        tokens_of[next_id], can_pop[next_id] = [], 0
        if has_windows and random.integers(0, 2):
            size = int(random.integers(4, 40))
            window_of[next_id] = (size, int(random.integers(0, min(size, 20))))
            cache_call("enable_sliding_window_for_seq", next_id, *window_of[next_id])
        return next_id + 1
    if choice < 22 and len(ids) < 6:
        length = len(tokens_of[sequence])
        position = int(random.integers(0, min(length, window_of[sequence][1] if sequence in window_of else length) + 1))
        if is_hybrid or (position == length and sequence not in window_of):
            position = -1
        state("fork_sequence", sequence, next_id, position)
        tokens_of[next_id], can_pop[next_id] = tokens_of[sequence][: length if position == -1 else position], can_pop[sequence]
        return next_id + 1
    if choice < 32 and sequence not in window_of:
        count = int(random.integers(0, min(len(tokens_of[sequence]), can_pop[sequence] if is_hybrid else 40) + 1))
        state("popn", sequence, count)
        can_pop[sequence] -= count
        tokens_of[sequence] = tokens_of[sequence][: len(tokens_of[sequence]) - count]
    elif choice < 40 or sum(map(len, tokens_of.values())) > 130:
        state("remove_sequence", sequence)
        del tokens_of[sequence]
        window_of.pop(sequence, None)
    else:
        chosen = [int(i) for i in random.choice(ids, random.integers(1, min(4, len(ids)) + 1), replace=False)]
        decodes = random.integers(0, 2)
        chosen = chosen[: 1 if is_hybrid and not decodes else None]
        run(chosen, [1] * len(chosen) if decodes else [int(c) for c in random.integers(1, 15, len(chosen))])
    return next_id


if __name__ == "__main__":
    number = 0
    for _ in range(int(steps)):
        number = step(number)
        tell(free=int(cache_call("get_num_available_pages")), rows=int(cache_call("get_total_sequence_length")))
