"""Makes a small decoder of fixed random weights, as TVM compiles it for the CPU: build_model.py DIRECTORY.

Run by the Python of an environment that generate.py makes. Writes tiny_bytecode.so, tiny_compiled.so and params.npz.
"""

import sys
from pathlib import Path

import numpy as np
import tvm
from shape import DIM, HEADS, HIDDEN, INNER, KV_HEADS, LAYERS, VOCABULARY
from tvm import relax
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op
from tvm.relax.frontend.nn.llm.kv_cache import PagedKVCache, RopeMode, TIRPagedKVCache
from tvm.target import Target

try:
    from tvm.tirx import Var
except ImportError:
    from tvm.tir import Var
number = getattr(relax, "prim_value", None) or relax.PrimValue


class Block(nn.Module):
    def __init__(self):
        self.norm1 = nn.RMSNorm(HIDDEN, -1, 1e-5, bias=False)
        self.qkv = nn.Linear(HIDDEN, (HEADS + 2 * KV_HEADS) * DIM, bias=False)
        self.out = nn.Linear(HEADS * DIM, HIDDEN, bias=False)
        self.norm2 = nn.RMSNorm(HIDDEN, -1, 1e-5, bias=False)
        self.up = nn.Linear(HIDDEN, INNER, bias=False)
        self.down = nn.Linear(INNER, HIDDEN, bias=False)

    def forward(self, x, cache, layer):
        b, s, _ = x.shape
        qkv = op.reshape(self.qkv(self.norm1(x)), (b, s, HEADS + 2 * KV_HEADS, DIM))
        attention = cache.attention_with_fused_qkv(layer, qkv, HEADS, DIM**-0.5)
        x = x + self.out(op.reshape(attention, (b, s, HEADS * DIM)))
        return x + self.down(op.silu(self.up(self.norm2(x))))


class Tiny(nn.Module):
    def __init__(self):
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.norm = nn.RMSNorm(HIDDEN, -1, 1e-5, bias=False)
        self.head = nn.Linear(HIDDEN, VOCABULARY, bias=False)

    def logits(self, x, cache):
        for i, block in enumerate(self.blocks):
            x = block(x, cache, i)
        return op.astype(self.head(self.norm(x)), "float32")

    def embed(self, ids: nn.Tensor):
        return self.embedding(ids)

    def prefill(self, x: nn.Tensor, cache: PagedKVCache):
        return self.logits(x, cache), cache

    def decode(self, x: nn.Tensor, cache: PagedKVCache):
        return self.logits(x, cache), cache

    def create(self, max_batch: Var, max_total: Var, chunk: Var, page: Var, window: Var):
        return TIRPagedKVCache(
            attn_kind="mha", max_batch_size=max_batch, max_total_seq_len=max_total, prefill_chunk_size=chunk, page_size=page,
            support_sliding_window=window, layer_partition=relax.ShapeExpr([0, LAYERS]), num_hidden_layers=LAYERS,
            num_attention_heads=HEADS, num_key_value_heads=KV_HEADS, qk_head_dim=DIM, v_head_dim=DIM, mla_original_qk_head_dim=0,
            mla_original_v_head_dim=0, rope_mode=RopeMode.NORMAL, rope_scale=1, rope_theta=10000, rope_scaling={},
            rope_ext_factors=number(0), rotary_dim=DIM, enable_disaggregation=False, dtype="float32", target=Target("llvm"),
        )  # fmt: skip

    def spec(self):
        packed, none = ({"param_mode": mode, "effect_mode": "none"} for mode in ("packed", "none"))
        cache = nn.spec.Object(object_type=PagedKVCache)
        return nn.spec.ModuleSpec.from_raw({
            "embed": {"ids": nn.spec.Tensor(["n"], "int32"), "$": packed},
            "prefill": {"x": nn.spec.Tensor([1, "n", HIDDEN], "float32"), "cache": cache, "$": packed},
            "decode": {"x": nn.spec.Tensor(["b", 1, HIDDEN], "float32"), "cache": cache, "$": packed},
            "create": {"max_batch": int, "max_total": int, "chunk": int, "page": int, "window": int, "$": none},
        }, self)  # fmt: skip


def main(directory):
    for mode in ("bytecode", "compiled"):
        module, parameters = (model := Tiny()).export_tvm(spec=model.spec())
        relax.build(module, target="llvm", exec_mode=mode).export_library(str(directory / f"tiny_{mode}.so"))
    random = np.random.default_rng(7)
    arrays = [random.standard_normal(p.shape) * (1 if len(p.shape) == 1 else p.shape[-1] ** -0.5) for _, p in parameters]
    np.savez(directory / "params.npz", **{f"p{i:02}": array.astype("float32") for i, array in enumerate(arrays)})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
