"""The models of tests/interop and the recorded calls of them that a plain argument list can tell, for both languages' rows.

With the standard library alone: run.py writes the calls to files for the sides in C++, which model_calls.h reads.
"""

import ast
import json
import struct
import zipfile

from peers import MODES

# They call functions of a host program, which neither side has here, or print where the samples go; bfloat16 is no dtype of NumPy.
LEFT_OUT = {"packed", "destination", "kernels", "effects", "bfloat16"}
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}  # of DLPack, by NumPy's kind


def models(artifacts):
    """Names of rows, libraries and what the manifest says; models that are missing, archives among them, have none."""
    for mode, below in MODES.items():
        directory = artifacts / below / artifacts.name if below else artifacts
        manifest = directory / "manifest.json"
        for name, model in (json.loads(manifest.read_text())["models"] if manifest.exists() else {}).items():
            path = directory / f"{name}.so"
            if path.exists() and name not in LEFT_OUT:
                yield f"models_{name}" + ("" if mode == "bytecode" else f"_{mode}"), path, model


def inputs(keys, case):
    """A case's keys in the order of its arguments, or None where one is no tensor and no number: a tuple, a shape, text …"""
    found = sorted((key for key in keys if key.startswith(f"{case}/in_")), key=lambda key: int(key.split("/in_")[1].split("_")[0].split(":")[0]))
    names = [key.split("/in_")[1].removesuffix(":tensor") for key in found]
    return found if names == [str(index) for index in range(len(found))] else None


def is_tensor(key, shape):
    """Whether the argument is a tensor: numbers are stored as arrays without dimensions, tensors without any under a suffix."""
    return bool(shape) or key.endswith(":tensor")


def parse(data):
    """An array of a .npy file: its dtype, shape and bytes."""
    begin = 10 + struct.unpack_from("<H", data, 8)[0]
    header = ast.literal_eval(data[10:begin].decode())
    if data[6] != 1 or header["fortran_order"]:
        raise ValueError("not a file of version 1 in the order of C")
    return header["descr"], header["shape"], data[begin:]


def argument(key, data):
    descr, shape, content = parse(data)
    kind, size = descr[1], int(descr[2:])
    if is_tensor(key, shape):
        return b"tensor %d %d %d %s\n%s\n" % (CODES[kind], 8 * size, len(shape), " ".join(map(str, [*shape, len(content)])).encode(), content)
    if kind == "f":
        return b"float %.17g\n" % struct.unpack({4: "<f", 8: "<d"}[size], content)
    return b"%s %d\n" % (b"bool" if kind == "b" else b"int", int.from_bytes(content, "little", signed=kind == "i"))


def write_calls(artifacts, directory):
    """A file NAME.calls for each model: the path of its library, and its calls with their arguments."""
    for name, path, model in models(artifacts):
        parts = [f"{path}\n".encode()]
        with zipfile.ZipFile(path.with_suffix(".npz")) as archive:
            keys = [entry.removesuffix(".npy") for entry in archive.namelist()]
            for case, facts in model["cases"].items():
                if "error" not in facts and (given := inputs(keys, case)) is not None:
                    parts.append(f"call {facts['function']} {len(given)}\n".encode())
                    parts += [argument(key, archive.read(key + ".npy")) for key in given]
        if len(parts) > 1:
            (directory / f"{name}.calls").write_bytes(b"".join(parts))
