"""docs/errors.md, which `opdyno explain` shows: each code has a page, and the examples are executed."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(os.environ["OPDYNO_ROOT"])
PAGE = ROOT / "docs/errors.md"
PROGRAM = os.environ["OPDYNO_PROGRAM"]
HEADER = (ROOT / "include/opdyno/base.h").read_text()
CODES = {name: int(number) for name, number in re.findall(r"\b(OPD_[A-Z_]+) = (\d+),", HEADER.split("typedef enum opd_code")[1].split("} opd_code;")[0])}
SECTION = re.compile(r"^## (OPD_\w+)\n\n(.+?)\n\n(?:```c\n(.*?)```\n\n)?```console\n(.*?)```\n\nNext: (.+?)\n$", re.M | re.S)


def run(*words, **settings):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=120, **settings)


class Errors(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.work = pathlib.Path(self.directory.name)
        self.sections = SECTION.findall(PAGE.read_text())

    def test_each_code_has_a_page(self):
        self.assertEqual(14, len(CODES))
        self.assertEqual(list(CODES), [section[0] for section in self.sections])
        overview = run("explain").stdout
        for name, number in CODES.items():
            self.assertRegex(overview, rf"(?m)^ +{number}  {name} ")
            spellings = {run("explain", word).stdout for word in (name, name.lower(), name[4:], name[4:].lower().replace("_", "-"), str(number))}
            self.assertEqual(1, len(spellings), name)
            self.assertTrue(spellings.pop().startswith(f"{name} ({number})\n"))

    def test_explain_shows_what_the_page_has(self):
        for name, meaning, program, session, step in self.sections:
            text = run("explain", name).stdout
            for line in (program + session).splitlines():
                self.assertIn(f"  {line}\n" if line else "\n", text)
            joined = " ".join(text.split())
            for part in meaning, step:
                self.assertIn(" ".join(part.replace("`", "").split()), joined)

    def test_pages_and_overview_are_laid_out_in_100_columns(self):
        def wrapped(text, column):
            return textwrap.fill(text, 100, initial_indent=" " * column, subsequent_indent=" " * column, break_long_words=False,
                                 break_on_hyphens=False)[column:]
        def indented(text):
            return "".join(f"  {line}\n" if line else "\n" for line in text.splitlines())
        overview = "Error codes:\n"
        for name, meaning, program, session, step in self.sections:
            number = CODES[name]
            page = f"{name} ({number})\n\n{wrapped(meaning, 0)}\n\nExample:\n{indented(program) + chr(10) if program else ''}{indented(session)}"
            page += f"\nNext step:\n  {wrapped(step, 2)}\n"
            self.assertEqual(page.replace("`", ""), run("explain", name).stdout)
            overview += f"  {number:2}  {name:25}{wrapped(meaning.split('. ')[0].rstrip('.'), 31)}\n"
        exit_codes = run("explain", "exit-codes").stdout
        self.assertEqual(overview + "\n" + exit_codes, run("explain").stdout)
        self.assertEqual(exit_codes, run("explain", "exit-code").stdout)
        table = re.findall(r"(?m)^\| (\d) \| (.*) \|$", PAGE.read_text())
        self.assertEqual("Exit codes of the program:\n" + "".join(f"  {code}  {wrapped(text, 5)}\n" for code, text in table), exit_codes)

    def test_what_is_no_code_is_told_with_the_nearest_one(self):
        names = ", ".join([*CODES, "exit-codes"])
        for word, meant in ("OPD_NOT_FUOND", " Did you mean 'OPD_NOT_FOUND'?"), ("99", ""), ("nonsense", ""):
            done = run("explain", word)
            wanted = f"opdyno explain: there is no error code '{word}'.{meant} There are {names}\nTry 'opdyno help explain'.\n"
            self.assertEqual((2, wanted), (done.returncode, done.stderr))

    def test_the_examples_are_real(self):
        tools = self.work / "tools"
        tools.mkdir()
        flags = f"-I{ROOT}/include -I{os.environ['OPDYNO_BUILD']}/include {os.environ['OPDYNO_LIBRARY']} -Wl,-rpath,{pathlib.Path(os.environ['OPDYNO_LIBRARY']).parent} {os.environ['OPDYNO_FLAGS']}"
        for name, text in ("pkg-config", f"echo '{flags}'"), ("cc", f'exec {os.environ["CC"]} -std=c99 -Wall -Wextra -pedantic "$@"'), ("opdyno", f'exec {PROGRAM} "$@"'):
            (tools / name).write_text(f"#!/bin/sh\n{text}\n")
            (tools / name).chmod(0o755)
        for name, _, program, session, _ in self.sections:
            place = self.work / name
            place.mkdir()
            shutil.copy(ROOT / "tests/interop/data/0.27/chain_100.so", place / "model.so")
            if program:
                (place / "example.c").write_text(program)
            commands = re.findall(r"(?m)^\$ (.*)$", session)
            wanted = re.sub(r"(?m)^\$ .*\n", "", session)
            settings = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}", OPDYNO_CACHE_DIR=str(self.work / "cache"))
            done = subprocess.run(["sh", "-c", "\n".join(commands)], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, env=settings)
            pattern = ".*".join(map(re.escape, wanted.split("…")))
            self.assertTrue(re.fullmatch(pattern, done.stdout, re.S), f"{name}\nwanted: {wanted}\nfound: {done.stdout}")
            self.assertEqual("opdyno" in commands[-1].split()[:1], done.returncode != 0, name)

    def test_what_is_no_code_gets_close_names(self):
        done = run("explain", "not_fuond")
        self.assertEqual(2, done.returncode)
        self.assertIn("there is no error code 'not_fuond'. Did you mean 'OPD_NOT_FOUND'? There are OPD_OK, ", done.stderr)
        for word in "99", "-1", "", "OPD_CODE_MAX_ENUM", "2x":
            self.assertEqual(2, run("explain", "--", word).returncode, word)
        self.assertNotIn("Did you mean", run("explain", "99").stderr)
        self.assertRegex(run("explain", "exit-codes").stdout, r"(?m)^  3  the module was refused")


if __name__ == "__main__":
    unittest.main(verbosity=2)
