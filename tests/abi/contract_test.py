"""What the public headers promise: layouts, the size of the API, its comments, and that tests call all of it.

Run by ctest as abi_test.py is. `contract_test.py --renew` writes layout.txt and baseline.abi anew.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from headers import HEADERS, INCLUDES, ROOT, enums, exported, functions, headers, structs

sys.path.append(str(ROOT / "bindings" / "api"))
from comments import comments_of, split_default

HERE = pathlib.Path(__file__).parent
LAYOUT, BASELINE = HERE / "layout.txt", HERE / "baseline.abi"
LIMIT = 230  # functions with tracing, devices and remote; a new one must be better than an option, a column or a value


def compiled(source, directory, *flags):
    path = pathlib.Path(directory) / "made"
    subprocess.run([os.environ["CC"], "-x", "c", "-std=c99", "-w", *INCLUDES, *flags, "-", "-o", path], input=source, text=True, check=True)
    return path


def layout():
    """One line for each struct and enum, as the compiler lays it out."""
    lines = []
    for name, members in sorted(structs().items()):
        lines.append(f'printf("struct {name} %zu\\n", sizeof({name}));')
        lines += [f'printf("  {member} %zu\\n", offsetof({name}, {member}));' for member in members]
    for name, values in sorted(enums().items()):
        lines.append(f'printf("enum {name} %zu\\n", sizeof({name}));')
        lines += [f'printf("  {value} %lld\\n", (long long){value});' for value in values]
    source = "#include <opdyno/opdyno.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n"
    with tempfile.TemporaryDirectory() as directory:
        return subprocess.run([compiled(source, directory)], check=True, capture_output=True, text=True).stdout


def defaults():
    """The default of each field of options, as its `_init` function writes it: a number, "NULL", "an address" or a device."""
    fields = [(name, member) for name, members in structs().items() if name.endswith("_options") for member in members]
    show = "".join(f'SHOW("{name}.{member}", {name}_.{member});\n' for name, member in fields)
    init = "".join(f"{name} {name}_; {name}_init(&{name}_);\n" for name in dict(fields))
    source = """#include <opdyno/opdyno.h>
#include <stdio.h>
static void show_int(const char *name, long long x) { printf("%s %lld\\n", name, x); }
static void show_double(const char *name, double x) { printf("%s %.17g\\n", name, x); }
static void show_device(const char *name, DLDevice x) {
  if (x.device_type == 0) printf("%s none\\n", name);
  else printf("%s %s:%d\\n", name, x.device_type == kDLCPU ? "cpu" : "?", x.device_id);
}
static void show_pointer(const char *name, const void *x) { printf("%s %s\\n", name, x ? "an address" : "NULL"); }
#define SHOW(name, x) _Generic((x), int32_t: show_int, uint32_t: show_int, int64_t: show_int, uint64_t: show_int, double: show_double, DLDevice: show_device, default: show_pointer)(name, x)
int main(void) {
""" + init + show + "return 0;\n}\n"
    with tempfile.TemporaryDirectory() as directory:
        shown = subprocess.run([compiled(source, directory, "-std=c11")], check=True, capture_output=True, text=True).stdout
    return dict(line.split(" ", 1) for line in shown.splitlines())


def value_of(default, values):
    """A documented default as defaults() gives it; `values` are those of the enums."""
    if power := re.fullmatch(r"(\d+)\^(\d+)", default):
        return str(int(power[1]) ** int(power[2]))
    return values.get(default) or (f"{float(default):.17g}" if re.fullmatch(r"-?\d+\.\d+", default) else default)


def interface(out):
    """The API as abidw sees it: a library of empty functions with the headers' types, whatever the real one is built with."""
    bodies = [f"{f.result} {f.name}({f.parameters}) {{ __builtin_trap(); }}" for f in functions() if not f.inline]
    with tempfile.TemporaryDirectory() as directory:
        library = compiled("#include <opdyno/opdyno.h>\n" + "\n".join(bodies) + "\n", directory, "-shared", "-fPIC", "-g",
                           "-Wl,-soname,libopdyno.so")
        subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--type-id-style", "hash", "--out-file", out, library],
                       check=True)


class Layout(unittest.TestCase):
    maxDiff = None

    def test_structs_and_enums_lie_as_the_table_says(self):
        self.assertEqual(layout(), LAYOUT.read_text())

    def test_every_enum_is_32_bits_wide(self):
        for name, values in enums().items():
            self.assertTrue(values[-1].endswith("_MAX_ENUM"), f"{name} ends in {values[-1]}")

    @unittest.skipUnless(shutil.which("abidiff"), "abidiff is not installed: the package abigail-tools has it")
    def test_the_interface_is_compatible_with_the_committed_baseline(self):
        with tempfile.TemporaryDirectory() as directory:
            now = os.path.join(directory, "now.abi")
            interface(now)
            done = subprocess.run(["abidiff", "--no-added-syms", BASELINE, now], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f"{done.stdout}{done.stderr}\nCONTRIBUTING.md, \"Changes of the ABI\", says what to do")


