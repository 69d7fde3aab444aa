"""Executes the code blocks of README and docs/: C and C++ are built and run, assembly is assembled, lines of "sh" blocks
that begin with opdyno are run. README and the guides find what tools/demo leaves; other pages find a model.so whose main()
takes four float32 numbers, and a language model.

Run by ctest with OPDYNO_LIBRARY, OPDYNO_PROGRAM, OPDYNO_DIGITS, OPDYNO_ROOT, OPDYNO_BUILD, OPDYNO_FLAGS, CC and CXX in the
environment.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["OPDYNO_ROOT"])
GUIDES = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in ("profiling", "tracing", "diff"))]  # in their order
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OTHERS = [page for page in PAGES if page not in GUIDES]
SERVER = "127.0.0.1:9090"  # of docs/remote.md
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)


def blocks(*languages, pages=PAGES):
    for page in pages:
        text = page.read_text()
        for match in BLOCK.finditer(text):
            if match[1] in languages:
                yield f"{page.name}:{text[:match.start()].count(chr(10)) + 1}", match[1], match[2]


def run(*command, cwd=None):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd)


def clone(place):
    """A clone of which only the demo is built; what tools/demo then does is the demo's own script."""
    programs = place / "build/release/bin"
    programs.mkdir(parents=True)
    (programs / "opdyno").symlink_to(os.environ["OPDYNO_PROGRAM"])
    (programs / "digits").symlink_to(os.environ["OPDYNO_DIGITS"])
    (place / "examples").symlink_to(ROOT / "examples")
    (place / "tools").mkdir()
    last = (ROOT / "tools/demo").read_text().splitlines()[-1].partition(" || ")[0]
    (place / "tools/demo").write_text(f"#!/bin/sh\n{last}\n")
    (place / "tools/demo").chmod(0o755)


def commands(page):
    """What a reader types, in order: lines after "$ " with their continuations, and lines of "sh" blocks that run opdyno."""
    for block in re.finditer(r"^```(|sh)\n(.*?)^```", page.read_text(), re.M | re.S):
        for line in re.findall(r"^\$ (.*(?:\n> .*)*)" if not block[1] else r"^(opdyno .*)", block[2], re.M):
            yield line.replace("\n> ", "\n")


def anchors(page):
    """Of the headings of a page, as GitHub makes them."""
    for title in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S), re.M):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).strip().lower()
        yield re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


