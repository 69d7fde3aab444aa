"""Tests of functions, which are compiled, written in Python or registered, and of errors through them."""

import pickle
import sys
import threading
import traceback

import numpy as np
import pytest

import opdyno


def test_numpy_arrays_go_straight_into_kernels(kernels):
    array = np.arange(6.0).reshape(2, 3)
    assert kernels["sum"](array) == 15 and kernels["sum"](opdyno.tensor(array)) == 15
    kernels["double"](array)
    assert array.sum() == 30


def test_a_lent_tensor_ends_with_the_call():
    """A NumPy array is lent to a callback. The callback's tensor and its views must not be used after the call."""
    kept = []

    def keep(x):
        view = x.reshape(3, 2)
        kept.extend([x, view, opdyno.Array([x])])
        assert view.numpy().tolist() == [[0, 1], [2, 3], [4, 5]]
        x.view()[0, 0] = 7  # the caller's memory
        return x.numpy().sum()

    array = np.arange(6.0).reshape(2, 3)
    assert opdyno.convert(keep)(array) == 22
    assert array[0, 0] == 7
    kept.append(kept.pop()[0])  # the item that the array kept
    identity = opdyno.convert(lambda x: x)
    for tensor in kept:
        for use in (
            tensor.numpy,
            tensor.view,
            tensor.tobytes,
            lambda tensor=tensor: memoryview(tensor),
            lambda tensor=tensor: np.from_dlpack(tensor),
            lambda tensor=tensor: identity(tensor),
            lambda tensor=tensor: tensor.reshape(6),
            lambda tensor=tensor: opdyno.empty((2, 3), "float64").copyfrom(tensor),
            lambda tensor=tensor: tensor.copyfrom(array),
        ):
            with pytest.raises(RuntimeError, match="copy what is to be kept"):
                use()
        assert tensor.shape == (0,)


def test_a_lent_tensor_that_is_returned_is_copied():
    array = np.arange(3.0)
    result = opdyno.convert(lambda x: x)(array)
    array[:] = 0
    assert result.numpy().tolist() == [0, 1, 2]


def test_a_tensor_of_its_own_is_not_lent():
    tensor, kept = opdyno.tensor(np.arange(3.0)), []
    assert opdyno.convert(lambda x: kept.append(x) or x)(tensor).same_as(tensor)
    assert kept[0].numpy().tolist() == [0, 1, 2]


def test_the_registry_gives_what_was_registered():
    @opdyno.register_func("test.py.registered", override=True)
    def triple(x):
        return 3 * x

    assert triple(2) == 6  # the decorator returns the function unchanged
    assert opdyno.get_global_func("test.py.registered")(5) == 15
    assert "test.py.registered" in opdyno.list_global_func_names()
    with pytest.raises(ValueError, match="test.py.registered"):
        opdyno.register_func("test.py.registered", triple)
    opdyno.remove_global_func("test.py.registered")
    assert opdyno.get_global_func("test.py.registered", allow_missing=True) is None
    with pytest.raises(ValueError, match="test.py.registered") as caught:
        opdyno.get_global_func("test.py.registered")
    assert caught.value.code == opdyno.Code.NOT_FOUND


def test_a_function_tells_its_name_where_it_is_known(kernels, host_vm):
    opdyno.register_func("test.py.known", len, override=True)
    for function, name in [(opdyno.get_global_func("test.py.known"), "test.py.known"), (kernels["sum"], "sum"),
                           (opdyno.Function(len), "len"), (host_vm.function("add"), "add")]:
        assert function.__name__ == name and repr(function).startswith(f"<Function {name} at 0x")
    opdyno.remove_global_func("test.py.known")
    assert repr(host_vm["closure"](1)).startswith("<Function at 0x")


def test_a_registered_function_without_a_name_has_its_own():
    @opdyno.register_func
    def test_py_named():
        return 1

    assert opdyno.get_global_func("test_py_named")() == 1
    opdyno.remove_global_func("test_py_named")


