"""Tests of tensors and their conversion to and from NumPy, DLPack, buffers and pickles."""

import copy
import math
import pickle
import sys

import numpy as np
import pytest

import opdyno

DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (2, 0, 3), (1, 2, 3, 4, 5, 1, 1, 1, 2)])
def test_numpy_arrays_come_back_as_they_went(dtype, shape):
    array = np.arange(int(np.prod(shape)), dtype="int64").reshape(shape).astype(dtype)
    tensor = opdyno.tensor(array)
    assert tensor.shape == shape and tensor.dtype == dtype and tensor.device == opdyno.cpu()
    assert tensor.nbytes == array.nbytes and tensor.size == array.size and tensor.ndim == array.ndim
    back = tensor.numpy()
    assert back.dtype == array.dtype and back.shape == shape
    np.testing.assert_array_equal(back, array)
    again = pickle.loads(pickle.dumps(tensor))
    assert again.dtype == dtype and again.shape == shape
    np.testing.assert_array_equal(again.numpy(), array)


def test_a_tensor_is_a_copy_and_numpy_gives_one():
    array = np.zeros(4, "float32")
    tensor = opdyno.tensor(array)
    array[0] = 1
    copied = tensor.numpy()
    copied[1] = 2
    assert tensor.numpy().tolist() == [0, 0, 0, 0]


def test_views_share_the_elements():
    tensor = opdyno.tensor(np.zeros(4, "float32"))
    for i, view in enumerate([tensor.view(), np.asarray(memoryview(tensor)), np.from_dlpack(tensor)]):
        if view.flags.writeable:
            view[i] = i + 1
    assert tensor.numpy()[:2].tolist() == [1, 2]
    array = np.zeros(4, "int32")
    shared = opdyno.from_dlpack(array)
    array[3] = 9
    assert shared.numpy().tolist() == [0, 0, 0, 9]


def test_a_view_keeps_the_memory_alive():
    view = opdyno.tensor(np.arange(1000, dtype="int64")).view()
    opdyno.tensor(np.zeros(1000, "int64"))
    np.testing.assert_array_equal(view, np.arange(1000))


def test_strided_arrays_are_taken_as_they_lie():
    array = np.arange(24, dtype="int32").reshape(4, 6)
    for strided in (array[::2, ::3], array.T, array[:, 1], np.flip(array, 0)[1:]):
        np.testing.assert_array_equal(opdyno.tensor(strided).numpy(), strided)


def test_anything_that_numpy_understands_can_be_a_tensor():
    assert opdyno.tensor([[1.0, 2.0]]).numpy().tolist() == [[1.0, 2.0]]
    assert opdyno.tensor(b"abc").numpy().tolist() == [97, 98, 99]
    with pytest.raises((TypeError, ValueError, BufferError)):
        opdyno.tensor(np.array([object()]))


def test_copies_between_tensors_and_arrays():
    source, target = opdyno.tensor(np.arange(4.0)), opdyno.empty((4,), "float64")
    assert source.copyto(target) is target and target.numpy().tolist() == [0, 1, 2, 3]
    assert target.copyfrom(np.full(4, 7.0)).numpy().tolist() == [7, 7, 7, 7]
    assert target.copyfrom([1, 2, 3, 4]).numpy().tolist() == [1, 2, 3, 4]
    assert not source.copyto(opdyno.cpu()).same_as(source)
    assert copy.deepcopy(source).numpy().tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match=r"\[4\].*\[5\]|\[5\].*\[4\]"):
        source.copyto(opdyno.empty((5,), "float64"))


def test_reshaping_shares_the_elements():
    tensor = opdyno.tensor(np.arange(6.0))
    shaped = tensor.reshape(2, 3)
    assert shaped.shape == (2, 3)
    tensor.view()[5] = 50
    assert shaped.numpy()[1, 2] == 50
    with pytest.raises(ValueError):
        tensor.reshape(4)


def test_dtypes_that_numpy_lacks_need_ml_dtypes(monkeypatch):
    import ml_dtypes  # JAX installs it

    array = np.array([1.5, -2], ml_dtypes.bfloat16)
    tensor = opdyno.tensor(array)
    assert tensor.dtype == "bfloat16"
    np.testing.assert_array_equal(tensor.numpy(), array)
    with pytest.raises(BufferError):
        memoryview(tensor)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)  # as if it were not installed
    with pytest.raises(TypeError, match="ml_dtypes"):
        tensor.numpy()


