"""Helpers of the bindings' tests: SWIG in a virtual environment of the cache directory, the paths of opdyno, RPC
servers, and the fields of structs in the public headers."""

import argparse
import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bindings" / "api"))
sys.path.append(str(ROOT / "tests" / "cli"))
sys.path.append(str(ROOT / "tests" / "support"))
from describe import describe
import tvm_servers
from rpc_client import Tracker
SWIG = "4.5.1"


def default_cache():
    directory = os.environ.get("OPDYNO_CACHE_DIR")
    return (Path(directory) if directory else Path.home() / ".cache" / "opdyno") / "bindings"


def parse_arguments(description, language):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build" / "release", help="opdyno's build directory")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="directory of SWIG's environment")
    parser.add_argument("--out", type=Path, help="what is made; its content is replaced; default: build/bindings/" + language)
    parser.add_argument("--sanitized", type=Path, help="a build directory as build/asan: only tests, by the library of that one")
    arguments = parser.parse_args()
    arguments.build_dir = arguments.build_dir.resolve()
    arguments.out = (arguments.out or ROOT / "build" / "bindings" / language).resolve()
    return arguments


def swig_environment(cache):
    return cache / f"venv-swig-{SWIG}"


def swig_is_installed(cache):
    return (swig_environment(cache) / "complete").exists()


def swig_program(cache):
    """The path of SWIG. Installs SWIG from PyPI at the first use."""
    program = swig_environment(cache) / "bin" / "swig"
    complete = program.parents[1] / "complete"
    if not swig_is_installed(cache):
        print(f"SWIG {SWIG}: installing into {program.parents[1]}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", program.parents[1]], check=True)
        subprocess.run([program.with_name("python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                        f"swig=={SWIG}"], check=True)
        complete.touch()
    return program


def include_directories(arguments):
    return [ROOT / "include", arguments.build_dir / "include"]


def include_flags(arguments):
    return [f"-I{directory}" for directory in include_directories(arguments)]


def library_directory(arguments):
    directory = arguments.build_dir / "lib"
    if not (directory / "libopdyno.so").exists():
        sys.exit(f"{directory} has no libopdyno.so: build it first, or give --build-dir")
    return directory


def read_api(arguments, out):
    """Reads the description of the C API. Files for SWIG and native code are written to `out`."""
    return describe(swig_program(arguments.cache), include_directories(arguments), out)


def swig(arguments, api, *options):
    """Runs SWIG on the shared interface with the rules in `api`. A warning is a failure."""
    subprocess.run([swig_program(arguments.cache), "-Werror", "-DSWIGWORDSIZE64", *options, f"-I{api}",
                    f"-I{ROOT / 'bindings' / 'swig'}", *include_flags(arguments), ROOT / "bindings" / "swig" / "opdyno.i"],
                   check=True)


@contextlib.contextmanager
def rpc_tracker(arguments):
    """Starts a tracker and a server with the key "board". Yields the tracker's address."""
    tracker = Tracker()
    address = f"127.0.0.1:{tracker.port}"
    with tracker.listener, rpc_server(arguments, "--tracker", address):
        yield address


@contextlib.contextmanager
def rpc_server(arguments, *words):
    """Starts a server with the key "board". Yields its address."""
    command = [arguments.build_dir / "bin" / "opdyno", "serve", "--listen", "127.0.0.1:0", "--key", "board", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            yield re.match(r"serving at ([^,]+)", server.stdout.readline())[1]
        finally:
            server.terminate()


def tvm_rpc_server(arguments):
    """Starts a TVM server with the key "board". Yields its address; None without TVM."""
    return tvm_servers.tvm_rpc_server(arguments.cache.parent / "interop")


def artifact():
    return ROOT / "tests" / "interop" / "data" / "0.27" / "chain_100.so"


def headers():
    """The text of the public headers, without comments."""
    found = sorted((ROOT / "include" / "opdyno").glob("*.h"))
    return "".join(re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S) for header in found)


def left_out_everywhere():
    """The functions that no binding offers."""
    lists = [(ROOT / "bindings" / language / "left_out.txt").read_text() for language in ("python", "java", "rust")]
    return set.intersection(*({line.split()[0] for line in each.splitlines()} for each in lists))


def option_fields():
    """A map from each struct of options to its fields, read from the public headers without bindings/api."""
    found, text = {}, headers()
    for body, struct in re.findall(r"typedef struct \w+ \{([^{}]*)\} (opd_\w+_options);", text):
        taking = set(re.findall(rf"OPD_API[^;]*?(opd_\w+)\([^;]*?const {struct} \*", text))
        if taking and taking <= left_out_everywhere():
            continue
        names = re.findall(r"(\w+)[,;]", body)
        counts = {f"num_{name}" for name in names}
        found[struct] = [name for name in names if name not in counts and not re.fullmatch(r"struct_size|reserved\d*", name)]
    return found


def result_fields():
    """A map from each struct that a function fills in to its fields. `ndim` is left out, because it is the shape's
    length."""
    text = headers()
    structs = re.findall(r"typedef struct \w+ \{([^{}]*\bstruct_size;[^{}]*)\} (opd_\w+);", text)
    return {struct: [name for name in re.findall(r"(\w+)[,;]", body) if not re.fullmatch(r"struct_size|reserved\d*|ndim", name)]
            for body, struct in structs if re.search(rf"[ (]{struct} \*out_", text)}
