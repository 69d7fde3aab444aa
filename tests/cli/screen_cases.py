"""What a person sees first: reports on a terminal, files by their suffix, hints at what was meant."""

import json
import re

from case import FAILED, USAGE, WORK, CliTest

COLORS = re.compile("\033\\[[0-9;]*m")
LONG_SHAPES = "float32[1, 64, 56, 56], float32[64, 64, 3, 3], float32[64], float32[1, 64, 56, 56]"


def call(name, us, shapes=LONG_SHAPES, **more):
    row = {
        "Name": {"string": name},
        "Duration (us)": {"microseconds": us},
        "Percent": {"percent": us / 10},
        "Device": {"string": "cpu0"},
        "Count": {"count": 1},
        "Argument Shapes": {"string": shapes},
    }
    return dict(row, **more)


def write_report(name="screen.json", **configuration):
    """1000 µs: conv2d 810 at 3 % of the peak, twelve others of 15 each, and dispatch."""
    calls = [call("conv2d", 810, **{"Percent of Peak": {"percent": 3.0}})]
    calls += [call("fused_batch_norm_and_a_very_long_name_%d" % i, 15) for i in range(12)]
    calls += [call("(dispatch)", 10, shapes="", **{"Row Kind": {"string": "dispatch"}})]
    report = {
        "calls": calls,
        "device_metrics": {"cpu0": {"Duration (us)": {"microseconds": 1000.0}, "Device": {"string": "cpu0"}}},
        "configuration": {key: {"string": text} for key, text in configuration.items()},
    }
    (WORK / name).write_text(json.dumps(report))
    return name


