#!/usr/bin/env python3
"""Runs tvm-ffi's own Python tests with opdyno in the place of its library, and a kernel that tvm_ffi.cpp.build makes.

The package and its tests come from PyPI: the wheel goes to a virtual environment in the cache directory, which later runs use
again, the tests beside it. The package that is tested is a copy in --out whose libtvm_ffi.so is libopdyno_tvmffi.so.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
RELEASE = "0.1.15"


def default_cache():
    return Path(os.environ.get("OPDYNO_CACHE_DIR", Path.home() / ".cache" / "opdyno")) / "interop"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=HERE.parents[2] / "build" / "release", help="opdyno's build directory")
    parser.add_argument("--out", type=Path, default=HERE.parents[2] / "build" / "interop" / "tvm_ffi")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="directory of the environment")
    parser.add_argument("--original", action="store_true", help="test the package as it is, for comparison")
    parser.add_argument("tests", nargs="*", help="only these, as pytest names them")
    return parser.parse_args()


def environment(cache):
    """The directory of a virtual environment with exactly the pinned packages, and of tvm-ffi's sources; makes it if needed."""
    wanted = HERE / "requirements.txt"
    directory = cache / f"venv-tvm-ffi-{RELEASE}"
    installed = directory / wanted.name  # a copy, written last: it says that the environment is complete
    if not installed.exists() or installed.read_text() != wanted.read_text():
        print(f"tvm-ffi {RELEASE}: installing into {directory}", flush=True)
        python = directory / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", "--clear", directory], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "-r", wanted], check=True)
        subprocess.run([python, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "apache-tvm-ffi",
                        "--dest", directory, f"apache-tvm-ffi=={RELEASE}"], check=True)
        with tarfile.open(directory / f"apache_tvm_ffi-{RELEASE}.tar.gz") as sources:
            safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.4 and newer
            sources.extractall(directory, **safely)
        shutil.copyfile(wanted, installed)
    return directory


def packages_of(directory):
    return next(directory.glob("lib/python3*/site-packages"))


def replaced_package(directory, arguments):
    """A directory for PYTHONPATH with a copy of the package whose library is ours."""
    site = arguments.out / "site"
    shutil.rmtree(site, ignore_errors=True)
    for part in packages_of(directory).glob("*tvm_ffi*"):
        shutil.copytree(part, site / part.name)
    library = site / "tvm_ffi" / "lib" / "libtvm_ffi.so"
    library.unlink()
    shutil.copy(arguments.build / "lib" / "libopdyno_tvmffi.so.1", library)
    shutil.copy(arguments.build / "lib" / "libopdyno.so.1", library.parent)  # which ours looks for beside itself
    return site


def settings(directory, site, out):
    tools = f"{directory / 'bin'}{os.pathsep}{os.environ['PATH']}"
    result = os.environ | {"PATH": tools, "PYTHONNOUSERSITE": "1", "PYTHONDONTWRITEBYTECODE": "1",
                           "TVM_FFI_CACHE_DIR": str(out / "cache")}
    result.pop("PYTHONPATH", None)
    return result | {"PYTHONPATH": str(site)} if site else result


BUILD_KERNEL = """
import sys, tvm_ffi.cpp
print(tvm_ffi.cpp.build("kernel", cpp_files=[sys.argv[1]], build_directory=sys.argv[2]))
"""

TRY_KERNEL = """
import sys, tvm_ffi
module = tvm_ffi.load_module(sys.argv[1])
assert module.sum([1, 2, 39]) == 42 and module.sum(tvm_ffi.List([1, 2])) == 3
assert list(module.appended(tvm_ffi.Array([1]), "x")) == [1, "x"]
assert module.look_up({str(i): i for i in range(100)}, "77") == 77
assert dict(module.grown(tvm_ffi.Map({"a": 1}), 3)) == {"a": 1, 1: "entry 1", 2: "entry 2"}
assert module.apply(lambda x: 2 * x, 21) == 42 and module.adder(5)(37) == 42
assert module.greeting("you") == "hello you" and tuple(module.doubled(tvm_ffi.Shape([1, 2]))) == (2, 4)
try:
    module.sum(["x"])
except TypeError as error:
    print("refused as it should be:", str(error).splitlines()[0])
else:
    sys.exit("a string was summed")
"""


def test_kernel(directory, site, arguments):
    """Built with tvm-ffi's library and with ours; each loaded by C and by the package with our library."""
    python = directory / "bin" / "python"
    for name, built_with in ("original", None), ("replaced", site):
        out = arguments.out / f"kernel-{name}"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        made = subprocess.run([python, "-c", BUILD_KERNEL, HERE / "kernel.cc", out], check=True, text=True,
                              stdout=subprocess.PIPE, env=settings(directory, built_with, arguments.out))
        kernel = made.stdout.splitlines()[-1]
        subprocess.run([arguments.build / "bin" / "tvm_ffi_kernel", kernel], check=True)
        subprocess.run([python, "-c", TRY_KERNEL, kernel], check=True, env=settings(directory, site, arguments.out))


def left_out():
    lines = (HERE / "left_out.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def run_tests(directory, site, arguments):
    tests = directory / f"apache_tvm_ffi-{RELEASE}" / "tests" / "python"
    command = [directory / "bin" / "python", "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider", "--tb=short"]
    for name in [] if arguments.original else left_out():
        command.append(f"--deselect=tests/python/{name}" if "::" in name else f"--ignore={name}")
    run = subprocess.run([*command, *(arguments.tests or ["."])], cwd=tests, text=True, stdout=subprocess.PIPE,
                         env=settings(directory, site, arguments.out))
    print(run.stdout[-6000:])
    counts = {what: int(number) for number, what in re.findall(r"(\d+) (passed|failed|errors?|skipped|xfailed)", run.stdout)}
    if run.returncode or not counts.get("passed"):
        sys.exit(f"tvm-ffi's tests fail: {counts}")
    print(f"tvm-ffi {RELEASE}: {counts['passed']} of its own tests pass; left_out.txt names what is left out")


def main():
    arguments = parse_arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    directory = environment(arguments.cache)
    site = None if arguments.original else replaced_package(directory, arguments)
    if site and not arguments.tests:
        test_kernel(directory, site, arguments)
    run_tests(directory, site, arguments)


main()
