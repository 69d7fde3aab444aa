#!/usr/bin/env python3
"""Makes the parameter files beside it: python3 make.py. Needs numpy; tvm.params is only made where tvm can be imported.

Every array holds 0, 1, 2 … in row-major order, converted to its dtype (bool: 0, 1, 0, 1 …), unless noted.
"""
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64", "complex64", "complex128"]


def counting(shape, dtype="float32"):
    values = np.arange(np.prod(shape, dtype=int))
    return (values % 2 if dtype == "bool" else values).reshape(shape).astype(dtype)


def write(name, array, version=None):
    with open(HERE / name, "wb") as file:
        np.lib.format.write_array(file, array, version=version, allow_pickle=True)


write("f32.npy", counting((2, 3)))
write("version2.npy", counting((2, 3)), (2, 0))
write("version3.npy", counting((2, 3)), (3, 0))
write("fortran.npy", np.asfortranarray(counting((2, 3, 4), "int16")))
write("scalar.npy", np.float64(2.5))
write("empty.npy", counting((0, 3), "int32"))
write("big_endian.npy", counting((2, 3)).astype(">f4"))
write("object.npy", np.array([{}, None], dtype=object))
write("fields.npy", np.zeros(2, dtype=[("x", "<f4"), ("y", "<i4")]))
write("text.npy", np.array(["a", "bc"]))
np.savez(HERE / "stored.npz", **{dtype: counting((2, 3), dtype) for dtype in DTYPES})
np.savez_compressed(HERE / "deflated.npz", zeros=np.zeros((100, 100), "float32"), ümlaut=counting((5,), "int64"),
                    fortran=np.asfortranarray(counting((2, 3))))
np.savez(HERE / "empty.npz")

try:
    import tvm

    arrays = {dtype: counting((2, 3), dtype) for dtype in DTYPES if not dtype.startswith("complex")}
    arrays |= {"scalar": np.array(2.5), "empty": counting((0, 3), "int32"), "größe": counting((5,), "int64")}
    params = {name: tvm.runtime.tensor(array) for name, array in arrays.items()}
    (HERE / "tvm.params").write_bytes(tvm.runtime.save_param_dict(params))
except ImportError:
    pass
