"""Compiled kernels: element types, threads, workspaces, and a library without any virtual machine."""

import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from .common import Case, Model, grid, whole


def dtypes_module():
    @I.ir_module
    class Dtypes:
        @R.function
        def half(x: R.Tensor((4, 4), "float16"), y: R.Tensor((4, 4), "float16")) -> R.Tensor((4, 4), "float16"):
            return R.add(R.matmul(x, y), R.const(0.5, "float16"))

        @R.function
        def double(x: R.Tensor((4,), "float64")) -> R.Tensor((4,), "float64"):
            return R.exp(x)

        @R.function
        def bytes_to_int(x: R.Tensor((4, 4), "int8"), y: R.Tensor((4, 4), "int8")) -> R.Tensor((4, 4), "int32"):
            return R.matmul(x, y, out_dtype="int32")

        @R.function
        def long(x: R.Tensor((4, 4), "int64")) -> R.Tensor((4,), "int64"):
            return R.sum(x, axis=1)

        @R.function
        def logic(x: R.Tensor((6,), "float32"), y: R.Tensor((6,), "bool")) -> R.Tensor((6,), "bool"):
            return R.logical_and(R.greater(x, R.const(0.0, "float32")), y)

        @R.function
        def casts(x: R.Tensor((6,), "float32")):
            return (R.astype(x, "uint8"), R.astype(x, "float16"), R.astype(x, "bfloat16"))

    return Dtypes


def dtypes_cases():
    half = grid("dtypes.half", (2, 4, 4), "float16")
    byte, long = whole("dtypes.byte", (2, 4, 4), "int8", limit=127), whole("dtypes.long", (4, 4), limit=2**60)
    double, x = grid("dtypes.double", (4,), "float64"), grid("dtypes.x", (6,))
    flags = np.array([True, False] * 3)
    positive = np.abs(x)
    return [
        Case("half", (half[0], half[1]), expected=half[0] @ half[1] + np.float16(0.5)),
        Case("double", (double,), expected=np.exp(double)),
        Case("bytes_to_int", (byte[0], byte[1]), expected=byte[0].astype("int32") @ byte[1].astype("int32")),
        Case("long", (long,), expected=long.sum(axis=1)),
        Case("logic", (x, flags), expected=(x > 0) & flags),
        # No expected numbers: numpy has no bfloat16.
        Case("casts", (positive,)),
    ]


def parallel_module():
    @I.ir_module
    class Parallel:
        @T.prim_func(private=True)
        def doubled_kernel(a: T.handle, c: T.handle):
            x = T.match_buffer(a, (64, 4), "float32")
            out = T.match_buffer(c, (64, 4), "float32")
            for i in T.parallel(64):
                for j in T.serial(4):
                    out[i, j] = x[i, j] * T.float32(2)

        @T.prim_func(private=True)
        def workspace_kernel(a: T.handle, c: T.handle):
            x = T.match_buffer(a, (300,), "float32")
            out = T.match_buffer(c, (300,), "float32")
            # More than 1024 bytes, which would stay on the stack.
            scratch = T.alloc_buffer((300,), "float32")
            for i in T.serial(300):
                scratch[i] = x[299 - i]
            for i in T.serial(300):
                out[i] = scratch[i] + x[i]

        @T.prim_func(private=True)
        def barrier_kernel(a: T.handle, c: T.handle):
            x = T.match_buffer(a, (300,), "float32")
            out = T.match_buffer(c, (300,), "float32")
            scratch = T.alloc_buffer((300,), "float32")
            with T.attr(0, "pragma_parallel_launch_point", 1):
                # Every thread reads what another one wrote, so a missing barrier shows.
                with T.attr(0, "pragma_parallel_barrier_when_finish", 1):
                    for i in T.parallel(300):
                        scratch[i] = x[299 - i]
                for i in T.parallel(300):
                    out[i] = scratch[299 - i] + x[i]

        @T.prim_func(private=True)
        def failing_kernel(a: T.handle, c: T.handle):
            x = T.match_buffer(a, (16,), "float32")
            out = T.match_buffer(c, (16,), "float32")
            for i in T.parallel(16):
                assert x[i] < T.float32(100), "too large for a worker"
                out[i] = x[i]

        @R.function
        def doubled(x: R.Tensor((64, 4), "float32")) -> R.Tensor((64, 4), "float32"):
            cls = Parallel
            return R.call_tir(cls.doubled_kernel, (x,), R.Tensor((64, 4), "float32"))

        @R.function
        def workspace(x: R.Tensor((300,), "float32")) -> R.Tensor((300,), "float32"):
            cls = Parallel
            return R.call_tir(cls.workspace_kernel, (x,), R.Tensor((300,), "float32"))

        @R.function
        def barrier(x: R.Tensor((300,), "float32")) -> R.Tensor((300,), "float32"):
            cls = Parallel
            return R.call_tir(cls.barrier_kernel, (x,), R.Tensor((300,), "float32"))

        @R.function
        def failing(x: R.Tensor((16,), "float32")) -> R.Tensor((16,), "float32"):
            cls = Parallel
            return R.call_tir(cls.failing_kernel, (x,), R.Tensor((16,), "float32"))

    return Parallel


