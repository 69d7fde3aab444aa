"""The library's outside and the tree's inside: exported symbols, header hygiene, layers.

Run by ctest with OPDYNO_LIBRARY, OPDYNO_TVMFFI_LIBRARY, OPDYNO_ROOT, OPDYNO_BUILD, CC and CXX in the environment.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from headers import INCLUDES, exported as declared

ROOT = pathlib.Path(os.environ["OPDYNO_ROOT"])
LIBRARY = os.environ["OPDYNO_LIBRARY"]
SECOND_LIBRARY = os.environ["OPDYNO_TVMFFI_LIBRARY"]
# What each directory of src/ may include; docs/architecture.md says why.
BELOW = {"base": set()}
BELOW["value"] = {"base"}
BELOW["trace"] = BELOW["call"] = BELOW["value"] | {"value"}
BELOW["device"] = BELOW["trace"] | {"trace", "call"}
BELOW["params"] = BELOW["device"] | {"device"}
BELOW["program"] = BELOW["params"] | {"params"}
BELOW["module"] = BELOW["program"] | {"program"}
BELOW["vm"] = BELOW["module"] | {"module"}
BELOW["report"] = BELOW["value"] | {"value"}
BELOW["stats"] = BELOW["report"] | {"report"}
BELOW["measure"] = BELOW["device"] | {"device", "report", "stats"}
BELOW["trace_views"] = BELOW["trace"] | {"trace", "report"}
BELOW["trace_formats"] = BELOW["trace_views"] | {"stats", "trace_views"}
BELOW["profiler"] = BELOW["vm"] | {"vm", "report", "stats", "measure", "trace_views", "trace_formats"}
BELOW["compare"] = BELOW["profiler"] | {"profiler"}
BELOW["replay"] = BELOW["compare"] | {"compare"}
BELOW["control"] = BELOW["profiler"] | {"profiler"}
BELOW["telemetry"] = BELOW["vm"] | {"vm"}
BELOW["rpc"] = BELOW["profiler"] | {"profiler"}
BELOW["tvmffi"] = BELOW["vm"] | {"vm"}
BELOW["capi"] = BELOW["profiler"] | {"profiler", "compare", "replay", "control", "telemetry", "rpc", "tvmffi"}
BELOW["compat"] = {"base", "value", "tvmffi"}  # of tvmffi only private.h: it is another library
BELOW["cli"] = set()
# The rooms of a directory: each may include itself and those before it.
ROOMS = {
    "cli": ["support", "tensors", "load", "show", "bench", "language", "serve", "doctor", "ab", "commands"],
    "rpc": ["sandbox", "wire", "client", "server"],
    "trace": ["model", "file", "record"],
}

LOCAL = re.compile(r'^\s*#include "([^"]+)"', re.M)
PUBLIC = re.compile(r"^\s*#include <opdyno/", re.M)


PRIVATE = [  # for our second library; for bindings
    "opd_private_token_request", "opd_private_token_set_answer", "opd_private_tvmffi_symbol", "opd_private_visit_exclusive"
]


def exported(library=LIBRARY):
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    names = [line.split()[-1] for line in out.splitlines() if line.split()[-2] != "A"]
    return sorted({name.split("@")[0] for name in names if not name.endswith("@@OPDYNO_PRIVATE")})


def provided():
    """What artifacts find in libopdyno, by the tables of src/tvmffi."""
    text = "".join(p.read_text() for p in sorted((ROOT / "src/tvmffi").glob("*.cc")))
    return sorted(re.findall(r'{"(TVM\w+)", address_of', text))


class Symbols(unittest.TestCase):
    def test_the_library_exports_exactly_what_the_list_says(self):
        wanted = (ROOT / "tests/abi/symbols.txt").read_text().split()
        self.assertEqual(exported(), wanted)

    def test_every_declared_function_is_exported(self):
        self.assertEqual(exported(), declared())

    def test_every_function_has_a_version(self):
        out = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True, text=True).stdout
        versions = set(re.findall(r"\bopd_\w+@@?(\S+)", out)) - {"OPDYNO_PRIVATE"}
        self.assertEqual(versions, {"OPDYNO_1.0"})

    def test_private_symbols_are_exported_under_a_version_of_their_own(self):
        out = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True, text=True).stdout
        self.assertEqual(sorted(re.findall(r"(\S+)@@OPDYNO_PRIVATE", out)), PRIVATE)

    def test_the_second_library_exports_what_artifacts_call_and_nothing_else(self):
        self.assertEqual(exported(SECOND_LIBRARY), provided())

    def test_no_symbol_of_tvm_is_exported(self):
        self.assertEqual([s for s in exported() if "TVM" in s or "tvm" in s], [])

    def test_the_library_needs_nothing_of_tvm(self):
        out = subprocess.run(["readelf", "-d", LIBRARY], check=True, capture_output=True, text=True).stdout
        self.assertNotIn("tvm", out.lower())
        self.assertIn("libopdyno.so.1", out)


class Headers(unittest.TestCase):
    def compile(self, compiler, language, standard, header):
        flags = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-std={standard}", "-x", language]
        done = subprocess.run([os.environ[compiler], *flags, *INCLUDES, "-"], input=f"#include <opdyno/{header}>\n#include <opdyno/{header}>\n",
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f"{header} as {standard}:\n{done.stderr}")

    def test_each_header_compiles_alone_as_c99_and_as_cpp(self):
        for header in sorted(p.name for p in (ROOT / "include/opdyno").glob("*.h")):
            self.compile("CC", "c", "c99", header)
            self.compile("CXX", "c++", "c++11", header)


class Layers(unittest.TestCase):
    def sources(self, directory):
        return [p for p in (ROOT / "src" / directory).rglob("*") if p.suffix in {".cc", ".h"}]

    def test_every_directory_is_in_the_table(self):
        self.assertEqual({p.name for p in (ROOT / "src").iterdir() if p.is_dir()}, set(BELOW))

    def test_includes_go_downwards(self):
        for directory, below in BELOW.items():
            for source in self.sources(directory):
                for include in LOCAL.findall(source.read_text()):
                    top = include.split("/")[0]
                    self.assertTrue(top == directory or top in below, f"{source.relative_to(ROOT)} includes {include}")

    def test_rooms_include_downwards(self):
        for directory, rooms in ROOMS.items():
            folder = ROOT / "src" / directory
            self.assertEqual({p.name for p in folder.iterdir() if p.is_dir()}, set(rooms))
            for place, room in enumerate(rooms):
                for source in self.sources(f"{directory}/{room}"):
                    for include in LOCAL.findall(source.read_text()):
                        above = include.startswith(tuple(f"{directory}/{other}/" for other in rooms[place + 1:]))
                        self.assertFalse(above, f"{source.relative_to(ROOT)} includes {include}")

    def test_no_two_files_of_a_directory_have_one_name(self):
        for directory in BELOW:
            names = sorted(p.name for p in self.sources(directory))
            self.assertEqual(names, sorted(set(names)))

    def test_what_reads_elf_files_needs_nothing_else(self):
        for source in self.sources("module/elf"):
            for include in LOCAL.findall(source.read_text()):
                self.assertRegex(include, "^(base|module/elf)/", source)

    def test_only_call_includes_libffi(self):
        for source in (ROOT / "src").rglob("*.[ch]*"):
            if source.is_file() and "<ffi.h>" in source.read_text():
                self.assertEqual(source.parent.name, "call", source)

    def test_examples_and_capi_tests_see_public_headers_only(self):
        for directory in ("examples", "tests/capi"):
            for source in (ROOT / directory).rglob("*"):
                if source.suffix in {".c", ".cc", ".cpp", ".h"}:
                    for include in LOCAL.findall(source.read_text()):
                        self.assertTrue(include.startswith("support/") or (source.parent / include).exists(), f"{source} includes {include}")


class Errors(unittest.TestCase):
    def test_the_library_never_prints_or_ends_the_process(self):
        banned = re.compile(r"\b(printf|fputs|puts|abort|exit|perror)\s*\(|std::(cout|cerr|clog)\b")
        for source in (ROOT / "src").rglob("*.cc"):
            if "cli" in source.parts:
                continue
            for number, line in enumerate(source.read_text().splitlines(), 1):
                code = line.split("//")[0]
                if banned.search(code) and "_exit(" not in code:
                    self.fail(f"{source.relative_to(ROOT)}:{number}: {line.strip()}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