# The bits of each dtype's values 0, 1, 2 …, in the order of DLPack: bit after bit, the lowest first.
@pytest.mark.parametrize(
    ("dtype", "values", "data"),
    [
        ("uint1", [1, 0, 0, 1, 1, 0, 0, 0, 1], [0b00011001, 1]),
        ("int1", [-1, 0, 0, -1, -1, 0, 0, 0, -1], [0b00011001, 1]),
        ("uint2", [3, 0, 1, 2, 1], [0b10010011, 1]),
        ("int2", [-1, 0, 1, -2, 1], [0b10010011, 1]),
        ("uint4", [15, 2, 7], [0x2F, 7]),
        ("int4", [-1, 2, -8], [0x2F, 8]),
        ("float4_e2m1fn", [0.5, -6.0, 1.0], [0xF1, 2]),
        ("float6_e2m3fn", [0.125, 7.5, -0.125], [0b11000001, 0b00010111, 0b10]),
        ("float6_e3m2fn", [0.0625, 28.0, -0.0625], [0b11000001, 0b00010111, 0b10]),
    ],
)
def test_elements_of_less_than_a_byte_are_packed(dtype, values, data):
    import ml_dtypes

    array = np.array(values, "float32").astype(getattr(ml_dtypes, dtype))
    tensor = opdyno.tensor(array)
    assert tensor.dtype == dtype and tensor.tobytes() == bytes(data)
    back = tensor.numpy()
    assert back.dtype == array.dtype and back.astype("float32").tolist() == values
    for source in (values, array, tensor):
        assert opdyno.empty((len(values),), dtype).copyfrom(source).tobytes() == bytes(data)
    for share in (memoryview, opdyno.Tensor.view):
        with pytest.raises(BufferError, match="no such dtype"):
            share(tensor)
    assert opdyno.empty((0, 3), dtype).numpy().shape == (0, 3)
    assert opdyno.tensor(array.reshape(-1, 1)[::-1]).numpy().astype("float32").tolist() == [[x] for x in values[::-1]]
    with pytest.raises(BufferError, match=rf"{dtype} cannot be shared, but opdyno.tensor\(\) copies it"):
        opdyno.Function(lambda x: x)(array)


def test_a_large_tensor_of_single_bits_has_as_many_elements():
    assert opdyno.empty((1 << 24,), "uint1").numpy().size == 1 << 24


def test_a_constant_has_the_smallest_usual_dtype_that_holds_it():
    cases = {-0: "int32", 2**31 - 1: "int32", 2**31: "int64", -(2**40): "int64", 1.5: "float32", 1e39: "float64", True: "bool",
             float("inf"): "float32", np.float16(2): "float16"}  # fmt: skip
    for value, dtype in cases.items():
        made = opdyno.const(value)
        assert made.dtype == dtype and made.item() == value and made.shape == ()
    assert math.copysign(1, opdyno.const(-0.0).item()) == -1
    for value in (None, [1, 2], "x", 1j, np.ones(2)):
        with pytest.raises(NotImplementedError, match="one number"):
            opdyno.const(value)
    with pytest.raises(OverflowError):
        opdyno.const(2**64)


def test_a_tensor_tells_what_it_is():
    tensor = opdyno.tensor(np.array([[1, 2]], "int8"))
    assert repr(tensor) == "Tensor(shape=[1, 2], dtype=int8, device=cpu:0)\n[[1 2]]" and len(tensor) == 1
    assert repr(opdyno.empty((2000,), "int8")) == "Tensor(shape=[2000], dtype=int8, device=cpu:0)"


def test_wrong_arguments_are_errors():
    with pytest.raises(ValueError):
        opdyno.empty((-1,), "int8")
    with pytest.raises(ValueError):
        opdyno.empty((2,), "nothing")
    capsule = opdyno.empty((2,), "int8").__dlpack__()
    assert opdyno.from_dlpack(capsule).shape == (2,)
    with pytest.raises(ValueError, match="used already"):
        opdyno.from_dlpack(capsule)
    with pytest.raises(BufferError):
        opdyno.empty((2,), "int8").__dlpack__(copy=True)


@pytest.mark.parametrize("dtype", [">i4", ">f8", ">c8"])
def test_elements_of_another_byte_order_are_refused(dtype):
    array = np.arange(3).astype(dtype)
    for take in (opdyno.tensor, opdyno.from_dlpack, opdyno.Function(lambda x: x), opdyno.empty((3,), "int32").copyfrom):
        with pytest.raises(BufferError, match="byte order"):
            take(array)


def test_a_pickled_tensor_comes_back_to_its_device():
    tensor = opdyno.tensor(np.arange(3.0), opdyno.cpu(1))
    for again in (pickle.loads(pickle.dumps(tensor)), copy.copy(tensor), copy.deepcopy(tensor)):
        assert again.device == opdyno.cpu(1) and again.numpy().tolist() == [0, 1, 2]