class Screen(CliTest):
    def test_no_line_is_wider_than_the_terminal(self):
        name = write_report()
        for columns in (40, 60, 80, 120):
            for line in COLORS.sub("", self.on_terminal("report", name, columns=columns)).splitlines():
                self.assertLessEqual(len(line), columns, line)

    def test_diffs_hints_and_help_fit_the_terminal(self):
        for name, factor in ("old.jsonl", 1), ("new.jsonl", 1.4):
            lines = [json.dumps({"calls": [call("conv2d", 100 * factor + i), call("relu", 10 + i, "float32[4]"), call("relu", 20, "float32[8]")]})
                     for i in range(6)]
            (WORK / name).write_text("\n".join(lines))
        for words in ("diff", "old.jsonl", "new.jsonl"), ("info", "--collectors"), ("help", "diff"), ("help", "profile"):
            for columns in (60, 80, 120):
                for line in self.on_terminal(*words, columns=columns).splitlines():
                    self.assertLessEqual(len(line), columns, line)
        text = self.on_terminal("diff", "old.jsonl", "new.jsonl")
        self.assertRegex(text, r"(?m)^conv2d +[\d.]+ +[\d.]+ +\+\d\d\.\d\d % .* regression$")
        self.assertIn("relu (float32[4])", text)
        self.assertIn("conv2d (float32[1, 64", self.succeeds("diff", "old.jsonl", "new.jsonl"))

    def test_two_operators_never_get_the_same_short_name(self):
        names = ["fused_conv2d_add_relu", "fused_conv2d1_add_relu", "fused_conv2d12_add_relu", "fused_conv2d_add_add_relu"]
        names += ["fused_transpose_reshape_%d_with_the_same_long_end_%d_of_all" % (i, j) for i in range(3) for j in range(3)]
        for file, us in ("short.json", 10), ("shorter.json", 12):
            calls = [call(name, us + i) for i, name in enumerate(names)]
            (WORK / file).write_text(json.dumps({"calls": calls, "device_metrics": {}, "configuration": {}}))
        for words in ("report", "short.json", "--top", "20"), ("diff", "short.json", "shorter.json"):
            for columns in (40, 60, 80, 120):
                text = COLORS.sub("", self.on_terminal(*words, columns=columns))
                shown = re.findall(r"(?m)^(fused_\S+) +(?:[\d.]|<)", text) if words[0] == "report" else re.findall(r"(?m)^(f\S*…\S*|fused\S+) +[\d.+<-]", text)
                self.assertEqual(len(names), len(set(shown)), (words, columns, text))

    def test_no_shape_is_cut_in_the_middle(self):
        whole = ["1x64x56x56", "64x64x3x3", "64", "1x64x56x56"]
        wanted = {"…"} | {
            " ".join([*whole[:shown], *["…"][: shown < 4], *dtype]) for shown in range(1, 5) for dtype in ([], ["f32"])
        }
        found = set()
        for columns in range(60, 140):
            text = COLORS.sub("", self.on_terminal("report", write_report(), columns=columns))
            header, line = (next(l for l in text.splitlines() if l.startswith(start)) for start in ("Operator", "conv2d"))
            if "Shapes" in header:
                found.add(line[header.index("Shapes") :].strip())
        self.assertLessEqual(found, wanted)
        self.assertIn("1x64x56x56 … f32", found)
        self.assertIn(" ".join(whole) + " f32", found)

    def test_a_call_that_failed_is_named_above_the_table(self):
        words = ["profile", "fails_inside.opdasm", "--import", "kernels.c", "-i", "4xf32=1"]
        text = COLORS.sub("", self.on_terminal(*words, code=FAILED))
        self.assertTrue(text.lstrip("\r\033[K").startswith("fails failed: fails: it always does"), text)
        self.assertRegex(text, r"(?m)^opdyno profile: .*it always does")

    def test_the_slowest_ten_come_with_what_the_rest_takes(self):
        text = COLORS.sub("", self.on_terminal("report", write_report()))
        self.assertRegex(text, r"(?m)^conv2d +810 µs +81\.0 %")
        self.assertIn("4 more rows, 5.5 %\n", text)  # 3 x 15 + 10 of 1000 µs
        self.assertIn("1x64x56", text)
        self.assertIn("8 more rows", COLORS.sub("", self.on_terminal("report", write_report(), "--top", "6")))

    def test_a_sentence_says_what_helps(self):
        text = COLORS.sub("", self.on_terminal("report", write_report(), columns=200))
        self.assertIn(
            "conv2d takes 81 % of the time but reaches 3.0 % of peak: a faster kernel would help; dispatch 1.0 %\n", text
        )

    def test_colours_are_left_out_where_they_are_not_wanted(self):
        name = write_report()
        self.assertRegex(self.on_terminal("report", name), COLORS)
        self.assertIn("█", self.on_terminal("report", name))
        self.assertNotRegex(self.on_terminal("report", name, NO_COLOR="1"), COLORS)
        self.assertNotRegex(self.succeeds("report", name, "--top", "3"), COLORS)

    def test_a_pipe_and_wide_have_the_whole_table(self):
        name = write_report()
        whole = self.succeeds("report", name)
        self.assertIn(LONG_SHAPES, whole)
        self.assertEqual(whole, self.on_terminal("report", name, "--wide"))
        self.assertIn("exclude each other", self.fails(USAGE, "report", name, "--wide", "--top", "3"))

    def test_what_one_must_know_first_is_above_the_table(self):
        name = write_report("warned.json", **{"Collector error: mine": "it broke"})
        self.assertTrue(self.succeeds("report", name, "--top", "3").startswith("collector mine failed: it broke\n"))
        self.succeeds("report", name, "-o", "warned.html")
        page = (WORK / "warned.html").read_text()
        self.assertLess(page.index("collector mine failed: it broke"), page.index("<table>"))

    def test_functions_are_shown_by_their_own_time(self):
        outer = call("function", 900, **{"Self (us)": {"microseconds": 100.0}})
        inner = call("kernel", 800, **{"Self (us)": {"microseconds": 800.0}, "Depth": {"count": 1}})
        report = {"calls": [inner, outer], "device_metrics": {}, "configuration": {}}
        (WORK / "nested.json").write_text(json.dumps(report))
        text = self.succeeds("report", "nested.json", "--top", "5")
        self.assertRegex(text, r"(?m)^function +100 µs +11\.1 % +1 +900 µs")
        self.assertRegex(text, r"(?m)^kernel +800 µs +88\.9 %")
        self.assertIn("kernel takes 89 % of the time", text)

    def test_times_have_the_unit_that_reads_best(self):
        calls = [call("a", 2.5e6), call("b", 1234.5), call("c", 0.25), call("d", 0)]
        (WORK / "units.json").write_text(json.dumps({"calls": calls}))
        text = self.succeeds("report", "units.json", "--top", "5")
        for time in ("2.50 s", "1.23 ms", "0.25 µs", "<0.01 µs"):
            self.assertRegex(text, r"(?m)^[abcd] +%s " % re.escape(time))


