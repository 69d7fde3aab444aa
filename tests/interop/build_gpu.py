"""Makes the programs for OpenCL in data/opencl, and those for CUDA in data/cuda, with the TVM of this interpreter. TVM's wheel has
the code generators, but not the devices, so the answers are those of the same programs built for the CPU. See README.md."""

import argparse
import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import tvm
from tvm import relax
from tvm.s_tir import dlight
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

RANDOM = np.random.default_rng(20261125)


def numbers(*shape):
    return RANDOM.standard_normal(shape).astype("float32")


@I.ir_module
class Mlp:
    @R.function
    def main(x: R.Tensor((2, 16), "float32"), w: R.Tensor((16, 32), "float32"), v: R.Tensor((32, 4), "float32")):
        with R.dataflow():
            hidden = R.nn.relu(R.matmul(x, w))
            result = R.nn.softmax(R.matmul(hidden, v))
            R.output(result)
        return result


@I.ir_module
class Norms:
    @R.function
    def main(x: R.Tensor(("n", 24), "float32"), scale: R.Tensor((24,), "float32"), shift: R.Tensor((24,), "float32")):
        n = T.int64()
        with R.dataflow():
            first = R.nn.layer_norm(x, scale, shift, axes=[1])
            second = R.sum(first * first, axis=1)
            R.output(first, second)
        return (first, second)


@I.ir_module
class Cnn:
    @R.function
    def main(x: R.Tensor((1, 3, 16, 16), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
        with R.dataflow():
            image = R.nn.relu(R.nn.conv2d(x, w, padding=1))
            pooled = R.nn.max_pool2d(image, pool_size=2, strides=2)
            result = R.mean(pooled, axis=[2, 3])
            R.output(result)
        return result


@I.ir_module
class Deep:
    """Of four layers: the two in the middle become a graph, for what the first reads and the last writes is other memory in each
    call."""

    @R.function
    def main(x: R.Tensor((2, 16), "float32"), w: R.Tensor((16, 16), "float32"), v: R.Tensor((16, 16), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            first = R.nn.relu(R.matmul(x, w))
            second = R.nn.relu(R.matmul(first, v))
            third = R.nn.relu(R.matmul(second, w))
            result = R.nn.softmax(third)
            R.output(result)
        return result


def with_constants():
    """The MLP with its weights as constants of the program."""
    weights = {"w": numbers(16, 32), "v": numbers(32, 4)}
    return relax.transform.BindParams("main", weights)(Mlp)


MODELS = {
    "mlp": (Mlp, [numbers(2, 16), numbers(16, 32), numbers(32, 4)]),
    "norms": (Norms, [numbers(5, 24), numbers(24), numbers(24)]),
    "cnn": (Cnn, [numbers(1, 3, 16, 16), numbers(4, 3, 3, 3)]),
    "constants": (with_constants(), [numbers(2, 16)]),
    "deep": (Deep, [numbers(2, 16), numbers(16, 16), numbers(16, 16)]),
}
TARGETS = {"opencl": {"kind": "opencl"}, "cuda": {"kind": "cuda", "arch": "sm_90"}}
# Without that for matrices, whose kernels are 100 kB of source.
SCHEDULES = [dlight.gpu.GEMV(), dlight.gpu.Reduction(), dlight.gpu.GeneralReduction(), dlight.gpu.Fallback()]


def build(module, target, mode, with_graphs=False):
    passes = [relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern(), relax.transform.FuseOps(),
              relax.transform.FuseTIR()]
    if target.kind.name != "llvm":
        passes.append(dlight.ApplyDefaultSchedule(*SCHEDULES))
    with target, tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": with_graphs}):
        return relax.build(tvm.transform.Sequential(passes)(module), target, exec_mode=mode)


def answers(module, inputs):
    machine = relax.VirtualMachine(build(module, tvm.target.Target({"kind": "llvm"}), "bytecode"), tvm.cpu())
    result = machine["main"](*(tvm.runtime.tensor(x) for x in inputs))
    return [y.numpy() for y in (result if not hasattr(result, "numpy") else [result])]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=TARGETS, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    out = args.out
    out.mkdir(parents=True, exist_ok=True)
    host = {"kind": "llvm", "mtriple": "x86_64-unknown-linux-gnu", "mcpu": "x86-64-v2"}
    target = tvm.target.Target(TARGETS[args.kind], host=host)
    for name, (module, inputs) in MODELS.items():
        for mode in ("bytecode", "compiled"):
            path = out / f"{name}_{mode}.so"
            path.unlink(missing_ok=True)
            built = build(module, target, mode, with_graphs=name == "deep" and args.kind == "cuda")
            built.export_library(str(path), options=["-s", "-Wl,-z,noseparate-code"])
        if args.kind != "opencl":  # the answers are the same
            continue
        outputs = answers(module, inputs)
        arrays = {f"in{i}": x for i, x in enumerate(inputs)} | {f"out{i}": y for i, y in enumerate(outputs)}
        np.savez(out / f"{name}.npz", **arrays)
    (out / "manifest.json").write_text(json.dumps({"tvm": version("apache-tvm"), "models": list(MODELS)}, indent=1) + "\n")


if __name__ == "__main__":
    main()
