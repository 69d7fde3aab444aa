"""Tests of JAX arrays: conversion in both directions without a copy, as read-only memory, and as arguments of programs
and of compiled functions."""

import numpy as np
import pytest

import opdyno

jax = pytest.importorskip("jax")

DTYPES = ["bool", "int8", "uint8", "int32", "float16", "bfloat16", "float32"]


def numbers(dtype, shape=(2, 3)):
    return jax.numpy.arange(6).reshape(shape).astype(dtype)


def elements(array):
    """The elements as NumPy values. Dtypes of ml_dtypes are supported, too."""
    return np.asarray(array).astype("float32").tolist()


@pytest.fixture
def x64():
    """Enables 64-bit dtypes, which JAX disables by default."""
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_come_without_a_copy(dtype):
    array = numbers(dtype)
    tensor = opdyno.from_dlpack(array)
    assert tensor.dtype == dtype and tensor.shape == (2, 3) and tensor.strides == (3, 1)
    assert tensor._data == array.unsafe_buffer_pointer()
    assert elements(tensor.numpy()) == elements(array)


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_go_without_a_copy(dtype):
    tensor = opdyno.tensor(np.asarray(numbers(dtype)))
    array = jax.dlpack.from_dlpack(tensor)
    assert array.dtype == dtype and array.shape == (2, 3) and elements(array) == elements(numbers(dtype))
    assert array.unsafe_buffer_pointer() == tensor._data
    assert opdyno.from_dlpack(array)._data == tensor._data, "there and back"


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64", "complex64", "complex128"])
def test_wide_dtypes_go_both_ways(x64, dtype):
    array = numbers(dtype)
    tensor = opdyno.from_dlpack(array)
    assert tensor.dtype == dtype and tensor._data == array.unsafe_buffer_pointer()
    assert jax.dlpack.from_dlpack(opdyno.tensor(array)).tolist() == array.tolist()


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_dtypes_of_8_bits_go_both_ways(name):
    array = numbers(name)
    tensor = opdyno.from_dlpack(array)
    assert tensor.dtype == name and tensor.is_read_only and tensor._data == array.unsafe_buffer_pointer()
    assert elements(jax.dlpack.from_dlpack(opdyno.tensor(np.asarray(array)))) == elements(array)


@pytest.mark.parametrize("shape", [(), (0, 2), (1, 1, 6)])
def test_all_ranks_go_both_ways(shape):
    array = jax.numpy.ones(shape, "float32")
    tensor = opdyno.from_dlpack(array)
    assert tensor.shape == shape and jax.dlpack.from_dlpack(opdyno.tensor(tensor)).tolist() == array.tolist()


def test_each_keeps_the_memory_of_the_other():
    tensor = opdyno.from_dlpack(numbers("bfloat16"))  # no other object refers to the array
    array = jax.dlpack.from_dlpack(opdyno.tensor(np.full(6, 7, "int32")))
    for i in range(20):
        jax.numpy.full(6, i, "bfloat16").block_until_ready()
        opdyno.tensor(np.full(6, i, "int32"))
    assert elements(tensor.numpy()) == [[0, 1, 2], [3, 4, 5]] and array.tolist() == [7] * 6


# ---- read-only


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_are_read_only_wherever_they_go(dtype):
    array = numbers(dtype)
    tensor = opdyno.from_dlpack(array)
    echo = opdyno.Function(lambda x: x)
    for given in (tensor, echo(array), echo([array])[0], opdyno.convert(array), tensor.reshape(6)):
        assert given.is_read_only and given._data == array.unsafe_buffer_pointer()
    with pytest.raises(ValueError, match="read-only"):
        tensor.copyfrom(np.zeros((2, 3), "float32"))
    assert not opdyno.tensor(array).is_read_only, "a copy"
    assert elements(array) == elements(numbers(dtype))


def test_compiled_functions_refuse_arrays_as_outputs(x64, kernels):
    array = jax.numpy.array([1.0, 2.0, 3.0])
    for given in (array, opdyno.from_dlpack(array), opdyno.convert(array)):
        with pytest.raises(ValueError, match="argument 0 of compiled function double .* is read-only"):
            kernels["double"](given)
    assert kernels["sum"](opdyno.reads_only(array)) == 6 and array.tolist() == [1, 2, 3]


def test_results_are_not_stored_in_arrays(chain):
    output = jax.numpy.zeros(4, "float32")
    with pytest.raises(ValueError, match="output 0 of main .* is read-only"):
        opdyno._native.opd_vm_call(chain, "main", [np.zeros(4, "float32")], {"outputs": [opdyno.from_dlpack(output)]})
    assert output.tolist() == [0] * 4


def test_a_read_only_tensor_does_not_become_an_array():
    with pytest.raises(BufferError, match="read-only"):  # JAX requests the DLPack struct without the read-only flag
        jax.dlpack.from_dlpack(opdyno.from_dlpack(numbers("float32")))


# ---- strides


def test_transposes_keep_their_strides():
    array = numbers("float32").T
    tensor = opdyno.from_dlpack(array)
    assert tensor.shape == (3, 2) and tensor.numpy().tolist() == array.tolist() == [[0, 3], [1, 4], [2, 5]]
    transpose = opdyno.from_dlpack(np.arange(6, dtype="float32").reshape(2, 3).T)
    assert transpose.strides == (1, 3)
    back = jax.dlpack.from_dlpack(transpose)
    assert back.shape == (3, 2) and back.tolist() == [[0, 3], [1, 4], [2, 5]]
    cube = np.arange(24, dtype="int32").reshape(2, 3, 4).transpose(2, 0, 1)
    assert jax.dlpack.from_dlpack(opdyno.from_dlpack(cube)).tolist() == cube.tolist()


def test_arrays_with_gaps_are_refused_by_jax_not_mistaken():
    gaps = opdyno.from_dlpack(np.arange(16, dtype="float32").reshape(4, 4)[::2, ::2])
    with pytest.raises(Exception, match="compact"):
        jax.dlpack.from_dlpack(gaps)
    assert jax.dlpack.from_dlpack(opdyno.tensor(gaps)).tolist() == [[0, 2], [8, 10]]


# ---- programs


def test_programs_take_arrays_and_leave_them_as_they_are(chain):
    array = jax.numpy.arange(4, dtype="float32")
    for given in (array, opdyno.reads_only(array), opdyno.from_dlpack(array)):
        result = chain["main"](given)
        assert jax.dlpack.from_dlpack(result).tolist() == [100, 101, 102, 103]
        assert array.tolist() == [0, 1, 2, 3]


def test_programs_name_the_array_that_does_not_fit(chain):
    with pytest.raises(ValueError, match=r"float32"):
        chain["main"](jax.numpy.zeros(4, "int32"))
    with pytest.raises(Exception, match="expected dimension 0 to be 4, but it is 5"):
        chain["main"](jax.numpy.zeros(5, "float32"))


def test_host_functions_of_programs_compute_with_jax(host_vm):
    array = numbers("float32")
    total = host_vm["call"](lambda x: float(jax.numpy.asarray(x.numpy()).sum()), array)
    assert total == 15
    assert host_vm["pair"](array)[1].numpy().tolist() == array.tolist()


def test_results_are_differentiable_inputs(chain):
    result = jax.dlpack.from_dlpack(chain["main"](jax.numpy.zeros(4, "float32")))
    assert jax.grad(lambda x: (x * x).sum())(result).tolist() == [200] * 4