def test_a_view_is_of_the_tensor_s_kind():
    for dtype in DTYPES:
        view = opdyno.tensor(np.ones((2, 3), dtype).T).view()
        assert view.dtype == dtype and view.shape == (3, 2) and view.flags.writeable
        assert opdyno.empty((0, 2), dtype).view().shape == (0, 2) and opdyno.empty((), dtype).view().shape == ()
    with pytest.raises(BufferError, match="no such dtype"):
        opdyno.empty((2,), "bfloat16").view()


# ---- read-only memory


def read_only(values):
    array = np.array(values, "float64")
    array.flags.writeable = False
    return array


READ_ONLY = {
    "flags": lambda tmp_path: read_only([1, 2, 3]),
    "bytes": lambda tmp_path: np.frombuffer(np.array([1.0, 2, 3]).tobytes()),
    "memoryview": lambda tmp_path: memoryview(np.array([1.0, 2, 3])).toreadonly(),
    "memmap": lambda tmp_path: mapped(tmp_path / "x.bin"),
}


def mapped(path):
    np.array([1.0, 2, 3]).tofile(path)
    return np.memmap(path, mode="r")[:].view("float64")


@pytest.mark.parametrize("kind", READ_ONLY)
def test_read_only_arrays_are_refused_by_compiled_functions(kernels, kind, tmp_path):
    array = READ_ONLY[kind](tmp_path)
    with pytest.raises(ValueError, match="argument 0 of compiled function double .* is read-only"):
        kernels["double"](array)
    with pytest.raises(ValueError, match="read-only"):
        kernels["double"](opdyno.from_dlpack(array))
    assert kernels["sum"](opdyno.reads_only(array)) == 6
    assert kernels["sum"](opdyno.reads_only(opdyno.from_dlpack(array))) == 6
    assert np.asarray(array).tolist() == [1, 2, 3]


def test_read_only_tensors_give_read_only_arrays():
    tensor = opdyno.from_dlpack(read_only([1, 2]))
    assert tensor.is_read_only and not opdyno.empty((2,)).is_read_only
    assert not tensor.view().flags.writeable and memoryview(tensor).readonly and opdyno.empty((2,)).view().flags.writeable
    with pytest.raises((ValueError, BufferError)):
        np.frombuffer(tensor)[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        tensor.copyfrom(np.zeros(2))
    assert tensor.reshape(1, 2).is_read_only and not opdyno.tensor(tensor).is_read_only
    assert not np.from_dlpack(tensor).flags.writeable
    with pytest.raises(BufferError):
        tensor.__dlpack__()
    assert tensor.numpy().flags.writeable  # a copy


class OldDlpack(np.ndarray):
    """An array whose capsules have no version, so they cannot mark the elements as read-only."""

    def __dlpack__(self):
        return np.asarray(self.base).__dlpack__()


def test_capsules_without_a_version_do_not_make_read_only_arrays_writable():
    array = np.arange(3.0).view(OldDlpack)
    assert not opdyno.from_dlpack(array).is_read_only
    array.flags.writeable = False
    assert opdyno.from_dlpack(array).is_read_only


def test_callbacks_get_read_only_arrays_as_such():
    seen = opdyno.Function(lambda x, y, items: (x.is_read_only, y.is_read_only, items[0].is_read_only))
    assert tuple(seen(read_only([1]), np.zeros(1), [read_only([1])])) == (True, False, True)
    assert opdyno.Function(lambda: read_only([1]))().is_read_only


def test_vms_copy_read_only_arrays(chain):
    x = np.zeros(4, "float32")
    x.flags.writeable = False
    assert chain["main"](x).numpy().tolist() == [100] * 4 and chain["main"](opdyno.reads_only(x)).numpy().tolist() == [100] * 4
    assert x.tolist() == [0] * 4


# ---- numbers


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "float64"])
def test_a_tensor_of_one_element_is_a_number(dtype):
    one = opdyno.tensor(np.ones((1, 1), dtype))
    assert one.item() == 1 and type(one.item()) is type(np.ones(1, dtype).item())
    assert bool(one) is True and int(one) == 1 and float(one) == 1.0
    assert not opdyno.tensor(np.zeros((), dtype))


def test_a_tensor_of_several_elements_is_no_number():
    for number in (bool, int, float, opdyno.Tensor.item):
        for shape in ((2,), (0,)):
            with pytest.raises(ValueError, match="only a tensor of one element"):
                number(opdyno.empty(shape))


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_arrays_of_ml_dtypes_are_arguments(name):
    import ml_dtypes

    array = np.array([1, 2, 0.5]).astype(getattr(ml_dtypes, name))
    echo = opdyno.Function(lambda x: x)
    for back in (echo(array), echo([array])[0], opdyno.tensor(array), opdyno.from_dlpack(array), opdyno.convert(array)):
        assert back.dtype == name and back.shape == (3,) and back.tobytes() == array.tobytes()
    assert echo(array[::2]).numpy().tolist() == [1, 0.5]
