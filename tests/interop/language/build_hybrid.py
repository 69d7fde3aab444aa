"""A decoder of attention and recurrence: its functions take a KV cache and the states of a recurrent network.

build_hybrid.py DIRECTORY bytecode|compiled writes tiny_hybrid.so and weights.npz, as examples/tiny_llama/build.py does.
"""

import sys
from pathlib import Path

import numpy as np
from build import TinyLlama, Var, number, weights
from shape import DECAY
from sizes import HIDDEN, LAYERS
from tvm import relax, te
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op
from tvm.relax.frontend.nn.llm.kv_cache import PagedKVCache
from tvm.target import Target

try:
    from tvm.script import tirx as T
except ImportError:
    from tvm.script import tir as T
if hasattr(relax, "AnyType"):
    of_type, any_type, tensor_type = "ty_args", relax.AnyType, relax.TensorType
else:
    of_type, any_type, tensor_type = "sinfo_args", relax.ObjectStructInfo, relax.TensorStructInfo


@T.prim_func
def get_state(storage_handle: T.handle, slots_handle: T.handle, history_handle: T.handle, out_handle: T.handle):
    b, sequences, histories = T.int64(), T.int64(), T.int64()
    storage = T.match_buffer(storage_handle, (sequences, histories, HIDDEN), "float32")
    slots = T.match_buffer(slots_handle, (b,), "int32")
    history = T.match_buffer(history_handle, (b,), "int32")
    out = T.match_buffer(out_handle, (b, HIDDEN), "float32")
    for i, j in T.grid(b, HIDDEN):
        out[i, j] = storage[slots[i], history[i], j]


@T.prim_func
def set_state(storage_handle: T.handle, slots_handle: T.handle, history_handle: T.handle, data_handle: T.handle):
    b, sequences, histories = T.int64(), T.int64(), T.int64()
    storage = T.match_buffer(storage_handle, (sequences, histories, HIDDEN), "float32")
    slots = T.match_buffer(slots_handle, (b,), "int32")
    history = T.match_buffer(history_handle, (b,), "int32")
    data = T.match_buffer(data_handle, (b, HIDDEN), "float32")
    for i, j in T.grid(b, HIDDEN):
        storage[slots[i], (history[i] + 1) % T.Cast("int32", histories), j] = data[i, j]


class RecurrentState(nn.Object):
    """Each layer has one vector of each sequence."""

    @staticmethod
    def create(sequences, history):
        block = relax.BlockBuilder.current()
        kernels = [relax.Tuple([block.add_func(kernel, kernel.__name__)]) for kernel in (get_state, set_state)]
        initial = relax.Tuple([relax.const(np.zeros(HIDDEN, "float32"))])
        made = relax.call_pure_packed("vm.builtin.rnn_state_create", number(LAYERS), sequences, history, *kernels, initial, **{of_type: any_type()})
        return RecurrentState(_expr=made, _name="rnn_state")

    def get(self, layer, rows):
        call = relax.call_dps_packed("vm.builtin.rnn_state_get", [self._expr, number(layer), number(0)], tensor_type((rows, HIDDEN), "float32"))
        return nn.Tensor(_expr=relax.BlockBuilder.current().emit(call))

    def set(self, layer, value):
        call = relax.call_pure_packed("vm.builtin.rnn_state_set", self._expr, number(layer), number(0), value._expr, **{of_type: any_type()})
        return RecurrentState(_expr=relax.BlockBuilder.current().emit(call), _name="rnn_state")


def decayed_sums(u, before):
    """Row t of a sequence is DECAY * row t-1 + u[t], and the row before the first is its state."""
    b, n, h = u.shape
    k = te.reduce_axis((0, n), "k")

    def share(t, k):
        return te.power(te.const(DECAY, "float32"), (t - k).astype("float32"))

    def part(i, t, j):
        return te.if_then_else(k <= t, share(t, k) * u[i, k, j], te.const(0, "float32"))

    summed = te.compute((b, n, h), lambda i, t, j: te.sum(part(i, t, j), k))
    return te.compute((b, n, h), lambda i, t, j: summed[i, t, j] + share(t, -1) * before[i, j])


class TinyHybrid(TinyLlama):
    def __init__(self):
        super().__init__()
        self.mixed = nn.ModuleList([nn.Linear(HIDDEN, HIDDEN, bias=False) for _ in range(LAYERS)])

    def logits_of(self, x, cache, rnn):
        b, n, _ = x.shape
        for i, block in enumerate(self.blocks):
            x = block(x, cache, i)
            rows = op.tensor_expr_op(decayed_sums, "decayed_sums", [self.mixed[i](x), rnn.get(i, b)])
            last = op.tensor_expr_op(lambda y: te.compute((b, HIDDEN), lambda i, j: y[i, y.shape[1] - 1, j]), "last_rows", [rows])
            rnn = rnn.set(i, last)
            x = x + rows
        return op.astype(self.head(self.norm(x)), "float32"), cache, rnn

    def prefill(self, x: nn.Tensor, cache: PagedKVCache, rnn: RecurrentState):
        return self.logits_of(x, cache, rnn)

    def decode(self, x: nn.Tensor, cache: PagedKVCache, rnn: RecurrentState):
        return self.logits_of(x, cache, rnn)

    def create_rnn_state(self, max_batch_size: Var, max_history: Var):
        return RecurrentState.create(max_batch_size, max_history)

    def hybrid_spec(self):
        packed, none = ({"param_mode": mode, "effect_mode": "none"} for mode in ("packed", "none"))
        states = {"cache": nn.spec.Object(object_type=PagedKVCache), "rnn": nn.spec.Object(object_type=RecurrentState)}
        return nn.spec.ModuleSpec.from_raw({
            "embed": {"ids": nn.spec.Tensor(["n"], "int32"), "$": packed},
            "prefill": {"x": nn.spec.Tensor([1, "n", HIDDEN], "float32"), **states, "$": packed},
            "decode": {"x": nn.spec.Tensor(["b", 1, HIDDEN], "float32"), **states, "$": packed},
            "create_paged_kv_cache": {"max_batch_size": int, "max_total_seq_len": int, "prefill_chunk_size": int,
                                      "page_size": int, "support_sliding_window": int, "$": none},
            "create_rnn_state": {"max_batch_size": int, "max_history": int, "$": none},
        }, self)  # fmt: skip


def main():
    directory, exec_mode = Path(sys.argv[1]), sys.argv[2]
    directory.mkdir(parents=True, exist_ok=True)
    model = TinyHybrid()
    with Target({"kind": "llvm"}) as target:
        module, parameters = model.export_tvm(spec=model.hybrid_spec())
        library = relax.build(module, target=target, exec_mode=exec_mode)
    library.export_library(str(directory / "tiny_hybrid.so"))
    np.savez(directory / "weights.npz", **{f"p{i:02}": array for i, array in enumerate(weights(parameters))})


if __name__ == "__main__":
    main()
