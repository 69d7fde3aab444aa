"""Tests of dtypes, devices and shapes."""

import copy
import ctypes
import pickle

import numpy as np
import pytest

import opdyno


def test_a_dtype_is_text_that_knows_its_parts():
    dtype = opdyno.DataType("float32x4")
    assert dtype == "float32x4" and (dtype.type_code, dtype.bits, dtype.lanes) == (opdyno.DataTypeCode.FLOAT, 32, 4)
    assert dtype.itemsize == 16 and repr(dtype) == "dtype('float32x4')"
    assert opdyno.DataType("f16") == "float16" and opdyno.DataType(np.dtype("uint8")) == "uint8"
    assert opdyno.DataType(np.float64) == "float64" and opdyno.DataType("bfloat16").type_code == opdyno.DataTypeCode.BFLOAT
    assert pickle.loads(pickle.dumps(dtype)) == dtype
    with pytest.raises(ValueError, match="float33z"):
        opdyno.DataType("float33z")
    with pytest.raises(TypeError):
        opdyno.DataType(3.5)


def test_devices_are_equal_and_hashed_by_kind_and_number():
    assert opdyno.device("cpu", 1) == opdyno.cpu(1) == opdyno.device("cpu:1") == opdyno.Device("cpu", 1)
    assert hash(opdyno.cuda(3)) == hash(opdyno.device("cuda:3")) and opdyno.cuda() != opdyno.cpu()
    assert opdyno.cpu() != "cpu:0" and {opdyno.cpu(): 1}[opdyno.device("cpu")] == 1
    assert str(opdyno.vulkan(2)) == "vulkan:2" and repr(opdyno.cpu()) == "device(type='cpu', index=0)"
    assert copy.deepcopy(opdyno.cpu(1)) == pickle.loads(pickle.dumps(opdyno.cpu(1))) == opdyno.cpu(1)
    with pytest.raises(AttributeError):
        opdyno.cpu().device_id = 3
    for wrong in ("toaster", "", "cpu:x"):
        with pytest.raises(ValueError):
            opdyno.device(wrong)


@pytest.mark.parametrize(
    "name, number",
    [("cpu", 1), ("cuda", 2), ("opencl", 4), ("cl", 4), ("vulkan", 7), ("metal", 8), ("mtl", 8), ("vpi", 9), ("rocm", 10), ("ext_dev", 12)],
)
def test_every_kind_has_its_helper_and_dlpacks_number(name, number):
    assert getattr(opdyno, name)(1) == opdyno.Device(number, 1)


def test_gpu_is_an_old_name_that_warns():
    with pytest.warns(DeprecationWarning, match="cuda"):
        assert opdyno.gpu() == opdyno.cuda()


def test_a_device_tells_its_properties_or_none():
    cpu = opdyno.cpu()
    assert cpu.exist is True and cpu.total_global_memory > 1 << 20 and cpu.multi_processor_count >= 1
    assert isinstance(cpu.device_name, str)
    assert cpu.max_threads_per_block is None or isinstance(cpu.max_threads_per_block, int)
    assert cpu.texture_spatial_limit() is None and cpu.warp_size is None
    absent = opdyno.Device(9, 0)
    assert absent.exist is False
    for ask in (lambda: absent.warp_size, lambda: absent.device_name, absent.texture_spatial_limit, absent.sync):
        with pytest.raises(opdyno.Error, match="vpi:0") as caught:
            ask()
        assert caught.value.code == opdyno.Code.UNSUPPORTED


def test_a_device_without_streams_has_its_default_one():
    cpu = opdyno.cpu()
    for default in (None, 0, ctypes.c_void_p()):
        cpu.sync(default)
        cpu.set_raw_stream(default)
        cpu.free_raw_stream(default)
    cpu.sync()
    stream = ctypes.c_void_p(0x1000)
    for use in (cpu.create_raw_stream, lambda: cpu.set_raw_stream(stream), lambda: cpu.free_raw_stream(0x1000), lambda: cpu.sync(stream)):
        with pytest.raises(NotImplementedError, match="cpu:0 has no streams") as caught:
            use()
        assert caught.value.code == opdyno.Code.UNSUPPORTED
    with pytest.raises(TypeError):
        cpu.set_raw_stream("stream")


def test_streams_of_a_device_are_queues_of_its_work():
    there = opdyno.device("opencl:0")
    if not there.exist:
        pytest.skip("there is no OpenCL device")
    stream = there.create_raw_stream()
    assert isinstance(stream, ctypes.c_void_p) and stream.value
    there.set_raw_stream(stream)
    try:
        x = opdyno.tensor(np.arange(1000, dtype="float32"), there)
        assert (x.numpy() == np.arange(1000)).all()
        there.sync(stream)
    finally:
        there.set_raw_stream(None)
    there.free_raw_stream(stream)
    there.sync()


def test_a_shape_is_a_tuple_of_ints():
    for wrong in (["x"], [1.5], [2**70], [None], "12"):
        with pytest.raises(ValueError, match="ints of 64 bits"):
            opdyno.ShapeTuple(wrong)
    assert opdyno.ShapeTuple([np.int64(2), True, -1]) == (2, 1, -1)
    shape = opdyno.ShapeTuple([1, 2, 3])
    assert shape == (1, 2, 3) and shape[1] == 2 and repr(shape) == "Shape([1, 2, 3])"


def test_a_string_is_a_str():
    assert opdyno.String("abc") == "abc" and opdyno.String("abc").upper() == "ABC"


def test_metrics_are_plain_values():
    from opdyno.profiling import Count, Duration, Percent, Ratio

    assert (Count(3).value, Duration(1.5).microseconds, Percent(20.0).percent, Ratio(0.5).ratio) == (3, 1.5, 20.0, 0.5)
    assert repr(Duration(1.5)) == "Duration(microseconds=1.5)" and len({Count(1), Count(1), Ratio(1)}) == 2
    assert Count(1) != Ratio(1) and Count(1) != 1 and pickle.loads(pickle.dumps(Percent(20.0))) == Percent(20.0)
    with pytest.raises(AttributeError):
        Count(1).value = 2
    with pytest.raises(AttributeError):
        del Count(1).value
    with pytest.raises(TypeError):
        Count()


def test_numbers_of_devices_are_ints_of_32_bits():
    for number in (1.5, "1"):
        with pytest.raises(TypeError):
            opdyno.Device(1, number)
    assert opdyno.Device(np.int64(1), np.int8(2)) == opdyno.cpu(2)
    for kind, number in ((1, 2**31), (2**32 + 1, 0), (1, -(2**40)), (1, 2**70)):
        with pytest.raises(OverflowError, match=f"32 bits, but are {kind} and {number}"):
            opdyno.Device(kind, number)
