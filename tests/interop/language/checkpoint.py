"""A sequence that one runtime exports and another imports: checkpoint.py tvm|opdyno export|import PROGRAM PARAMETERS FILE."""

import sys

import numpy as np
from runtimes import open_program, read_arrays
from shape import logits
from sizes import DIM, KV_HEADS, LAYERS

runtime, action, program, parameters, file = sys.argv[1:]
vm, get, tensor, shape = open_program(runtime, program)
arrays = read_arrays(parameters)
weights = [tensor(array) for array in arrays]
tokens = list(range(3, 40))
cache = vm["create_paged_kv_cache"](shape([4]), shape([256]), shape([64]), shape([16]), shape([0]))


def call(name, *arguments):
    return get(f"vm.builtin.{name}")(cache, *arguments)


def run(new):
    call("kv_state_begin_forward", shape([0]), shape([len(new)]))
    result = vm["prefill"](tensor(arrays[0][new][None]), cache, weights)[0].numpy().reshape(-1, 97)
    call("kv_state_end_forward")
    return result


if action == "export":
    call("kv_state_add_sequence", 0)
    run(tokens)
    groups = [tensor(np.ones((1, 3, 2, KV_HEADS, 16, DIM), "float32")) for _ in range(LAYERS)]
    for number, group in enumerate(groups):
        call("attention_kv_cache_export_page_group", 0, number, group)
    metadata = str(call("attention_kv_cache_get_checkpoint_metadata", 0))
    np.savez(file, metadata=metadata, **{f"group{number}": group.numpy() for number, group in enumerate(groups)})
else:
    given = np.load(file)
    call("attention_kv_cache_prepare_import", 0, str(given["metadata"]))
    for number in range(LAYERS):
        call("attention_kv_cache_import_page_group", 0, number, tensor(given[f"group{number}"]))
    call("attention_kv_cache_finish_import", 0)
    np.testing.assert_allclose(run([50, 51]), logits(arrays, [*tokens, 50, 51])[-2:], atol=2e-5)
