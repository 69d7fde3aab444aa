"""Networks in other types than float32: 16-bit floats throughout, quantised bytes, float64 and bool."""

import numpy as np
from ml_dtypes import bfloat16
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from . import reference
from .common import Case, Model, grid, whole


def float_network(dtype):
    """exact: whole numbers, which every 16-bit float holds; rounded: with exp, where the type shows."""
    builder = relax.BlockBuilder()
    shapes = {"x": (3, 8), "w1": (8, 8), "b1": (8,), "w2": (8, 4), "b2": (4,)}
    for name in ("exact", "rounded"):
        x, w1, b1, w2, b2 = (relax.Var(key, R.Tensor(shape, dtype)) for key, shape in shapes.items())
        with builder.function(name, [x, w1, b1, w2, b2]):
            with builder.dataflow():
                hidden = builder.emit(relax.op.nn.relu(relax.op.add(relax.op.matmul(x, w1), b1)))
                out = relax.op.add(relax.op.matmul(hidden, w2), b2)
                out = builder.emit_output(relax.op.nn.softmax(out) if name == "rounded" else out)
            builder.emit_func_output(out)
    return builder.get()


def float_cases(dtype):
    # At most 8 · 2 + 1 after the first layer and 8 · 17 + 1 < 256 after the second: whole in bfloat16, too.
    shapes = {"x": ((3, 8), 2), "w1": ((8, 8), 1), "b1": ((8,), 1), "w2": ((8, 4), 1), "b2": ((4,), 1)}
    inputs = [whole(f"narrow.{key}", shape, "float32", limit) for key, (shape, limit) in shapes.items()]
    narrow = tuple(array.astype(dtype) for array in inputs)
    # Nothing to compare the second with: numpy would round after other operations than TVM's code does.
    return [
        Case("exact", narrow, expected=reference.dense_stack(*inputs).astype(dtype)),
        Case("rounded", narrow),
    ]


def types_module():
    @I.ir_module
    class Types:
        @R.function
        def quantised(x: R.Tensor((3, 8), "uint8"), w: R.Tensor((8, 4), "int8")) -> R.Tensor((3, 4), "int8"):
            with R.dataflow():
                sums = R.matmul(R.astype(x, "int32"), R.astype(w, "int32"), out_dtype="int32")
                scaled = R.round(R.multiply(R.astype(sums, "float32"), R.const(0.0078125, "float32")))
                out = R.astype(R.clip(scaled, -128, 127), "int8")
                R.output(out)
            return out

        @R.function
        def wraps(x: R.Tensor((6,), "uint8"), y: R.Tensor((6,), "uint8")):
            return (R.add(x, y), R.subtract(x, y), R.maximum(x, y), R.greater(x, y))

        @R.function
        def signed_bytes(x: R.Tensor((6,), "int8"), y: R.Tensor((6,), "int8")):
            return (R.add(x, y), R.multiply(x, y), R.negative(x), R.less(x, y))

        @R.function
        def double(
            x: R.Tensor((3, 8), "float64"), w: R.Tensor((8, 4), "float64"), b: R.Tensor((4,), "float64")
        ) -> R.Tensor((3, 4), "float64"):
            return R.nn.softmax(R.add(R.matmul(x, w), b))

        @R.function
        def chosen(condition: R.Tensor((2, 3), "bool"), x: R.Tensor((2, 3), "float64"), y: R.Tensor((3,), "float64")):
            return (R.where(condition, x, y), R.logical_xor(condition, R.greater(x, y)), R.logical_not(condition))

    return Types


def types_cases():
    x, w = np.abs(whole("types.x", (3, 8), limit=255)).astype("uint8"), whole("types.w", (8, 4), "int8", limit=127)
    unsigned = np.abs(whole("types.unsigned", (2, 6), limit=255)).astype("uint8")
    signed = whole("types.signed", (2, 6), "int8", limit=127)
    doubles = grid("types.a", (3, 8), "float64"), grid("types.b", (8, 4), "float64"), grid("types.c", (4,), "float64")
    flags = np.array([[1, 0, 1], [0, 0, 1]], bool)
    wide, row = grid("types.d", (2, 3), "float64"), grid("types.e", (3,), "float64")
    sums = x.astype("int32") @ w.astype("int32")
    (p, q), (s, t) = unsigned, signed
    return [
        Case("quantised", (x, w), expected=np.clip(np.round(sums / np.float32(128)), -128, 127).astype("int8")),
        Case("wraps", (p, q), expected=(p + q, p - q, np.maximum(p, q), p > q)),
        Case("signed_bytes", (s, t), expected=(s + t, s * t, -s, s < t)),
        Case("double", doubles, expected=reference.softmax(doubles[0] @ doubles[1] + doubles[2])),
        Case("chosen", (flags, wide, row), expected=(np.where(flags, wide, row), flags ^ (wide > row), ~flags)),
    ]


MODELS = [
    Model("float16", lambda: float_network("float16"), float_cases(np.float16), fused=True, committed="never"),
    Model("bfloat16", lambda: float_network("bfloat16"), float_cases(bfloat16), fused=True, committed="never"),
    Model("types", types_module, types_cases(), committed="never"),
]
