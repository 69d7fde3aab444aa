"""How a value is stored in an .npz file; README.md describes the keys."""

import numpy as np
import tvm
from tvm_ffi import Array, Shape

PLAIN_KINDS = {bool: np.bool_, int: np.int64, float: np.float64}


def is_tuple(value):
    return isinstance(value, (tuple, Array)) and not isinstance(value, Shape)  # a Shape is a Python tuple, too


def flatten(key, value):
    """One value as {key: array}. Tuples recurse, key_0, key_1, …; a suffix names what an array alone cannot tell."""
    if is_tuple(value):
        parts = {k: v for i, part in enumerate(value) for k, v in flatten(f"{key}_{i}", part).items()}
        return parts or {f"{key}:tuple": np.array(0)}
    if value is None:
        return {f"{key}:none": np.array(0)}
    if isinstance(value, Shape):
        return {f"{key}:shape": np.array(value, dtype="int64").reshape(-1)}
    if isinstance(value, (tvm.DataType, np.dtype)):
        return {f"{key}:dtype": text_array(str(value))}
    if isinstance(value, str):
        return {f"{key}:str": text_array(value)}
    for kind, stored_as in PLAIN_KINDS.items():
        if isinstance(value, kind):
            return {key: np.array(value, dtype=stored_as)}
    return flatten_tensor(key, value if isinstance(value, np.ndarray) else value.numpy())


def flatten_tensor(key, array):
    if array.dtype.name == "bfloat16":  # numpy has no such type
        return {f"{key}:bfloat16": array.view("uint16")}
    return {key if array.ndim else f"{key}:tensor": array}


def text_array(text):
    return np.frombuffer(text.encode(), dtype="uint8")


def describe(value):
    """The kind of a value, for people and for the manifest."""
    if is_tuple(value):
        return [describe(part) for part in value]
    if isinstance(value, Shape):
        return f"shape({', '.join(map(str, value))})"
    if isinstance(value, (tvm.DataType, np.dtype)):
        return f"dtype {value}"
    if isinstance(value, (np.ndarray, tvm.runtime.Tensor)):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    return "None" if value is None else "str" if isinstance(value, str) else type(value).__name__


def to_tvm(value):
    """The argument as TVM wants it, copied so that a kernel may write to it."""
    if is_tuple(value):
        return tuple(to_tvm(part) for part in value)
    return tvm.runtime.tensor(value) if isinstance(value, np.ndarray) else value


def assert_same(found, expected, what, exact=False):
    """Compares two flattened values."""
    if found.keys() != expected.keys():
        raise AssertionError(f"{what}: has {sorted(found)}, expected {sorted(expected)}")
    for key, array in found.items():
        reference = np.asarray(expected[key])
        if (array.dtype, array.shape) != (reference.dtype, reference.shape):
            raise AssertionError(f"{what}: {key} is {describe(array)}, expected {describe(reference)}")
        close = np.array_equal if exact or array.dtype.kind not in "f" else close_enough
        if not close(array, reference):
            raise AssertionError(f"{what}: {key} is {array}, expected {reference}")


def close_enough(array, reference):
    return np.allclose(array, reference, rtol=1e-5, atol=1e-5)
