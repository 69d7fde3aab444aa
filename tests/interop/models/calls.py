"""Arguments that are refused, and functions that the host provides."""

import numpy as np
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from .common import Case, Model, call_packed, grid, whole


def errors_module():
    @I.ir_module
    class Errors:
        @T.prim_func(private=True)
        def root(a: T.handle, c: T.handle):
            numbers = T.match_buffer(a, (4,), "float32")
            roots = T.match_buffer(c, (4,), "float32")
            for i in T.serial(4):
                assert numbers[i] >= T.float32(0), "root of a negative number"
                roots[i] = T.sqrt(numbers[i])

        @R.function
        def checked(x: R.Tensor((4, 8), "float32"), y: R.Tensor((8,), "int32")) -> R.Tensor((4, 8), "float32"):
            return x

        @R.function
        def same_length(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            return R.add(x, y)

        @R.function
        def pair(p: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))) -> R.Tensor((4,), "float32"):
            return p[0]

        @R.function
        def cast(x: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor(ndim=2, dtype="float32"):
            n = T.int64()
            y = R.match_cast(x, R.Tensor((n, n), "float32"))
            return y

        @R.function
        def square_root(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            cls = Errors
            return R.call_tir(cls.root, (x,), R.Tensor((4,), "float32"))

    return Errors


def errors_cases():
    x, y = grid("errors.x", (4, 8)), whole("errors.y", (8,), "int32")
    four, five = np.abs(grid("errors.four", (4,))), grid("errors.five", (5,))
    return [
        Case("checked", (x, y), expected=x),
        Case("checked", (x[:3].copy(), y), label="shape", raises="RuntimeError"),
        Case("checked", (x.reshape(32), y), label="rank", raises="ValueError"),
        Case("checked", (x, y.astype("int64")), label="dtype", raises="ValueError"),
        Case("checked", (x, 3), label="not_a_tensor", raises="TypeError"),
        Case("checked", (x,), label="too_few", raises="InternalError"),
        Case("checked", (x, y, y), label="too_many", raises="InternalError"),
        Case("same_length", (four, five), label="lengths", raises="RuntimeError"),
        Case("pair", ((four, four),), expected=four),
        Case("pair", ((four,),), label="length", raises="ValueError"),
        Case("pair", (four,), label="not_a_tuple", raises="TypeError"),
        Case("cast", (x,), label="not_square", raises="RuntimeError"),
        Case("square_root", (four * four,), expected=four),
        Case("square_root", (-1 - four,), label="negative", raises="RuntimeError"),
    ]


def packed_module():
    """Calls functions that the host must register; see host_functions.py for what they do."""

    @I.ir_module
    class Packed:
        @R.function(pure=False)
        def every_kind(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return call_packed(
                "opdyno.test.scale",
                x,
                R.prim_value(-3),
                R.str("a string on the heap"),
                R.str("inline"),
                R.dtype("float16"),
                R.shape([2, 3]),
                returns=R.Tensor((4,), "float32"),
            )

        @R.function(pure=False)
        def failing(x: R.Tensor((4,), "float32")) -> R.Object:
            return call_packed("opdyno.test.fail", x, returns=R.Object)

        @R.function(pure=False)
        def copied(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return call_packed(
                "vm.builtin.to_device", x, R.prim_value(1), R.prim_value(0), returns=R.Tensor((4,), "float32")
            )

        @R.function(pure=False)
        def emptied(x: R.Tensor((4,), "float32")) -> R.Object:
            pair = (x, x)
            _ = call_packed("vm.builtin.tuple_reset_item", pair, R.prim_value(1), returns=R.Object)
            return pair

    return Packed


def packed_cases():
    x = grid("packed.x", (4,))
    return [
        Case("every_kind", (x,), expected=-3 * x),
        Case("failing", (x,), raises="ValueError"),
        Case("copied", (x,), expected=x),
        Case("emptied", (x,), expected=(x, None)),
    ]


def destination_module():
    """A function of the host that writes into what it is given: call_dps_packed."""
    external, arguments = "opdyno.test.sum_into", 2
    builder = relax.BlockBuilder()
    for name, rows in (("static", 3), ("symbolic", tirx.Var("n", "int64"))):
        x, y = (relax.Var(f"x{i}", R.Tensor((rows, 4), "float32")) for i in range(arguments))
        with builder.function(name, [x, y]):
            sums = builder.emit(relax.op.call_dps_packed(external, (x, y), R.Tensor((rows, 4), "float32")))
            builder.emit_func_output(builder.emit(relax.op.add(sums, sums)))
    return builder.get()


def destination_cases():
    x, y = grid("destination.x", (3, 4)), grid("destination.y", (3, 4))
    return [
        Case("static", (x, y), expected=2 * (x + y)),
        Case("symbolic", (x, y), expected=2 * (x + y)),
        Case("symbolic", (x[:1].copy(), y[:1].copy()), label="one", expected=2 * (x + y)[:1]),
        Case("symbolic", (x, y[:2].copy()), label="lengths", raises="RuntimeError"),
    ]


MODELS = [
    Model("errors", errors_module, errors_cases()),
    Model("packed", packed_module, packed_cases()),
    Model("destination", destination_module, destination_cases(), committed="newest"),
]
