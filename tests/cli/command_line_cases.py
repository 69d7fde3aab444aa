"""The command line: the layout of its help, what it refuses, and the text files that it reads."""

import json
import os
import re
import socket
import textwrap

import npy
from case import FAILED, HERE, OK, REFUSED, USAGE, WORK, CliTest, run

COMMANDS = ["info", "doctor", "explain", "inspect", "run", "bench", "profile", "replay", "record", "top", "trace", "serve", "report", "diff", "ab", "compare", "as", "dis", "export"]
JSON = (HERE.parent / "data" / "report" / "sample.json").read_text().strip()


class CommandLine(CliTest):
    def test_all_commands_stand_in_one_column(self):
        lines = self.succeeds("help").splitlines()
        self.assertEqual(
            ["Usage: opdyno COMMAND …", "", "Runs compiled tensor programs and shows where the time goes.", "", "Commands:"], lines[:5])
        listed = lines[5 : lines.index("", 5)]
        self.assertEqual(COMMANDS + ["help"], [line.split()[0] for line in listed])
        for line in listed:
            self.assertRegex(line, r"^  \S.{0,17} {2,}\S")
            self.assertEqual(("  ", True), (line[20:22], line[22] != " "), line)
        self.assertEqual(
            ["'opdyno --version' shows the version and what was built in.", "",
             "Exit codes: 0 ok, 1 a comparison or check failed, 2 wrong usage, 3 the module was refused, 4 an error while running."],
            lines[lines.index("", 5) + 1 :])

    def test_a_commands_options_stand_in_one_column(self):
        for command in COMMANDS:
            text = self.succeeds("help", command)
            head, rest = text.split("\n\nOptions:\n")
            self.assertRegex(head, r"^Usage: opdyno %s( [^\n]+)? \[OPTION\]…\n\n[A-Z][^\n]+($|\n\n)" % command)
            options, examples = rest.split("\n\nExamples:\n")
            found = []
            for line in options.splitlines():
                if line.startswith(" " * 30):  # goes on
                    self.assertNotEqual(" ", line[30])
                    continue
                option = re.match(r"^  (?:-(\w), |    )--([a-z-]+)(\[=[A-Z]+\]| \S+)?(.*)$", line)
                self.assertTrue(option, line)
                if option[4]:
                    self.assertEqual((" ", True), (line[29], line[30] != " "), line)
                found.append(option[2])
            self.assertEqual("help", found[-1])
            self.assertEqual(len(found), len(set(found)))
            for line in examples.splitlines():
                self.assertRegex(line, r"^  opdyno %s( |$)|^      \S" % command)
        text = self.succeeds("help", "as")
        self.assertEqual(
            "Usage: opdyno as IN OUT [OPTION]…\n\nAssemble a VM program from text\n\nIN is VM assembly, OUT the VM executable to "
            "write; - stands for standard input and output.\n\nOptions:\n  -h, --help                  show this help\n\n"
            "Examples:\n  opdyno as program.opdasm program.vmexec\n", text)

    def test_each_refusal_says_what_is_expected(self):
        (WORK / "refused.json").write_text(JSON)
        (WORK / "refused.npy").write_bytes(b"")
        for words, message in (
            (("ab", "a", "b", "--as", "x"), "option '--as' takes sentence, table, markdown, csv or json, not 'x'"),
            (("diff", "refused.json", "refused.json", "--as", "x"), "option '--as' takes table, json, markdown or csv, not 'x'"),
            (("diff", "refused.json", "refused.json", "--min-share", "101%"), "option '--min-share' takes a share of the time, at most 100%"),
            (("bench", "--copies=0"), "option '--copies' takes sizes from 1 to 1T, as 4K,1M,64M, not '0'"),
            (("bench", "--copies=2T"), "option '--copies' takes sizes from 1 to 1T, as 4K,1M,64M, not '2T'"),
            (("bench", "m", "--copies=4K"), "--copies measures no module: leave MOD out, or leave --copies out"),
            (("info", "--collectors", "--json"), "option '--collectors' has no JSON"),
            (("record", "p", "--seconds", "25h"), "option '--seconds' takes a time of at most 24h"),
            (("report", "refused.json", "--as", "x"), "--as: 'x' is none of table, csv, json, markdown and html"),
            (("run", "identity.opdasm", "-i", "4xf32", "--allocator", "x"), "option '--allocator' takes pooled or naive, not 'x'"),
            (("run", "identity.opdasm", "-i", "4x8"), "input '4x8': '4x8' has sizes but no dtype; write 4x8xf32 for float32"),
            (("run", "identity.opdasm", "-i", "f32"), "input 'f32': 'f32' has no sizes; write 0dxf32 for a tensor without dimensions, or i64=, f64= or bool= for a plain number"),
            (("run", "identity.opdasm", "-i", "4xf32=@"), "input '4xf32=@': a file name must follow '@'"),
            (("run", "identity.opdasm", "-i", "1xf32=1,x"), "input '1xf32=1,x': 'x' is not a number; a tensor is filled by a number, a list as 1,2,3, rand(lo,hi), range, @x.npy or @file.npz:key"),
            (("run", "identity.opdasm", "-i", "1xf32=rand(2,1)"), "rand takes two numbers, the lower first: rand(0,1)"),
            (("run", "identity.opdasm", "-i", "1xf32=rand(1)"), "rand takes two numbers, the lower first: rand(0,1)"),
            (("run", "identity.opdasm", "-i", "shape(2,x)"), "'x' is not an integer; write shape(2,3)"),
            (("run", "identity.opdasm", "-i", "tuple(a:i64=1)"), "the items of a tuple have no names"),
            (("run", "identity.opdasm", "-i", "i64=x"), "write i64=7"),
            (("run", "identity.opdasm", "-i", "f64"), "write f64=0.5"),
            (("run", "identity.opdasm", "-i", "bool=2"), "write bool=true"),
            (("run", "identity.opdasm", "-i", "x=1"), "'x' is not a type; if it is the name of a parameter, write x:4x8xf32=1"),
            (("run", "identity.opdasm", "-i", "x=@f"), "'x' is not a type; if it is the name of a parameter, write x:@f"),
            (("run", "identity.opdasm", "-i", "x=2x2xf32=@f"), "'x' is not a type; if it is the name of a parameter, write x:2x2xf32=@f"),
            (("run", "identity.opdasm", "-i", "x-y"), "'x-y' is not a type; write sizes and a dtype as 4x8xf32, a scalar as i64=7 or f64=0.5, or shape(2,3)"),
            (("run", "identity.opdasm", "-i", "refused.npy"), "'refused.npy' is a file; its tensor is read by @refused.npy"),
            (("run", "identity.opdasm", "-i", "w:refused.npy"), "'refused.npy' is a file; its tensor is read by w:@refused.npy"),
            (("run", "identity.opdasm", "-i", "tuple(" * 17 + "i64=1" + ")" * 17), "an input has tuples nested more than 16 deep, which no program takes"),
            (("serve", "--listen", "127.0.0.1:0", "--tracker", "127.0.0.1:1"), "option '--tracker' needs --key, the name to be found by"),
            (("serve", "--listen", "127.0.0.1:0", "--tracker", "127.0.0.1:1", "--key", "a b"), "option '--key' takes a name without spaces"),
        ):
            self.assertIn(message, self.fails(USAGE, *words), words)

    def test_errors_end_with_the_next_step(self):
        (WORK / "no_result.json").write_text("{}")
        npy.save(WORK / "no_out.npz", x=([4], [1, 2, 3, 4]))
        taken = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(taken.close)
        run_x = ("run", "add_one.opdasm", "--import", "kernels.c", "-i", "4xf32")
        for step, code, *words in (
            ("help run", USAGE, "run"),
            ("explain OPD_NOT_FOUND", FAILED, "report", "nowhere.json"),
            ("explain OPD_NOT_FOUND", FAILED, *run_x, "-o", "nowhere/y.npz"),
            ("explain OPD_NOT_FOUND", REFUSED, "run", "nowhere.opdasm"),
            ("explain OPD_IO", FAILED, "diff", "/proc/self/mem", "no_result.json"),
            ("explain OPD_IO", FAILED, "serve", "--listen", "127.0.0.1:%d" % taken.getsockname()[1]),
            ("explain OPD_BAD_FORMAT", FAILED, "bench", *run_x[1:], "--compare", "no_result.json"),
            ("inspect kernels.c", REFUSED, "dis", "kernels.c"),
            ("inspect kernels.c", REFUSED, "replay", "x.opdrec", "--with", "kernels.c"),
            ("info no_out.npz", FAILED, *run_x, "--expect", "no_out.npz"),
            ("doctor", FAILED, *run_x, "--device", "metal:0"),
        ):
            message = self.check(code, *words, silent=False).stderr
            self.assertTrue(message.endswith("\nTry 'opdyno %s'.\n" % step), (words, message))

    def test_a_file_of_another_kind_is_named_with_the_command_that_takes_it(self):
        (WORK / "kind.json").write_text('{"calls":[],"device_metrics":{},"configuration":{}}')
        (WORK / "kind.csv").write_text('Count,Duration (us),Name\n1,2.5,"add"\n')
        (WORK / "kind.events").write_bytes(b"opdynoE1" + bytes(64))
        (WORK / "kind.opdrec").write_bytes(b"opdynoR1" + bytes(64))
        (WORK / "kind.html").write_text("<!DOCTYPE html>\n")
        (WORK / "trace.json").write_text('{"schemaVersion": 1, "traceEvents": []}')
        (WORK / "model").write_bytes(b"\x08\x08\x12\x07pytorch\x1a\x05")  # ONNX: a version and a producer
        npy.save(WORK / "kind.npz", x=([4], [1, 2, 3, 4]))
        said = {
            "kind.json": "is a profile's report: opdyno report kind.json",
            "kind.csv": "is a report as CSV: opdyno report kind.csv",
            "kind.events": "is a recording of a process: opdyno trace table kind.events",
            "kind.opdrec": "is a recorded call: opdyno replay kind.opdrec",
            "kind.html": "is a page for a browser",
            "trace.json": "is a trace for viewers",
            "model": "is a model for ONNX: compile it with TVM first",
            "kind.npz": "is a file of arrays: opdyno info kind.npz",
        }
        takers = {"report": ("kind.json", "kind.csv"), "diff": ("kind.json", "kind.csv"), "replay": ("kind.opdrec",), "info": ("kind.npz",)}
        for command in ("inspect", "run", "info", "report", "replay", "dis", "diff", "trace"):
            for file, message in said.items():
                words = (command, "table", file) if command == "trace" else (command, file, file) if command == "diff" else (command, file)
                result = run(*words)
                if file in takers.get(command, ()) or (command, file) == ("trace", "kind.events"):
                    self.assertNotIn(message, result.stderr, words)
                elif (command, file) != ("diff", "kind.events"):
                    self.assertIn(message, result.stderr, words)

    def test_a_program_without_functions_is_refused(self):
        (WORK / "no_functions.opdasm").write_text("\n")
        for words in ("run",), ("profile",), ("bench",), ("compare", "no_functions.opdasm"), ("run", "--record", "none.opdrec"):
            self.assertIn("the program has no functions", self.fails(REFUSED, words[0], "no_functions.opdasm", *words[1:]))
        self.assertIn("It has none", self.fails(USAGE, "run", "no_functions.opdasm", "main"))

    def test_dtypes_of_odd_widths_are_refused(self):
        for dtype in "f33", "f39", "f65":
            self.assertIn("cannot be read or made here", self.fails(FAILED, "run", "identity.opdasm", "-i", "4x%s=0" % dtype))

    def test_a_warning_is_marked_as_one(self):
        result = self.check(
            OK, "profile", "add_one.opdasm", "--import", "kernels.c", "-i", "4xf32", silent=False, env=dict(os.environ, OPDYNO_NUM_THREADS="many"))
        self.assertEqual(
            'opdyno: warning: OPDYNO_NUM_THREADS is "many", which is not a number of threads; it is ignored\n', result.stderr)

    def test_pages_of_errors_fit_a_terminal_of_40_to_100_columns(self):
        words = self.succeeds("explain", "OPD_UNSUPPORTED").split("\n\n")[1].split()
        for columns in 20, 40, 61, 100, 101, 150:
            shown = self.on_terminal("explain", "OPD_UNSUPPORTED", columns=columns).split("\n\n")[1]
            width = min(max(columns, 40), 100)
            self.assertEqual(textwrap.fill(" ".join(words), width, break_long_words=False, break_on_hyphens=False), shown, columns)

    def test_what_is_no_command_is_told(self):
        self.assertEqual("opdyno: help takes one command\nTry 'opdyno help'.\n", self.fails(USAGE, "help", "run", "bench"))
        self.assertEqual("opdyno: unknown option '-x'.\nTry 'opdyno help'.\n", self.fails(USAGE, "-x"))
        self.assertEqual(self.succeeds("--version"), self.succeeds("version"))
        self.assertEqual(
            "opdyno as: expected IN OUT after 'as', found a b c\nTry 'opdyno help as'.\n", self.fails(USAGE, "as", "a", "b", "c"))
        self.assertEqual(
            "opdyno dis: expected IN after 'dis', found nothing\nTry 'opdyno help dis'.\n", self.fails(USAGE, "dis"))
        self.assertEqual(
            "opdyno info: cannot open none: No such file or directory\nTry 'opdyno explain OPD_NOT_FOUND'.\n",
            self.fails(FAILED, "info", "none"))


