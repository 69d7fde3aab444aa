#!/usr/bin/env python3
"""Runs test_tvm.py, test_tvm_strided.py and the examples of docs/python.md in the environment of each TVM release that is tested.

opdyno and pytest come from the Python that runs this file. The TVM environments come from tests/interop/generate.py. They
are made if needed and not changed.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "interop"))

from generate import RELEASES, default_cache, environment_for  # noqa: E402

# The paths are appended, so that TVM's environment with its NumPy comes first.
RUN = "import sys; sys.path += sys.argv[1].split('\\n'); import pytest; sys.exit(pytest.main(sys.argv[2:]))"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tvm", choices=[*RELEASES, "all"], default="all", help="TVM release (default: all)")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="directory of the environments")
    parser.add_argument("pytest", nargs="*", help="more arguments for pytest, after --")
    return parser.parse_args()


def directory_of(package):
    found = importlib.util.find_spec(package)
    if found is None:
        sys.exit(f"{sys.executable} has no {package}: pip install './bindings/python[test]'")
    return str(Path(found.origin).resolve().parents[1])


def main():
    arguments = parse_arguments()
    path = "\n".join(dict.fromkeys(map(directory_of, ("opdyno", "pytest"))))
    settings = os.environ | {"OPDYNO_TEST_TVM": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1", "TVM_NUM_THREADS": "2"}
    settings.pop("PYTHONPATH", None)
    files = [HERE / "test_tvm.py", HERE / "test_tvm_strided.py", HERE / "test_docs.py"]
    failed = []
    for release in RELEASES if arguments.tvm == "all" else [arguments.tvm]:
        python = environment_for(release, arguments.cache)
        print(f"TVM {release}", flush=True)
        command = [python, "-c", RUN, path, "-q", "-p", "no:cacheprovider", *files, *arguments.pytest]
        if subprocess.run(list(map(str, command)), env=settings).returncode:
            failed.append(release)
    if failed:
        sys.exit(f"failed with TVM {', '.join(failed)}")


if __name__ == "__main__":
    main()