class SizedStructs(unittest.TestCase):
    def test_each_is_tested_with_callers_whose_header_knows_more_or_less(self):
        sized = {name for name, members in structs().items() if members[0] == "struct_size"}
        # The library makes it: its size is the library's, and a plug-in with a newer header must look at it.
        sized -= {"opd_kernel_launch"}
        sized -= {"opd_device_activity"}  # a plug-in hands it over: tests/conformance/activity_test.cc
        lists = re.findall(r"using \w+Structs =\s*testing::Types<(.*?)>;", (HERE / "struct_sizes_test.cc").read_text(), re.S)
        self.assertEqual(sorted(re.findall(r"opd_\w+", ", ".join(lists))), sorted(sized))

    def test_all_of_them_are_found(self):
        declared = sum(len(re.findall(r"^ +uint32_t struct_size;", header.read_text(), re.M)) for header in headers())
        self.assertEqual(declared, sum(members[0] == "struct_size" for members in structs().values()))


class Size(unittest.TestCase):
    def test_there_are_no_more_functions_than_agreed(self):
        self.assertLessEqual(len(exported()), LIMIT)

    def test_every_handle_has_retain_and_release(self):
        text = "".join(h.read_text() for h in headers())
        handles = set(re.findall(r"typedef struct (opd_\w+) \1;", text)) - {"opd_object", "opd_metrics"}
        self.assertEqual(handles, set(re.findall(r"^OPD_HANDLE\((\w+)\);", text, re.M)))


class Comments(unittest.TestCase):
    maxDiff = None

    def lacking(self, part, chosen=lambda function: True):
        return [f"{f.header}: {f.name}" for f in functions() if chosen(f) and not re.search(part, f.comment)]

    def of_interest(self, function):  # makers of values share one comment
        return not re.fullmatch(r"opd_(none|int|bool|float|pointer|cstring|dltensor|dtype_value|device_value)", function.name)

    def test_every_function_says_on_which_threads_it_may_be_called(self):
        self.assertEqual(self.lacking(r"\bThreads:", self.of_interest), [])

    def test_every_function_says_since_when_it_exists(self):
        self.assertEqual(self.lacking(r"\bSince:\s+\*?\s*\d+\.\d+", self.of_interest), [])

    def test_every_function_that_can_fail_names_its_error_codes(self):
        self.assertEqual(self.lacking(r"\bOPD_[A-Z]", lambda f: f.result == "opd_error *"), [])

    def test_every_parameter_is_in_the_comment_but_for_the_handle_that_the_function_is_of(self):
        missing = []
        for function in filter(self.of_interest, functions()):
            named = set(re.findall(r"@p (\w+)", function.comment))
            for names in re.findall(r"@param (\w+(?:, \w+)*)", function.comment):
                named.update(names.split(", "))
            names = function.parameter_names()
            is_method = re.match(r"(const )?opd_\w+ \*\w+(,|$)", function.parameters) is not None
            missing += [f"{function.name}: {name}" for name in names[is_method:] if name not in named]
            missing += [f"{function.name} has no {name}" for name in sorted(named - set(names))]
        self.assertEqual(missing, [])

    def test_the_comment_of_an_option_ends_with_the_default_that_a_program_gets(self):
        comments, wrong = comments_of([ROOT / "include"]), []
        values = dict(line.split()[:2] for line in layout().splitlines() if line.startswith("  OPD_"))
        for name, given in defaults().items():
            documented = split_default(comments.get(name, ""))[1]
            if given != value_of(documented, values) and not re.search(r"\.(struct_size|reserved\d*)$", name):
                wrong.append(f"{name}: {given}, but the comment ends with \"{documented}\"")
        self.assertEqual(wrong, [])


class Calls(unittest.TestCase):
    def test_every_function_is_called_by_a_test_in_c_or_cpp(self):
        """The headers of former versions, of which tests/abi keeps copies, and the C++ face, which calls all, do not count."""
        sources = [p for d in ("capi", "unit", "interop", "abi", "support", "soak", "conformance") for p in (ROOT / "tests" / d).rglob("*")
                   if p.suffix in {".c", ".cc", ".h"} and "include" not in p.parts]
        called = set(re.findall(r"\b(opd_\w+)\b", "".join(p.read_text(errors="replace") for p in sources)))
        self.assertEqual([name for name in exported() if name not in called], [])

    def test_every_initialiser_is_called_without_options(self):
        initialisers = set(re.findall(r"inline void (opd_\w+_init)\(", "".join(h.read_text() for h in HEADERS.glob("*.h"))))
        test = (ROOT / "tests" / "abi" / "struct_sizes_test.cc").read_text()
        self.assertEqual({name for name in initialisers if f"{name}(nullptr);" not in test}, set())


if __name__ == "__main__":
    if sys.argv[1:] == ["--renew"]:
        LAYOUT.write_text(layout())
        interface(BASELINE)
    else:
        unittest.main(verbosity=2)