class ReportFiles(CliTest):
    def test_lines_of_json_may_be_empty_and_are_counted(self):
        mark = b"\xef\xbb\xbf".decode()
        for content, count in (
            (JSON, 1), (mark + JSON, 1), ("\n \t" + JSON + "\n\n", 1), (JSON + "\n" + JSON, 2), (JSON + "\n\n  \r\n" + JSON + "\r\n", 2),
            (json.dumps(json.loads(JSON), indent=1), 1),
        ):
            (WORK / "lines.jsonl").write_text(content)
            text = self.succeeds("diff", "lines.jsonl", "lines.jsonl")
            self.assertRegex(text, r"(?m)^matmul .* %d \+ %d$" % (count, count))
        for content, line in (JSON + "\n{", 2), (JSON + "\n\n\n{", 4), (JSON + "\n" + JSON + "\n[]", 3):
            (WORK / "lines.jsonl").write_text(content)
            self.assertIn("opdyno diff: lines.jsonl, line %d: report: " % line, self.fails(FAILED, "diff", "lines.jsonl", "lines.jsonl"))

    def test_directories_are_read_in_the_order_of_their_names(self):
        directory = WORK / "ordered"
        directory.mkdir(exist_ok=True)
        for name, us in ("c.json", 300), ("a.jsonl", 100), ("b.json", 200), ("d.txt", 400):
            (directory / name).write_text(json.dumps({"calls": [{"Name": {"string": "f"}, "Duration (us)": {"microseconds": us}}]}))
        other = WORK / "paired.jsonl"
        other.write_text("".join(
            json.dumps({"calls": [{"Name": {"string": "f"}, "Duration (us)": {"microseconds": us}}]}) + "\n" for us in (110, 220, 330)))
        text = self.succeeds("diff", "ordered", "paired.jsonl", "--paired")  # in another order the pairs differ
        self.assertRegex(text, r"(?m)^f .*\+10\.00 % .* 3 \+ 3$")
        (WORK / "bare_directory").mkdir(exist_ok=True)
        self.assertEqual(
            "opdyno diff: the directory bare_directory holds no .json or .jsonl files\n",
            self.fails(FAILED, "diff", "bare_directory", "ordered"))
        self.assertEqual(
            "opdyno diff: 'ordered,,ordered' has an empty file name; separate names by a comma alone\nTry 'opdyno help diff'.\n",
            self.fails(USAGE, "diff", "ordered,,ordered", "ordered"))

    def test_a_summary_has_bounds(self):
        (WORK / "one.json").write_text(JSON)
        for rows in "0", "1000001":
            message = "option '--top' takes an integer from 1 to 1000000, not '%s'" % rows
            self.assertIn(message, self.fails(USAGE, "report", "one.json", "--top", rows))
        self.assertRegex(self.succeeds("report", "one.json", "--top", "1"), r"\n\d+ more rows, \d+\.\d %\n")
        for suffix in ".markdown", ".MD":
            self.succeeds("report", "one.json", "-o", "form" + suffix)
            self.assertTrue((WORK / ("form" + suffix)).read_text().startswith("| Name |"))
        for suffix in ".htm", ".jsonl":
            self.succeeds("report", "one.json", "-o", "form" + suffix)
        said = self.check(OK, "report", "one.json", "-o", "form.arrow", silent=False).stderr
        self.assertEqual("opdyno: no form of reports has the suffix .arrow, so form.arrow is written as table\n", said)
        self.assertEqual(JSON + "\n", (WORK / "form.jsonl").read_text())

    def test_counters_that_stay_0_after_a_warm_up_are_named(self):
        text = self.kernel("add_one.opdasm", "-i", "4xf32", "--collector", "memory", command="profile").stdout
        found = re.search(r"(?m)^Hint: (.*) (is|are) 0 in all calls, which come after a warm-up; --warmup 0 measures the first call$", text)
        self.assertTrue(found, text)
        self.assertEqual(found[2], "are" if "," in found[1] else "is")
        self.assertTrue(set(found[1].split(", ")) <= {"Allocated (bytes)", "Freed (bytes)", "Peak (bytes)"}, found[1])
