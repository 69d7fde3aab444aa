#!/usr/bin/env python3
"""Makes data/modules: what TVM exports for others to link. Run by the Python of generate.py's environment of TVM 0.27:

~/.cache/opdyno/interop/venv-0.27/bin/python tests/interop/build_modules.py --out tests/interop/data/modules
"""

import argparse
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


def kernels_module():
    @I.ir_module
    class Kernels:
        @T.prim_func
        def add_one(a: T.handle, b: T.handle):
            T.func_attr({"global_symbol": "add_one"})
            x = T.match_buffer(a, (4,), "float32")
            out = T.match_buffer(b, (4,), "float32")
            for i in T.serial(4):
                out[i] = x[i] + T.float32(1)

        @T.prim_func
        def ask_host(a: T.handle):
            T.func_attr({"global_symbol": "ask_host"})
            x = T.match_buffer(a, (4,), "float32")
            x[0] = T.Cast("float32", T.call_packed("opdyno.test.add", 3, 4))

        @T.prim_func
        def in_parallel(a: T.handle):
            T.func_attr({"global_symbol": "in_parallel"})
            x = T.match_buffer(a, (64,), "float32")
            for i in T.parallel(64):
                x[i] = x[i] * T.float32(2)

    return Kernels


def program_module():
    @I.ir_module
    class Program:
        @R.function(pure=False)
        def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((4,), "float32")) -> R.Tensor((2, 4), "float32"):
            y = R.multiply(x, w)
            _ = R.call_packed("opdyno.test.note", y, ty_args=R.Object)
            return y

    weights = tvm.runtime.tensor(np.array([1, 2, 3, 4], dtype="float32"))
    return relax.transform.BindParams("main", {"w": weights})(Program)


def devices_module():
    """x * w on the first device, twice that on the second."""

    @I.ir_module
    class Devices:
        I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

        @R.function
        def main(x: R.Tensor((4,), "float32", "llvm:0"), w: R.Tensor((4,), "float32", "llvm:0")):
            with R.dataflow():
                y: R.Tensor((4,), "float32", "llvm:0") = R.multiply(x, w)
                z: R.Tensor((4,), "float32", "llvm:1") = R.to_vdevice(y, "llvm:1")
                out: R.Tensor((4,), "float32", "llvm:1") = R.add(z, z)
                R.output(y, out)
            return (y, out)

    weights = tvm.runtime.tensor(np.array([1, 2, 3, 4], dtype="float32"))
    return relax.transform.BindParams("main", {"w": weights})(Devices)


def export(built, path):
    """The archive that TVM writes, with what differs between two runs left out."""
    built.export_library(str(path))
    with tarfile.open(path) as archive:
        members = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
    return members


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cpu", default="x86-64-v2")
    arguments = parser.parse_args()
    out = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    llvm = tvm.target.Target({"kind": "llvm", "mtriple": "x86_64-unknown-linux-gnu", "mcpu": arguments.cpu})
    scratch = out / "scratch.tar"

    kernels = kernels_module().with_attr("system_lib_prefix", "")
    members = export(tvm.compile(kernels, target=llvm), scratch)
    (out / "system_kernels.o").write_bytes(members["lib0.o"])

    for mode, name, prefix in [("bytecode", "program", "a_prefix_of_some_length_"), ("compiled", "compiled", "compiled_")]:
        program = program_module().with_attr("system_lib_prefix", prefix)
        members = export(relax.build(program, target=llvm, exec_mode=mode), scratch)
        (out / f"system_{name}.o").write_bytes(members["lib0.o"])
        (out / f"system_{name}_devc.o").write_bytes(members[prefix + "devc.o"])
    scratch.unlink()
    for path in out.glob("*.o"):
        subprocess.run(["strip", "--strip-debug", path], check=True)

    relax.build(program_module(), target=llvm).export_library(str(out / "program.tar"))
    for mode in ("bytecode", "compiled"):
        built = relax.build(devices_module(), target=llvm, exec_mode=mode)
        built.export_library(str(out / f"devices_{mode}.so"), options=["-Wl,--strip-debug"])
    c = tvm.target.Target({"kind": "c"})
    relax.build(program_module(), target=c).export_library(str(out / "program_c.tar"))


if __name__ == "__main__":
    main()
