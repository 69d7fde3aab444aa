"""The command report: forms, what it reads, and what it says of what it cannot."""

import json

from case import FAILED, HERE, OK, USAGE, WORK, CliTest

DATA = HERE.parent / "data" / "report"
JSON, TABLE, CSV = DATA / "sample.json", (DATA / "table.txt").read_text(), (DATA / "sample.csv").read_text()
PROGRAM_ORDER = DATA / "table_program_order.txt"


class ReportForms(CliTest):
    def test_a_table_is_what_tvm_printed(self):
        self.assertEqual(TABLE, self.succeeds("report", JSON))
        self.assertEqual(TABLE, self.succeeds("report", JSON, "--as", "table"))
        self.assertEqual(
            PROGRAM_ORDER.read_text(), self.succeeds("report", JSON, "--no-sort", "--no-aggregate", "--no-sums")
        )

    def test_csv_and_json_are_what_tvm_wrote(self):
        self.assertEqual(CSV, self.succeeds("report", JSON, "--as", "csv"))
        self.assertEqual(JSON.read_text() + "\n", self.succeeds("report", JSON, "--as=json"))

    def test_the_csv_that_it_writes_can_be_read(self):
        (WORK / "read.csv").write_text(CSV)
        self.assertEqual(CSV, self.succeeds("report", "read.csv", "--as", "csv"))
        rows = json.loads(self.succeeds("report", "read.csv", "--as", "json"))["calls"]
        first = json.loads(JSON.read_text())["calls"][0]
        self.assertEqual(set(first), set(rows[0]))
        for name, metric in first.items():
            ((kind, value),) = metric.items()
            ((read_kind, read),) = rows[0][name].items()
            self.assertEqual(kind, read_kind, name)
            self.assertEqual(read, value) if isinstance(value, str) else self.assertAlmostEqual(read / value, 1, 5, name)
        text = self.succeeds("diff", "read.csv", JSON)
        self.assertIn("matmul", text)

    def test_csv_that_is_cut_or_wrong_is_refused_with_its_line(self):
        head = "Count,Duration (us),Name\n"
        for content, message in (
            (head + '1,2.5,"a"\n1,2.5\n', "wrong.csv, line 3 has 2 cells, but the first line has 3"),
            (head + '1,2.5,"a\n', "wrong.csv, line 2 has a quoted cell without an end"),
            (head + '1,fast,"a"\n', 'wrong.csv, line 2 has "fast" as Duration (us), which is neither a number nor quoted'),
            (head + '1,2.5,"a"b\n', 'wrong.csv, line 2 has "b" behind a cell'),
        ):
            (WORK / "wrong.csv").write_text(content)
            self.assertIn(message, self.fails(FAILED, "report", "wrong.csv"))
        (WORK / "quoted.csv").write_text(head + '1,2.5,"a ""b"", c\nd"\n')
        self.assertEqual('a "b", c\nd', json.loads(self.succeeds("report", "quoted.csv", "--as", "json"))["calls"][0]["Name"]["string"])

    def test_markdown_has_a_line_per_row(self):
        lines = self.succeeds("report", JSON, "--as", "markdown").splitlines()
        self.assertEqual("| Name | Duration (us) | Percent | Device | Count | Argument Shapes |", lines[0])
        self.assertEqual(
            "| matmul | 1061.32 | 71.71 | cpu0 | 1 | float32[4, 784], float32[784, 256], float32[4, 256] |", lines[2]
        )

    def test_html_goes_to_a_file(self):
        self.assertEqual("", self.succeeds("report", JSON, "--as", "html", "-o", "report.html"))
        page = (WORK / "report.html").read_text()
        self.assertTrue(page.startswith("<!DOCTYPE html>"))
        self.assertIn("<td class=\"text\">matmul</td><td>1061.32</td>", page)

    def test_a_suffix_tells_the_form(self):
        self.succeeds("report", JSON, "-o", "upper.HTML")
        self.assertTrue((WORK / "upper.HTML").read_text().startswith("<!DOCTYPE html>"))
        message = self.check(OK, "report", JSON, "-o", "report.parquet", silent=False).stderr
        self.assertEqual("opdyno: no form of reports has the suffix .parquet, so report.parquet is written as table\n", message)
        self.succeeds("report", JSON, "-o", "report.parquet", "--as", "json")
        self.succeeds("report", JSON, "-o", "without_suffix")

    def test_a_file_of_several_reports_is_told_from_a_damaged_one(self):
        line = JSON.read_text().strip()
        (WORK / "runs.jsonl").write_text(line + "\n" + line + "\n")
        message = self.fails(FAILED, "report", "runs.jsonl")
        self.assertIn("runs.jsonl holds 2 reports, one a line; give one of the lines", message)
        self.assertIn("opdyno diff", message)
        self.assertEqual(TABLE, self.succeeds("report", "-", stdin=line + "\n"))
        message = self.fails(FAILED, "report", "-", stdin=line + "\n{\n")
        self.assertIn("standard input, line 2: report: JSON at offset", message)

    def test_what_cannot_be_read_is_named(self):
        self.assertIn("none of table, csv, json, markdown and html", self.fails(USAGE, "report", JSON, "--as", "pdf"))
        (WORK / "broken.json").write_text('{"calls":[')
        self.assertIn("broken.json: report: JSON at offset 10", self.fails(FAILED, "report", "broken.json"))
        self.assertIn("JSON at offset 0 is malformed", self.fails(FAILED, "report", "-", stdin="hello\n"))
        self.fails(FAILED, "report", "none.json")
