#!/usr/bin/env python3
"""Makes the Java binding from bindings/swig and bindings/java, and runs its tests on a library that TVM compiled."""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
GOLDEN = HERE.parent / "golden"
sys.path[:0] = [str(HERE.parent), str(GOLDEN), str(ROOT / "bindings" / "java")]
import loading
from jdks import newer_jdks
from compare import compare
from common import artifact, option_fields, parse_arguments, rpc_server, rpc_tracker, tvm_rpc_server
from metadata import check_metadata
from parity import check_java
from make import JAVA, compile_native, java_home, make
from sanitized import SETTINGS, compiler_of, fixed_addresses, runtime


def program_of(page, name, out, place=0):
    """Writes the Java program at that index of a page to a file, as a class."""
    block = re.findall(r"```java\n(.*?)```", page.read_text(), re.S)[place]
    imports = "".join(re.findall(r"^import .*\n", block, re.M))
    source = out / f"{name}.java"
    source.write_text(f"{imports}public final class {name} {{\n  public static void main(String[] args) {{\n"
                      f"{block.removeprefix(imports)}\n  }}\n}}\n")
    return source


def check_options(generated):
    """Checks that each field of each struct of options can be set."""
    classes = [path.read_text() for path in generated.rglob("*Options.java")]
    for struct, fields in option_fields().items():
        if not any(re.findall(r'values\.put\("(\w+)"', text) == fields for text in classes):
            sys.exit(f"no class of Java has the fields of {struct}: {', '.join(fields)}")


def check_words(generated):
    """Checks that comments of generated classes have no C names. The class of functions is an exception, because it has
    them."""
    for path in generated.rglob("*.java"):
        if path.stem in ("Native", "NativeJNI"):
            continue
        for said in re.findall(r"/\*\*.*?\*/", path.read_text(), re.S):
            if found := re.search(r"\b(NULL|[Bb]orrowed|OPD_\w+|opd_\w+)\b", said):
                sys.exit(f"{path.stem}: {found[0]} stands in {' '.join(said.split())}")


def check_loads(sources):
    """Checks that each class with native methods loads the library, because a program may use any of them first."""
    for path in sources:
        text = path.read_text()
        if re.search(r"\bnative [\w.\[\]]+ \w+\(", text) and not re.search(r"static \{\s*Library\.load\(\);|class \w+ extends Handle\b", text):
            sys.exit(f"{path.name} has native methods, but does not load the library")


def check_stubs(home, out, classes):
    """Checks that the stubs agree with the JDK's interfaces: the JDK's own compiler must accept the sources. A run-time
    image has no compiler."""
    for source in [*JAVA.rglob("Segments.java"), HERE / "WithSegments.java"] if (home / "bin" / "javac").exists() else []:
        subprocess.run([home / "bin" / "javac", "--release", "22", "-Xlint:all,-restricted", "-Werror", "-encoding", "UTF-8", "-d", out,
                        "-cp", classes, source], check=True)


def check_records(generated):
    """Checks that each field of each result is a component of a record. The fields are read from the public headers,
    without bindings/api."""
    seen = 0
    for header in (ROOT / "include" / "opdyno").glob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        for body, struct in re.findall(r"typedef struct \w+ \{\s*uint32_t struct_size;([^{}]*)\} opd_(\w+);", text):
            if struct.endswith(("_options", "_table", "_hooks", "_launch", "_activity", "instruction", "telemetry_value")):  # inputs
                continue
            if struct == "rpc_progress":  # for servers, which only C and C++ offer
                continue
            name = struct.title().replace("_", "")
            fields = [field.replace("_", "") for field in re.findall(r"(\w+);", body) if not re.fullmatch(r"reserved\d*|ndim", field)]
            record = (generated / "io" / "opdyno" / f"{name}.java").read_text()
            if [component.lower() for component in re.findall(r"^    [\w.<>]+ (\w+)[,)]", record, re.M)] != fields:
                sys.exit(f"the record {name} has not the fields {', '.join(fields)}")
            seen += 1
    if seen < 5:
        sys.exit(f"only {seen} structs of results were seen")


def run_sanitized(arguments):
    """Runs the tests that an earlier run compiled, with library and native code compiled with sanitizers."""
    build_dir, classes = arguments.sanitized.resolve(), arguments.out / "classes"
    if not (preloaded := runtime(build_dir)):
        return
    if not classes.exists():
        sys.exit(f"{classes} is missing: run this without --sanitized first")
    compiler = [compiler_of(build_dir, "CXX"), "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1"]
    arguments.static, arguments.build_dir = False, build_dir
    library = compile_native(arguments, platform.machine(), compiler, build_dir, "sanitized")
    # The JVM handles its own signals, and memory that it holds at its end is no leak. The JVM finds its files by its
    # own path, so the dynamic loader cannot be used to load the sanitizers' runtime.
    signals = ":".join(f"handle_{name}=0" for name in ("segv", "sigbus", "sigfpe", "sigill"))
    settings = os.environ | SETTINGS | {"LD_PRELOAD": str(preloaded), "ASAN_OPTIONS": f"{SETTINGS['ASAN_OPTIONS']}:detect_leaks=0:use_sigaltstack=0:{signals}"}
    java = [*fixed_addresses(), java_home() / "bin" / "java", "-Dfile.encoding=UTF-8", f"-Dopdyno.library.path={library}", "-cp", classes]
    for program in (["First", artifact()], ["Handles", "orders", artifact()]):
        if subprocess.run([*java, *program], env=settings, stdout=subprocess.DEVNULL).returncode:
            sys.exit(f"{program[0]} failed by the library of {build_dir}")
    if difference := compare([*java, "Golden"], env=settings):
        sys.exit(difference)
    print("ok")


