"""The C++ face: it wraps the whole C API, each of its headers stands alone, and the program proves it by using nothing else.

Run by ctest as abi_test.py is.
"""

import os
import re
import subprocess
import unittest

from headers import HEADERS, INCLUDES, ROOT, functions

NOT_WRAPPED = {}  # a function of the C API: why the C++ face does without it


def wanted():
    """Exported functions of headers that are not experimental."""
    experimental = {h.name for h in HEADERS.glob("*.h") if re.search(r"^ \* Experimental:", h.read_text(), re.M)}
    return sorted(f.name for f in functions() if not f.inline and f.header not in experimental)


def calls(text):
    """The names of the C API in its code, comments and texts left out."""
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return set(re.findall(r"\bopd_\w+", re.sub(r'//.*|"(?:[^"\\\n]|\\.)*"', "", code)))


class Face(unittest.TestCase):
    def test_every_function_of_the_c_api_is_wrapped_or_listed_with_a_reason(self):
        used = set().union(*(calls(h.read_text()) for h in HEADERS.glob("*.hpp")))
        self.assertEqual([name for name in wanted() if name not in used and name not in NOT_WRAPPED], [])
        self.assertEqual([name for name in NOT_WRAPPED if name in used or name not in wanted()], [])

    def test_the_program_calls_the_face_and_not_the_c_api(self):
        for source in sorted((ROOT / "src/cli").rglob("*.[ch]*")):
            direct = calls(source.read_text()) & set(wanted())
            self.assertEqual(direct, set(), source.name)

    def test_each_header_compiles_alone_and_twice(self):
        for header in sorted(HEADERS.glob("*.hpp")):
            done = subprocess.run([os.environ["CXX"], "-std=c++17", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++",
                                   *INCLUDES, "-"], input=2 * f"#include <opdyno/{header.name}>\n", capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, f"{header.name}:\n{done.stderr}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
