"""Man pages and completions, which the program writes from its table of commands."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import textwrap
import unittest

PROGRAM = os.environ["OPDYNO_PROGRAM"]


def run(*words, **settings):
    return subprocess.run(words, capture_output=True, text=True, timeout=120, **settings)


def table():
    """The options of each command, as its help has them: name to (letter, whether a value follows)."""
    found = {}
    for command in re.findall(r"(?m)^  ([a-z]+) ", run(PROGRAM, "help").stdout.split("Commands:")[1]):
        if command != "help":
            options = re.findall(r"(?m)^  (?:-(\w), |    )--([a-z-]+)( [A-Z\[]\S*|\[=[A-Z]+\])?", run(PROGRAM, "help", command).stdout)
            found[command] = {name: (letter, value.startswith(" ")) for letter, name, value in options}
    return found


def plain(page):
    """What a reader sees of roff: fonts are gone, letters that have names are themselves."""
    page = re.sub(r"\\\[u([0-9A-F]{4,})\]", lambda found: chr(int(found[1], 16)), page)
    for name, letter in ("\\fB", ""), ("\\fI", ""), ("\\fR", ""), ("\\&", ""), ("\\(aq", "'"), ("\\(ga", "`"), ("\\(ha", "^"), ("\\(ti", "~"), ("\\-", "-"), ("\\e", "\\"):
        page = page.replace(name, letter)
    return page


def paragraphs(page, section):
    """The tagged paragraphs of a page's section: tag, text."""
    return [tuple(part.split("\n")[:2]) for part in page.split(f".SH {section}\n")[1].split(".SH ")[0].split(".TP\n")[1:]]


