#!/usr/bin/env python3
"""Makes the test artifacts of tests/interop with real TVM; see README.md.

Each TVM release gets a virtual environment of its own in the cache directory, which later runs use again.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RELEASES = ["0.25", "0.26", "0.27"]


def default_cache():
    return Path(os.environ.get("OPDYNO_CACHE_DIR", Path.home() / ".cache" / "opdyno")) / "interop"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tvm", choices=[*RELEASES, "all"], default="all", help="TVM release (default: all)")
    parser.add_argument("--out", type=Path, help="directory of the results (default: a directory of the cache)")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="directory of the environments")
    parser.add_argument(
        "--set",
        choices=["committed", "tests", "all"],
        default="all",
        help="what is committed; what the tests replay (both linked to be small); also large models for benchmarks",
    )
    parser.add_argument("--check", action="store_true", help="only check that TVM still answers as recorded in --out")
    parser.add_argument("--models", nargs="*", default=[], help="only these models")
    parser.add_argument("--text", action="store_true", help="also write disassemblies")
    parser.add_argument("--arch", choices=["x86_64", "aarch64"], default="x86_64", help="processor of the artifacts")
    parser.add_argument("--answers", type=Path, help="results for this machine, whose answers those of --arch must give")
    parser.add_argument("--cpu", help="LLVM's name of the CPU (default: x86-64-v2); empty for TVM's default")
    parser.add_argument("--exec-mode", choices=["bytecode", "compiled"], default="bytecode")
    arguments = parser.parse_args()
    if arguments.cpu is None:
        arguments.cpu = "x86-64-v2" if arguments.arch == "x86_64" else ""
    if (arguments.arch != "x86_64") != (arguments.answers is not None):
        parser.error("--answers is for another processor than this machine's, and needed there: TVM cannot run its code here")
    return arguments


def environment_for(release, cache):
    """The Python of a virtual environment with exactly the pinned packages; makes it if needed."""
    wanted = HERE / f"requirements-{release}.txt"
    directory = cache / f"venv-{release}"
    installed = directory / wanted.name  # a copy, written last: it says that the environment is complete
    python = directory / "bin" / "python"
    if not installed.exists() or installed.read_text() != wanted.read_text():
        print(f"TVM {release}: installing into {directory}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", directory], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "-r", wanted], check=True)
        shutil.copyfile(wanted, installed)
    return python


def run_builder(python, arguments, out, *more):
    command = [python, HERE / "build_models.py", "--out", out, "--arch", arguments.arch, "--cpu", arguments.cpu]
    command += ["--exec-mode", arguments.exec_mode, "--set", arguments.set, "--models", *arguments.models, *more]
    command += ["--text"] if arguments.text else []
    # Without TVM_BACKTRACE, TVM hides where a Python exception came from.
    settings = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1", "TVM_BACKTRACE": "1", "PYTHONHASHSEED": "0"}
    if arguments.arch != "x86_64":
        settings |= {"CXX": f"{arguments.arch}-linux-gnu-g++", "AR": f"{arguments.arch}-linux-gnu-ar"}
    subprocess.run([*fixed_addresses(), *command], check=True, env=os.environ | settings)


def fixed_addresses():
    """Command prefix that turns address randomisation off: TVM orders some things by address, which shows in the code.

    Containers may forbid it; the artifacts are then as good, but not the same byte for byte.
    """
    prefix = ["setarch", "-R"]
    usable = shutil.which("setarch") and subprocess.run([*prefix, "true"], capture_output=True).returncode == 0
    return prefix if usable else []


def main():
    arguments = parse_arguments()
    results = arguments.out or arguments.cache / arguments.exec_mode
    for release in RELEASES if arguments.tvm == "all" else [arguments.tvm]:
        python = environment_for(release, arguments.cache)
        print(f"TVM {release}: {results / release}", flush=True)
        if arguments.answers:
            run_builder(python, arguments, results / release, "--answers", arguments.answers / release)
            continue
        if not arguments.check:
            run_builder(python, arguments, results / release)
        # In a process that did not build them: what was exported has to stand alone.
        run_builder(python, arguments, results / release, "--check")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"failed: {' '.join(map(str, error.cmd))}")
