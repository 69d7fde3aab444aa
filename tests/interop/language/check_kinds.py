"""Random work with a decoder of build_kinds.py, against the model in NumPy: check_kinds.py RUNTIME PROGRAM PARAMETERS KIND SEED STEPS [DEVICE].

Prints the logits of each pass: the same with TVM's VM and with opdyno's. In a decoder with a window, sequences are not forked,
because TVM's layers see a window of each part, and only the first pass of a sequence has more than one token, because TVM's
kernel reads an unset number otherwise.
"""

import json
import sys

import numpy as np
from kinds import logits
from runtimes import call_and_replay, on_host, open_program, read_arrays

runtime, program, parameters, kind, seed, steps = sys.argv[1:7]
vm, get, tensor, shape = open_program(runtime, program, *sys.argv[7:])
arrays = read_arrays(parameters)
weights = [tensor(array) for array in arrays]
random = np.random.default_rng(int(seed))
cache = vm["create_paged_kv_cache"](*(shape([size]) for size in (4, 256, 64, 16, 0)))
tokens_of, prompt_of = {}, {}


def state(name, *arguments):
    get(f"vm.builtin.kv_state_{name}")(cache, *arguments)


def run(ids, counts):
    new = [random.integers(0, 97, count) for count in counts]
    state("begin_forward", shape(ids), shape(counts))
    decodes = all(count == 1 for count in counts)
    embedded = arrays[0][np.concatenate(new)]
    x = tensor(np.ascontiguousarray(embedded[:, None, :] if decodes else embedded[None]))
    arguments = ("decode" if decodes else "prefill", x, cache, weights)
    is_replayed = runtime == "opdyno" and sum(counts) % 3 == 0
    result = (call_and_replay(vm, *arguments) if is_replayed else vm[arguments[0]](*arguments[1:]))[0]
    result = on_host(result).reshape(-1, 97)
    state("end_forward")
    print(json.dumps(result.tolist()))
    first = 0
    for sequence, tokens in zip(ids, new):
        tokens_of[sequence] += map(int, tokens)
        prompt_of.setdefault(sequence, len(tokens))
        expected = logits(kind, arrays, tokens_of[sequence], prompt_of[sequence])[-len(tokens) :]
        np.testing.assert_allclose(result[first : first + len(tokens)], expected, atol=5e-5)
        first += len(tokens)


def step(next_id):
    ids, choice = list(tokens_of), random.integers(0, 100)
    sequence = int(random.choice(ids)) if ids else None
    if not ids or (choice < 12 and len(ids) < 4):
        state("add_sequence", next_id)
        tokens_of[next_id] = []
        run([next_id], [int(random.integers(1, 31))])
        return next_id + 1
    if choice < 20 and len(ids) < 4 and kind != "window":
        position = int(random.integers(1, len(tokens_of[sequence]) + 1))
        state("fork_sequence", sequence, next_id, -1 if position == len(tokens_of[sequence]) else position)
        tokens_of[next_id] = tokens_of[sequence][:position]
        return next_id + 1
    if choice < 28:
        count = int(random.integers(0, max(1, len(tokens_of[sequence]) - prompt_of.get(sequence, 1))))
        state("popn", sequence, count)
        tokens_of[sequence] = tokens_of[sequence][: len(tokens_of[sequence]) - count]
    elif choice < 32 or sum(map(len, tokens_of.values())) > 150:
        state("remove_sequence", sequence)
        del tokens_of[sequence]
        prompt_of.pop(sequence, None)
    else:
        chosen = [int(i) for i in random.choice(ids, random.integers(1, len(ids) + 1), replace=False)]
        decodes = kind == "window" or random.integers(0, 2)
        run(chosen, [1] * len(chosen) if decodes else [int(c) for c in random.integers(1, 12, len(chosen))])
    return next_id


number = 0
for _ in range(int(steps)):
    number = step(number)
