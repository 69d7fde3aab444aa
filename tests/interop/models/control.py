"""Branches, recursion and closures."""

import numpy as np
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from .common import Case, Model, grid


def control_module():
    @I.ir_module
    class Control:
        @R.function
        def countdown(n: R.Tensor((), "int32"), total: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            cls = Control
            if R.less_equal(n, R.const(0, "int32")):
                out = total
            else:
                out = cls.countdown(R.subtract(n, R.const(1, "int32")), R.add(total, R.const(1.0, "float32")))
            return out

        @R.function
        def even(n: R.Tensor((), "int32")) -> R.Tensor((), "bool"):
            cls = Control
            if R.equal(n, R.const(0, "int32")):
                out = R.const(True)
            else:
                out = cls.odd(R.subtract(n, R.const(1, "int32")))
            return out

        @R.function
        def odd(n: R.Tensor((), "int32")) -> R.Tensor((), "bool"):
            cls = Control
            if R.equal(n, R.const(0, "int32")):
                out = R.const(False)
            else:
                out = cls.even(R.subtract(n, R.const(1, "int32")))
            return out

        @R.function
        def fibonacci(n: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
            cls = Control
            if R.less_equal(n, R.const(1, "int32")):
                out = n
            else:
                before = cls.fibonacci(R.subtract(n, R.const(1, "int32")))
                out = R.add(before, cls.fibonacci(R.subtract(n, R.const(2, "int32"))))
            return out

        @R.function
        def choose(
            condition: R.Prim("bool"),
            a: R.Tensor((4,), "float32"),
            b: R.Tensor((4,), "float32"),
        ) -> R.Tensor((4,), "float32"):
            if condition:
                out = a
            else:
                out = b
            return out

    return Control


def control_cases():
    a, b = grid("control.a", (4,)), grid("control.b", (4,))
    number = np.int32
    return [
        Case("countdown", (np.array(0, number), a), label="stop", expected=a),
        Case("countdown", (np.array(50, number), a), expected=a + 50),
        Case("even", (np.array(6, number),), expected=np.array(True)),
        Case("odd", (np.array(6, number),), expected=np.array(False)),
        Case("fibonacci", (np.array(10, number),), expected=np.array(55, number)),
        Case("choose", (True, a, b), label="first", expected=a),
        Case("choose", (False, a, b), label="second", expected=b),
    ]


def closures_module():
    @I.ir_module
    class Closures:
        @R.function
        def add_twice(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            @R.function
            def add_x(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                return R.add(x, z)

            return add_x(add_x(y))

        @R.function
        def make_adder(
            x: R.Tensor((4,), "float32"),
        ) -> R.Callable((R.Tensor((4,), "float32"),), R.Tensor((4,), "float32")):
            @R.function
            def add_x(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                return R.add(x, z)

            return add_x

        @R.function
        def apply_twice(
            f: R.Callable((R.Tensor((4,), "float32"),), R.Tensor((4,), "float32")), y: R.Tensor((4,), "float32")
        ) -> R.Tensor((4,), "float32"):
            return f(f(y))

        @R.function
        def through_value(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            cls = Closures
            return cls.apply_twice(cls.make_adder(x), y)

    # relax.build does not lift inner functions by itself.
    return relax.transform.LambdaLift()(Closures)


def closures_cases():
    x, y = grid("closures.x", (4,)), grid("closures.y", (4,))
    return [
        Case("add_twice", (x, y), expected=y + 2 * x),
        Case("through_value", (x, y), expected=y + 2 * x),
        Case("apply_twice", (x, y), label="not_a_function", raises="TypeError"),
    ]


def branches_module():
    """Where TVM's own pipeline lets one branch use what only the other one allocates: %5 in run, the storage of `a`.

    TVM itself crashes in that branch; branches_test.cc calls it.
    """

    @I.ir_module
    class Branches:
        @R.function
        def run(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            if c:
                a = R.add(x, x)
                out = R.multiply(a, a)
            else:
                b = R.add(x, x)
                out = R.subtract(b, x)
            return out

        @R.function
        def run_four(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            if c:
                a = R.add(x, x)
                out = R.multiply(a, a)
            else:
                b = R.add(x, x)
                out = R.subtract(b, x)
            return out

    return Branches


def branches_cases():
    four = grid("branches.x", (4,))
    return [Case(name, (np.array(True), four), expected=4 * four * four) for name in ("run", "run_four")]


MODELS = [
    Model("control", control_module, control_cases(), disassembly=True),
    Model("closures", closures_module, closures_cases(), disassembly=True),
    Model("branches", branches_module, branches_cases(), committed="newest", disassembly=True),
]
