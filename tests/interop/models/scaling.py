"""Models whose size is the point: long chains of tiny kernels, many constants, a network of everyday size."""

import numpy as np
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from . import reference
from .common import Case, Model, grid


def chain_module(length):
    """x + 1 + 1 + …, each step one kernel: relax.build does not fuse, so nothing is merged."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4,), "float32"))
    with builder.function("main", [x]):
        step = x
        for _ in range(length):
            step = builder.emit(relax.op.add(step, relax.const(1, "float32")))
        builder.emit_func_output(step)
    return builder.get()


def chain(length, committed, large=False):
    x = grid("chain.x", (4,))
    cases = [Case("main", (x,), expected=x + length)]
    return Model(f"chain_{length}", lambda: chain_module(length), cases, committed=committed, large=large)


LAYERS = 16
WIDTH = 128


def constants_module():
    """x → relu(x · w) for each of the constant weights."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((1, WIDTH), "float32"))
    with builder.function("main", [x]):
        step = x
        for weight in constants_weights():
            step = builder.emit(relax.op.nn.relu(relax.op.matmul(step, relax.const(weight))))
        builder.emit_func_output(step)
    return builder.get()


def constants_weights():
    # Divided by the width, so that the activations stay of one magnitude through all layers.
    return [grid(f"constants.{layer}", (WIDTH, WIDTH)) / WIDTH for layer in range(LAYERS)]


def constants_cases():
    x = grid("constants.x", (1, WIDTH))
    out = x
    for weight in constants_weights():
        out = reference.relu(out @ weight)
    return [Case("main", (x,), expected=out)]


def large_mlp_module():
    @I.ir_module
    class LargeMlp:
        @R.function
        def main(
            x: R.Tensor((1, 784), "float32"),
            w1: R.Tensor((784, 256), "float32"),
            b1: R.Tensor((256,), "float32"),
            w2: R.Tensor((256, 128), "float32"),
            b2: R.Tensor((128,), "float32"),
            w3: R.Tensor((128, 10), "float32"),
            b3: R.Tensor((10,), "float32"),
        ) -> R.Tensor((1, 10), "float32"):
            with R.dataflow():
                first = R.nn.relu(R.add(R.matmul(x, w1), b1))
                second = R.nn.relu(R.add(R.matmul(first, w2), b2))
                out = R.add(R.matmul(second, w3), b3)
                R.output(out)
            return out

    return LargeMlp


def large_mlp_cases():
    shapes = [(1, 784), (784, 256), (256,), (256, 128), (128,), (128, 10), (10,)]
    inputs = tuple(grid(f"mlp_784.{index}", shape, limit=1) / np.float32(8) for index, shape in enumerate(shapes))
    return [Case("main", inputs, expected=reference.dense_stack(*inputs))]


MODELS = [
    chain(100, committed="newest"),
    chain(1000, committed="never", large=True),
    Model("consts_1mb", constants_module, constants_cases(), committed="never", large=True),
    Model("mlp_784", large_mlp_module, large_mlp_cases(), committed="never", large=True),
]
