#!/usr/bin/env python3
"""Makes the seeds of the fuzzers of parameter files and reports: python3 make.py. Needs numpy."""
import io
import pathlib
import shutil
import struct

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent.parent / "data"


def save(folder, name, content):
    (HERE / folder).mkdir(exist_ok=True)
    (HERE / folder / name).write_bytes(content)


def tensor(dtype, shape, data):
    header = struct.pack("<QQiii", 0xDD5E40F096B4A13F, 0, 1, 0, len(shape)) + struct.pack("<BBH", *dtype)
    return header + struct.pack(f"<{len(shape)}qq", *shape, len(data)) + data


def param_dict(tensors):
    out = struct.pack("<QQQ", 0xF7E58D4F05049CB7, 0, len(tensors))
    for name in tensors:
        out += struct.pack("<Q", len(name)) + name.encode()
    return out + struct.pack("<Q", len(tensors)) + b"".join(tensors.values())


save("param_dict", "none", param_dict({}))
save("param_dict", "two", param_dict({"a": tensor((2, 32, 1), (2,), bytes(8)), "b": tensor((6, 8, 1), (), b"\1")}))
save("param_dict", "vector", param_dict({"v": tensor((2, 16, 4), (3,), bytes(24))}))
save("param_dict", "int4", param_dict({"v": tensor((0, 4, 1), (3,), bytes(3))}))
for name in ["f32.npy", "version2.npy", "fortran.npy", "scalar.npy", "empty.npy", "fields.npy"]:
    save("npy", name, (DATA / "params" / name).read_bytes())
for name, write in [("stored", np.savez), ("deflated", np.savez_compressed)]:
    file = io.BytesIO()
    write(file, a=np.arange(3, dtype="int8"), b=np.asfortranarray(np.ones((2, 2), "float32")))
    save("npz", name + ".npz", file.getvalue())
save("npz", "empty.npz", (DATA / "params" / "empty.npz").read_bytes())
shutil.copy(DATA / "report" / "sample.json", HERE / "report_json")
save("report_json", "kinds", b'{"calls":[{"Name":{"string":"a\\u00e9\\n"},"n":{"count":-1},"d":{"microseconds":1.5e3},"p":{"percent":null},'
     b'"r":{"ratio":0.5},"x":{"new":[1,{"y":true}]}},{}],"device_metrics":{"cpu0":{"Count":{"count":1}}},'
     b'"configuration":{"Executor":{"string":"VM"}},"extra":[false]}')
save("report_json", "hash", b'{"configuration":{},"calls":[{"Hash":{"string":"h"},"r":{"ratio":1}},{"Hash":{"string":"h"},"r":{"count":2}}]}')
