#!/usr/bin/env python3
"""Makes the Java binding from bindings/swig and bindings/java, and runs First.java on a library that TVM compiled."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE.parent), str(ROOT / "bindings" / "java")]
import loading
from common import artifact, parse_arguments
from make import JAVA, java_home, make


def main():
    arguments = parse_arguments(__doc__, "java")
    arguments.static = False
    generated, natives = make(arguments)
    home, classes = java_home(), arguments.out / "classes"
    subprocess.run([home / "bin" / "javac", "--release", "17", "-Xlint:all", "-Werror", "-encoding", "UTF-8", "-d", classes,
                    *generated.rglob("*.java"), *(JAVA / "src").rglob("*.java"), *HERE.glob("*.java")], check=True)
    shutil.copytree(natives, classes, dirs_exist_ok=True)
    library = next(classes.rglob("libopdyno_java.so"))

    def run(*arguments, cwd=None, **environment):
        command = [home / "bin" / "java", "-Xcheck:jni", "-Dfile.encoding=UTF-8", "-cp", classes, *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
                              env={**os.environ, **environment})
        return done.returncode, done.stdout, done.stderr

    own = f"-Dopdyno.library.path={library}"
    for flags, program in (([], ["First", artifact()]), ([], ["Fresh", "values"]), ([], ["Fresh", "tensors"]),
                           (["-Xmx96m"], ["Fresh", "dropped"])):
        status, shown, errors = run(own, *flags, *program)
        print(shown, errors, sep="", end="")
        if status or "WARNING" in shown or not shown.endswith("ok\n"):
            sys.exit(f"the Java program failed: {' '.join(map(str, program))}")
    loading.test(run, library, arguments.out / "loading")


if __name__ == "__main__":
    main()
