"""Makes a small decoder of fixed random weights, as TVM compiles it for the CPU, or with --target opencl for a GPU:

    pip install apache-tvm
    python examples/tiny_llama/build.py examples/tiny_llama/model

Writes tiny_llama.so and its weights, weights.npz, in the order in which the program takes them.
"""

import argparse
from pathlib import Path

import numpy as np
import tvm
from sizes import DIM, HEADS, HIDDEN, INNER, KV_HEADS, LAYERS, VOCABULARY
from tvm import relax
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op
from tvm.relax.frontend.nn.llm.kv_cache import PagedKVCache, RopeMode, TIRPagedKVCache
from tvm.target import Target

try:
    from tvm.s_tir import dlight
except ImportError:
    from tvm import dlight
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


class TinyLlama(nn.Module):
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

    # The names are those of MLC's models.
    def create_paged_kv_cache(self, max_batch_size: Var, max_total_seq_len: Var, prefill_chunk_size: Var, page_size: Var,
                              support_sliding_window: Var):  # fmt: skip
        return TIRPagedKVCache(
            attn_kind="mha", max_batch_size=max_batch_size, max_total_seq_len=max_total_seq_len,
            prefill_chunk_size=prefill_chunk_size, page_size=page_size, support_sliding_window=support_sliding_window,
            layer_partition=relax.ShapeExpr([0, LAYERS]), num_hidden_layers=LAYERS, num_attention_heads=HEADS,
            num_key_value_heads=KV_HEADS, qk_head_dim=DIM, v_head_dim=DIM, mla_original_qk_head_dim=0, mla_original_v_head_dim=0,
            rope_mode=RopeMode.NORMAL, rope_scale=1, rope_theta=10000, rope_scaling={},
            rope_ext_factors=number(0), rotary_dim=DIM, enable_disaggregation=False, dtype="float32",
            target=Target.current(allow_none=True) or Target("llvm"),
        )  # fmt: skip

    def spec(self):
        packed, none = ({"param_mode": mode, "effect_mode": "none"} for mode in ("packed", "none"))
        cache = nn.spec.Object(object_type=PagedKVCache)
        return nn.spec.ModuleSpec.from_raw({
            "embed": {"ids": nn.spec.Tensor(["n"], "int32"), "$": packed},
            "prefill": {"x": nn.spec.Tensor([1, "n", HIDDEN], "float32"), "cache": cache, "$": packed},
            "decode": {"x": nn.spec.Tensor(["b", 1, HIDDEN], "float32"), "cache": cache, "$": packed},
            "create_paged_kv_cache": {"max_batch_size": int, "max_total_seq_len": int, "prefill_chunk_size": int,
                                      "page_size": int, "support_sliding_window": int, "$": none},
        }, self)  # fmt: skip


def weights(parameters):
    """From normal distributions, in steps of half the deviation: few values, so that the compressed file is small."""
    random = np.random.default_rng(7)
    for _, parameter in parameters:
        steps = np.round(random.standard_normal(parameter.shape) * 2) / 2
        yield (steps * (1 if len(parameter.shape) == 1 else parameter.shape[-1] ** -0.5)).astype("float32")


def scheduled(module):
    """With each operator of a GPU's program on many threads."""
    rules = [dlight.gpu.GEMV(), dlight.gpu.Reduction(), dlight.gpu.GeneralReduction(), dlight.gpu.Fallback()]
    passes = [relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern(), relax.transform.FuseOps(),
              relax.transform.FuseTIR(), dlight.ApplyDefaultSchedule(*rules)]  # fmt: skip
    return tvm.transform.Sequential(passes)(module)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="where the model goes")
    parser.add_argument("--exec-mode", choices=["bytecode", "compiled"], default="bytecode", help="of the VM (default: bytecode)")
    parser.add_argument("--target", choices=["llvm", "opencl", "cuda"], default="llvm", help="where the kernels run (default: llvm, the CPU)")
    parser.add_argument("--cpu", help="LLVM's name of the processor, such as x86-64-v2 (default: any of this kind)")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    model = TinyLlama()
    host = {"kind": "llvm"} | ({"mcpu": arguments.cpu} if arguments.cpu else {})
    target = Target(host) if arguments.target == "llvm" else Target({"kind": arguments.target, "host": host})
    with target:
        module, parameters = model.export_tvm(spec=model.spec())
        library = relax.build(module if arguments.target == "llvm" else scheduled(module), target=target, exec_mode=arguments.exec_mode)
    library.export_library(str(arguments.directory / "tiny_llama.so"), options=["-s", "-Wl,-z,noseparate-code"])
    arrays = {f"p{number:02}": array for number, array in enumerate(weights(parameters))}
    np.savez_compressed(arguments.directory / "weights.npz", **arrays)


if __name__ == "__main__":
    main()
