#!/usr/bin/env python3
"""Makes the seeds of captured_call_fuzzer: make_captures.py OPDYNO. A seed has the contents of a capture's blocks, each with its kind
in a byte and its size in two; libraries are left out, since their code does not run."""
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ECHO = '.executable "0.14"\n.func main(x, n) {\n  %t = call vm.builtin.make_tuple(%x, %n)\n  ret %t\n}\n'
FAILS = '.executable "0.14"\n.func main(x) {\n  call vm.builtin.check_tensor_info(%x, 2, dtype(int8), "x")\n  ret %x\n}\n'


def blocks(content):
    at = 16
    while at < len(content):
        kind, _, size = struct.unpack_from("<IIQ", content, at)
        yield kind, content[at + 40 : at + 40 + size]
        at += 40 + size


def seed(name, program, *words):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "p.opdasm").write_text(program)
        subprocess.run([sys.argv[1], "run", "p.opdasm", "--record", "p.opdrec", *words], cwd=folder, capture_output=True)
        content = (pathlib.Path(folder) / "p.opdrec").read_bytes()
    out = b"".join(struct.pack("<BH", kind, len(body)) + body for kind, body in blocks(content) if len(body) < 1 << 16)
    (HERE / "captured_call").mkdir(exist_ok=True)
    (HERE / "captured_call" / name).write_bytes(out)


seed("tuple", ECHO, "-i", "2x3xf32", "-i", "tuple(2xi8;i64=7)", "--with-outputs", "--with-operators")
seed("shape", ECHO, "-i", "shape(2,3)", "-i", "str=text", "--with-paths")
seed("error", FAILS, "-i", "4xf16")
