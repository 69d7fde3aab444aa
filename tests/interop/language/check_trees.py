"""Trees of tokens that grow in steps and are committed, against the model in NumPy: check_trees.py PROGRAM PARAMETERS SEED.

TVM is no peer here: its frontend for the CPU gives the kernels of trees in the wrong order, so that its own VM fails. Its kernel
for trees in pages reads an unset number if a query does not see the first row, so sequences begin with a committed token.
"""

import sys

import numpy as np
import opdyno
from runtimes import call_and_replay, read_arrays
from shape import logits

STEPS, SEQUENCES = 40, 3

program, path, seed = sys.argv[1:]
arrays = read_arrays(path)
weights = [opdyno.tensor(array) for array in arrays]
vm = opdyno.VirtualMachine(program)
random = np.random.default_rng(int(seed))
shape = opdyno.Shape
cache = vm["create_paged_kv_cache"](shape([4]), shape([256]), shape([64]), shape([16]), shape([0]))
committed = {i: [] for i in range(SEQUENCES)}
trees = {i: ([], []) for i in range(SEQUENCES)}  # tokens, parents


def call(name, *arguments):
    return opdyno.get_global_func(f"vm.builtin.{name}")(cache, *arguments)


def expected(sequence, count):
    """A node sees what is committed, its ancestors and itself. Its position is its depth behind what is committed."""
    base, (tokens, parents) = committed[sequence], trees[sequence]
    paths = []
    for node, parent in enumerate(parents):
        paths.append([*(paths[parent] if parent >= 0 else []), node])
    sees = np.tril(np.ones((len(base) + len(tokens),) * 2, bool))
    for node, seen in enumerate(paths):
        sees[len(base) + node, len(base) :] = False
        sees[len(base) + node, [len(base) + other for other in seen]] = True
    positions = [*range(len(base)), *(len(base) + len(seen) - 1 for seen in paths)]
    return logits(arrays, base + tokens, positions, sees)[len(base) + len(tokens) - count :]


def run(ids, new, parents=None):
    counts = [len(tokens) for tokens in new]
    call("kv_state_begin_forward", shape(ids), shape(counts), *([shape(sum(parents, []))] if parents else []))
    embedded = arrays[0][np.concatenate(new)]
    decodes = all(count == 1 for count in counts)
    x = opdyno.tensor(np.ascontiguousarray(embedded[:, None, :] if decodes else embedded[None]))
    result = call_and_replay(vm, "decode" if decodes else "prefill", x, cache, weights)[0].numpy().reshape(-1, 97)
    call("kv_state_end_forward")
    first = 0
    for k, sequence in enumerate(ids):
        if parents:
            trees[sequence][0].extend(map(int, new[k]))
            trees[sequence][1].extend(parents[k])
        else:
            committed[sequence].extend(map(int, new[k]))
        np.testing.assert_allclose(result[first : first + counts[k]], expected(sequence, counts[k]), atol=2e-5)
        first += counts[k]


def some(least, most):
    return random.integers(0, 97, int(random.integers(least, most)))


for i in range(SEQUENCES):
    call("kv_state_add_sequence", i)
for _ in range(STEPS):
    ids = [int(i) for i in random.choice(SEQUENCES, random.integers(1, SEQUENCES + 1), replace=False)]
    for i in ids:
        if len(committed[i]) > 60:
            call("kv_state_popn", i, 40)
            del committed[i][-40:]
    if random.integers(0, 3) == 0 or any(not committed[i] for i in ids):
        run(ids, [some(1, 9) for _ in ids])
        continue
    for _ in range(int(random.integers(1, 4))):
        new = [some(1, 6) for _ in ids]
        run(ids, new, [[int(random.integers(-1, len(trees[i][1]) + k)) for k in range(len(t))] for i, t in zip(ids, new)])
    leaves = [int(random.integers(-1, len(trees[i][0]))) for i in ids]
    call("attention_kv_cache_commit_accepted_token_tree_nodes", shape(ids), shape(leaves))
    for i, leaf in zip(ids, leaves):
        path = []
        while leaf >= 0:
            path.insert(0, trees[i][0][leaf])
            leaf = trees[i][1][leaf]
        committed[i] += path
        trees[i] = ([], [])
