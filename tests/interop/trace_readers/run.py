#!/usr/bin/env python3
"""Foreign readers of traces read what opdyno writes: TensorBoard's plug-in for PyTorch, HolisticTraceAnalysis, Perfetto's
definitions, OpenTelemetry's, speedscope's schema, and with --inferno inferno-flamegraph.

make_traces.py writes traces with --python; check_traces.py reads them in an environment with the readers, which is made
once, in the cache directory, from PyPI, npm's registry, and with --inferno crates.io.
"""

import argparse
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
SPEEDSCOPE = "https://registry.npmjs.org/speedscope/-/speedscope-1.25.0.tgz"
SPEEDSCOPE_SHA256 = "2831f1e0d26df914b477e522d78b8485511495a6af81a0b88158f8b48f9e0d03"
SCHEMA = "package/dist/release/file-format-schema.json"
INFERNO = "0.12.8"


def default_cache():
    return Path(os.environ.get("OPDYNO_CACHE_DIR", Path.home() / ".cache" / "opdyno")) / "interop"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, default=default_cache().parent / "bindings" / "python" / "bin" / "python",
                        help="a Python with opdyno; by default that of tools/test --full")
    parser.add_argument("--out", type=Path, default=HERE.parents[2] / "build" / "interop" / "trace_readers",
                        help="directory of the traces")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="directory of the readers")
    parser.add_argument("--inferno", action="store_true", help="also inferno-flamegraph, which cargo builds in some minutes")
    parser.add_argument("pytest", nargs="*", help="more arguments for pytest, after --")
    arguments = parser.parse_args()
    for name in "python", "out", "cache":  # not resolved: the Python of an environment is a link
        setattr(arguments, name, getattr(arguments, name).absolute())
    return arguments


def environment(cache):
    """The Python of a virtual environment with exactly the pinned packages; makes it if needed."""
    wanted = HERE / "requirements.txt"
    directory = cache / "trace_readers" / "venv"
    installed = directory / wanted.name  # a copy, written last: it says that the environment is complete
    python = directory / "bin" / "python"
    if not installed.exists() or installed.read_text() != wanted.read_text():
        print(f"readers of traces: installing into {directory}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", directory], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", wanted]
        subprocess.run(install, check=True)
        whole = directory / "complete"
        shutil.copyfile(wanted, whole)
        whole.replace(installed)
    return python


def speedscope_schema(cache):
    path = cache / "trace_readers" / f"speedscope-{SPEEDSCOPE_SHA256[:16]}.json"
    if not path.exists():
        print(f"readers of traces: reading {SPEEDSCOPE}", flush=True)
        with urllib.request.urlopen(SPEEDSCOPE, timeout=60) as response:
            package = response.read()
        found = hashlib.sha256(package).hexdigest()
        if found != SPEEDSCOPE_SHA256:
            sys.exit(f"{SPEEDSCOPE} has the SHA-256 {found}, but should have {SPEEDSCOPE_SHA256}")
        with tarfile.open(fileobj=io.BytesIO(package)) as files:
            schema = files.extractfile(SCHEMA).read()
        part = path.with_suffix(f".{os.getpid()}")  # another run may do the same
        part.write_bytes(schema)
        part.replace(path)
    return path


def inferno(cache):
    """The program, or None without cargo."""
    cargo = shutil.which("cargo")
    root = cache / "trace_readers" / f"inferno-{INFERNO}"
    program = root / "bin" / "inferno-flamegraph"
    if not program.exists():  # cargo puts it there as a whole
        if not cargo:
            return None
        print(f"readers of traces: building inferno {INFERNO}", flush=True)
        subprocess.run([cargo, "install", "inferno", "--version", INFERNO, "--locked", "--quiet", "--no-default-features",
                        "--features", "cli", "--bin", "inferno-flamegraph", "--root", root], check=True)
    return program


def settings(**more):
    result = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1", "PYTHONUTF8": "1"}
    result.pop("PYTHONPATH", None)
    return result | {key: str(value) for key, value in more.items()}


def main():
    arguments = parse_arguments()
    began = time.monotonic()
    if not arguments.python.exists():
        sys.exit(f"{arguments.python} is missing: name a Python with opdyno by --python")
    (arguments.cache / "trace_readers").mkdir(parents=True, exist_ok=True)
    python = environment(arguments.cache)
    more = {"OPDYNO_TRACES": arguments.out, "OPDYNO_SPEEDSCOPE_SCHEMA": speedscope_schema(arguments.cache)}
    if arguments.inferno:
        program = inferno(arguments.cache)
        if not program:
            sys.exit("--inferno needs cargo")
        more["OPDYNO_INFERNO"] = program
    shutil.rmtree(arguments.out, ignore_errors=True)
    subprocess.run([arguments.python, HERE / "make_traces.py", arguments.out], check=True, env=settings())
    command = [python, "-m", "pytest", "-q", "-rfExXs", "-p", "no:cacheprovider", "--tb=short", "check_traces.py"]
    run = subprocess.run([*command, *arguments.pytest], cwd=HERE, env=settings(**more))
    took = f"{time.monotonic() - began:.0f} s"
    if run.returncode:
        sys.exit(f"readers of traces: FAILED, in {took}; the traces are in {arguments.out}")
    print(f"readers of traces: all of them accept what opdyno writes; {took}")


main()
