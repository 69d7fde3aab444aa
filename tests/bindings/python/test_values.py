"""Tests that values pass through a packed function unchanged."""

import ctypes

import numpy as np
import pytest

import opdyno


@pytest.fixture(scope="module")
def echo():
    return opdyno.Function(lambda x: x)


@pytest.mark.parametrize(
    "value",
    [None, True, False, 0, -1, 2**63 - 1, -(2**63), 1.5, float("inf"), "", "text", "ünïcödé", "with\0null", b"", b"\0\1"],
)
def test_plain_values_keep_value_and_type(echo, value):
    back = echo(value)
    assert back == value and type(back) is type(value)


def test_an_int_that_does_not_fit_is_an_overflow(echo):
    with pytest.raises(OverflowError):
        echo(2**63)


def test_containers_become_arrays_and_maps(echo):
    back = echo([1, (2.5, "x"), {"a": None, 3: [True]}])
    assert isinstance(back, opdyno.Array)
    assert back == [1, [2.5, "x"], {"a": None, 3: [True]}]
    assert isinstance(back[2], opdyno.Map) and back[-1]["a"] is None and list(back[2]) == ["a", 3]
    assert back[0:2] == [1, [2.5, "x"]] and len(back) == 3
    with pytest.raises(IndexError):
        back[3]
    assert back[np.int64(-3)] == 1
    for index in ("0", 0.0):
        with pytest.raises(TypeError):
            back[index]
    with pytest.raises(KeyError):
        back[2]["b"]


def test_a_map_may_have_keys_that_a_dict_joins():
    both = opdyno._native.opd_map_create([1, "number", True, "bool"])
    assert list(both.items()) == [(1, "number"), (True, "bool")] and [type(key) for key in both] == [int, bool]
    assert list(both.values()) == ["number", "bool"] and repr(both) == "{1: 'number', True: 'bool'}"
    assert both != {1: "bool"} and both == opdyno._native.opd_map_create([1, "number", True, "bool"])
    assert opdyno.Map({"a": 1, "b": 2}) != opdyno.Map({"a": 1, "b": 3}) and opdyno.Map({"a": 1}) == {"a": 1}


def test_dtypes_devices_and_shapes_are_values(echo):
    assert echo(opdyno.DataType("int8x4")) == "int8x4" and isinstance(echo(opdyno.DataType("int8x4")), opdyno.DataType)
    assert echo(opdyno.cpu(2)) == opdyno.cpu(2)
    assert echo(opdyno.Shape((1, 2))) == (1, 2) and isinstance(echo(opdyno.Shape((1, 2))), opdyno.Shape)


def test_opaque_pointers_are_c_void_p(echo):
    back = echo(ctypes.c_void_p(0x1234))
    assert isinstance(back, ctypes.c_void_p) and back.value == 0x1234


def test_numpy_scalars_are_numbers(echo):
    assert echo(np.int64(3)) == 3 and isinstance(echo(np.int64(3)), int)
    assert echo(np.float32(0.5)) == 0.5 and isinstance(echo(np.float32(0.5)), float)
    assert echo(np.bool_(True)) is True and echo(np.bool_(False)) is False


def test_callables_become_functions(echo):
    function = echo(lambda a, b: a * b)
    assert isinstance(function, opdyno.Function) and function(6, 7) == 42


def test_objects_keep_their_identity(echo):
    tensor = opdyno.empty((2,), "int32")
    assert echo(tensor).same_as(tensor) and echo(tensor) == tensor and hash(echo(tensor)) == hash(tensor)
    assert echo([tensor])[0].same_as(tensor)


def test_object_generics_are_converted(echo):
    class Two(opdyno.ObjectGeneric):
        def asobject(self):
            return [2, 2]

    assert echo(Two()) == [2, 2]


def test_what_no_function_takes_is_a_type_error_that_says_which(echo):
    with pytest.raises(TypeError, match="argument 0 is object"):
        echo(object())
    with pytest.raises(TypeError, match="no names"):
        echo(x=1)


def test_convert_gives_what_a_callee_gets():
    assert isinstance(opdyno.convert([1]), opdyno.Array) and isinstance(opdyno.convert({}), opdyno.Map)
    assert isinstance(opdyno.convert(len), opdyno.Function) and opdyno.convert("a") == "a"
    assert isinstance(opdyno.convert(np.zeros(2)), opdyno.Tensor)
    function = opdyno.Function(len)
    assert isinstance(opdyno.convert_to_object((1,)), opdyno.Array) and opdyno.convert_to_object(function).same_as(function)
    for no_object in (len, object()):
        with pytest.raises(TypeError):
            opdyno.convert_to_object(no_object)


@pytest.mark.parametrize(
    "value, dtype", [(1, "int32"), (1.5, "float32"), (True, "bool"), (np.int8(3), "int8"), (np.float64(2), "float64")]
)
def test_const_infers_the_dtype(value, dtype):
    made = opdyno.const(value)
    assert made.dtype == dtype and made.shape == () and made.numpy() == value
    assert opdyno.const(value, "float64").dtype == "float64"


def nested(depth, wrap):
    value = 1
    for _ in range(depth):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: (x,), lambda x: {"k": x}], ids=["list", "tuple", "dict"])
def test_containers_that_are_nested_too_deep_are_an_error(echo, wrap):
    assert echo(nested(1000, wrap)) is not None
    for depth in (1001, 100_000):
        with pytest.raises(ValueError, match="nested at most 1000 deep"):
            echo(nested(depth, wrap))
        with pytest.raises(ValueError, match="nested at most 1000 deep"):
            opdyno.Function(lambda: nested(depth, wrap))()


def test_containers_that_contain_themselves_are_an_error(echo, host_vm):
    items, mapping = [1], {"a": 1}
    items.append([items])
    mapping["b"] = [mapping]

    class Itself(opdyno.ObjectGeneric):
        def asobject(self):
            return self

    for cyclic in (items, mapping, Itself()):
        for call in (echo, host_vm["pair"], opdyno.convert, opdyno.Array([0]).__class__):
            with pytest.raises(ValueError, match="contains itself"):
                call([cyclic])
