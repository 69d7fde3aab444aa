"""Decoders whose layers attend in other ways than those of examples/tiny_llama.

build_kinds.py DIRECTORY KIND [--exec-mode MODE] writes KIND.so and weights.npz. The kinds:
  window: the second layer sees the latest rows only, kinds.WINDOW of them
  shared: the second layer reads the keys and values of the first one; nothing is rotated
  latent: MLA, for OpenCL: TVM's frontend has no kernels of it for the CPU; nothing is rotated
"""

import argparse
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from build import Block, TinyLlama, Var, number, scheduled, weights
from build_hybrid import any_type, of_type, tensor_type
from kinds import LATENT, OWN, ROPE, VALUE, WINDOW
from sizes import DIM, HEADS, HIDDEN, INNER, KV_HEADS, LAYERS
from tvm import relax
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op
from tvm.relax.frontend.nn.llm import kv_cache
from tvm.relax.frontend.nn.llm.kv_cache import PagedKVCache, RopeMode, TIRPagedKVCache
from tvm.target import Target


def make_cache(sizes, **changes):
    """The cache of examples/tiny_llama, with changed arguments."""
    given = dict(
        attn_kind="mha", layer_partition=relax.ShapeExpr([0, LAYERS]), num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS, qk_head_dim=DIM, v_head_dim=DIM, mla_original_qk_head_dim=0, mla_original_v_head_dim=0,
        rope_mode=RopeMode.NORMAL, rope_scale=1, rope_theta=10000, rope_scaling={}, rope_ext_factors=number(0), rotary_dim=DIM,
        enable_disaggregation=False, dtype="float32", target=Target.current())  # fmt: skip
    names = ("max_batch_size", "max_total_seq_len", "prefill_chunk_size", "page_size", "support_sliding_window")
    return TIRPagedKVCache(**dict(zip(names, sizes)), **(given | changes))


@contextmanager
def layer_window(size):
    """The rows that such layers see are the sixth size of a cache, for which TVM's frontend gives no argument."""
    original = kv_cache.rx.call_pure_packed

    def with_window(name, sizes, *rest, **more):
        return original(name, relax.ShapeExpr([*sizes.values[:5], size]), *rest, **more)

    kv_cache.rx.call_pure_packed = with_window
    try:
        yield
    finally:
        kv_cache.rx.call_pure_packed = original


class Windowed(TinyLlama):
    def create_paged_kv_cache(self, max_batch_size: Var, max_total_seq_len: Var, prefill_chunk_size: Var, page_size: Var,
                              support_sliding_window: Var):  # fmt: skip
        with layer_window(WINDOW):
            return make_cache((max_batch_size, max_total_seq_len, prefill_chunk_size, page_size, support_sliding_window),
                              attn_kind=["mha", "mha_sliding"])  # fmt: skip


class SharingBlock(Block):
    """Attends to the rows of the first layer. `rows`: the new ones."""

    def forward(self, x, cache, rows):
        b, s, _ = x.shape
        q = op.reshape(self.qkv(self.norm1(x)), (b * s, HEADS + 2 * KV_HEADS, DIM))
        q = nn.Tensor(_expr=relax.BlockBuilder.current().emit(relax.op.strided_slice(q._expr, [1], [0], [HEADS])))
        arguments = [cache._expr, number(0), number(DIM**-0.5), q._expr, rows[0]._expr, rows[1]._expr]
        call = relax.call_dps_packed("vm.builtin.attention_kv_cache_attention_with_shared_kv", arguments, tensor_type((b * s, HEADS, DIM), "float32"))
        attention = nn.Tensor(_expr=relax.BlockBuilder.current().emit(call))
        x = x + self.out(op.reshape(attention, (b, s, HEADS * DIM)))
        return x + self.down(op.silu(self.up(self.norm2(x))))


class OwningBlock(Block):
    def forward(self, x, cache, layer):
        b, s, _ = x.shape
        qkv = op.reshape(self.qkv(self.norm1(x)), (b, s, HEADS + 2 * KV_HEADS, DIM))
        attention = cache.attention_with_fused_qkv(layer, qkv, HEADS, DIM**-0.5)
        x = x + self.out(op.reshape(attention, (b, s, HEADS * DIM)))
        flat = op.reshape(qkv, (b * s, HEADS + 2 * KV_HEADS, DIM))._expr
        block = relax.BlockBuilder.current()
        rows = [nn.Tensor(_expr=block.emit(relax.op.strided_slice(flat, [1], [begin], [begin + KV_HEADS]))) for begin in (HEADS, HEADS + KV_HEADS)]
        return x + self.down(op.silu(self.up(self.norm2(x)))), rows


class Sharing(TinyLlama):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([OwningBlock(), SharingBlock()])

    def logits(self, x, cache):
        x, rows = self.blocks[0](x, cache, 0)
        x = self.blocks[1](x, cache, rows)
        return op.astype(self.head(self.norm(x)), "float32")

    def create_paged_kv_cache(self, max_batch_size: Var, max_total_seq_len: Var, prefill_chunk_size: Var, page_size: Var,
                              support_sliding_window: Var):  # fmt: skip
        return make_cache((max_batch_size, max_total_seq_len, prefill_chunk_size, page_size, support_sliding_window), rope_mode=RopeMode.NONE)