def parallel_cases():
    matrix, vector, short = grid("parallel.x", (64, 4)), grid("parallel.v", (300,)), grid("parallel.s", (16,))
    too_large = short.copy()
    # In the first task, which the calling thread runs: TVM may lose an error of a worker.
    too_large[0] = 100
    return [
        Case("doubled", (matrix,), expected=2 * matrix),
        Case("workspace", (vector,), expected=vector[::-1] + vector),
        Case("barrier", (vector,), expected=2 * vector),
        Case("failing", (short,), label="fine", expected=short),
        Case("failing", (too_large,), raises="RuntimeError"),
    ]


def as_tensor(data):
    """A tensor argument made on the kernel's stack: data, shape, no strides, rank, an element for the type, offset."""
    shape = T.tvm_stack_make_shape(8, dtype="handle")
    return T.tvm_stack_make_array(data, shape, 0, 1, T.float32(0), 0, dtype="handle")


def plain_module():
    @I.ir_module
    class Plain:
        @T.prim_func
        def vector_add(a: T.handle, b: T.handle, c: T.handle):
            # The entry: a module that is called itself runs this function.
            T.func_attr({"global_symbol": "vector_add", "tirx.is_entry_func": True})
            n = T.int64()
            x = T.match_buffer(a, (n,), "float32")
            y = T.match_buffer(b, (n,), "float32")
            out = T.match_buffer(c, (n,), "float32")
            for i in T.serial(n):
                out[i] = x[i] + y[i]

        @T.prim_func
        def scale(a: T.handle, factor: T.float32, shift: T.int32, on: T.bool):
            T.func_attr({"global_symbol": "scale"})
            x = T.match_buffer(a, (8,), "float32")
            assert shift >= 0, "shift must not be negative"
            for i in T.serial(8):
                if on:
                    x[i] = x[i] * factor + T.Cast("float32", shift)

        @T.prim_func
        def multiply_add(x: T.int64, y: T.int64, z: T.int64) -> T.int64:
            T.func_attr({"global_symbol": "multiply_add"})
            return x + y * z

        @T.prim_func
        def call_host(a: T.handle):
            T.func_attr({"global_symbol": "call_host"})
            x = T.match_buffer(a, (8,), "float32")
            x[0] = T.Cast("float32", T.call_packed("opdyno.test.add", 3, 4))
            T.evaluate(T.call_packed("opdyno.test.double", as_tensor(x.data)))

        @T.prim_func
        def host_fails(a: T.handle):
            T.func_attr({"global_symbol": "host_fails"})
            x = T.match_buffer(a, (8,), "float32")
            T.evaluate(T.call_packed("opdyno.test.fail", x[0], "text"))

        @T.prim_func
        def host_unknown(a: T.handle):
            T.func_attr({"global_symbol": "host_unknown"})
            x = T.match_buffer(a, (8,), "float32")
            T.evaluate(T.call_packed("opdyno.test.nowhere", x[0]))

    return Plain


def plain_cases():
    x, y, eight = grid("plain.x", (5,)), grid("plain.y", (5,)), grid("plain.eight", (8,))
    called = eight.copy()
    called[0] = 7
    zeros = np.zeros_like
    return [
        Case("vector_add", (x, y, zeros(x)), after={2: x + y}),
        Case("vector_add", (x, y[:4].copy(), zeros(x)), label="lengths", raises="ValueError"),
        Case("vector_add", (x, y.astype("int32"), zeros(x)), label="dtype", raises="TypeError"),
        Case("vector_add", (x, y), label="too_few", raises="TypeError"),
        Case("vector_add", (x, None, zeros(x)), label="none", raises="TypeError"),
        Case("scale", (eight, 2.0, 3, True), after={0: eight * 2 + 3}),
        Case("scale", (eight, 2, 3, 1), label="int_for_float", after={0: eight * 2 + 3}),
        Case("scale", (eight, 2.0, 3, False), label="off", after={0: eight}),
        Case("scale", (eight, 2.0, 3.0, True), label="float_for_int", raises="TypeError"),
        Case("scale", (eight, 2.0, -3, True), label="assertion", raises="RuntimeError"),
        Case("multiply_add", (2, 3, 4), expected=14),
        Case("call_host", (eight,), after={0: called * 2}),
        Case("host_fails", (eight,), raises="ValueError"),
        Case("host_unknown", (eight,), raises="RuntimeError"),
    ]


MODELS = [
    Model("dtypes", dtypes_module, dtypes_cases(), committed="newest"),
    Model("parallel", parallel_module, parallel_cases()),
    Model("kernels", plain_module, plain_cases(), kind="kernels", modes=("bytecode",)),
]
