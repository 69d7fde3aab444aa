"""Prepares TVM's side: its environment, the artifacts that both sides load, and the compiled host."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
INTEROP = HERE.parent / "interop"
LLAMA = HERE.parents[1] / "examples" / "tiny_llama"
RELEASE = "0.27"
MODES = {"bytecode": "", "compiled": "compiled"}  # directory below that of the artifacts


class Missing(Exception):
    """What a peer needs is not there; the message says why."""


def digest(files, *more):
    content = hashlib.sha256(repr(more).encode())
    for file in sorted(files):
        content.update(file.read_bytes())
    return content.hexdigest()[:16]


def run(command, what, log):
    with open(log, "w") as output:
        if subprocess.run([str(part) for part in command], stdout=output, stderr=subprocess.STDOUT).returncode != 0:
            lines = Path(log).read_text().strip().splitlines()
            raise Missing(f"{what} failed (see {log}): {lines[-1] if lines else 'no output'}")


class Tvm:
    """Directories and programs of TVM's side, below `cache`."""

    def __init__(self, cache):
        self.cache = cache
        self.venv = cache / f"venv-{RELEASE}"
        self.directory = cache / "bench"
        self.artifacts = self.directory / "artifacts" / RELEASE
        self.directory.mkdir(parents=True, exist_ok=True)

    @property
    def packages(self):
        return next(self.venv.glob("lib/python3*/site-packages"))

    @property
    def libraries(self):
        return [self.packages / "tvm_ffi/lib/libtvm_ffi.so", self.packages / "tvm/lib/libtvm_runtime.so"]

    def make_artifacts(self):
        """Environment and artifacts, by the generator of the interop tests; only what is missing or outdated."""
        requirements = INTEROP / f"requirements-{RELEASE}.txt"
        wanted = digest([requirements, *INTEROP.glob("*.py"), *(INTEROP / "models").glob("*.py"), *LLAMA.glob("*.py")], MODES)
        stamp = self.artifacts / "stamp"
        if stamp.exists() and stamp.read_text() == wanted and self.venv.exists():
            return
        print(f"TVM {RELEASE}: packages into {self.venv}, models into {self.artifacts}", flush=True)
        stamp.unlink(missing_ok=True)
        for mode, below in MODES.items():
            out = self.artifacts / below if below else self.artifacts.parent
            command = [sys.executable, INTEROP / "generate.py", "--tvm", RELEASE, "--cache", self.cache, "--exec-mode", mode, "--out", out]
            run(command, "making TVM's artifacts", self.directory / "artifacts.log")
            language = [self.venv / "bin/python", "-B", LLAMA / "build.py", "--exec-mode", mode, self.artifacts / "language" / below]
            run(language, "making TVM's language model", self.directory / "artifacts.log")
        stamp.write_text(wanted)

    def compile(self):
        """The host program and, for Python, the no-op: compiled against the libraries of the wheels."""
        sources = [*(HERE / "tvm").glob("*.cc"), HERE / "harness.cc"]
        headers = [*(HERE / "tvm").glob("*.h"), *HERE.glob("*.h")]
        compiler = os.environ.get("CXX") or shutil.which("g++") or "c++"
        wanted = digest([*sources, *headers], compiler, str(self.packages))
        self.host, self.nop = self.directory / f"tvm_bench-{wanted}", self.directory / f"libnop-{wanted}.so"
        if self.host.exists() and self.nop.exists():
            return
        print(f"TVM {RELEASE}: compiling {self.host}", flush=True)
        flags = [compiler, "-std=c++20", "-O2", "-isystem", self.packages / "tvm_ffi/include"]
        link = ["-Wl,--no-as-needed", *self.libraries, *(f"-Wl,-rpath,{library.parent}" for library in self.libraries)]
        log = self.directory / "compile.log"
        run([*flags, "-shared", "-fPIC", HERE / "tvm/nop.cc", "-o", self.nop, *link], "compiling TVM's no-op", log)
        run([*flags, *sources, "-o", self.host, *link, "-pthread"], "compiling TVM's host", log)

    def host_command(self, programs):
        return [self.host, "--serve", "--artifacts", self.artifacts, "--programs", programs]

    def python_command(self, programs):
        return [self.venv / "bin/python", HERE / "python_calls.py", "tvm", programs, self.nop, self.artifacts]

    def versions(self):
        return (INTEROP / f"requirements-{RELEASE}.txt").read_text().split()
