"""Builds the models with the TVM of this interpreter and records TVM's own answers. Started by generate.py."""

import argparse
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
import tvm
import tvm.support.cc
from tvm import relax
from tvm_ffi import libinfo

import host_functions
from models import ALL_MODELS
from models.common import NEWEST_TVM, TVM_VERSION
from recorded import assert_same, describe, flatten, text_array, to_tvm


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--check", action="store_true", help="compare the artifacts in --out with their .npz instead")
    parser.add_argument("--models", nargs="*", default=[], help="only these")
    parser.add_argument("--set", choices=["committed", "tests", "all"], default="all")
    parser.add_argument("--text", action="store_true", help="also write every disassembly")
    parser.add_argument("--arch", required=True)
    parser.add_argument("--cpu", required=True)
    parser.add_argument("--answers", type=Path, help="take the answers recorded there, since this machine cannot run the code")
    parser.add_argument("--exec-mode", choices=["bytecode", "compiled"], default="bytecode")
    return parser.parse_args()


def make_target(arguments, kind="llvm"):
    if kind == "c":
        return tvm.target.Target({"kind": "c"})
    cpu = {"mcpu": arguments.cpu} if arguments.cpu else {}
    return tvm.target.Target({"kind": "llvm", "mtriple": f"{arguments.arch}-unknown-linux-gnu", **cpu})


def chosen_models(arguments):
    unknown = set(arguments.models) - {model.name for model in ALL_MODELS}
    if unknown:
        sys.exit(f"no such model: {', '.join(sorted(unknown))}")
    models = [model for model in ALL_MODELS if model.is_in(arguments.set) and arguments.exec_mode in model.modes]
    return [model for model in models if not arguments.models or model.name in arguments.models]


def system_prefix(path):
    """Tells apart what one program may have linked: compiled_0_27_mlp_linked_ for …/compiled/0.27/mlp_linked.a."""
    release = path.parent.name.replace(".", "_")
    return f"{path.parent.parent.name}_{release}_{path.stem}_"


def build(model, arguments, path):
    target = make_target(arguments, model.target)
    module = model.module()
    if model.kind == "assembled":
        return relax.vm_build._vmlink(module, target)
    if model.kind == "kernels":
        return tvm.tirx.build(module, target)
    for function, parameters in model.bound.items():
        module = relax.transform.BindParams(function, parameters)(module)
    if model.fused:
        with target:
            module = relax.get_pipeline("zero")(module)
    if model.linked:
        module = module.with_attr("system_lib_prefix", system_prefix(path))
    return relax.build(module, target, exec_mode=arguments.exec_mode)


def export(executable, model, path, small):
    # Replaced, not overwritten: a process that still maps the old file keeps it.
    path.unlink(missing_ok=True)
    if model.linked:
        return export_objects(executable, path)
    links = {"options": ["-s", "-Wl,-z,noseparate-code"]} if small and path.suffix == ".so" else {}
    executable.export_library(str(path), **links)


def export_objects(executable, path):
    """A static library of the objects that TVM exports for a system library."""
    with tempfile.TemporaryDirectory() as scratch:
        executable.export_library(f"{scratch}/objects.tar")
        unpack(f"{scratch}/objects.tar", scratch)
        subprocess.run([os.environ.get("AR", "ar"), "rcs", path, *sorted(map(str, Path(scratch).glob("*.o")))], check=True)


def load(path):
    """What the file has, as TVM sees it. Objects for a system library register themselves once they are loaded."""
    if path.suffix == ".so":
        return tvm.runtime.load_module(str(path))
    with tempfile.TemporaryDirectory() as scratch:
        linked = f"{scratch}/{path.name}.so"
        if path.suffix == ".a":
            whole = ["-Wl,--whole-archive", str(path), "-Wl,--no-whole-archive"]
            tvm.support.cc.create_shared(linked, [], options=[*whole, libinfo.find_libtvm_ffi()])
            ctypes.CDLL(linked)
            return tvm.runtime.system_lib(system_prefix(path))
        # TVM's load_module does not tell the compiler where the headers are.
        unpack(path, scratch)
        sources = sorted(map(str, Path(scratch).glob("*.c")))
        headers = {tvm.libinfo.find_include_path(), libinfo.find_include_path(), libinfo.find_dlpack_include_path()}
        tvm.support.cc.create_shared(linked, sources, options=[f"-I{directory}" for directory in headers])
        return tvm.runtime.load_module(linked)


def unpack(path, directory):
    with tarfile.open(path) as archive:
        archive.extractall(directory, filter="data")