class LatentBlock(nn.Module):
    """A token leaves LATENT + ROPE numbers in the cache, from which keys and values of all heads are made."""

    def __init__(self):
        self.norm1 = nn.RMSNorm(HIDDEN, -1, 1e-5, bias=False)
        self.q = nn.Linear(HIDDEN, HEADS * (OWN + ROPE), bias=False)
        self.row = nn.Linear(HIDDEN, LATENT + ROPE, bias=False)
        self.to_key = nn.Parameter((HEADS, OWN, LATENT))
        self.to_value = nn.Parameter((HEADS, LATENT, VALUE))
        self.out = nn.Linear(HEADS * VALUE, HIDDEN, bias=False)
        self.norm2 = nn.RMSNorm(HIDDEN, -1, 1e-5, bias=False)
        self.up = nn.Linear(HIDDEN, INNER, bias=False)
        self.down = nn.Linear(INNER, HIDDEN, bias=False)

    def forward(self, x, cache, layer, is_decoding):
        b, s, _ = x.shape
        scale = (OWN + ROPE) ** -0.5
        normed = self.norm1(x)
        q = op.reshape(self.q(normed), (b, s, HEADS, OWN + ROPE))
        row = op.reshape(self.row(normed), (b, s, 1, LATENT + ROPE))
        own, rotated = op.split(q, [OWN], axis=-1)
        by_head = op.permute_dims(op.reshape(own, (b * s, HEADS, OWN)), [1, 0, 2])
        latent = op.reshape(op.permute_dims(op.matmul(by_head, self.to_key), [1, 0, 2]), (b, s, HEADS, LATENT))
        query = op.concat([latent, rotated], dim=-1)
        if is_decoding:
            cache = cache.append_mla_kv(layer, row)
            attention = self.values(cache.cross_attention(layer, query, LATENT, scale)[0])
        else:
            compressed, key_end = op.split(row, [LATENT], axis=-1)
            flat = op.reshape(compressed, (1, b * s, LATENT))
            keys = op.permute_dims(op.matmul(flat, op.permute_dims(self.to_key, [0, 2, 1])), [1, 0, 2])
            keys = op.concat([op.reshape(keys, (b, s, HEADS, OWN)), op.broadcast_to(key_end, (b, s, HEADS, ROPE))], dim=-1)
            values = op.reshape(op.permute_dims(op.matmul(flat, self.to_value), [1, 0, 2]), (b, s, HEADS, VALUE))
            new, new_lse = cache.self_attention(layer, q, keys, values, scale)
            cache = cache.append_mla_kv(layer, row)
            old, old_lse = cache.cross_attention(layer, query, LATENT, scale)
            attention, _ = cache.merge_attn_output_inplace(new, new_lse, self.values(old), old_lse)
        x = x + self.out(op.reshape(attention, (b, s, HEADS * VALUE)))
        return x + self.down(op.silu(self.up(self.norm2(x)))), cache

    def values(self, attention):
        b, s, _, _ = attention.shape
        by_head = op.permute_dims(op.reshape(attention, (b * s, HEADS, LATENT)), [1, 0, 2])
        return op.reshape(op.permute_dims(op.matmul(by_head, self.to_value), [1, 0, 2]), (b, s, HEADS, VALUE))


class Latent(TinyLlama):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([LatentBlock() for _ in range(LAYERS)])

    def logits_of(self, x, cache, is_decoding):
        for i, block in enumerate(self.blocks):
            x, cache = block(x, cache, i, is_decoding)
        return op.astype(self.head(self.norm(x)), "float32"), cache

    def prefill(self, x: nn.Tensor, cache: PagedKVCache):
        return self.logits_of(x, cache, False)

    def decode(self, x: nn.Tensor, cache: PagedKVCache):
        return self.logits_of(x, cache, True)

    def create_paged_kv_cache(self, max_batch_size: Var, max_total_seq_len: Var, prefill_chunk_size: Var, page_size: Var,
                              support_sliding_window: Var):  # fmt: skip
        return make_cache((max_batch_size, max_total_seq_len, prefill_chunk_size, page_size, support_sliding_window), attn_kind="mla",
                          num_key_value_heads=1, qk_head_dim=LATENT + ROPE, v_head_dim=LATENT, mla_original_qk_head_dim=OWN + ROPE,
                          mla_original_v_head_dim=VALUE, rope_mode=RopeMode.NONE, rotary_dim=ROPE)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("kind", choices=["window", "shared", "latent"])
    parser.add_argument("--exec-mode", choices=["bytecode", "compiled"], default="bytecode")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    model = {"window": Windowed, "shared": Sharing, "latent": Latent}[arguments.kind]()
    is_latent = arguments.kind == "latent"
    with Target({"kind": "opencl", "host": {"kind": "llvm"}} if is_latent else {"kind": "llvm"}) as target:
        module, parameters = model.export_tvm(spec=model.spec())
        library = relax.build(scheduled(module) if is_latent else module, target=target, exec_mode=arguments.exec_mode)
    library.export_library(str(arguments.directory / f"{arguments.kind}.so"))
    np.savez(arguments.directory / "weights.npz", **{f"p{i:02}": array for i, array in enumerate(weights(parameters))})


if __name__ == "__main__":
    main()
