"""The command diff, on reports that are made up, so that no verdict depends on the machine."""

import csv
import io
import json
import shutil

from case import *


def spread(middle, runs, width):
    """Times around a middle, no two of them equal, in an order in which neighbours do not resemble each other."""
    return [middle * (1 + width * ((i * 7 % runs) / (runs - 1) - 0.5)) if runs > 1 else middle for i in range(runs)]


def write(name, operators):
    """A file with a report a line: for each operator its time in each run, or None."""
    runs = max(len(times) for times in operators.values())
    with open(WORK / name, "w") as out:
        for run_ in range(runs):
            calls = [
                {
                    "Name": {"string": operator},
                    "Duration (us)": {"microseconds": times[run_] / 2},
                    "Device": {"string": "cpu0"},
                    "Argument Shapes": {"string": "float32[4]"},
                }
                for operator, times in operators.items()
                for _half in range(2)  # the calls of a run are summed
            ]
            out.write(json.dumps({"calls": calls, "device_metrics": {}, "configuration": {}}) + "\n")


class Diff(CliTest):
    @classmethod
    def setUpClass(cls):
        steady = {"matmul": spread(500, 13, 0.01), "softmax": spread(40, 13, 0.01)}
        write("before.jsonl", {**steady, "gone": spread(5, 13, 0.01)})
        write("slower.jsonl", {**steady, "matmul": spread(550, 13, 0.01), "fresh": spread(7, 13, 0.01)})
        write("few.jsonl", {"matmul": spread(500, 3, 0.01)})
        write("few_slower.jsonl", {"matmul": spread(600, 3, 0.01)})

    def row(self, text, operator):
        (line,) = [line for line in text.splitlines() if line.startswith(operator + " (float32[4])")]
        return line

    def test_a_slower_operator_is_a_regression_and_fails_above_the_limit(self):
        answer = self.check(MISMATCH, "diff", "before.jsonl", "slower.jsonl", "--fail-above", "3%")
        row = self.row(answer.stdout, "matmul")
        self.assertRegex(row, r"500\.00 +550\.00 +\+10\.00 % .* \+9\.17 %  regression +13 \+ 13$")  # 50 of 545 us
        self.assertIn("opdyno diff: matmul (float32[4]) is slower by +10.00 % (", answer.stderr)
        self.assertRegex(self.row(answer.stdout, "softmax"), r"\+0\.00 % .* same ")
        self.assertRegex(self.row(answer.stdout, "fresh"), r"- +7\.00 .* new +0 \+ 13$")
        self.assertRegex(self.row(answer.stdout, "gone"), r" 5\.00 .* vanished +13 \+ 0$")
        self.assertIn("opdyno diff: (total) is slower by +9.5", answer.stderr)
        lines = answer.stdout.splitlines()
        self.assertEqual(["(total)", "matmul"], [line.split()[0] for line in lines[1:3]])  # what matters comes first
        for limit in ("0", "0%"):
            answer = self.check(MISMATCH, "diff", "before.jsonl", "slower.jsonl", "--fail-above", limit)
            self.assertIn("opdyno diff: matmul (float32[4]) is slower by +10.00 % (", answer.stderr)
            self.assertIn("more than 0.0 %", answer.stderr)
        self.succeeds("diff", "before.jsonl", "slower.jsonl")  # without a limit nothing is judged
        self.succeeds("diff", "before.jsonl", "slower.jsonl", "--fail-above", "0.12", "--min-share", "5%")
        self.assertIn("(replaced) is slower by +40", self.check(  # 5 us became 7
            MISMATCH, "diff", "before.jsonl", "slower.jsonl", "--fail-above", "0.12", "--min-share", "1%").stderr)
        self.assertIn("regression", self.succeeds("diff", "before.jsonl", "slower.jsonl"))

    def test_a_faster_operator_is_an_improvement(self):
        text = self.succeeds("diff", "slower.jsonl", "before.jsonl", "--fail-above", "0%")
        self.assertRegex(self.row(text, "matmul"), r"-9\.09 % .* improvement")

    def test_equal_runs_pass(self):
        text = self.succeeds("diff", "before.jsonl", "before.jsonl", "--fail-above", "3%")
        self.assertEqual(4, text.count(" same "), text)  # three operators and the total
        self.assertNotIn("cannot tell", text)

    def test_three_runs_against_three_tell_nothing_and_it_says_how_many_would(self):
        text = self.succeeds("diff", "few.jsonl", "few_slower.jsonl", "--fail-above", "3%")
        self.assertRegex(self.row(text, "matmul"), r"\+20\.00 % +too few runs +\+20\.00 % +undecided")
        self.assertIn("The data cannot tell whether these are slower by more than 3.0 %", text)
        # 4 against 4 reach 2 / 70 = 2.9 %, 3 against 3 only 2 / 20 = 10 %
        self.assertRegex(text, r"\n +4  matmul \(float32\[4\]\) \(3 \+ 3 runs\)\n")

    def test_hints_name_what_takes_time(self):
        noisy = [200, 90, 150, 120]
        write("noisy.jsonl", {"tiny": [0.02 * x / 100 for x in noisy], "large": noisy})
        text = self.succeeds("diff", "noisy.jsonl", "noisy.jsonl", "--fail-above", "3%")
        hints = text.split("so many runs on each side would:")[1]
        self.assertRegex(hints, r"^\n +\d+  \(total\) \(4 \+ 4 runs\)\n +\d+  large ")
        self.assertNotIn("tiny", hints)

    def test_operators_that_are_called_more_often_are_named(self):
        write("once.jsonl", {"f": spread(100, 5, 0.01), "g": spread(100, 5, 0.01)})
        twice = (WORK / "once.jsonl").read_text().replace('"Name": {"string": "g"}', '"Name": {"string": "f"}')
        (WORK / "twice.jsonl").write_text(twice)
        text = self.succeeds("diff", "once.jsonl", "twice.jsonl")
        self.assertRegex(text, r"not called equally often; .*\n +2 -> 4  f \(float32\[4\]\)\n")

    def test_runs_made_in_turns_are_compared_as_pairs(self):
        drift = [100 * (1 + 0.2 * i) for i in range(8)]  # by far more than the two differ
        write("first.jsonl", {"f": drift})
        write("second.jsonl", {"f": [1.05 * x + 0.01 * (i * 3 % 8) for i, x in enumerate(drift)]})
        self.assertRegex(self.row(self.succeeds("diff", "first.jsonl", "second.jsonl"), "f"), "undecided")
        text = self.succeeds("diff", "first.jsonl", "second.jsonl", "--paired")
        self.assertRegex(self.row(text, "f"), r"\+5\.\d\d % .* regression")

    def test_directories_and_lists_hold_more_runs(self):
        directory = WORK / "runs"
        directory.mkdir()
        for i, line in enumerate((WORK / "few.jsonl").read_text().splitlines()):
            (directory / f"{i}.json").write_text(json.dumps(json.loads(line), indent=1))
        shutil.copy(WORK / "few.jsonl", directory)
        text = self.succeeds("diff", "few.jsonl,few.jsonl", "runs")
        self.assertRegex(self.row(text, "matmul"), r" 6 \+ 6$")

    def test_the_diff_is_a_report_too(self):
        words = ("diff", "before.jsonl", "slower.jsonl", "--as")
        report = json.loads(self.succeeds(*words, "json"))
        self.assertEqual({"string": "regression"}, report["configuration"]["Verdict"])
        self.assertEqual(
            {"(total)": "regression", "matmul": "regression", "(replaced)": "regression", "softmax": "same",
             "gone": "vanished", "fresh": "new"},
            {call["Name"]["string"]: call["Verdict"]["string"] for call in report["calls"]},
        )
        self.assertEqual("total", report["calls"][0]["Kind"]["string"])
        self.assertAlmostEqual(0.1, report["calls"][1]["Change"]["ratio"])
        rows = list(csv.DictReader(io.StringIO(self.succeeds(*words, "csv"))))
        self.assertEqual(["(total)", "matmul", "fresh", "gone", "(replaced)", "softmax"], [row["Name"] for row in rows])
        lines = self.succeeds(*words, "markdown").splitlines()
        self.assertTrue(lines[0].startswith("| Operator | Before (us) |"))
        self.assertRegex(lines[1], r"^\|(-+:?\|){8}$")
        self.assertTrue(lines[2].startswith("| (total) | "), lines[2])

    def test_names_cannot_break_out_of_a_form(self):
        name = "a|b <img src=x>*b*\n\x1b[31m\x9bx_y"
        write("evil.jsonl", {name: spread(500, 3, 0.01)})
        shown = "a|b <img src=x>*b*  [31m x_y (float32[4])"
        text = self.succeeds("diff", "evil.jsonl", "evil.jsonl")
        self.assertEqual(2, text.count(shown), text)  # in the table and in what the data cannot tell
        self.assertFalse(any(ord(c) < 0x20 and c != "\n" or 0x7F <= ord(c) < 0xA0 for c in text))
        text = self.succeeds("diff", "evil.jsonl", "evil.jsonl", "--as", "markdown")
        self.assertEqual(2, text.count(r"a\|b \<img src=x>\*b\*  [31m x_y (float32[4])"), text)
        self.assertIn("| a\\|b", text)
        self.assertRegex(text, r"\n\n- \d+: a\\\|b")
        write("slow.jsonl", {name: spread(900, 9, 0.01)})
        write("fast.jsonl", {name: spread(500, 9, 0.01)})
        answer = self.check(MISMATCH, "diff", "fast.jsonl", "slow.jsonl", "--fail-above", "3%")
        self.assertIn("opdyno diff: " + shown + " is slower", answer.stderr)

    def test_the_help_names_the_forms_that_there_are(self):
        forms = "table, csv, json or markdown"
        self.assertIn(forms + ";", self.succeeds("help", "diff"))
        for form in forms.replace(" or", ",").split(", "):
            self.succeeds("diff", "few.jsonl", "few.jsonl", "--as", form)
        self.assertIn("not 'html'", self.fails(USAGE, "diff", "few.jsonl", "few.jsonl", "--as", "html"))

    def test_a_gate_without_runs_on_a_side_fails(self):
        (WORK / "none.json").write_text('{"calls": [], "device_metrics": {}, "configuration": {}}')
        for sides in (("none.json", "few.jsonl"), ("few.jsonl", "none.json"), ("none.json", "none.json")):
            self.assertIn("nothing to compare", self.fails(USAGE, "diff", *sides, "--fail-above", "3%"))
            self.assertIn("nothing to compare", self.succeeds("diff", *sides))

    def test_two_profiles_of_one_program_can_be_compared(self):
        for name in ("a.jsonl", "b.jsonl"):
            self.kernel("add_one.opdasm", "--runs", "2", "-o", name, command="profile")
        text = self.succeeds("diff", "a.jsonl", "b.jsonl", "--fail-above", "1%")  # two runs never say enough to fail
        self.assertRegex(text, r"(?m)^add_one .* undecided +2 \+ 2$")

    def test_wrong_input_is_refused(self):
        (WORK / "broken.jsonl").write_text((WORK / "few.jsonl").read_text() + "{}\n")
        self.assertIn("broken.jsonl, line 4", self.fails(FAILED, "diff", "few.jsonl", "broken.jsonl"))
        (WORK / "none").mkdir()
        self.assertIn("holds no .json", self.fails(FAILED, "diff", "none", "few.jsonl"))
        self.assertIn("absent", self.fails(FAILED, "diff", "absent.json", "few.jsonl"))
        self.assertIn("takes a share", self.fails(USAGE, "diff", "a", "b", "--fail-above", "much"))
        self.assertIn("5 without a % would be 500 %; write 5%, or 500% if that is meant",
                      self.fails(USAGE, "diff", "few.jsonl", "few.jsonl", "--fail-above", "5"))
        self.assertIn("at most 100%", self.fails(USAGE, "diff", "few.jsonl", "few.jsonl", "--min-share", "101%"))
        self.assertIn("3 before and 13 after", self.fails(FAILED, "diff", "few.jsonl", "before.jsonl", "--paired"))
        self.assertIn("'few.jsonl,' has an empty file name", self.fails(USAGE, "diff", "few.jsonl,", "few.jsonl"))
        self.assertIn("not 'picture'", self.fails(USAGE, "diff", "few.jsonl", "few.jsonl", "--as", "picture"))
