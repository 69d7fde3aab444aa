"""Tests that programs compiled by TVM get tensors with strides and byte offsets from opdyno in the same form as from
TVM."""

import ctypes

import numpy as np
import pytest

import opdyno
import opdyno.tvm

FLOAT_BYTES, ALIGNMENT = 4, 64  # the alignment is that of tensors in TVM

# A map from names to shape, strides and byte offset in 24 floats.
LAYOUTS = {
    "compact": ((4, 3), (3, 1), 0),
    "offset": ((4, 3), (3, 1), 16),
    "transpose": ((4, 3), (1, 4), 0),
    "transpose with an offset": ((4, 3), (1, 4), 32),
    "rows without their ends": ((4, 3), (6, 1), 8),
    "backwards": ((4, 3), (-4, 1), 48),
    "one row four times": ((4, 3), (0, 1), 16),
    "one row": ((1, 4), (9, 1), 16),
    "nothing": ((0, 3), (3, 1), 0),
}


class DLManagedTensor(ctypes.Structure):
    """DLPack's struct. Its deleter is null, because the test keeps the memory."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    ]


class Memory:
    """24 floats, whose values are their indices, and capsules of tensors of them. The memory outlives the tensors."""

    def __init__(self):
        raw = np.zeros(24 + ALIGNMENT // FLOAT_BYTES, "float32")
        first = -raw.ctypes.data % ALIGNMENT // FLOAT_BYTES
        self.floats, self.kept = raw[first:first + 24], []
        self.floats[:] = np.arange(24)

    def capsule(self, layout):
        shape, strides, offset = layout
        numbers = [(ctypes.c_int64 * 2)(*list_of) for list_of in (shape, strides)]
        managed = DLManagedTensor(
            self.floats.ctypes.data, 1, 0, 2, 2, 32, 1, *map(ctypes.addressof, numbers), offset, None, None)
        self.kept += [numbers, managed]
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(managed), b"dltensor", None)

    def array(self, layout):
        """The elements of a layout as a NumPy array."""
        shape, strides, offset = layout
        return np.ndarray(shape, "float32", self.floats, offset, [FLOAT_BYTES * stride for stride in strides])


@pytest.fixture(scope="module")
def memory():
    return Memory()


def program():
    from tvm.script import ir as I
    from tvm.script import relax as R
    from tvm.script import tirx as T

    @I.ir_module
    class Strided:
        @T.prim_func(private=True)
        def describe(a: T.handle, c: T.handle):
            n, m, s, t, o = T.int64(), T.int64(), T.int64(), T.int64(), T.int64()
            x = T.match_buffer(a, (n, m), "float32", strides=(s, t), elem_offset=o, offset_factor=1)
            out = T.match_buffer(c, (5,), "int64")
            out[0] = n
            out[1] = m
            out[2] = s
            out[3] = t
            out[4] = o

        @T.prim_func(private=True)
        def double(a: T.handle, c: T.handle):
            n, m, s, t, o = T.int64(), T.int64(), T.int64(), T.int64(), T.int64()
            x = T.match_buffer(a, (n, m), "float32", strides=(s, t), elem_offset=o, offset_factor=1)
            out = T.match_buffer(c, (n, m), "float32")
            for i, j in T.grid(n, m):
                out[i, j] = x[i, j] * T.float32(2)

        @T.prim_func(private=True)
        def double_compact(a: T.handle, c: T.handle):
            n, m = T.int64(), T.int64()
            x = T.match_buffer(a, (n, m), "float32")
            out = T.match_buffer(c, (n, m), "float32")
            for i, j in T.grid(n, m):
                out[i, j] = x[i, j] * T.float32(2)

        @R.function
        def described(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor((5,), "int64"):
            cls = Strided
            return R.call_tir(cls.describe, (x,), R.Tensor((5,), "int64"))

        @R.function
        def doubled(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
            n, m = T.int64(), T.int64()
            cls = Strided
            return R.call_tir(cls.double, (x,), R.Tensor((n, m), "float32"))

        @R.function
        def doubled_compact(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
            n, m = T.int64(), T.int64()
            cls = Strided
            return R.call_tir(cls.double_compact, (x,), R.Tensor((n, m), "float32"))

        @R.function
        def same(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
            return x

    return Strided


@pytest.fixture(scope="module", params=["bytecode", "compiled"])
def machines(request):
    """TVM's VM and opdyno's VM of the same program."""
    tvm = request.getfixturevalue("tvm")
    executable = tvm.relax.build(program(), tvm.target.Target({"kind": "llvm"}), exec_mode=request.param)
    return tvm.relax.VirtualMachine(executable, tvm.cpu()), opdyno.VirtualMachine(opdyno.tvm.load(executable), opdyno.cpu())


@pytest.fixture
def both(machines):
    """For TVM and for opdyno: a VM, and functions that make a tensor of a capsule, find a function, and make a
    shape."""
    import tvm_ffi

    return [(machines[0], tvm_ffi.from_dlpack, tvm_ffi.get_global_func, tvm_ffi.Shape),
            (machines[1], opdyno.from_dlpack, opdyno.get_global_func, opdyno.Shape)]


def answers(both, memory, function, layout):
    """The results of both: an array, or the kind of the error."""
    given = []
    for vm, take, _, _ in both:
        try:
            given.append(vm[function](take(memory.capsule(layout))).numpy())
        except Exception as error:
            given.append(next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins"))
    return given


@pytest.mark.parametrize("name", LAYOUTS)
def test_kernels_get_strides_and_offsets_as_from_tvm(both, memory, name):
    (shape, strides, offset), array = LAYOUTS[name], memory.array(LAYOUTS[name])
    seen = answers(both, memory, "described", LAYOUTS[name])
    doubled = answers(both, memory, "doubled", LAYOUTS[name])
    for numbers, elements in zip(seen, doubled, strict=True):
        assert numbers.tolist() == [*shape, *strides, offset // FLOAT_BYTES]
        np.testing.assert_array_equal(elements, 2 * array)


@pytest.mark.parametrize("name", LAYOUTS)
def test_kernels_of_compact_tensors_refuse_others_as_in_tvm(both, memory, name):
    theirs, ours = answers(both, memory, "doubled_compact", LAYOUTS[name])
    np.testing.assert_array_equal(ours, theirs)  # an error or the elements
    assert (ours is ValueError) == (name not in ("compact", "nothing")), name


@pytest.mark.parametrize("name", LAYOUTS)
def test_compact_tensors_get_another_shape_as_in_tvm(both, memory, name):
    array, seen = memory.array(LAYOUTS[name]), []
    for vm, take, function, shape in both:
        reshape, x = function("vm.builtin.reshape"), take(memory.capsule(LAYOUTS[name]))
        if not array.flags.c_contiguous:
            with pytest.raises(Exception, match="compact|strided"):
                reshape(x, shape((array.size, 1)))
            continue
        y = reshape(x, shape((array.size, 1)))
        seen.append(vm["described"](y).numpy().tolist())
        np.testing.assert_array_equal(vm["doubled"](y).numpy(), 2 * array.reshape(-1, 1))
    expected = [array.size, 1, 1, 1, LAYOUTS[name][2] // FLOAT_BYTES]
    assert seen == ([expected] * 2 if array.flags.c_contiguous else [])


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_program_gives_the_tensor_that_it_was_given(machines, memory, name):
    x = opdyno.from_dlpack(memory.capsule(LAYOUTS[name]))
    y = machines[1]["same"](x)
    assert y.same_as(x) and (y.shape, y.strides) == LAYOUTS[name][:2]


def test_views_with_offsets_go_on_as_in_tvm(both, memory):
    whole, inner = ((6, 4), (4, 1), 0), ((2, 4), (4, 1), 32)
    for vm, take, function, shape in both:
        create = function("runtime.TVMTensorCreateView")
        view = create(take(memory.capsule(whole)), shape((5, 4)), "float32", 16)
        view = create(view, shape(inner[0]), "float32", 16)  # the offset is relative to that of the outer tensor
        assert vm["described"](view).numpy().tolist() == [*inner[0], *inner[1], inner[2] // FLOAT_BYTES]
        np.testing.assert_array_equal(vm["doubled"](view).numpy(), 2 * memory.array(inner))
        with pytest.raises(Exception, match="compact|contiguous"):
            create(take(memory.capsule(LAYOUTS["transpose"])), shape((2,)), "float32", 0)
