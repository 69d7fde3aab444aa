"""Values that are no tensors: nested tuples, scalars, strings, and an executable assembled by hand."""

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm_ffi import Shape

from .common import TVM_VERSION, Case, Model, grid, whole


def tuples_module():
    @I.ir_module
    class Tuples:
        @R.function
        def nested(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            a = R.add(x, y)
            b = R.multiply(x, y)
            c = R.subtract(x, y)
            return (a, (b, c))

        @R.function
        def rearranged(
            p: R.Tuple(R.Tensor((4,), "float32"), R.Tuple(R.Tensor((2,), "int32"), R.Tensor((4,), "float32"))),
        ):
            inner = p[1]
            return (inner[1], (p[0],), inner[0], ())

        @R.function
        def echo(i: R.Prim("int64"), f: R.Prim("float32"), b: R.Prim("bool"), any_value: R.Object) -> R.Object:
            return (i, f, b, any_value)

        @R.function
        def literals() -> R.Object:
            return (
                R.str("a string on the heap"),
                R.str("inline"),
                R.dtype("float16"),
                R.prim_value(-3),
                R.shape([2, 3]),
                R.const(4.5, "float64"),
                R.const(np.array([1, -2, 3], "int8")),
            )

    if TVM_VERSION >= (0, 27):
        add_string_parameter(Tuples)
    return Tuples


def add_string_parameter(module):
    """A parameter that must be a string; TVM 0.27 knows the type, its script language does not."""
    builder = relax.BlockBuilder()
    text = relax.Var("text", tvm.ir.StringType())
    with builder.function("text", [text]):
        builder.emit_func_output(text)
    module.update(builder.get())


def tuples_cases():
    x, y, pair = grid("tuples.x", (4,)), grid("tuples.y", (4,)), whole("tuples.pair", (2,), "int32")
    literals = (
        "a string on the heap",
        "inline",
        np.dtype("float16"),
        -3,
        Shape((2, 3)),
        np.array(4.5),
        np.array([1, -2, 3], "int8"),
    )
    cases = [
        Case("nested", (x, y), expected=(x + y, (x * y, x - y))),
        Case("rearranged", ((x, (pair, y)),), expected=(y, (x,), pair, ())),
        Case("echo", (7, 2.5, True, "text"), expected=(7, 2.5, True, "text")),
        Case("echo", (-(2**62), -0.5, False, None), label="none", expected=(-(2**62), -0.5, False, None)),
        Case("echo", (7, "2.5", True, 1), label="wrong_kind", raises="TypeError"),
        Case("literals", (), expected=literals),
    ]
    if TVM_VERSION >= (0, 27):
        cases += [
            Case("text", ("one more string",), expected="one more string"),
            Case("text", (3,), label="wrong_kind", raises="TypeError"),
        ]
    return cases


def assembled():
    """What relax.build never emits: every tag of the constant pool, a backward goto, a negative immediate."""
    builder = relax.ExecBuilder()
    with builder.function("constants", num_inputs=0):
        tensor = tvm.runtime.tensor(whole("assembled", (3,)))
        constants = [2.5, 2**60, "text", tvm.DataType("int8"), Shape((4, 0)), tensor]
        arguments = [builder.convert_constant(constant) for constant in constants] + [builder.imm(-7)]
        builder.emit_call("vm.builtin.make_tuple", arguments, dst=builder.r(0))
        builder.emit_ret(builder.r(0))
    with builder.function("loop", num_inputs=2, param_names=["go_on", "x"]):
        # r2 wraps x once, then once more, and the second time r0 ends the loop: (go_on, x) → ((x))
        builder.emit_call("vm.builtin.make_tuple", [builder.r(1)], dst=builder.r(2))
        builder.emit_if(builder.r(0), 4)
        builder.emit_call("vm.builtin.copy", [builder.r(2)], dst=builder.r(1))
        builder.emit_call("vm.builtin.copy", [builder.imm(0)], dst=builder.r(0))
        builder.emit_goto(-4)
        builder.emit_ret(builder.r(2))
    return builder


def assembled_cases():
    constants = (2.5, 2**60, "text", np.dtype("int8"), Shape((4, 0)), whole("assembled", (3,)), -7)
    x = grid("assembled.x", (2,))
    return [
        Case("constants", (), expected=constants),
        Case("loop", (True, x), label="twice", expected=((x,),)),
        Case("loop", (False, x), label="once", expected=(x,)),
    ]


MODELS = [
    Model("tuples", tuples_module, tuples_cases(), disassembly=True),
    Model("assembled", assembled, assembled_cases(), kind="assembled", disassembly=True, modes=("bytecode",)),
]
