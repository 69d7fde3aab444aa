"""Functions that the artifacts `packed`, `destination`, `kernels` and `effects` call by name, and that the host has to provide.

Whoever runs these artifacts without TVM registers functions of the same names that do the same.
"""

import atexit

import tvm

DESCRIPTIONS = {
    "opdyno.test.scale": "(tensor x, int k, str, str, dtype, shape) → a new tensor x * k; the rest is ignored",
    "opdyno.test.add": "(int a, int b) → int a + b",
    "opdyno.test.double": "(tensor x) → None; doubles float32 x in place",
    "opdyno.test.sum_into": "(tensor x, tensor y, tensor out) → None; writes float32 x + y to out",
    "opdyno.test.fail": "(anything) → error ValueError: refused on purpose",
    "opdyno.test.negate": "(tuple of a tensor x) → a new tensor -x; registered by vm.builtin.register_py_func",
}


def register():
    def register_one(name):
        return tvm.register_global_func(f"opdyno.test.{name}", override=True)

    @register_one("scale")
    def scale(x, k, *ignored):
        return tvm.runtime.tensor(x.numpy() * x.numpy().dtype.type(k))

    @register_one("add")
    def add(a, b):
        return a + b

    @register_one("double")
    def double(x):
        x.copyfrom(x.numpy() * 2)

    @register_one("sum_into")
    def sum_into(x, y, out):
        out.copyfrom(x.numpy() + y.numpy())

    @register_one("fail")
    def fail(*ignored):
        raise ValueError("refused on purpose")

    def negate(arguments):
        return tvm.runtime.tensor(-arguments[0].numpy())

    tvm.get_global_func("vm.builtin.register_py_func")("opdyno.test.negate", negate)
    # What is left in this registry when the process ends, TVM frees after Python is gone.
    atexit.register(tvm.get_global_func("vm.builtin.clear_py_func_registry"))
