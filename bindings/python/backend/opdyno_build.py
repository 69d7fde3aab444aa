"""The build backend: scikit-build-core, which also adds the repository's sources to an sdist, so that the sdist builds
anywhere."""

import shutil
from contextlib import contextmanager
from pathlib import Path

from scikit_build_core.build import *  # noqa: F403
from scikit_build_core.build import build_sdist as _build_sdist

HERE = Path(__file__).parents[1]
REPOSITORY = HERE.parents[1]
STAGED = HERE / "opdyno-source"
NEEDED = ["CMakeLists.txt", "LICENSE", "cmake", "examples", "include", "pkgconfig", "src", "third_party", "docs/errors.md", "bindings/swig", "bindings/api"]


@contextmanager
def staged_sources():
    if STAGED.exists() or not (REPOSITORY / "include" / "opdyno").exists():  # this is such an sdist
        yield
        return
    try:
        for name in NEEDED:
            source, target = REPOSITORY / name, STAGED / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        yield
    finally:
        shutil.rmtree(STAGED, ignore_errors=True)


def build_sdist(sdist_directory, config_settings=None):
    with staged_sources():
        return _build_sdist(sdist_directory, config_settings)