def test_native_errors_are_exceptions_of_their_kind(kernels):
    with pytest.raises(IndexError, match="out of paper") as caught:
        kernels["fail"]()
    assert isinstance(caught.value, opdyno.Error) and caught.value.code == opdyno.Code.CALL_FAILED
    assert caught.value.kind == "IndexError"


class Unusual(Exception):
    def __init__(self, number):
        super().__init__(f"number {number}")
        self.number = number


def test_a_python_exception_comes_out_as_itself():
    def fail(number):
        raise Unusual(number)

    for _ in range(3):
        with pytest.raises(Unusual) as caught:
            opdyno.Function(fail)(5)
        assert caught.value.number == 5
        text = "".join(traceback.format_exception(caught.value))
        assert "in fail" in text and "raise Unusual(number)" in text


def test_an_exception_passes_several_native_frames(host_vm):
    def fail(x):
        raise Unusual(x)

    with pytest.raises(Unusual, match="number 3") as caught:
        host_vm["call"](fail, 3)
    assert any("test.py.call" in note for note in caught.value.__notes__)


def test_an_exception_that_python_catches_on_its_way_is_gone(host_vm):
    def careful(x):
        try:
            opdyno.Function(lambda: 1 / 0)()
        except ZeroDivisionError:
            return x

    assert host_vm["call"](careful, 8) == 8


def test_keyboard_interrupts_and_exits_come_out_too():
    for kind in (KeyboardInterrupt, SystemExit):

        def leave():
            raise kind

        with pytest.raises(kind):
            opdyno.Function(leave)()


def test_callbacks_run_on_any_thread():
    function, results = opdyno.Function(lambda x: (x, threading.get_ident())), []
    threads = [threading.Thread(target=lambda i=i: results.append((i, function(i)))) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(i for i, _ in results) == list(range(8))
    assert all(back[0] == i for i, back in results)


def test_functions_of_c_libraries_by_their_signature(kernels):
    assert kernels.native_function("area", "f64(f64, f64)")(3.0, 4.0) == 12.0
    with open("/proc/self/maps") as maps:  # a library that the interpreter uses, too
        path = next(line.split()[-1] for line in maps if "/libm.so" in line)
    libm = opdyno.load_native(path, {"hypot": "f64(f64, f64)"})
    assert libm["hypot"](3.0, 4.0) == 5.0


def test_function_objects_compare_by_identity(kernels):
    function = kernels["sum"]
    assert function == opdyno.Function(function) and "Function" in repr(function)
    assert sys.getrefcount(function) < 10


def test_errors_can_be_pickled():
    with pytest.raises(opdyno.Error) as caught:
        opdyno.get_global_func("there is none")
    caught.value.add_note("seen")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value) and str(again) == str(caught.value)
    assert (again.code, again.kind, again.native_cause) == (caught.value.code, caught.value.kind, caught.value.native_cause)
    assert again.__notes__ == ["seen"]


def test_a_missing_global_function_is_a_value_error():
    with pytest.raises(ValueError, match="no global function named") as caught:
        opdyno.get_global_func("test.py.no_such_function")
    assert caught.value.code == opdyno.Code.NOT_FOUND
    assert opdyno.get_global_func("test.py.no_such_function", allow_missing=True) is None
    with pytest.raises(ValueError):
        opdyno.remove_global_func("test.py.no_such_function")


def test_a_c_function_is_called_by_its_address():
    import ctypes

    called = []
    twice = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: called.append(x) or 2 * x)
    address = ctypes.cast(twice, ctypes.c_void_p).value
    function = opdyno.Function.from_pointer(address, "f64(f64)", "twice", keep_alive=opdyno.Function(lambda: None))
    assert function(1.5) == 3.0 and called == [1.5] and "twice" in repr(function)
    with pytest.raises(TypeError, match="twice"):
        function("text")
    with pytest.raises(ValueError, match="f99"):
        opdyno.Function.from_pointer(address, "f99(f64)")
    with pytest.raises(ValueError, match="pointer"):
        opdyno.Function.from_pointer(0, "f64(f64)")
