"""Small neural networks, the everyday case."""

import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from . import reference
from .common import Case, Model, grid

MLP_PARAMETERS = {
    "w1": grid("mlp.w1", (16, 32)),
    "b1": grid("mlp.b1", (32,)),
    "w2": grid("mlp.w2", (32, 10)),
    "b2": grid("mlp.b2", (10,)),
}


def mlp_expected(x):
    return reference.dense_stack(x, *MLP_PARAMETERS.values())


def mlp_module():
    @I.ir_module
    class Mlp:
        @R.function
        def with_arguments(
            x: R.Tensor((2, 16), "float32"),
            w1: R.Tensor((16, 32), "float32"),
            b1: R.Tensor((32,), "float32"),
            w2: R.Tensor((32, 10), "float32"),
            b2: R.Tensor((10,), "float32"),
        ) -> R.Tensor((2, 10), "float32"):
            with R.dataflow():
                hidden = R.nn.relu(R.add(R.matmul(x, w1), b1))
                out = R.add(R.matmul(hidden, w2), b2)
                R.output(out)
            return out

        @R.function
        def with_constants(
            x: R.Tensor((2, 16), "float32"),
            w1: R.Tensor((16, 32), "float32"),
            b1: R.Tensor((32,), "float32"),
            w2: R.Tensor((32, 10), "float32"),
            b2: R.Tensor((10,), "float32"),
        ) -> R.Tensor((2, 10), "float32"):
            with R.dataflow():
                hidden = R.nn.relu(R.add(R.matmul(x, w1), b1))
                out = R.add(R.matmul(hidden, w2), b2)
                R.output(out)
            return out

    return Mlp


def cnn_module():
    @I.ir_module
    class Cnn:
        @R.function
        def main(
            image: R.Tensor((1, 1, 8, 8), "float32"),
            kernels: R.Tensor((4, 1, 3, 3), "float32"),
            weight: R.Tensor((36, 10), "float32"),
            bias: R.Tensor((10,), "float32"),
        ) -> R.Tensor((1, 10), "float32"):
            with R.dataflow():
                features = R.nn.relu(R.nn.conv2d(image, kernels))
                pooled = R.nn.max_pool2d(features, pool_size=(2, 2), strides=(2, 2))
                logits = R.add(R.matmul(R.reshape(pooled, (1, 36)), weight), bias)
                out = R.nn.softmax(logits)
                R.output(out)
            return out

    return Cnn


def transformer_module():
    @I.ir_module
    class Transformer:
        @R.function
        def main(
            x: R.Tensor((6, 8), "float32"),
            scale: R.Tensor((8,), "float32"),
            shift: R.Tensor((8,), "float32"),
            w_qkv: R.Tensor((8, 24), "float32"),
            w_out: R.Tensor((8, 8), "float32"),
            w_up: R.Tensor((8, 16), "float32"),
            w_down: R.Tensor((16, 8), "float32"),
        ) -> R.Tensor((6, 8), "float32"):
            with R.dataflow():
                qkv = R.split(R.matmul(R.nn.layer_norm(x, scale, shift, axes=[-1]), w_qkv), 3, axis=1)
                q = R.permute_dims(R.reshape(qkv[0], (6, 2, 4)), [1, 0, 2])
                k = R.permute_dims(R.reshape(qkv[1], (6, 2, 4)), [1, 2, 0])
                v = R.permute_dims(R.reshape(qkv[2], (6, 2, 4)), [1, 0, 2])
                weights = R.nn.softmax(R.multiply(R.matmul(q, k), R.const(0.5, "float32")), axis=-1)
                heads = R.permute_dims(R.matmul(weights, v), [1, 0, 2])
                attended = R.add(x, R.matmul(R.reshape(heads, (6, 8)), w_out))
                up = R.nn.gelu(R.matmul(R.nn.layer_norm(attended, scale, shift, axes=[-1]), w_up))
                out = R.add(attended, R.matmul(up, w_down))
                R.output(out)
            return out

    return Transformer


