"""Shapes that are known only when the program runs, and tensors seen under another shape."""

import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
from tvm_ffi import Shape

from . import reference
from .common import TVM_VERSION, Case, Model, call_packed, grid


def dynamic_module():
    @I.ir_module
    class Dynamic:
        @T.prim_func(private=True)
        def iota(start: T.int64, out: T.handle):
            n = T.int64()
            numbers = T.match_buffer(out, (n,), "int64")
            for i in T.serial(n):
                numbers[i] = start + i

        @R.function
        def affine(
            x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 4), "float32"), b: R.Tensor((4,), "float32")
        ) -> R.Tensor(("n", 4), "float32"):
            return R.nn.relu(R.add(R.matmul(x, w), b))

        @R.function
        def square(x: R.Tensor(("n", "n"), "float32")) -> R.Tensor(("n", "n"), "float32"):
            return R.add(x, x)

        @R.function
        def join(
            x: R.Tensor(("n", 2), "float32"),
            y: R.Tensor(("m", 2), "float32"),
        ) -> R.Tensor(("n + m", 2), "float32"):
            return R.concat((x, y), axis=0)

        @R.function
        def filled(size: R.Shape(["n", "m"])) -> R.Tensor(("n", "m"), "float32"):
            n, m = T.int64(), T.int64()
            return R.full(R.shape([n, m]), R.const(1.5, "float32"))

        @R.function
        def grown(size: R.Shape(["n", "m"])) -> R.Shape(ndim=3):
            n, m = T.int64(), T.int64()
            return R.shape([n + 1, n * m, 7])

        @R.function
        def element_count(x: R.Tensor(("n", "m"), "float32")) -> R.Prim("int64"):
            n, m = T.int64(), T.int64()
            return R.prim_value(n * m)

        @R.function
        def count_from(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "int64"):
            n = T.int64()
            cls = Dynamic
            return R.call_tir(cls.iota, (R.prim_value(n + 10),), R.Tensor((n,), "int64"))

    module = Dynamic
    if TVM_VERSION < (0, 26):
        module.update(ones_module_until_25())
        module.update(spread_shape_module())
    else:
        module.update(ones_module())
    return module


def ones_module():
    """A length given as a number."""

    @I.ir_module
    class Ones:
        @R.function
        def ones(length: R.Prim("int64")) -> R.Tensor(ndim=1, dtype="float32"):
            return R.full(R.shape([length]), R.const(1.0, "float32"))

    return Ones


def ones_module_until_25():
    """The same as TVM 0.25 wants it written. (The class needs a name of its own: its source is found by name.)"""

    @I.ir_module
    class OnesUntil25:
        @R.function
        def ones(length: R.Prim(value="n")) -> R.Tensor(ndim=1, dtype="float32"):
            n = T.int64()
            return R.full(R.shape([n]), R.const(1.0, "float32"))

    return OnesUntil25


def spread_shape_module():
    """Symbolic values handed to a kernel as a shape (vm.builtin.call_tir_dyn), which TVM 0.26 no longer offers."""

    @I.ir_module
    class Spread:
        @T.prim_func(private=True)
        def iota_dyn(out: T.handle, start: T.int64, step: T.int64):
            n = T.int64()
            numbers = T.match_buffer(out, (n,), "int64")
            for i in T.serial(n):
                numbers[i] = start + step * i

        @R.function
        def count_by(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "int64"):
            n = T.int64()
            cls = Spread
            return R.call_tir(cls.iota_dyn, (), R.Tensor((n,), "int64"), R.shape([n + 10, n]))

    return Spread