class Suffixes(CliTest):
    def test_the_form_follows_the_suffix(self):
        name = write_report()
        for suffix, begin in ((".html", "<!DOCTYPE"), (".csv", "Argument Shapes,"), (".md", "| Name |"),
                              (".json", "{\"calls\""), (".txt", "Name  "), ("", "Name  ")):
            self.succeeds("report", name, "-o", "form" + suffix)
            self.assertTrue((WORK / ("form" + suffix)).read_text().startswith(begin), suffix)
        self.succeeds("report", name, "--as", "csv", "-o", "form.html")
        self.assertTrue((WORK / "form.html").read_text().startswith("Argument Shapes,"), "--as decides")

    def test_profile_writes_them_too(self):
        words = ("symbolic.opdasm", "--dim", "n=4")
        for suffix, begin in ((".html", "<!DOCTYPE"), (".csv", "Argument Shapes,"), (".md", "| Name |"),
                              (".json", "{\"calls\""), ("", "{\"calls\"")):
            self.kernel(*words, "-o", "profiled" + suffix, command="profile")
            self.assertTrue((WORK / ("profiled" + suffix)).read_text().startswith(begin), suffix)
        message = self.kernel(*words, "--runs", "2", "-o", "x.html", command="profile", expect=USAGE).stderr
        self.assertIn("--runs writes a report a line, which only JSON can hold", message)


class Hints(CliTest):
    def test_an_input_that_is_no_type_is_told_what_was_meant(self):
        for spec, hint in (
            ("x=@two.npz", "write x:@two.npz"),
            ("x=1,2,3,4", "write x:4x8xf32=1,2,3,4"),
            ("x=2x2xf32=@x.npy", "write x:2x2xf32=@x.npy"),
            ("4x8=0", "'4x8' has sizes but no dtype; write 4x8xf32"),
            ("two.npz", "'two.npz' is a file; its tensor is read by @two.npz"),
            ("x:two.npz", "'two.npz' is a file; its tensor is read by x:@two.npz"),
        ):
            self.assertIn(hint, self.kernel("add_one.opdasm", "-i", spec, expect=USAGE).stderr)

    def test_help_shows_examples(self):
        for command in ("info", "inspect", "run", "bench", "profile", "record", "top", "ab", "report", "diff", "as", "dis", "export"):
            self.assertIn("\nExamples:\n  opdyno " + command, self.succeeds("help", command))

    def test_counters_that_a_warm_up_empties_are_explained(self):
        words = ("symbolic.opdasm", "--dim", "n=4", "--collector", "memory")
        self.assertRegex(self.kernel(*words, command="profile").stdout, r"(?m)^Hint: .*Allocated \(bytes\).*--warmup 0")
        self.assertNotIn("Hint:", self.kernel(*words, "--warmup", "0", command="profile").stdout)

    def test_papi_is_no_part_of_the_build(self):
        text = self.succeeds("--version")
        self.assertRegex(text, r"(?m)^loaded when asked for: papi \((counts here|cannot count here: .+)\)$")
        self.assertNotRegex(text, r"(?m)^not built in: .*papi")

    def test_info_names_what_can_be_counted_in_part(self):
        text = self.succeeds("info", "--collectors")
        self.assertRegex(text, r"perf .*\n +here: (yes|in part, as --collector perf:task-clock,page-faults|no: )")
