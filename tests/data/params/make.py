#!/usr/bin/env python3
"""Makes the parameter files beside it: python3 make.py. Needs numpy; tvm.params and the tensor cache
are only made where tvm can be imported, the .safetensors file where safetensors and ml_dtypes can.

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
    import ml_dtypes
    from safetensors.numpy import save_file

    small = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]
    arrays = {dtype: counting((2, 3), dtype) for dtype in DTYPES if dtype != "complex128"}
    arrays |= {dtype: counting((2, 3)).astype(getattr(ml_dtypes, dtype)) for dtype in small}
    arrays |= {"scalar": np.array(2.5), "empty": counting((0, 3), "int32"), "größe": counting((5,), "int64")}
    save_file(arrays, HERE / "library.safetensors", {"made by": "safetensors"})
except ImportError:
    pass

try:
    import tvm
    from tvm.contrib import tvmjs

    arrays = {dtype: counting((2, 3), dtype) for dtype in DTYPES if not dtype.startswith("complex")}
    arrays |= {"scalar": np.array(2.5), "empty": counting((0, 3), "int32"), "größe": counting((5,), "int64")}
    params = {name: tvm.runtime.tensor(array) for name, array in arrays.items()}
    (HERE / "tvm.params").write_bytes(tvm.runtime.save_param_dict(params))
    # float32 is stored as bfloat16; another JSON file, left out here, would call it that.
    tvmjs.dump_tensor_cache(params, str(HERE / "tensor-cache"), "f32-to-bf16", {"made by": "TVM"})
    (HERE / "tensor-cache" / "tensor-cache-b16.json").unlink()
except ImportError:
    pass