def filled(text, fixed):
    """Paragraphs in lines of 120 columns; a line that ends with a colon ends its paragraph, and fixed ones stay."""
    out, paragraph = [], []
    for line in text.splitlines() + [""]:
        if paragraph and (not line or line in fixed):
            out += textwrap.wrap(" ".join(paragraph), 120, break_long_words=False, break_on_hyphens=False)
            paragraph = []
        if line in fixed:
            out.append("  " + line)
        elif not line:
            out.append("")
        else:
            paragraph.append(line)
            if line.endswith(":"):
                out += textwrap.wrap(" ".join(paragraph), 120, break_long_words=False, break_on_hyphens=False)
                paragraph = []
    return "\n".join(out[:-1])


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.work = pathlib.Path(cls.directory.name)
        done = run(PROGRAM, "--generate-pages", cls.directory.name)
        assert done.returncode == 0, done.stderr
        cls.table = table()

    def test_each_command_has_a_page(self):
        self.assertGreater(len(self.table), 15)
        pages = {path.name for path in self.work.glob("*.1")}
        self.assertEqual({"opdyno.1", *(f"opdyno-{command}.1" for command in self.table)}, pages)
        overview = (self.work / "opdyno.1").read_text()
        for command, options in self.table.items():
            page = (self.work / f"opdyno-{command}.1").read_text()
            for part in ".TH ", ".SH NAME\n", ".SH SYNOPSIS\n", ".SH OPTIONS\n", ".SH EXAMPLES\n", ".SH EXIT STATUS\n":
                self.assertEqual(1, page.count(part), (command, part))
            for name, (letter, _) in options.items():
                begin = r"\fB\-%s\fR, " % letter if letter else ""
                self.assertIn("%s\\fB\\-\\-%s\\fR" % (begin, name.replace("-", "\\-")), page)
            self.assertIn("opdyno\\-%s\\fR(1)" % command, overview)
            self.assertTrue(page.isascii(), "letters beyond ASCII have numbers")

    def test_a_page_says_of_options_and_examples_what_help_says(self):
        for command in self.table:
            page = plain((self.work / f"opdyno-{command}.1").read_text())
            head, rest = run(PROGRAM, "help", command).stdout.split("\n\nOptions:\n")
            options, examples = (re.sub(r"\n {22,}", " ", part) for part in rest.split("\n\nExamples:\n"))
            shown = [re.sub(r" +", " ", f"{tag} {text}").removesuffix(" (may be repeated)") for tag, text in paragraphs(page, "OPTIONS")]
            self.assertEqual([re.sub(r" +", " ", line.strip()) for line in options.splitlines()], shown)
            shown = [line for line in sum(paragraphs(page, "EXAMPLES"), ()) if line]
            self.assertEqual([line.strip() for line in examples.splitlines()], shown)
            self.assertIn(page.split(".SH NAME\n")[1].split("\n")[0].split(" - ")[1].lower(), head.lower())

    def test_a_page_describes_a_command_as_help_does(self):
        """Help fills its paragraphs anew; a page leaves that to the reader, but for indented lines."""
        for command in self.table:
            page = (self.work / f"opdyno-{command}.1").read_text()
            usage, summary, *details = run(PROGRAM, "help", command).stdout.split("\n\nOptions:\n")[0].split("\n\n", 2)
            self.assertTrue(page.startswith(f'.TH OPDYNO\\-{command.upper()} 1 "" "opdyno '), page[:60])
            self.assertEqual(usage, "Usage: " + plain(page.split(".SH SYNOPSIS\n")[1].split("\n")[0]))
            self.assertEqual(bool(details), ".SH DESCRIPTION\n" in page)
            if not details:
                continue
            description = page.split(".SH DESCRIPTION\n")[1].split(".SH OPTIONS\n")[0]
            blocks = re.findall(r"(?ms)^\.RS 2\n\.nf\n(.*?)^\.fi\n\.RE\n", description)
            fixed = [line[2:] for line in details[0].split("\n") if line.startswith("  ")]
            self.assertEqual(fixed, plain("".join(blocks)).splitlines())
            rest = re.sub(r"(?m)^\.(RS 2|nf|fi|RE)\n", "", description)
            self.assertNotRegex(rest.replace(".PP\n", ""), r"(?m)^[.']")
            self.assertEqual(details[0].split(), plain(rest.replace(".PP\n", "\n")).split())
            self.assertEqual(details[0].count("\n\n"), description.count(".PP\n"))
            self.assertEqual(filled(plain(rest.replace(".PP\n", "\n")), set(fixed)), details[0])

    def test_each_page_has_the_exit_codes(self):
        codes = [tuple(line.split("  ")[1:]) for line in run(PROGRAM, "explain", "exit-codes").stdout.splitlines()[1:]]
        self.assertEqual(["0", "1", "2", "3", "4"], [code for code, _ in codes])
        for path in self.work.glob("*.1"):
            self.assertEqual(codes, paragraphs(plain(path.read_text()), "EXIT STATUS"), path.name)

    def test_the_overview_leads_to_each_command(self):
        page = (self.work / "opdyno.1").read_text()
        self.assertTrue(page.startswith('.TH OPDYNO 1 "" "opdyno '))
        self.assertIn("\n.SH SYNOPSIS\n\\fBopdyno\\fR \\fICOMMAND\\fR \\[u2026]\n", page)
        listed = run(PROGRAM, "help").stdout.split("Commands:\n")[1].split("\n\n")[0].splitlines()
        summaries = {line.split()[0]: re.split(r"  +", line.strip(), maxsplit=1)[-1] for line in listed}
        shown = dict(paragraphs(plain(page), "COMMANDS"))
        self.assertEqual([f"opdyno-{command}(1)" for command in self.table] + ["opdyno help [COMMAND]", "opdyno --version"], list(shown))
        for command in self.table:
            self.assertTrue(summaries[command].endswith(shown[f"opdyno-{command}(1)"]), command)
            self.assertTrue((self.work / f"opdyno-{command}.1").read_text().endswith("\n.SH SEE ALSO\n.BR opdyno (1)\n"))
        others = " ,\n".join(f".BR opdyno\\-{command} (1)" for command in self.table)
        self.assertEqual(others + "\n", page.split(".SH SEE ALSO\n")[1])

    def test_groff_and_mandoc_have_no_complaint(self):
        tools = [words for words in (["groff", "-ww", "-man", "-Tutf8"], ["mandoc", "-Tlint", "-Wwarning"]) if shutil.which(words[0])]
        if not tools:
            self.skipTest("skipped: neither groff nor mandoc is installed")
        for path in sorted(self.work.glob("*.1")):
            for words in tools:
                done = run(*words, str(path))
                said = done.stderr + (done.stdout if words[0] == "mandoc" else "")
                said = "\n".join(line for line in said.splitlines() if "missing date" not in line)
                self.assertEqual("", said, path.name)
                if words[0] == "groff" and path.name == "opdyno-dis.1":
                    self.assertIn("-o, --output FILE\n", re.sub("\x1b\\[[0-9;]*m|.\x08", "", done.stdout))

    def completed(self, *words, cwd=None):
        """What bash offers for the last of the words."""
        script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _opdyno; printf "%s\\n" "${COMPREPLY[@]}"'
        done = run("bash", "-c", script, "bash", str(self.work / "opdyno.bash"), *words, cwd=cwd)
        self.assertEqual((0, ""), (done.returncode, done.stderr), words)
        return done.stdout.split("\n")[:-1] if done.stdout != "\n" else []

    def test_bash_completes_commands_options_and_values(self):
        self.assertEqual({*self.table, "help", "--version", "--help"}, set(self.completed("opdyno", "")))
        self.assertEqual(["profile"], self.completed("opdyno", "pro"))
        self.assertEqual(["profile"], self.completed("opdyno", "help", "pro"))
        for command, options in self.table.items():
            self.assertEqual({f"--{name}" for name in options}, set(self.completed("opdyno", command, "--")) , command)
            letters = {f"-{letter}" for letter, _ in options.values() if letter}
            self.assertLessEqual(letters, set(self.completed("opdyno", command, "-")))
        self.assertEqual(["compiler"], self.completed("opdyno", "doctor", "--require", "comp"))
        self.assertEqual(["compiler"], self.completed("opdyno", "doctor", "--require", "=", "comp"))
        self.assertEqual(16 + 1, len(self.completed("opdyno", "doctor", "--require", "=")))
        self.assertEqual(["OPD_NOT_FOUND"], self.completed("opdyno", "explain", "OPD_NOT"))
        self.assertEqual([], self.completed("opdyno", "run", "m.so", "--seed", ""))
        self.assertEqual([], self.completed("opdyno", "none", "--"))

    def test_forms_are_those_of_the_command(self):
        common = ["table", "csv", "json", "markdown"]
        for command, more in ("report", ["html"]), ("diff", []), ("ab", ["sentence"]), ("compare", ["sentence", "html"]):
            self.assertEqual({*common, *more}, set(self.completed("opdyno", command, "a", "--as", "")), command)

    def test_bash_completes_files(self):
        place = self.work / "files"
        (place / "with space").mkdir(parents=True)
        for name in "model.so", "model of mine.so":
            (place / name).write_text("")
        self.assertEqual({"model.so", "model of mine.so"}, set(self.completed("opdyno", "run", "mod", cwd=place)))
        self.assertEqual(["with space"], self.completed("opdyno", "run", "m.so", "--output", "wi", cwd=place))
        self.assertEqual(["with space"], self.completed("opdyno", "run", "m.so", "-o", "wi", cwd=place))
        self.assertEqual(["view"], self.completed("opdyno", "trace", "v", cwd=place))
        self.assertEqual(["model.so"], self.completed("opdyno", "trace", "view", "model.", cwd=place))
        self.assertEqual(["model.so"], self.completed("opdyno", "bench", "--threads", "2", "model.s", cwd=place))

    def test_zsh_and_fish_know_each_option(self):
        zsh, fish = (self.work / "_opdyno").read_text(), (self.work / "opdyno.fish").read_text()
        self.assertTrue(zsh.startswith("#compdef opdyno\n"))
        for command, options in self.table.items():
            part = re.search(rf"(?m)^      {command}\)\n((?:        .*\n?)+)", zsh)[1]
            for name, (letter, has_value) in options.items():
                self.assertRegex(part, rf"'\*?--{name}{'=' if has_value else '(?:=-)?'}\[")
                self.assertRegex(fish, rf"(?m)^complete -c opdyno -n '__fish_seen_subcommand_from {command}' -l {name}{' -s ' + letter if letter else ''} .*-d '")
        for text, shell, words in (zsh, "zsh", ["-n"]), (fish, "fish", ["--no-execute"]):
            self.assertEqual(0, text.replace("'\\''", "").replace("\\'", "").count("'") % 2, "quotes are closed")
            if shutil.which(shell):
                done = run(shell, *words, str(self.work / ("_opdyno" if shell == "zsh" else "opdyno.fish")))
                self.assertEqual((0, ""), (done.returncode, done.stderr))

    def test_zsh_and_fish_are_told_values_letters_and_repetition(self):
        zsh, fish = (self.work / "_opdyno").read_text(), (self.work / "opdyno.fish").read_text()
        checks = run(PROGRAM, "doctor", "--require", "none").stderr.split("There are ")[1].split("\n")[0].replace(",", "")
        specs = {
            "dis": [
                "--python[print a Python script that builds the program with TVM instead]",
                "--output=[write the text to a file]:FILE:_files",
                "-o+[write the text to a file]:FILE:_files",
                "--help[show this help]",
                "-h[show this help]",
                "*:file:_files",
            ],
            "doctor": [
                f"*--require=[exit with 1 unless this check is ok]:NAME:({checks})",
                "--within=[wait so long for drivers, compilers and Python at most; 800ms]:TIME:",
                "--json[print JSON]",
                "--help[show this help]",
                "-h[show this help]",
            ],
            "trace": [
                "--output=[the file to write]:FILE:_files",
                "-o+[the file to write]:FILE:_files",
                "--form=[the form of the file, whatever its suffix]:FORM:",
                "*--label=[merge\\: the name of a process, in the order of the files]:NAME:",
                "--sort=[table\\: the largest first, by self (so on a terminal), total, mean or calls]:KEY:",
                "--top=[show only the N slowest operators; on a terminal 10, in a pipe all]:N:",
                "--wide[show the whole table on a terminal, too, as it goes into a pipe]",
                "--help[show this help]",
                "-h[show this help]",
                "1::word:(view recover table merge)",
                "*:file:_files",
            ],
        }
        for command, wanted in specs.items():
            lines = "".join(f" \\\n        '{spec}'" for spec in wanted)
            self.assertIn(f"      {command})\n        _arguments -s{lines} ;;\n", zsh)
        self.assertIn("\n        '--flush-cache=-[measure single calls with cold caches\\:", zsh)
        self.assertRegex(zsh, r"'--flush-cache=-\[[^]]*\]::SIZE:'")
        self.assertRegex(zsh, r"(?m)^    'explain:[^:']+'$")
        words = {
            "dis": [
                " -l python -d 'print a Python script that builds the program with TVM instead'",
                " -l output -s o -r -F -d 'write the text to a file'",
                " -l help -s h -d 'show this help'",
            ],
            "doctor": [
                f" -l require -x -a '{checks}' -d 'exit with 1 unless this check is ok'",
                " -l within -x -d 'wait so long for drivers, compilers and Python at most; 800ms'",
                " -l json -d 'print JSON'",
                " -l help -s h -d 'show this help'",
            ],
            "trace": [
                " -l output -s o -r -F -d 'the file to write'",
                " -l form -x -d 'the form of the file, whatever its suffix'",
                " -l label -x -d 'merge: the name of a process, in the order of the files'",
                " -l sort -x -d 'table: the largest first, by self (so on a terminal), total, mean or calls'",
                " -l top -x -d 'show only the N slowest operators; on a terminal 10, in a pipe all'",
                " -l wide -d 'show the whole table on a terminal, too, as it goes into a pipe'",
                " -l help -s h -d 'show this help'",
                " -a 'view recover table merge'",
            ],
        }
        for command, wanted in words.items():
            begin = f"complete -c opdyno -n '__fish_seen_subcommand_from {command}'"
            self.assertEqual([begin + words for words in wanted], [line for line in fish.splitlines() if line.startswith(begin)])
        self.assertRegex(fish, "-l flush-cache -d 'measure single calls")
        self.assertIn(r"-d 'measure the processors\' arithmetic and memory bandwidth'", fish)
        for command in self.table:
            self.assertEqual(1, fish.count(f"complete -c opdyno -n __fish_use_subcommand -a {command} -d '"))
        everything = " ".join([*self.table, "help"])
        self.assertTrue(fish.endswith(
            "complete -c opdyno -n __fish_use_subcommand -a help -d 'show how a command is used'\n"
            f"complete -c opdyno -n '__fish_seen_subcommand_from help' -f -a '{everything}'\n"))

    def test_a_directory_that_is_not_there_is_an_error(self):
        done = run(PROGRAM, "--generate-pages", str(self.work / "none"))
        self.assertEqual(4, done.returncode)
        self.assertIn("cannot write", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