def dynamic_cases():
    w, b = grid("dynamic.w", (8, 4)), grid("dynamic.b", (4,))
    square, vector = grid("dynamic.square", (3, 3)), grid("dynamic.vector", (5,))
    three, five = grid("dynamic.three", (3, 2)), grid("dynamic.five", (5, 2))
    cases = [
        Case("affine", (x, w, b), label=f"n{len(x)}", expected=reference.relu(x @ w + b))
        for x in (grid("dynamic.x", (rows, 8)) for rows in (1, 5))
    ]
    cases += [
        Case("square", (square,), expected=2 * square),
        Case("square", (three,), label="not_square", raises="RuntimeError"),
        Case("join", (three, five), expected=np.concatenate([three, five])),
        Case("filled", (Shape((2, 3)),), expected=np.full((2, 3), 1.5, "float32")),
        Case("filled", (Shape((0, 3)),), label="empty", expected=np.zeros((0, 3), "float32")),
        Case("filled", (Shape((2, 3, 4)),), label="rank", raises="ValueError"),
        Case("grown", (Shape((2, 3)),), expected=Shape((3, 6, 7))),
        Case("element_count", (three,), expected=6),
        Case("count_from", (vector,), expected=np.arange(15, 20)),
        Case("ones", (3,), expected=np.ones(3, "float32")),
        Case("ones", (vector,), label="not_a_number", raises="TypeError"),
    ]
    if TVM_VERSION < (0, 26):
        cases.append(Case("count_by", (vector,), expected=15 + 5 * np.arange(5)))
    return cases


def reshape_module():
    @I.ir_module
    class Reshape:
        @T.prim_func(private=True)
        def increment(a: T.handle):
            numbers = T.match_buffer(a, (12,), "float32")
            for i in T.serial(12):
                numbers[i] = numbers[i] + T.float32(1)

        @R.function
        def identity(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return x

        @R.function
        def static(x: R.Tensor((2, 6), "float32")) -> R.Tensor((3, 4), "float32"):
            with R.dataflow():
                sums = R.add(R.reshape(x, (3, 4)), R.const(1.0, "float32"))
                out = R.reshape(R.reshape(sums, (12,)), (3, 4))
                R.output(out)
            return out

        @R.function
        def flatten(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n * m",), "float32"):
            n, m = T.int64(), T.int64()
            with R.dataflow():
                flat = R.reshape(x, R.shape([n * m]))
                out = R.add(flat, flat)
                R.output(out)
            return out

        @R.function
        def to_size(x: R.Tensor((12,), "float32"), size: R.Tensor((2,), "int64")) -> R.Tensor(ndim=2, dtype="float32"):
            return R.reshape(x, R.tensor_to_shape(size))

        @R.function
        def size_of(x: R.Tensor(ndim=3, dtype="float32")) -> R.Shape(ndim=3):
            return R.shape_of(x)

        @R.function(pure=False)
        def write_through_view(x: R.Tensor((12,), "float32")) -> R.Tensor((12,), "float32"):
            cls = Reshape
            fresh = R.add(x, x)
            view = call_packed("vm.builtin.reshape", fresh, R.shape([12]), returns=R.Tensor((12,), "float32"))
            _ = R.call_tir_inplace(cls.increment, (view,), [0], R.Tensor((12,), "float32"))
            return fresh

    return Reshape


def reshape_cases():
    x, twelve = grid("reshape.x", (2, 6)), grid("reshape.twelve", (12,))
    return [
        Case("identity", (x[0, :4].copy(),), expected=x[0, :4]),
        Case("static", (x,), expected=x.reshape(3, 4) + 1),
        Case("flatten", (x,), expected=2 * x.reshape(12)),
        Case("to_size", (twelve, np.array([3, 4])), expected=twelve.reshape(3, 4)),
        Case("to_size", (twelve, np.array([5, 4])), label="too_large", raises="ValueError"),
        Case("size_of", (x.reshape(1, 3, 4),), expected=Shape((1, 3, 4))),
        Case("write_through_view", (twelve,), expected=2 * twelve + 1),
    ]


MODELS = [
    Model("dynamic", dynamic_module, dynamic_cases(), committed="newest"),
    Model("reshape", reshape_module, reshape_cases()),
]
