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
