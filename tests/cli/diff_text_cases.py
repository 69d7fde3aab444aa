"""How a diff is written down: the table as a whole, the lists below it, what a narrow terminal leaves out."""

import json

from case import MISMATCH, USAGE, WORK, CliTest


def write(name, operators, runs=8, **configuration):
    """A file of equal runs, a report a line: for each operator its time, and what else its row has."""
    calls = [
        {"Name": {"string": operator}, "Duration (us)": {"microseconds": us}, "Device": {"string": "cpu0"}, **more}
        for operator, us, *rest in operators
        for more in [rest[0] if rest else {}]
    ]
    line = json.dumps({"calls": calls, "device_metrics": {}, "configuration": configuration})
    (WORK / name).write_text((line + "\n") * runs)
    return name


class DiffText(CliTest):
    def test_times_below_the_resolution_and_enormous_changes_are_shown_as_such(self):
        before = write("tiny_before.jsonl", [("tiny", 0.001), ("none", 0.0), ("f", 1.0), ("g", 10000.004)])
        after = write("tiny_after.jsonl", [("tiny", 0.002), ("none", 0.001), ("f", 200.0), ("g", 10000.0)])
        table = self.succeeds("diff", before, after)
        self.assertRegex(table, r"\ntiny +<0\.01 +<0\.01 +\+100\.0 % ")
        self.assertRegex(table, r"\nnone +<0\.01 +<0\.01 +\+900\.0 % ")
        self.assertRegex(table, r"\nf +1\.00 +200\.00 +>\+9999 % +>\+9999 % to >\+9999 % ")
        self.assertRegex(table, r"\ng +10000\.00 +10000\.00 +\+0\.00 % ")
        self.assertNotIn("-0.00", table)

    def test_the_table_is_aligned(self):
        on_gpu = {"Device": {"string": "cuda1"}, "Argument Shapes": {"string": "float32[4]"}}
        before = write("text_before.jsonl", [("f", 100), ("größer", 60, on_gpu), ("gone", 40)])
        after = write("text_after.jsonl", [("f", 110), ("größer", 60, on_gpu), ("fresh", 30)])
        # The sums are 200; so 1 us is 0.5 % of the total. What changes that most comes first.
        rows = [
            ("Operator", "Before (us)", "After (us)", "Change", "95 % interval", "Of total", "Verdict", "Runs"),
            ("(total)", "200.00", "200.00", "+0.00 %", "+0.00 % to +0.00 %", "+0.00 %", "same", "8 + 8"),
            ("gone", "40.00", "-", "-", "-", "-20.00 %", "vanished", "8 + 0"),
            ("fresh", "-", "30.00", "-", "-", "+15.00 %", "new", "0 + 8"),
            ("f", "100.00", "110.00", "+10.00 %", "+10.00 % to +10.00 %", "+5.00 %", "regression", "8 + 8"),
            ("(replaced)", "40.00", "30.00", "-25.00 %", "-25.00 % to -25.00 %", "-5.00 %", "improvement", "8 + 8"),
            ("größer (float32[4]) on cuda1", "60.00", "60.00", "+0.00 %", "+0.00 % to +0.00 %", "+0.00 %", "same", "8 + 8"),
        ]
        note = (
            "\nWith fewer than 15 runs on a side, these verdicts hold only if runs are independent of each other: so few do "
            "not show how much they resemble their neighbours.\n"
        )

        def table(shown, places):
            widths = [max(len(row[i]) for row in shown) for i in range(8)]
            return [
                "  ".join(row[i].ljust(widths[i]) if i in (0, 6) else row[i].rjust(widths[i]) for i in places).rstrip()
                for row in shown
            ]

        words = ("diff", before, after)
        sentence = "\nB takes as long as A (0.0 % ± 0.0 %); gone is gone (-20 %); fresh is new (+15 % of the total); f +10 %\n"
        self.assertEqual("".join(line + "\n" for line in table(rows, range(8))) + note + sentence, self.succeeds(*words))
        lines = ["| %s |\n" % " | ".join(row) for row in rows]
        lines.insert(1, "|---|---:|---:|---:|---:|---:|---|---:|\n")
        self.assertEqual("".join(lines) + note + sentence, self.succeeds(*words, "--as", "markdown"))

        # On a terminal a name does without its shapes, and the note stands above. With 2 columns between them, the others take 87 after a name of 10.
        short = rows[:-1] + [("größer",) + rows[-1][1:]]
        for columns, places in (
            (97, range(8)),
            (96, range(7)),
            (90, range(7)),
            (89, (0, 1, 2, 3, 4, 6)),
            (80, (0, 1, 2, 3, 4, 6)),
            (79, (0, 1, 2, 3, 6)),
            (58, (0, 1, 2, 3, 6)),
            (57, (0, 2, 3, 6)),
            (45, (0, 2, 3, 6)),
            (44, (0, 3, 6)),
        ):
            head, total, *others = table(short, places)
            self.assertIn("\n".join(["", "", head, *others, total, "B takes as long"]), self.on_terminal(*words, columns=columns))

    def test_a_terminal_ends_with_the_total_and_a_sentence_within_its_lines(self):
        before = write("text_before.jsonl", [("f%d" % i, 100 - i) for i in range(40)], runs=3)
        after = write("text_after.jsonl", [("f%d" % i, 150 - i) for i in range(40)], runs=3)
        for rows, columns in ((24, 80), (40, 100), (60, 200), (12, 80)):
            shown = self.on_terminal("diff", before, after, rows=rows, columns=columns).splitlines()
            total = next(i for i, line in enumerate(shown) if line.startswith("(total) "))
            self.assertTrue(" ".join(shown[total + 1 :]).startswith("too few runs to tell which is faster"), shown)
            listed = sum(line.startswith("f") for line in shown)
            if listed < 40:
                self.assertEqual("and %d rows, which change the total less" % (40 - listed), shown[total - 1])
                if listed > 3:  # so many are shown in any case
                    self.assertEqual(rows - 1, len(shown))  # and the next prompt

    def test_a_long_name_keeps_20_columns(self):
        name = "fused_with_a_name_of_thirty_le"
        before, after = write("text_before.jsonl", [(name, 100)]), write("text_after.jsonl", [(name, 150)])

        def table(columns):
            return self.on_terminal("diff", before, after, columns=columns).split("\n\n")[1].splitlines()

        self.assertTrue(table(200)[1].startswith(name + "  "), table(200))
        # The other columns take 86: 11, 10, 8 ("+50.00 %"), 20, 8, 10 ("regression") and 5, with 2 between.
        for columns, shown in (
            (116, name),
            (115, "fused_with_a_name_o…thirty_le"),
            (106, "fused_with_a_…rty_le"),
            (105, "fused_with_a_name…hirty_le"),  # without the column of runs there is room for 26
        ):
            lines = table(columns)
            self.assertEqual(shown, lines[1].split()[0], columns)
            self.assertEqual(columns >= 106, lines[0].endswith("Runs"))

    def test_lists_have_ten_entries(self):
        before = write("text_before.jsonl", [("f%d" % i, 100 - i) for i in range(12)], runs=3)
        after = write("text_after.jsonl", [("f%d" % i, 110 - i) for i in range(12)], runs=3)
        title = "\nThe data cannot tell whether these are slower by more than 4.5 %; so many runs on each side would:\n"
        names = ["(total)"] + ["f%d" % i for i in range(12)]  # those that take most come first
        text = self.succeeds("diff", before, after, "--min-effect", "4.5%")
        listed = text[text.index(title) + len(title) :].splitlines()
        self.assertEqual(["%s (3 + 3 runs)" % name for name in names[:10]], [line[10:] for line in listed[:10]])
        for line in listed[:10]:
            self.assertRegex(line, r"^ {7}[4-9]  ")
        self.assertEqual(["  and 3 more, which take less time", ""], listed[10:12])
        text = self.succeeds("diff", before, after, "--as", "markdown")
        self.assertRegex(text, r"1\.0 %; so many runs on each side would:\n\n- [4-9]: \(total\) \(3 \+ 3 runs\)\n")
        self.assertIn(": f8 (3 + 3 runs)\n- and 3 more, which take less time\n\ntoo few runs to tell which is faster", text)
        before = write("text_before.jsonl", [("f%d" % i, 100 - i) for i in range(9)], runs=3)
        self.assertNotIn("more, which", self.succeeds("diff", before, before, "--fail-above", "0%"))

    def test_runs_of_different_numbers_of_calls_are_compared_call_by_call(self):
        def operators(calls):
            return [("f", 10 * calls), ("(dispatch)", calls, {"Row Kind": {"string": "dispatch"}, "Count": {"count": calls}})]

        before, after = write("text_before.jsonl", operators(2)), write("text_after.jsonl", operators(4))
        text = self.succeeds("diff", before, after)
        self.assertIn("\nThe runs have different numbers of calls of the program; times are per call of it.\n", text)
        self.assertRegex(text, r"(?m)^f +10\.00 +10\.00 +\+0\.00 % ")
        self.assertNotIn("per call of it", self.succeeds("diff", before, before))

    def test_what_fails_is_told_with_its_limit(self):
        before, after = write("text_before.jsonl", [("f", 100), ("g", 10)]), write("text_after.jsonl", [("f", 110), ("g", 5)])
        answer = self.check(MISMATCH, "diff", before, after, "--fail-above", "2.25%")
        self.assertEqual(
            "opdyno diff: (total) is slower by +4.55 % (+4.55 % to +4.55 %), more than 2.2 %\n"
            "opdyno diff: f is slower by +10.00 % (+10.00 % to +10.00 %), more than 2.2 %\n",
            answer.stderr,
        )
        for share, parts in ("3 %", ()), ("100001%", "takes a share"), ("-1%", "takes a share"), ("%", "takes a share"), ("nan", "takes a share"):
            if parts:
                self.assertIn(parts, self.fails(USAGE, "diff", before, after, "--fail-above", share))
            else:
                self.check(MISMATCH, "diff", before, after, "--fail-above", share)
        self.succeeds("diff", before, after, "--fail-above", "100000%")
        self.succeeds("diff", before, after, "--fail-above", "0.999")
        self.fails(USAGE, "diff", before, after, "--fail-above", "1")