class Docs(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        shutil.copy(ROOT / "tests/interop/data/0.27/chain_100.so", self.path("model.so"))
        shutil.copytree(ROOT / "tests/interop/data/language", self.directory.name, dirs_exist_ok=True)
        os.mkdir(self.path("guides"))

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
        run(os.environ["OPDYNO_DIGITS"], ROOT / "examples/digits", self.path("guides"), cwd=self.directory.name)
        guided = [(block, self.path("guides")) for block in blocks("c", "cpp", pages=GUIDES)]
        others = [(block, self.directory.name) for block in blocks("c", "cpp", pages=OTHERS)]
        for (where, language, code), place in [*guided, *others]:
            seen.add(language)
            compiler, standard, suffix = ("CC", "c99", "c") if language == "c" else ("CXX", "c++17", "cc")
            source = self.path(f"block.{suffix}")
            if SERVER in code:
                code = code.replace(SERVER, self.server())
            pathlib.Path(source).write_text(code)
            built = run(os.environ[compiler], f"-std={standard}", "-Wall", "-Wextra", "-pedantic", source, "-o", self.path("block"), *flags)
            self.assertEqual(built.returncode, 0, f"{where}\n{built.stderr}")
            ran = run(self.path("block"), cwd=place)  # under AddressSanitizer a leak is an error
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
        for where, _, code in blocks("sh", pages=OTHERS):
            for line in code.splitlines():
                words = shlex.split(line, comments=True)
                if words[:1] != ["opdyno"]:
                    continue
                done = run(os.environ["OPDYNO_PROGRAM"], *words[1:], cwd=self.directory.name)
                self.assertEqual(done.returncode, 0, f"{where}: {line}\n{done.stderr}")
                count += 1
        self.assertGreater(count, 0)

    def test_readme_and_guides_can_be_followed_in_one_folder(self):
        """All commands, one after the other, by one shell in a new clone. Only --fail-above may end with 1, as it does if the
        machine is quiet enough to see the change. Of lines in "text" blocks nothing is run: they need a browser or a service."""
        place = pathlib.Path(self.path("clone"))
        clone(place)
        script = ["set -u"]
        for page in GUIDES:
            for number, line in enumerate(commands(page)):
                accepted = "[ $code = 0 ] || [ $code = 1 ]" if "--fail-above" in line else "[ $code = 0 ]"
                where = shlex.quote(f"{page.name}: {line}")
                line = re.sub(r"^opdyno ab ", "opdyno ab --budget 4 ", line)
                script.append(f"echo; echo @@ {page.name} {number}\n{line}\ncode=$?; {accepted} || {{ echo $code: {where} >&2; exit 1; }}")
        done = subprocess.run(["bash", "-c", "\n".join(script)], capture_output=True, text=True, timeout=400, cwd=place)
        self.assertEqual((0, ""), (done.returncode, "" if done.returncode == 0 else done.stderr))
        readme, profiling = (done.stdout.split(f"@@ {page} ", 1)[1] for page in ("README.md", "profiling.md"))
        self.assertIn("accuracy: 360 of 364", readme)
        self.assertIn("out: as expected", readme)
        self.assertRegex(readme, r"\(\d+ turns? of \d+ calls? each, ")
        for page, ran in zip(GUIDES, (readme, profiling)):  # the tables that they show have the columns and the operators of today
            table = re.search(r"^Operator .*\n(?:\w+ .*f32\n)+", page.read_text(), re.M)[0].splitlines()
            for name in [*re.split("  +", table[0]), *(line.split()[0] for line in table[1:])]:
                self.assertIn(name, ran)
        self.assertEqual([], [name for name in ("model.so", "out.npz") if (place / name).exists()], "the clone stays clean")

    def test_pages_show_the_same_figures_of_the_same_run(self):
        tables = {tuple(re.findall(r"^(?:conv2d|dense|max_pool2d|relu) .* f32$", page.read_text(), re.M)) for page in GUIDES[:2]}
        self.assertEqual(1, len(tables))

    def test_the_demo_fits_a_terminal(self):
        place = pathlib.Path(self.path("clone"))
        clone(place)
        shown = run("bash", "tools/demo", cwd=place)
        self.assertEqual(0, shown.returncode, shown.stderr)
        lines = shown.stdout.splitlines()
        self.assertLessEqual(len(lines), 24, shown.stdout)
        self.assertLessEqual(max(map(len, lines)), 80, shown.stdout)
        self.assertEqual(3, sum(line.startswith("  opdyno ") for line in lines))
        self.assertTrue((place / "build/demo/model.so").exists() and "/build/" in (ROOT / ".gitignore").read_text().split())

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
        table = page.split("The tests read these variables")[0]
        known = re.findall(r'"(OPDYNO_[A-Z_]+)"', (ROOT / "src/base/environment.cc").read_text())
        self.assertEqual(sorted(set(re.findall(r"^\| `(OPDYNO_[A-Z_]+)`", table, re.M))), sorted(known), "names for suggestions")

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
        for page in [*PAGES, ROOT / "CHANGELOG.md", *ROOT.glob("bindings/*/README.md"), *ROOT.glob("examples/*/README.md")]:
            text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
            for name, anchor in re.findall(r"\]\((?!http)([^)#\s]*)#?([^)]*)\)", text):
                target = page.parent / name if name else page
                self.assertTrue(target.exists(), f"{page.name} links {name}")
                self.assertTrue(not anchor or anchor in anchors(target), f"{page.name} links {name}#{anchor}")

    def test_the_index_links_every_page(self):
        linked = set(re.findall(r"\]\((\w[\w-]*\.md)\)", (ROOT / "docs/README.md").read_text()))
        self.assertEqual({page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}, linked)
        self.assertIn("](docs/README.md)", (ROOT / "README.md").read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
