#!/usr/bin/env python3
"""Makes the seeds of the fuzzers of parameter files and reports: python3 make.py. Needs numpy."""
import hashlib
import io
import json
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
# npz/padded.npz was written by opd_params_save: entries with padding.
save("npz", "empty.npz", (DATA / "params" / "empty.npz").read_bytes())
header = {"__metadata__": {"k": "v"}, "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]},
          "a\u00e9": {"dtype": "F6_E2M3", "shape": [1, 4], "data_offsets": [1, 4]},
          "s": {"dtype": "F8_E4M3", "shape": [], "data_offsets": [0, 1]},
          "e": {"dtype": "BF16", "shape": [0, 3], "data_offsets": [0, 0]}}
header = json.dumps(header).encode() + b"  "
save("safetensors", "small", struct.pack("<Q", len(header)) + header + bytes(12))
save("safetensors", "none", struct.pack("<Q", 2) + b"{}")


def record(name, dtype, shape, nbytes, offset, coding="raw"):
    return {"name": name, "shape": shape, "dtype": dtype, "format": coding, "nbytes": nbytes, "byteOffset": offset}


shard = {"dataPath": "params_shard_0.bin", "format": "raw-shard", "nbytes": 4096,
         "records": [record("a", "float32", [4, 8], 64, 0, "f32-to-bf16"), record("b", "float8_e5m2", [3], 3, 128),
                     record("c", "bool", [], 1, 131), record("d", "int4", [0, 3], 0, 4096)]}
save("tensor_cache", "four", json.dumps({"metadata": {}, "records": [shard]}).encode())
shard |= {"md5sum": hashlib.md5(b"x" * 4096).hexdigest(), "records": []}
save("tensor_cache", "checksum", json.dumps({"records": [shard]}, indent=1).encode())
shutil.copy(DATA / "report" / "sample.json", HERE / "report_json")
save("report_json", "kinds", b'{"calls":[{"Name":{"string":"a\\u00e9\\n"},"n":{"count":-1},"d":{"microseconds":1.5e3},"p":{"percent":null},'
     b'"r":{"ratio":0.5},"x":{"new":[1,{"y":true}]}},{}],"device_metrics":{"cpu0":{"Count":{"count":1}}},'
     b'"configuration":{"Executor":{"string":"VM"}},"extra":[false]}')
save("report_json", "hash", b'{"configuration":{},"calls":[{"Hash":{"string":"h"},"r":{"ratio":1}},{"Hash":{"string":"h"},"r":{"count":2}}]}')


def checkpoint(sequence, length, **changes):
    """Metadata as TVM 0.27 writes it, of the cache in kv_checkpoint_fuzzer.cc."""
    page, layers, pages = 4, 2, -(-length // 4)
    layout = (f"format_version=1;cache_type=relax.vm.PagedAttentionKVCache;page_size={page};num_layers={layers};layer_begin=0;layer_end={layers};"
              "num_qo_heads=1;num_kv_heads=1;qk_head_dim=2;v_head_dim=2;dtype=float32;rope_mode=none;rotary_scale=1;rotary_theta=10000;"
              "has_rope_ext_factors=0;support_sliding_window=0;support_layer_sliding_window=0;"
              "page_group_layout=1,num_logical_pages,2,num_kv_heads,page_size,qk_head_dim;attn_kinds=mha,mha")  # fmt: skip
    hashed = 0xCBF29CE484222325
    for letter in layout.encode():
        hashed = (hashed ^ letter) * 0x100000001B3 % 2**64
    starts = [{"logical_page_index": i, "start_pos": page * i, "length": min(page, length - page * i)} for i in range(pages)]
    groups = [{"group_index": i, "shape": [1, pages, 2, 1, page, 2], "nbytes": 64 * pages} for i in range(layers)]
    fields = {"format_version": 1, "layout_hash": f"{hashed:016x}", "seq_id": sequence, "seq_length": length, "logical_pages": starts, "groups": groups}
    return json.dumps(fields | changes).encode()


for name, written in [
    ("empty", checkpoint(5, 0)),
    ("two_pages", checkpoint(5, 7)),
    ("full", checkpoint(5, 64)),
    ("other_sequence", checkpoint(6, 7)),
    ("too_long", checkpoint(5, 69)),
    ("version", checkpoint(5, 7, format_version=2)),
    ("fraction", checkpoint(5, 7, seq_length=6.5)),
    ("repeated", checkpoint(5, 7)[:-1] + b', "seq_length": 3}'),
]:
    save("kv_checkpoint", name, written)
