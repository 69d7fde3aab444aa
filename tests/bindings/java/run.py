#!/usr/bin/env python3
"""Makes the Java binding from bindings/swig and bindings/java, and runs First.java on a library that TVM compiled."""

import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import ROOT, artifact, include_flags, library_directory, parse_arguments, swig


def java_home():
    javac = shutil.which("javac")
    if not javac:
        sys.exit("javac is missing: it comes with the package openjdk-17-jdk-headless")
    return Path(javac).resolve().parents[1]


def main():
    arguments = parse_arguments(__doc__, "java")
    out, source = arguments.out, ROOT / "bindings" / "java"
    shutil.rmtree(out, ignore_errors=True)
    (out / "opdyno").mkdir(parents=True)
    wrapper = out / "native_wrap.cc"
    swig(arguments, "-java", "-c++", "-package", "opdyno", f"-I{source / 'swig'}", "-outdir", out / "opdyno", "-o", wrapper)

    home, libraries = java_home(), library_directory(arguments)
    subprocess.run(["c++", "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{source / 'native'}", f"-I{ROOT / 'bindings' / 'swig'}",
                    f"-I{home / 'include'}", f"-I{home / 'include' / 'linux'}", *include_flags(arguments),
                    "-o", out / "libopdyno_java.so", wrapper, *sorted((source / "native").glob("*.cc")),
                    f"-L{libraries}", "-lopdyno", f"-Wl,-rpath,{libraries}"], check=True)
    subprocess.run([home / "bin" / "javac", "-Xlint:all", "-Werror", "-encoding", "UTF-8", "-d", out / "classes",
                    *(out / "opdyno").glob("*.java"), *(source / "opdyno").glob("*.java"),
                    *Path(__file__).parent.glob("*.java")], check=True)
    java = [home / "bin" / "java", "-Xcheck:jni", "-Dfile.encoding=UTF-8", f"-Djava.library.path={out}", "-cp", out / "classes"]
    for flags, program in (([], ["First", artifact()]), ([], ["Fresh", "values"]), ([], ["Fresh", "tensors"]),
                           (["-Xmx96m"], ["Fresh", "dropped"])):
        done = subprocess.run([*java, *flags, *program], stdout=subprocess.PIPE, text=True)
        print(done.stdout, end="")
        if done.returncode or "WARNING" in done.stdout or not done.stdout.endswith("ok\n"):
            sys.exit(f"the Java program failed: {' '.join(map(str, program))}")


if __name__ == "__main__":
    main()
