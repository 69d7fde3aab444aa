"""Executes the code blocks of README and docs/: C and C++ are built and run, assembly is assembled, lines of "sh" blocks
that begin with opdyno are run. They find a model.so whose main() takes four float32 numbers, and a language model.

Run by ctest with OPDYNO_LIBRARY, OPDYNO_PROGRAM, OPDYNO_ROOT, OPDYNO_BUILD, OPDYNO_FLAGS, CC and CXX in the environment.
"""

import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["OPDYNO_ROOT"])
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SERVER = "127.0.0.1:9090"  # of docs/remote.md
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)


def blocks(*languages):
    for page in PAGES:
        text = page.read_text()
        for match in BLOCK.finditer(text):
            if match[1] in languages:
                yield f"{page.name}:{text[:match.start()].count(chr(10)) + 1}", match[1], match[2]


def run(*command, cwd=None):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd)


class Docs(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        shutil.copy(ROOT / "tests/interop/data/0.27/chain_100.so", self.path("model.so"))
        shutil.copytree(ROOT / "tests/interop/data/language", self.directory.name, dirs_exist_ok=True)

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def server(self):
        """The address of a server that the pages' programs may use."""
        command = [os.environ["OPDYNO_PROGRAM"], "serve", "--listen", "127.0.0.1:0", "--key", "pi4"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        return re.match(r"serving at ([^,]+)", server.stdout.readline())[1]

    def test_c_and_cpp_blocks_build_and_run(self):
        library = pathlib.Path(os.environ["OPDYNO_LIBRARY"])
        flags = [f"-I{ROOT / 'include'}", f"-I{os.environ['OPDYNO_BUILD']}/include", str(library), f"-Wl,-rpath,{library.parent}",
                 *os.environ["OPDYNO_FLAGS"].split()]
        seen = set()
        for where, language, code in blocks("c", "cpp"):
            seen.add(language)
            compiler, standard, suffix = ("CC", "c99", "c") if language == "c" else ("CXX", "c++17", "cc")
            source = self.path(f"block.{suffix}")
            if SERVER in code:
                code = code.replace(SERVER, self.server())
            pathlib.Path(source).write_text(code)
            built = run(os.environ[compiler], f"-std={standard}", "-Wall", "-Wextra", "-pedantic", source, "-o", self.path("block"), *flags)
            self.assertEqual(built.returncode, 0, f"{where}\n{built.stderr}")
            ran = run(self.path("block"), cwd=self.directory.name)  # under AddressSanitizer a leak is an error
            self.assertEqual(ran.returncode, 0, f"{where}\n{ran.stdout}{ran.stderr}")
            self.assertTrue(ran.stdout.strip(), where)
        self.assertEqual(seen, {"c", "cpp"})

    def test_assembly_blocks_assemble_and_round_trip(self):
        program, count = os.environ["OPDYNO_PROGRAM"], 0
        for where, _, code in blocks("opdasm"):
            pathlib.Path(self.path("block.opdasm")).write_text(code)
            done = run(program, "as", self.path("block.opdasm"), self.path("block.vmexec"))
            self.assertEqual(done.returncode, 0, f"{where}\n{done.stderr}")
            text = run(program, "dis", self.path("block.vmexec"))
            self.assertEqual(text.returncode, 0, f"{where}\n{text.stderr}")
            pathlib.Path(self.path("again.opdasm")).write_text(text.stdout)
            self.assertEqual(run(program, "as", self.path("again.opdasm"), self.path("again.vmexec")).returncode, 0, where)
            self.assertEqual(pathlib.Path(self.path("block.vmexec")).read_bytes(), pathlib.Path(self.path("again.vmexec")).read_bytes(), where)
            count += 1
        self.assertGreater(count, 0)

    def test_lines_of_the_shell_run(self):
        count = 0
        for where, _, code in blocks("sh"):
            for line in code.splitlines():
                words = shlex.split(line, comments=True)
                if words[:1] != ["opdyno"]:
                    continue
                done = run(os.environ["OPDYNO_PROGRAM"], *words[1:], cwd=self.directory.name)
                self.assertEqual(done.returncode, 0, f"{where}: {line}\n{done.stderr}")
                count += 1
        self.assertGreater(count, 0)

    def test_the_first_screen_is_what_the_program_does(self):
        """Lines of blocks without a language, in order. What `ab` finds depends on the machine, so it may say 0 or 1."""
        text = (ROOT / "README.md").read_text().partition("## Set up")[0]
        os.symlink(ROOT / "examples", self.path("examples"))
        os.remove(self.path("model.so"))
        ran = {}
        for block in re.findall(r"^```\n(.*?)^```", text, re.M | re.S):
            for line in re.findall(r"^(?:\$ )?(opdyno .*)", block, re.M):
                words = shlex.split(line, comments=True)[1:]
                done = run(os.environ["OPDYNO_PROGRAM"], *words, *(["--budget", "2"] if words[0] == "ab" else []), cwd=self.directory.name)
                self.assertIn(done.returncode, (0, 1) if words[0] == "ab" else (0,), f"{line}\n{done.stderr}")
                ran[words[0]] = done.stdout
        self.assertEqual({"export", "profile", "ab"}, ran.keys())
        columns, slowest = re.search(r"^(Operator .*)\n(\w+) .*f32\n", text, re.M).groups()
        for name in [*re.split("  +", columns), slowest]:
            self.assertIn(name, ran["profile"])
        self.assertRegex(ran["ab"], r"\(\d+ turns of \d+ calls? each, ")

    def test_the_recipe_for_ci_runs(self):
        recipe = re.search(r"^In CI: .*?^```\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)[1]
        os.symlink(os.environ["OPDYNO_PROGRAM"], self.path("opdyno"))
        npy = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }".ljust(117) + b"\n"
        pathlib.Path(self.path("input.npy")).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + npy + struct.pack("<4f", 1, 2, 3, 4))
        made = "opdyno run model.so -i x:4xf32=1,2,3,4 -o expected.npz && opdyno profile model.so --runs 20 -o before.jsonl"
        for script in (made, recipe):
            environment = os.environ | {"PATH": f"{self.directory.name}:{os.environ['PATH']}"}
            done = subprocess.run(["bash", "-ec", script], capture_output=True, text=True, timeout=120, cwd=self.directory.name, env=environment)
            self.assertIn(done.returncode, (0,) if script is made else (0, 1), done.stderr)
        self.assertIn("(total)", done.stdout)

    def test_pictures_exist_and_are_small(self):
        seen = set()
        for page in PAGES:
            for name in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text()):
                self.assertLessEqual((page.parent / name).stat().st_size, 100_000, f"{page.name} shows {name}")
                seen.add((page.parent / name).name)
        made = re.findall(r"^  picture (\w+) ", (ROOT / "tools/pictures").read_text(), re.M)
        kept = {path.name for path in (ROOT / "docs").glob("*.png")}
        self.assertEqual((seen, {f"{name}.png" for name in made}), (kept, kept), "shown, made and there are the same pictures")

    def test_every_environment_variable_that_the_code_reads_is_documented(self):
        code = "".join(p.read_text() for p in (ROOT / "src").rglob("*.cc"))
        page = (ROOT / "docs/environment.md").read_text()
        for name in sorted(set(re.findall(r'"((?:OPDYNO|TVM|OMP)_[A-Z_]+)"', code))):
            self.assertIn(f"`{name}`", page)

    def test_every_builtin_is_documented(self):
        code = "".join(p.read_text() for p in (ROOT / "src/vm/builtins").glob("*.cc"))
        page = (ROOT / "docs/builtins.md").read_text()
        names = re.findall(r'builtin<"([\w.]+)"', code)
        self.assertGreater(len(names), 60)
        for name in names:
            self.assertTrue(f"`{name}`" in page or f"`{name.removeprefix('vm.builtin.')}`" in page, name)

    def test_links_and_named_files_exist(self):
        for page in PAGES:
            for name in re.findall(r"`((?:src|include|tests|tools|docs|examples|third_party)/[\w./-]*)`", page.read_text()):
                self.assertTrue((ROOT / name).exists(), f"{page.name} names {name}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