def transformer_n_module():
    """The same for any number of tokens."""

    @I.ir_module
    class TransformerN:
        @R.function
        def main(
            x: R.Tensor(("n", 8), "float32"),
            scale: R.Tensor((8,), "float32"),
            shift: R.Tensor((8,), "float32"),
            w_qkv: R.Tensor((8, 24), "float32"),
            w_out: R.Tensor((8, 8), "float32"),
            w_up: R.Tensor((8, 16), "float32"),
            w_down: R.Tensor((16, 8), "float32"),
        ) -> R.Tensor(("n", 8), "float32"):
            n = T.int64()
            with R.dataflow():
                qkv = R.split(R.matmul(R.nn.layer_norm(x, scale, shift, axes=[-1]), w_qkv), 3, axis=1)
                q = R.permute_dims(R.reshape(qkv[0], (n, 2, 4)), [1, 0, 2])
                k = R.permute_dims(R.reshape(qkv[1], (n, 2, 4)), [1, 2, 0])
                v = R.permute_dims(R.reshape(qkv[2], (n, 2, 4)), [1, 0, 2])
                weights = R.nn.softmax(R.multiply(R.matmul(q, k), R.const(0.5, "float32")), axis=-1)
                heads = R.permute_dims(R.matmul(weights, v), [1, 0, 2])
                attended = R.add(x, R.matmul(R.reshape(heads, (n, 8)), w_out))
                up = R.nn.gelu(R.matmul(R.nn.layer_norm(attended, scale, shift, axes=[-1]), w_up))
                out = R.add(attended, R.matmul(up, w_down))
                R.output(out)
            return out

    return TransformerN


def transformer_reference(x, scale, shift, w_qkv, w_out, w_up, w_down):
    q, k, v = np.split(reference.layer_norm(x, scale, shift) @ w_qkv, 3, axis=1)
    q, k, v = (part.reshape(-1, 2, 4).transpose(1, 0, 2) for part in (q, k, v))
    heads = reference.softmax(q @ k.transpose(0, 2, 1) * 0.5) @ v
    attended = x + heads.transpose(1, 0, 2).reshape(-1, 8) @ w_out
    return attended + reference.gelu(reference.layer_norm(attended, scale, shift) @ w_up) @ w_down


def mlp_cases():
    x = grid("mlp.x", (2, 16))
    return [
        Case("with_arguments", (x, *MLP_PARAMETERS.values()), expected=mlp_expected(x)),
        Case("with_constants", (x,), expected=mlp_expected(x)),
        Case("with_constants", (-x,), label="negated", expected=mlp_expected(-x)),
    ]


def cnn_cases():
    image, kernels = grid("cnn.image", (1, 1, 8, 8)), grid("cnn.kernels", (4, 1, 3, 3), limit=1)
    weight, bias = grid("cnn.weight", (36, 10), limit=1), grid("cnn.bias", (10,))
    features = reference.max_pool(reference.relu(reference.conv2d(image[0], kernels)), 2)
    expected = reference.softmax(features.reshape(1, 36) @ weight + bias)
    return [Case("main", (image, kernels, weight, bias), expected=expected)]


def transformer_cases():
    shapes = {
        "x": (6, 8),
        "scale": (8,),
        "shift": (8,),
        "w_qkv": (8, 24),
        "w_out": (8, 8),
        "w_up": (8, 16),
        "w_down": (16, 8),
    }
    inputs = tuple(grid(f"transformer.{name}", shape, limit=1) for name, shape in shapes.items())
    return [Case("main", inputs, expected=transformer_reference(*inputs))]


def transformer_n_cases():
    (case,) = transformer_cases()
    longer = grid("transformer_n.x", (11, 8), limit=1)
    return [
        Case("main", inputs, label=f"n{len(inputs[0])}", expected=transformer_reference(*inputs))
        for inputs in (case.inputs, (case.inputs[0][:1].copy(), *case.inputs[1:]), (longer, *case.inputs[1:]))
    ]


def mlp(name, **how):
    return Model(name, mlp_module, mlp_cases(), bound={"with_constants": MLP_PARAMETERS}, fused=True, **how)


MODELS = [
    mlp("mlp"),
    mlp("mlp_linked", linked=True, committed="never"),
    # The C that TVM writes in compiled mode does not compile with its own headers.
    mlp("mlp_c", target="c", modes=("bytecode",), committed="never"),
    Model("cnn", cnn_module, cnn_cases(), fused=True, committed="newest"),
    Model("transformer", transformer_module, transformer_cases(), fused=True, committed="newest"),
    Model("transformer_n", transformer_n_module, transformer_n_cases(), fused=True, committed="never"),
]
