"""The forms of bench: the columns as a whole, and statistics that are computed a second time from the results."""

import csv
import io
import json
import math
import socket
import statistics

from case import USAGE, CliTest

FAST = ("--number", "2", "--min-repeat-ms", "0", "--warmup", "1")
STATISTICS = ["min", "median", "mean", "p95", "p99", "max", "std"]


def percentile(values, percent):
    """Interpolated between the two nearest of the ordered values."""
    ordered = sorted(values)
    place = percent / 100 * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


class BenchForms(CliTest):
    def bench(self, *words):
        return self.kernel("symbolic.opdasm", *FAST, *words, command="bench").stdout

    def check_statistics(self, row):
        values = row["results_us"]
        wanted = {
            "min": min(values), "median": statistics.median(values), "mean": statistics.fmean(values), "max": max(values),
            "p95": percentile(values, 95), "p99": percentile(values, 99), "std": statistics.pstdev(values),
        }
        for name in STATISTICS:
            self.assertAlmostEqual(wanted[name], row[name + "_us"], delta=1e-9 * max(values), msg=name)
        self.assertEqual("median_low_us" in row, "median_high_us" in row)

    def test_json_has_each_statistic_of_the_results(self):
        whole = json.loads(self.bench("--dim", "n=4", "--repeat", "7", "--json"))
        optional = {"median_low_us", "median_high_us"}
        self.assertEqual(
            ["function", "machine", "concurrency", "threads", "flushed_bytes", "quality", "arguments", "number", "repeat", "clock"]
            + [name + "_us" for name in STATISTICS]
            + ["calls_per_second", "warmup_calls", "outliers", "autocorrelation", "noisy", "results_us"],
            [name for name in whole if name not in optional],
        )
        self.assertEqual(["main", 1, 0, ["float32[4]"], 2, 7, 1], [
            whole[name] for name in ("function", "concurrency", "flushed_bytes", "arguments", "number", "repeat", "warmup_calls")])
        self.assertEqual(socket.gethostname(), whole["machine"])
        self.check_statistics(whole)
        sweep = json.loads(self.bench("--sweep", "n=1,3", "--repeat", "5", "--json"))
        self.assertEqual(["function", "machine", "concurrency", "threads", "flushed_bytes", "quality", "rows"], list(sweep))
        for row, size in zip(sweep["rows"], (1, 3)):
            self.assertEqual(({"n": size}, ["float32[%d]" % size]), (row["sizes"], row["arguments"]))
            self.check_statistics(row)

    def test_arguments_are_told_by_their_types(self):
        words = ("bench", "identity.opdasm", "--repeat", "1", *FAST, "--json", "-i")
        for spec, text in (
            ("tuple(2x3xf32;i64=7;tuple(str=a))", '(float32[2, 3], 7, ("a"))'), ("shape(2,3)", "[2, 3]"), ("none", "None"), ("f64=0.5", "0.5"),
        ):
            self.assertEqual([text], json.loads(self.succeeds(*words, spec))["arguments"])

    def test_csv_has_a_column_for_each_statistic(self):
        columns = ["number", "repeat"] + [name + "_us" for name in STATISTICS]
        columns += ["median_low_us", "median_high_us", "calls_per_second", "warmup_calls", "noisy"]
        lines = self.bench("--sweep", "n=1,8", "--repeat", "6", "--csv").splitlines()
        self.assertEqual(",".join(["function", "n"] + columns), lines[0])
        for row, size in zip(csv.DictReader(io.StringIO("\n".join(lines))), (1, 8)):
            self.assertEqual(("main", str(size), "2", "6", "1"), tuple(
                row[name] for name in ("function", "n", "number", "repeat", "warmup_calls")))
            numbers = [float(row[name + "_us"]) for name in ("min", "median", "p95", "p99", "max")]
            self.assertEqual(sorted(numbers), numbers)
            self.assertEqual(row["median_low_us"] == "", row["median_high_us"] == "")
            self.assertIn(row["noisy"], ("0", "1"))
        self.assertEqual(",".join(["function"] + columns), self.bench("--dim", "n=1", "--repeat", "1", "--csv").splitlines()[0])

    def test_the_text_of_one_size_has_its_lines_in_order(self):
        lines = self.bench("--dim", "n=4", "--repeat", "3").splitlines()
        self.assertEqual("main: 3 repeats of 2 calls", lines[0])
        self.assertEqual("  warm-up: 1 call", lines[1])
        for name, line in zip(STATISTICS, lines[2:9]):
            self.assertRegex(line, r"^  %-8s[ \d.]{9} (ns|us|ms| s)$|^  %-8s[ \d.]{10} s$" % (name, name))
            self.assertEqual(22, len(line))
        self.assertRegex(lines[9], r"^  calls/s [ \d.e+]{9}$")
        self.assertRegex(lines[10], r"^  outliers: \d+, autocorrelation: \d\.\d\d$")
        self.assertTrue(lines[11].startswith("  machine: governor "))
        self.assertEqual("  Too few repeats to say how far this can be relied on: 6 are the least.", lines[12])
        self.assertEqual(13, len(lines))
        self.assertTrue(self.bench("--dim", "n=4", "--repeat", "1").startswith("main: 1 repeat of 2 calls\n"))
        self.assertNotIn("Too few repeats", self.bench("--dim", "n=4", "--repeat", "6"))

    def test_the_text_of_a_sweep_is_a_table(self):
        lines = self.bench("--sweep", "n=1,100", "--repeat", "2", "--concurrency", "2").splitlines()
        self.assertEqual("main: 2 repeats of each size by each of 2 threads", lines[0])
        self.assertEqual(["n", "median", "95", "%", "interval", "p99", "calls/s"], lines[1].split())
        for size, line in zip(("1", "100"), lines[2:4]):
            cells = line.split()
            self.assertEqual((size, "unknown", "(noisy)"), (cells[0], cells[3], cells[-1]))  # of two repeats there is no interval
        self.assertEqual("  warm-up: 4 calls", lines[4])  # one for each size and thread
        self.assertTrue(lines[5].startswith("  machine: governor "))
        self.assertEqual("  Noisy: too few repeats for an interval, or it is wider than 5 % of the median.", lines[6])
        self.assertEqual(7, len(lines))

    def test_warm_ups_and_counts_have_bounds(self):
        for words, message in (
            (("--warmup", "1000000001"), "option '--warmup' takes a number of calls, steady or steady:TIME as in steady:5s, not '1000000001'"),
            (("--warmup", "steady:25h"), "option '--warmup' takes a number of calls"),
            (("--repeat", "1000001"), "option '--repeat' takes an integer from 1 to 1000000, not '1000001'"),
            (("--number", "0"), "option '--number' takes an integer from 1 to 1000000000, not '0'"),
            (("--number", "1000000001"), "option '--number' takes an integer from 1 to 1000000000, not '1000000001'"),
            (("--min-repeat-ms", "3600001"), "option '--min-repeat-ms' takes an integer from 0 to 3600000, not '3600001'"),
            (("--concurrency", "0"), "option '--concurrency' takes an integer from 1 to 1024, not '0'"),
        ):
            self.assertIn(message, self.fails(USAGE, "bench", "add_one.opdasm", *words))
        self.kernel("add_one.opdasm", "--repeat", "1", "--min-repeat-ms", "0", "--warmup", "steady:24h", command="bench", expect=0)
