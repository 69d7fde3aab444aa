"""NumPy's .npy and .npz with the standard library alone: enough to make inputs and to read results."""

import ast
import struct
import zipfile

CODES = {"<f4": "f", "<f8": "d", "<i2": "h", "<i4": "i", "<i8": "q", "<u2": "H", "<u4": "I", "|i1": "b", "|u1": "B", "|b1": "?", "<f2": "e"}


def dump(shape, numbers, descr="<f4"):
    header = "{'descr': %r, 'fortran_order': False, 'shape': %r, }" % (descr, tuple(shape))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return (
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(header))
        + header.encode()
        + struct.pack("<%d%s" % (len(numbers), CODES[descr]), *numbers)
    )


def parse(data):
    """Gives (descr, shape, numbers)."""
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    (size,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10 : 10 + size].decode())
    assert not header["fortran_order"]
    body, code = data[10 + size :], CODES[header["descr"]]
    numbers = list(struct.unpack("<%d%s" % (len(body) // struct.calcsize("<" + code), code), body))
    return header["descr"], header["shape"], numbers


def save(path, **arrays):
    """Each array is (shape, numbers) or (shape, numbers, descr); `__` in a key stands for `/`."""
    with zipfile.ZipFile(path, "w") as archive:
        for key, array in arrays.items():
            archive.writestr(key.replace("__", "/") + ".npy", dump(*array))


def load(path):
    with zipfile.ZipFile(path) as archive:
        return {name[: -len(".npy")]: parse(archive.read(name)) for name in archive.namelist()}


__all__ = ["dump", "parse", "save", "load"]
