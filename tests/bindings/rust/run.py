#!/usr/bin/env python3
"""Checks the Rust crates: the committed generated files are up to date, no part of the C API is missing, and the tests
pass."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in (".", "golden")]
from compare import compare
from layouts import check_layouts
from thread_rules import check_threads
from toolchains import check_memory, check_oldest
from sanitized import SETTINGS, check_library, runner, runtime
from common import ROOT, swig_is_installed, artifact, include_directories, library_directory, option_fields, parse_arguments, read_api, result_fields, rpc_server, rpc_tracker, tvm_rpc_server
from metadata import check_metadata

SOURCE = ROOT / "bindings" / "rust"
sys.path.append(str(SOURCE / "generator"))
from generate import generate as generate_sources

SKIPPED = 77  # the exit status that CMake counts as skipped; see tests/abi/CMakeLists.txt
GENERATED = ("opdyno-sys/src/ffi.rs", "opdyno/src/generated.rs")

NOT_SANITIZED = "many_rounds_leave_nothing_behind"  # it measures memory, and AddressSanitizer delays freeing it

# Fields of options that generated.rs cannot set, with the file and the code that set them.
SET_ELSEWHERE = {("opd_call_options", "outputs"): ("vm.rs", "options.outputs = ")}


def generate(arguments, out):
    with tempfile.TemporaryDirectory() as directory:
        generate_sources(read_api(arguments, Path(directory)), include_directories(arguments), Path(out))


def check_generated(arguments):
    with tempfile.TemporaryDirectory() as directory:
        generate(arguments, directory)
        differ = [name for name in GENERATED if (Path(directory) / name).read_bytes() != (SOURCE / name).read_bytes()]
    if differ:
        sys.exit(f"{' and '.join(differ)} of bindings/rust: not what the headers and rules give now; renew with "
                 f"`python3 tests/bindings/rust/run.py --renew`, and commit that")


def sources():
    return {path.name: path.read_text() for path in sorted((SOURCE / "opdyno" / "src").glob("*.rs"))}


def check_symbols(ffi):
    """Checks that ffi.rs has all functions that the library exports."""
    exported = set(re.findall(r"^opd_\w+$", (ROOT / "tests" / "abi" / "symbols.txt").read_text(), re.MULTILINE))
    if missing := exported - set(re.findall(r"pub fn (opd_\w+)", ffi)):
        sys.exit(f"ffi.rs lacks {', '.join(sorted(missing))} of tests/abi/symbols.txt")


def check_options(files):
    """Checks that each field of each struct of options can be set."""
    for struct, fields in option_fields().items():
        made = re.search(rf"Result<ffi::{struct}> \{{(.*?)Ok\(raw\)", files["generated.rs"], re.DOTALL)
        given = set(re.findall(r"raw\.(?:r#)?(\w+) = ", made[1])) if made else set()
        for field in sorted(set(fields) - given):
            file, text = SET_ELSEWHERE.get((struct, field), ("", ""))
            if not file or text not in files[file]:
                sys.exit(f"the crate opdyno cannot set {struct}.{field}")


def check_results(files):
    """Checks that each field of each result can be read."""
    for struct, fields in result_fields().items():
        made = re.search(rf"FnOnce\(\*mut ffi::{struct}\)(.*?)\n    \}}", files["generated.rs"], re.DOTALL)
        given = set(re.findall(r"\braw\.(\w+)", made[1])) if made else set()
        if missing := set(fields) - given:
            sys.exit(f"the crate opdyno does not give {', '.join(f'{struct}.{name}' for name in sorted(missing))}")


def has(cargo, command):
    return subprocess.run(["cargo", command, "--version"], **cargo, capture_output=True).returncode == 0


def cargo_settings(arguments):
    libraries = library_directory(arguments)
    settings = {"OPDYNO_LIB_DIR": str(libraries), "CARGO_TARGET_DIR": str(arguments.out / "target"),
                "OPDYNO_TEST_ARTIFACT": str(artifact()), "RUSTDOCFLAGS": "-Dwarnings", "RUST_BACKTRACE": "0",
                "LD_LIBRARY_PATH": f"{libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    return {"cwd": SOURCE, "env": os.environ | settings}


def test_programs(cargo):
    """Builds the test programs. Returns a map from the directory in which tests run to their programs."""
    step = ["cargo", "test", "--no-run", "--quiet", "--tests", "--message-format", "json-render-diagnostics"]
    messages = map(json.loads, subprocess.run(step, **cargo, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines())
    return [(Path(message["manifest_path"]).parent, message["executable"]) for message in messages if message.get("executable")]


def run_sanitized(arguments):
    """Runs the test programs with the shared library of a build with sanitizers. They are linked with a shared library
    first."""
    build_dir = arguments.sanitized.resolve()
    if not (preloaded := runtime(build_dir)):
        return
    cargo, command = cargo_settings(arguments), runner(build_dir, preloaded)
    cargo["env"]["OPDYNO_LINK"] = "dynamic"  # if both libraries exist, the static one would be preferred
    programs = test_programs(cargo)
    check_library(command, [program for _, program in programs], build_dir)
    with rpc_server(arguments) as address:
        for directory, program in programs:
            done = subprocess.run([*command, program, "--quiet", "--skip", NOT_SANITIZED], cwd=directory,
                                  env=cargo["env"] | SETTINGS | {"OPDYNO_TEST_SERVER": address})
            if done.returncode:
                sys.exit(f"{program} failed by the library of {build_dir}")
    print(f"ok: {len(programs)} programs")


def main():
    if "--renew" in sys.argv:
        sys.argv.remove("--renew")
        return generate(parse_arguments(__doc__, "rust"), SOURCE)
    if "--generated" in sys.argv:  # only this check; a fast test, because each header comment affects it
        sys.argv.remove("--generated")
        arguments = parse_arguments(__doc__, "rust")
        if not swig_is_installed(arguments.cache):
            print("skipped: SWIG is not installed; tests/bindings/rust/run.py installs it")
            sys.exit(SKIPPED)
        return check_generated(arguments)
    arguments = parse_arguments(__doc__, "rust")
    if arguments.sanitized:
        return run_sanitized(arguments)
    check_metadata()
    for program in ("cargo", "rustfmt"):
        if not shutil.which(program):
            sys.exit(f"{program} is missing: rustup or the distribution has it; 1.85 or newer is needed")
    check_generated(arguments)
    files, ffi = sources(), (SOURCE / GENERATED[0]).read_text()
    check_symbols(ffi)
    check_options(files)
    check_results(files)
    check_layouts(arguments, SOURCE / GENERATED[0])
    check_threads(ROOT, files)

    cargo = cargo_settings(arguments)
    features = ["--features", "opdyno/arrow,opdyno/ndarray,opdyno/serde,opdyno/tracing"]
    steps = [["fmt", "--check"], ["clippy", "--all-targets", "--quiet", *features, "--", "-D", "warnings"], ["test", "--quiet"],
             ["test", "--quiet", *features, "--doc"], ["test", "--quiet", *features, "--test", "features"],
             ["doc", "--no-deps", "--quiet", *features]]
    with rpc_server(arguments) as address, rpc_tracker(arguments) as tracker, tvm_rpc_server(arguments) as of_tvm:
        cargo["env"] |= {"OPDYNO_TEST_SERVER": address, "OPDYNO_TEST_TRACKER": tracker, "OPDYNO_TEST_TVM_SERVER": of_tvm or ""}
        for step in steps:
            if step[0] in ("fmt", "clippy") and not has(cargo, step[0]):
                print(f"skipped: cargo {step[0]} is not installed", flush=True)
            elif subprocess.run(["cargo", *step], **cargo).returncode:
                sys.exit(f"cargo {' '.join(step)} failed in {SOURCE}")
    check_oldest(SOURCE, cargo, features)
    check_memory(SOURCE, cargo)
    run_documents(arguments, cargo)
    if difference := compare(["cargo", "run", "--quiet", "--example", "golden", "--"], **cargo):
        sys.exit(difference)
    print("ok")


def run_documents(arguments, cargo):
    """Runs the programs of the README and of docs/languages.md. The latter finds its model in the directory where
    examples run."""
    model = SOURCE / "opdyno" / "model.so"
    shutil.copyfile(artifact(), model)
    try:
        settings = cargo["env"] | {"RUSTDOCFLAGS": "--cfg opdyno_docs", "CARGO_TARGET_DIR": str(arguments.out / "target-docs")}
        for document in ("Languages", "Readme"):
            step = ["cargo", "test", "--quiet", "--doc", "--package", "opdyno", "--", document]
            done = subprocess.run(step, cwd=SOURCE, env=settings, stdout=subprocess.PIPE, text=True)
            if done.returncode or not re.search(r"\b[1-9]\d* passed", done.stdout):
                sys.exit(f"the Rust programs of the document {document} failed:\n{done.stdout}")
    finally:
        model.unlink()


if __name__ == "__main__":
    main()
