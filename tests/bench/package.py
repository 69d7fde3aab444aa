"""opdyno's Python package as this tree has it, in an environment of its own in the cache directory."""

import sys
from pathlib import Path

from peers import INTEROP, RELEASE, digest, run

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ["CMakeLists.txt", "bindings/python", "bindings/swig", "cmake", "include", "src", "third_party"]


def files():
    """What the package is made of."""
    for name in SOURCES:
        path = ROOT / name
        found = path.rglob("*") if path.is_dir() else [path]
        yield from (file for file in found if file.is_file() and not {"build", "__pycache__"} & set(file.relative_to(ROOT).parts))


def interpreter(cache):
    """The Python that has the package; installs it where the tree has changed since."""
    requirements = INTEROP / f"requirements-{RELEASE}.txt"
    directory, log = cache / "bench-python", cache / "bench-python.log"
    python, stamp = directory / "bin/python", directory / "stamp"
    wanted = digest([requirements, *files()])
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"opdyno's Python package: into {directory}", flush=True)
    cache.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([sys.executable, "-m", "venv", directory], "making an environment for the package", log)
    run([*pip, "--constraint", requirements, "numpy"], "installing NumPy", log)  # the peer's
    run([*pip, "--force-reinstall", "--no-deps", f"-Cbuild-dir={ROOT / 'build/python'}", ROOT / "bindings/python"],
        "installing the package", log)
    stamp.write_text(wanted)
    return python