def main():
    arguments = parse_arguments(__doc__, "java")
    if arguments.sanitized:
        return run_sanitized(arguments)
    check_metadata()
    arguments.static, arguments.aarch64 = False, None
    generated, natives = make(arguments)
    check_options(generated)
    check_records(generated)
    check_words(generated)
    check_loads([*generated.rglob("*.java"), *(JAVA / "src").rglob("*.java")])
    check_java([*generated.rglob("*.java"), *(JAVA / "src").rglob("*.java")], is_complete=True)
    home, classes = java_home(), arguments.out / "classes"
    subprocess.run([home / "bin" / "javac", "--release", "17", "-g", "-parameters", "-Xlint:all", "-Werror", "-encoding", "UTF-8", "-d", classes,
                    *generated.rglob("*.java"), *(JAVA / "src").rglob("*.java"), *(JAVA / "stubs").rglob("*.java"), *HERE.glob("*.java"), GOLDEN / "Golden.java",
                    program_of(JAVA / "README.md", "Readme", arguments.out),
                    program_of(JAVA / "README.md", "Recorder", arguments.out, 1),
                    program_of(ROOT / "docs" / "languages.md", "Languages", arguments.out)], check=True)
    for stub in ("java", "org"):  # the jar does not contain the stubs
        shutil.rmtree(classes / stub)
    shutil.copytree(natives, classes, dirs_exist_ok=True)
    library = next(classes.rglob("libopdyno_java.so"))

    def run(*arguments, cwd=None, home=home, within=(), **environment):
        command = [*within, home / "bin" / "java", "-Xcheck:jni", "-Dfile.encoding=UTF-8", "-cp", classes, *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
                              env={**os.environ, **environment})
        return done.returncode, done.stdout, done.stderr

    own = f"-Dopdyno.library.path={library}"
    with rpc_server(arguments) as address, rpc_tracker(arguments) as tracker:
        status, shown, errors = run(own, "WithSessions", artifact(), address, tracker)
        if status or not shown.endswith("ok\n"):
            sys.exit(f"the Java program with a server failed: {shown}{errors}")
    with tvm_rpc_server(arguments) as address:
        status, shown, errors = run(own, "WithTvmServer", artifact().parent, address) if address else (0, "ok\n", "")
        if status or not shown.endswith("ok\n"):
            sys.exit(f"the Java program with a server of TVM's failed: {shown}{errors}")
    for flags, program in (([], ["First", artifact()]), ([], ["Fresh", "values"]), ([], ["Fresh", "tensors"]),
                           ([], ["Handles", "orders", artifact()]),
                           (["-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch", "-XX:TieredStopAtLevel=1"], ["Handles", "many"]),
                           *((["-Xmx96m"], ["Fresh", "dropped", holder])
                             for holder in ("tensor", "list", "map", "result", "params", "loaded params", "view", "reshape"))):
        status, shown, errors = run(own, *flags, *program)
        print(shown, errors, sep="", end="")
        if status or "WARNING" in shown or not shown.endswith("ok\n"):
            sys.exit(f"the Java program failed: {' '.join(map(str, program))}")
    for locale in ("C", "C.UTF-8"):
        names = arguments.out / f"names-{locale}"
        names.mkdir()
        for name in (b"plain.so", "größer 😀.so".encode(), b"latin \xfc %41.so"):
            shutil.copy(artifact(), os.fsencode(names) + b"/" + name)
        for directory in (names, Path(names.name)):  # as an absolute path, and as a relative one
            for file in os.listdir(os.fsencode(names)):
                shutil.copy(artifact(), os.fsencode(names) + b"/" + file)
            status, shown, errors = run(own, "Fresh", "paths", directory, cwd=arguments.out, LC_ALL=locale)
            if status or len(os.listdir(names)) != 3:
                sys.exit(f"paths in the locale {locale}: {shown}{errors} {os.listdir(names)}")
    for release, newer in newer_jdks(arguments.cache).items():
        for program in [("First", artifact())] + ([("WithSegments",)] if release >= 22 else []):
            status, shown, errors = run(own, "--enable-native-access=ALL-UNNAMED", *program, home=newer)
            if status or "WARNING" in shown + errors or not shown.endswith("ok\n"):
                sys.exit(f"{program[0]} failed with Java {release} of {newer}:\n{shown}{errors}")
        check_stubs(newer, arguments.out / "foreign", classes)
    place = arguments.out / "readme"
    place.mkdir()
    shutil.copy(artifact(), place / "model.so")
    for program, parts in (("Readme", ["101.0\n", "add", "Operator["]), ("Recorder", ["read ", " ns, 95 %: ", "\n81.0\n", "MemoryStats[liveBytes="]),
                           ("Languages", ["100.0 103.0\n", "add", "Verdict", "1024.0\n"])):
        status, shown, errors = run(own, program, cwd=place)
        if status or any(part not in shown for part in parts):
            sys.exit(f"the program of the page failed: {program}: {shown}{errors}")
    for name in ("trace.json", "dump1.json"):
        if not (place / name).stat().st_size:
            sys.exit(f"the programs of the README wrote no {name}")
    if difference := compare([home / "bin" / "java", "-Xcheck:jni", own, "-cp", classes, "Golden"]):
        sys.exit(difference)
    loading.test(run, library, arguments.out / "loading")
    loading.starts(run, library, arguments.out / "starts", 200)


if __name__ == "__main__":
    main()