class Runner:
    """Calls the functions of one loaded artifact and turns what they do into arrays."""

    def __init__(self, path, kind):
        self.library = load(path)
        self.functions = self.library if kind == "kernels" else relax.VirtualMachine(self.library, tvm.cpu())

    def run(self, case):
        """Returns the flattened answer, and its description for the manifest."""
        arguments = [to_tvm(value) for value in case.inputs]
        try:
            result = self.functions[case.function](*arguments)
        except Exception as error:
            return self.failed(case, error)
        if case.raises:
            raise AssertionError(f"{case.name}: expected {case.raises}, got {describe(result)}")
        answer = flatten("out", result)
        for index in case.after:
            answer |= flatten(f"after_{index}", arguments[index])
        return answer, {"output": describe(result)} | ({"written": sorted(case.after)} if case.after else {})

    def failed(self, case, error):
        kind = type(error).__name__
        if kind != case.raises:
            raise error
        return {"error": text_array(f"{kind}: {error}")}, {"error": kind}

    def packed_functions(self):
        """Names that the executable calls and the library does not define."""
        names = re.findall(r"^@(\S+) packed_func;", self.library["as_text"](), re.MULTILINE)
        kernels = list(self.library.imports)
        return sorted(name for name in names if not any(module.implements_function(name) for module in kernels))


def check_against_numpy(case, answer):
    if case.raises:
        return
    expected = {}
    for index, array in case.after.items():
        expected |= flatten(f"after_{index}", array)
    if case.expected is not None or case.after:
        assert_same(answer, flatten("out", case.expected) | expected, case.name)


def record(model, path):
    """Runs all cases; returns the arrays for the .npz and the model's entry in the manifest."""
    runner = Runner(path, model.kind)
    arrays, cases = {}, {}
    for case in model.cases:
        answer, description = runner.run(case)
        check_against_numpy(case, answer)
        inputs = {k: v for i, value in enumerate(case.inputs) for k, v in flatten(f"in_{i}", value).items()}
        arrays |= {f"{case.name}/{key}": array for key, array in (inputs | answer).items()}
        cases[case.name] = {"function": case.function, "inputs": [describe(v) for v in case.inputs], **description}
    packed = [] if model.kind == "kernels" else runner.packed_functions()
    return arrays, {"kind": model.kind, "bytes": path.stat().st_size, "packed_functions": packed, "cases": cases}


def check(model, path):
    """Loads an artifact built earlier; TVM must give the answers that were recorded then."""
    runner = Runner(path, model.kind)
    answers = {}
    for case in model.cases:
        answer, _ = runner.run(case)
        answers |= {f"{case.name}/{key}": array for key, array in answer.items()}
    with np.load(path.with_suffix(".npz")) as stored:
        recorded = {key: array for key, array in stored.items() if "/in_" not in key}
    assert_same(answers, recorded, model.name)


def wants_text(arguments, model):
    listed = model.disassembly and TVM_VERSION == NEWEST_TVM and arguments.exec_mode == "bytecode"
    return (listed and arguments.set == "committed") or (arguments.text and model.kind != "kernels")


def provenance(arguments, target):
    return {
        "tvm": version("apache-tvm"),
        "tvm_ffi": version("apache-tvm-ffi"),
        "llvm": tvm.target.codegen.llvm_version_major(),
        "target": str(target),
        "exec_mode": arguments.exec_mode,
        "host_functions": host_functions.DESCRIPTIONS,
    }


def to_json(value, depth=0):
    """JSON with a line for each case, which a person can still read and compare."""
    if not isinstance(value, dict) or depth == 4 or not value:
        return json.dumps(value, ensure_ascii=False)
    indent = "\n" + " " * depth
    members = (f"{indent} {json.dumps(key)}: {to_json(member, depth + 1)}" for key, member in value.items())
    return "{" + ",".join(members) + indent + "}"


def build_all(arguments, models):
    manifest = provenance(arguments, make_target(arguments)) | {"models": {}}
    for model in models:
        path = arguments.out / model.file_name()
        executable = build(model, arguments, path)
        export(executable, model, path, small=arguments.set != "all")
        if arguments.answers:
            shutil.copyfile(arguments.answers / f"{model.name}.npz", path.with_suffix(".npz"))
            print(f"{model.name}: {path.stat().st_size} bytes", flush=True)
            continue
        arrays, manifest["models"][model.name] = record(model, path)
        np.savez(path.with_suffix(".npz"), **arrays)
        if wants_text(arguments, model):
            path.with_suffix(".txt").write_text(executable.as_text())
        print(f"{model.name}: {path.stat().st_size} bytes, {len(model.cases)} cases", flush=True)
    (arguments.out / "manifest.json").write_text(to_json(manifest) + "\n")


def main():
    # With a single worker TVM drops the error of a parallel loop, and a barrier has nothing to do.
    os.environ["TVM_NUM_THREADS"] = "2"
    arguments = parse_arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    host_functions.register()
    models = chosen_models(arguments)
    if arguments.check:
        for model in models:
            check(model, arguments.out / model.file_name())
        print(f"{len(models)} models answer as recorded")
    else:
        build_all(arguments, models)


if __name__ == "__main__":
    main()
