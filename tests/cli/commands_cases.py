"""Help, info, as, dis, export and profile: every option, exit code and message that their help promises."""

import base64
import csv
import gzip
import io
import json
import re
import subprocess
from xml.etree import ElementTree

import programs
from case import FAILED, HERE, OK, OPDYNO, REFUSED, USAGE, WORK, CliTest, compile_kernels


class Help(CliTest):
    def test_without_words_the_help_goes_to_stderr(self):
        result = self.check(USAGE)
        self.assertEqual("", result.stdout)
        self.assertIn("Usage: opdyno COMMAND", result.stderr)

    def test_help_lists_every_command_and_the_exit_codes(self):
        for words in (["help"], ["--help"], ["-h"]):
            text = self.succeeds(*words)
            for command in ("info", "inspect", "run", "bench", "profile", "record", "top", "report", "diff", "as", "dis", "export"):
                self.assertRegex(text, r"(?m)^  %s\b" % command)
            self.assertIn("Exit codes: 0 ok, 1", text)

    def test_help_of_a_command_shows_its_options_by_both_ways(self):
        for command, option in (
            ("run", "--expect"),
            ("bench", "--number"),
            ("profile", "--chrome"),
            ("record", "--seconds"),
            ("top", "--interval"),
            ("diff", "--fail-above"),
            ("info", "--json"),
            ("inspect", "--import"),
            ("report", "--as"),
            ("as", "--help"),
            ("dis", "--output"),
            ("export", "--object"),
        ):
            text = self.succeeds("help", command)
            self.assertIn("Usage: opdyno " + command, text)
            self.assertIn(option, text)
            self.assertEqual(text, self.succeeds(command, "--help"))

    def test_inputs_are_shown_as_a_shell_takes_them(self):
        text = self.succeeds("help", "run")
        inputs = text[text.index("Inputs (SPEC):\n") :].split("\n")[1:7]
        for word in (word for line in inputs for word in re.split(r"  +", line) if re.search(r"\w\(|;", word)):
            self.assertRegex(word, r"^'[^']*'$")

    def test_help_fits_into_120_columns(self):
        for words in (["help"], ["help", "run"], ["help", "profile"]):
            for line in self.succeeds(*words).splitlines():
                self.assertLessEqual(len(line), 120, line)

    def test_version_tells_features(self):
        text = self.succeeds("--version")
        self.assertRegex(text, r"^opdyno \d+\.\d+\.\d+\n")
        self.assertIn("features: cpu", text)
        self.assertRegex(text, r"(?m)^features: cpu, .*rpc$")

    def test_unknown_commands_and_options_name_the_near_miss(self):
        self.assertIn("there is no command 'rnu'. Did you mean 'run'?", self.fails(USAGE, "rnu"))
        self.assertIn("there is no command 'profil'. Did you mean 'profile'?", self.fails(USAGE, "help", "profil"))
        self.assertIn("unknown option '--versoin'. Did you mean '--version'?", self.fails(USAGE, "--versoin"))
        self.assertIn(
            "unknown option '--exepct'. Did you mean '--expect'?", self.fails(USAGE, "run", "m", "--exepct", "f")
        )
        self.assertNotIn("Did you mean", self.fails(USAGE, "run", "m", "--nope"))  # --copy is as long, and no more
        message = self.fails(USAGE, "run", "m", "-z")
        self.assertIn("unknown option '-z'", message)
        self.assertIn("Try 'opdyno help run'", message)

    def test_options_are_checked_for_their_values(self):
        self.assertIn("takes no value", self.fails(USAGE, "info", "--json=yes"))
        self.assertIn("needs a value: --seed N", self.fails(USAGE, "run", "m", "--seed"))
        self.assertIn("given twice", self.fails(USAGE, "run", "m", "--seed", "1", "--seed=2"))
        self.assertIn("expected MOD [FN] after 'run', found nothing", self.fails(USAGE, "run"))
        self.assertIn("expected [FILE] after 'info', found a b", self.fails(USAGE, "info", "a", "b"))
        self.assertIn("exclude each other", self.fails(USAGE, "run", "m", "--json", "--csv"))
        self.assertIn("exclude each other", self.fails(USAGE, "bench", "m", "--json", "--csv"))
        self.assertIn("exclude each other", self.fails(USAGE, "profile", "m", "--sort", "--no-sort"))
        self.assertIn("needs --expect", self.fails(USAGE, "run", "m", "--rtol", "1"))


class Info(CliTest):
    def test_text_names_the_cpu_and_the_releases(self):
        text = self.succeeds("info")
        self.assertIn("cpu:0", text)
        self.assertRegex(text, r"loads artifacts of TVM 0\.22.*0\.27; tested with those of 0\.25, 0\.26, 0\.27")
        self.assertRegex(text, r"threads: \d+")
        self.assertRegex(text, r"(?m)^  metal: this build has no back end for devices of kind metal, and no plug-in")

    def test_json_is_one_document(self):
        info = json.loads(self.succeeds("info", "--json", "--functions"))
        self.assertEqual("cpu:0", info["devices"][0]["device"])
        self.assertTrue(info["build"]["features"]["cpu"])
        self.assertIsInstance(info["functions"], list)
        kinds = {device["device"].split(":")[0] for device in info["devices"]}
        self.assertIn("cuda", {*kinds, *info["absent_devices"]})
        self.assertFalse(kinds & set(info["absent_devices"]))
        self.assertTrue(all(info["absent_devices"].values()))

    def test_a_parameter_file_is_listed(self):
        lines = self.succeeds("info", "two.npz").splitlines()
        self.assertEqual(["x       float32[4]  16 bytes", "weight  float32[4]  16 bytes"], lines[:2])
        self.assertEqual("2 tensors, 32 bytes, of which 0 bytes can be used where they lie", lines[2])
        self.assertIn("(no name)  float32[4]", self.succeeds("info", "x.npy"))

    def test_every_format_of_parameters_is_listed_as_json(self):
        data = HERE.parent / "data/params"
        for name, count in ("tvm.params", 15), ("tensor-cache", 15), ("library.safetensors", 19), ("stored.npz", 14):
            tensors = json.loads(self.succeeds("info", data / name, "--json"))["tensors"]
            self.assertEqual(count, len(tensors))
            found = [t for t in tensors if t["name"] == "int16"]
            self.assertEqual(("int16", [2, 3], 12), tuple(found[0][key] for key in ("dtype", "shape", "bytes")))

    def test_what_is_no_parameter_file_is_an_error(self):
        self.assertIn("none", self.fails(FAILED, "info", "none"))
        self.assertIn("takes no file", self.fails(USAGE, "info", "x.npy", "--functions"))


class Assembly(CliTest):
    def test_as_and_dis_round_trip(self):
        self.assertEqual("", self.succeeds("as", "symbolic.opdasm", "symbolic.vmexec"))
        text = self.succeeds("dis", "symbolic.vmexec")
        self.assertIn(".func main(x)", text)
        self.succeeds("dis", "symbolic.vmexec", "-o", "again.opdasm")
        self.assertEqual(text, (WORK / "again.opdasm").read_text())
        self.succeeds("as", "again.opdasm", "again.vmexec")
        self.assertEqual((WORK / "symbolic.vmexec").read_bytes(), (WORK / "again.vmexec").read_bytes())
        self.assertEqual(text, self.succeeds("dis", "again.opdasm"))

    def test_standard_streams_stand_for_files(self):
        binary = subprocess.run(
            [OPDYNO, "as", "-", "-"], input=programs.ADD_ONE.encode(), capture_output=True, check=True
        ).stdout
        text = subprocess.run([OPDYNO, "dis", "-"], input=binary, capture_output=True, check=True).stdout.decode()
        self.assertIn("call add_one(", text)

    def test_a_mistake_in_the_text_is_refused_with_its_place(self):
        self.assertRegex(self.fails(REFUSED, "as", "bad_text.opdasm", "bad.vmexec"), r"bad_text\.opdasm: .*line 3.*\n")
        self.assertFalse((WORK / "bad.vmexec").exists())
        self.assertIn("line 3", self.fails(REFUSED, "run", "bad_text.opdasm"))
        self.assertIn("no VM program", self.fails(REFUSED, "dis", "kernels.c"))

    def test_files_that_cannot_be_read_or_written_are_errors(self):
        self.assertIn(
            "cannot open absent.opdasm: No such file", self.fails(FAILED, "as", "absent.opdasm", "out.vmexec")
        )
        self.assertIn("cannot write", self.fails(FAILED, "as", "add_one.opdasm", "absent/out.vmexec"))
        self.assertIn("No space left", self.fails(FAILED, "as", "add_one.opdasm", "/dev/full"))


class Profile(CliTest):
    def profile(self, *words, program="symbolic.opdasm", expect=OK):
        return self.kernel(program, *words, "--dim", "n=4", command="profile", expect=expect).stdout

    def test_the_table_has_tvms_columns(self):
        text = self.profile()
        self.assertRegex(
            text.splitlines()[0],
            r"^Name +Duration \(us\) +Percent +Device +Count +Argument Shapes +Median per Run \(us\) +Median \(us\) +Min \(us\) +Max \(us\)( +Waited \(us\))? *$",
        )
        self.assertRegex(text, r"(?m)^add_one .*float32\[4\], float32\[4\]")
        self.assertRegex(text, r"(?m)^Sum ")
        self.assertRegex(text, r"(?m)^Total ")

    def test_rows_can_keep_their_order(self):
        def names(*words):
            return [
                line.split()[0] for line in self.profile(*words).splitlines()[1:] if line and not line.startswith("-")
            ]

        ordered = names("--no-sort", "--no-aggregate", "--no-sums")
        self.assertLess(ordered.index("vm.builtin.check_tensor_info"), ordered.index("add_one"))
        self.assertNotIn("Sum", ordered)
        self.assertIn("Sum", names("--sort"))

    def test_a_call_that_fails_leaves_its_report(self):
        words = ["fails_inside.opdasm", "--import", "kernels.c", "-i", "4xf32=1"]
        result = self.check(FAILED, "profile", *words, "-o", "failed.json")
        self.assertIn("it always does", result.stderr)
        rows = {line.split()[0]: line for line in result.stdout.splitlines() if line.strip()}
        self.assertIn("it always does", rows["fails"])
        self.assertIn("it always does", rows["inner"])
        self.assertNotIn("it always does", rows["add_one"])
        self.assertIn("the report is of one more call", result.stdout)
        calls = json.loads((WORK / "failed.json").read_text())["calls"]
        self.assertEqual(["add_one", "fails", "inner"], [call["Name"]["string"] for call in calls if "alloc" not in call["Name"]["string"]][:3])
        self.assertIn("it always does", self.fails(FAILED, "profile", *words, "--warmup", "0", "--runs", "3"))

    def test_a_call_that_fails_once_leaves_the_report_of_the_next_one(self):
        source = (WORK / "kernels.c").read_text()
        (WORK / "fails_once.c").write_text(source + """
KERNEL(fails_once) {
  UNUSED;
  static int calls;
  if (calls++ == 0) return TVMFFIErrorSetRaisedFromCStr("ValueError", "only once"), -1;
  return 0;
}
""")
        (WORK / "fails_once.opdasm").write_text(programs.program(programs.unary("main", "fails_once")))
        result = self.check(FAILED, "profile", "fails_once.opdasm", "--import", "fails_once.c", "-o", "once.json")
        self.assertIn("opdyno profile: ", result.stderr)
        self.assertIn("only once", result.stderr)
        self.assertTrue(result.stdout.endswith("\nHint: the call failed; when it was repeated for this report, it did not fail\n"), result.stdout)
        self.assertIn("fails_once", [call["Name"]["string"] for call in json.loads((WORK / "once.json").read_text())["calls"]])

    def test_a_deadline_leaves_no_report(self):
        library = compile_kernels("deadline.so")
        words = ("profile", "loops.opdasm", "--import", library, "--timeout", "200ms", "-o", "deadline.json")
        result = self.check(FAILED, *words)
        self.assertEqual("", result.stdout)
        self.assertIn("deadline", result.stderr)
        self.assertFalse((WORK / "deadline.json").exists())

    def test_numbers_of_runs_have_bounds(self):
        for option, least in ("warmup", 0), ("repeat", 1), ("runs", 1), ("turn", 1), ("top", 1):
            most = 10**9 if option == "turn" else 10**6
            for number in least - 1, most + 1:
                message = "option '--%s' takes an integer from %d to %d, not '%d'" % (option, least, most, number)
                self.assertIn(message, self.kernel("add_one.opdasm", "--%s=%d" % (option, number), command="profile", expect=USAGE).stderr)
        self.profile("--turn", "1000000000", "-o", "turns.jsonl")
        self.assertEqual(10**9, json.loads((WORK / "turns.jsonl").read_text())["configuration"]["Turn"]["count"])

    def calls_of_add_one(self, *words):
        calls = json.loads(self.profile("--json", *words))["calls"]
        return [call.get("Repeat", {}).get("count") for call in calls if call["Name"]["string"] == "add_one"]

    def test_calls_are_repeated_until_the_medians_are_stable(self):
        numbers = self.calls_of_add_one()
        self.assertEqual(list(range(len(numbers))), numbers)
        self.assertGreaterEqual(len(numbers), 10)
        self.assertRegex(self.profile("--top", "3"), r"(?m)^Operator +Median +Share .*\n(.*\n)*Total .*, median of \d+ runs, on cpu0$")

    def test_one_call_is_measured_where_one_is_meant(self):
        for words in ("--repeat", "1"), ("--warmup", "0"), ("--turn", "1"), ("--runs", "1"), ("--budget", "1ns"):
            self.assertEqual([None], self.calls_of_add_one(*words), words)
        self.assertEqual([0, 1, 2], self.calls_of_add_one("--repeat", "3"))

    def test_a_budget_excludes_a_number_of_calls(self):
        for words in ("--repeat", "2"), ("--runs", "2"), ("--turn", "2"):
            self.assertIn("--budget and %s exclude each other" % words[0], self.fails(USAGE, "profile", "m", "--budget", "1s", *words))
        self.assertIn("--warmup 0", self.fails(USAGE, "profile", "m", "--budget", "1s", "--warmup", "0"))

    def test_calls_of_one_profile_are_one_run_of_a_diff(self):
        for name in ("before.json", "after.json"):
            self.profile("-o", name)
        rows = json.loads(self.succeeds("diff", "before.json", "after.json", "--as", "json"))
        self.assertIn("1 + 1", self.succeeds("diff", "before.json", "after.json", "--as", "table"), rows)

    def test_a_turn_counts_on_with_the_runs(self):
        self.profile("--runs", "3", "--turn", "5", "-o", "turns.jsonl")
        lines = (WORK / "turns.jsonl").read_text().splitlines()
        self.assertEqual([5, 6, 7], [json.loads(line)["configuration"]["Turn"]["count"] for line in lines])
        self.profile("-o", "turns.jsonl")
        self.assertNotIn("Turn", json.loads((WORK / "turns.jsonl").read_text())["configuration"])
        self.profile("--turn", "0", expect=USAGE)

    def test_reports_are_written(self):
        self.profile(
            "-o", "report.json", "--csv", "report.csv", "--chrome", "trace.json", "--repeat", "2", "--warmup", "0"
        )
        report = json.loads((WORK / "report.json").read_text())
        names = [call["Name"]["string"] for call in report["calls"]]
        self.assertEqual(2, names.count("add_one"))
        rows = list(csv.DictReader(io.StringIO((WORK / "report.csv").read_text())))
        self.assertEqual(names, [row["Name"] for row in rows])
        trace = json.loads((WORK / "trace.json").read_text())
        events = trace["traceEvents"] if isinstance(trace, dict) else trace
        self.assertEqual(2, sum(event.get("name") == "add_one" for event in events))

    def test_the_time_line_is_a_page_and_a_flame_graph(self):
        self.profile("--view", "trace.html", "--flame", "flame.svg", "--repeat", "2", "--warmup", "0")
        page = (WORK / "trace.html").read_text()
        data = gzip.decompress(base64.b64decode(re.search(r'id="data">([^<]*)<', page)[1]))
        head = json.loads(data.split(b"\n", 1)[0])
        self.assertIn(["add_one", 0], head["labels"])
        titles = [title.text for title in ElementTree.parse(WORK / "flame.svg").iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual([True, True], [title.endswith(", 2 spans") for title in titles if re.match("(main|add_one)\n", title)])

    def test_several_runs_are_a_report_a_line(self):
        printed = self.profile("--runs", "3", "-o", "runs.jsonl", "--json")
        self.assertEqual((WORK / "runs.jsonl").read_text(), printed)
        reports = [json.loads(line) for line in printed.splitlines()]
        self.assertEqual(3, len(reports))
        for report in reports:
            self.assertEqual(1, [call["Name"]["string"] for call in report["calls"]].count("add_one"))

    def test_builtins_details_and_the_machines_peak_are_shown_on_request(self):
        def calls(*words):
            return json.loads(self.profile("--json", "--repeat", "2", *words))["calls"]

        folded = [call["Name"]["string"] for call in calls("--builtins", "folded")]
        self.assertEqual(["(builtins)", "(dispatch)", "(profiler)"], folded[-3:])
        self.assertFalse(any(name.startswith("vm.builtin.") for name in folded))
        self.assertGreater(len(calls("--builtins", "all")), len(calls()))
        self.assertIn("with_tensors, all or folded, not 'some'", self.kernel(
            "symbolic.opdasm", "--builtins", "some", "--dim", "n=4", command="profile", expect=USAGE).stderr)
        detailed = calls("--details")[0]
        self.assertLessEqual({"Start (us)", "Self (us)", "Run", "Thread", "Tensors (bytes)", "Call Path"}, set(detailed))
        add = next(call for call in calls("--roofline", "--details") if call["Name"]["string"] == "add_one")
        self.assertEqual({"count": 4}, add["FLOP"])  # its time, and so its rate, may be below the clock's resolution
        peaks = json.loads(self.profile("--json", "--roofline"))["configuration"]
        self.assertLessEqual({"Peak GFLOP/s", "Peak Bandwidth (GB/s)"}, set(peaks))

    def test_reports_can_be_printed(self):
        self.assertEqual({"calls", "device_metrics", "configuration"}, set(json.loads(self.profile("--json"))))
        self.assertIn("Duration (us)", self.profile("--csv", "-").splitlines()[0])
        self.assertEqual({"calls", "device_metrics", "configuration"}, set(json.loads(self.profile("-o", "-"))))

    def test_two_outputs_cannot_go_to_one_place(self):
        place = str(WORK / "same")
        for words, message in (
            (("-o", "same", "--csv", "same"), "--output and --csv would both be written to same"),
            (("-o", "same", "--chrome", "./same"), "--output and --chrome would both be written to ./same"),
            (("--csv", "same", "--chrome", place), "--csv and --chrome would both be written to " + place),
            (("--view", "same", "--flame", place), "--view and --flame would both be written to " + place),
            (("--json", "--csv", "-"), "--json and --csv would both be written to standard output"),
            (("-o", "-", "--csv", "-"), "--output and --csv would both be written to standard output"),
        ):
            self.assertIn(message, self.fails(USAGE, "profile", "m", *words))
        self.profile("-o", "one", "--csv", "two", "--chrome", "three", "--json")
        self.assertTrue(all((WORK / name).exists() for name in ("one", "two", "three")))
        self.assertFalse((WORK / "same").exists())

    def test_an_absent_directory_is_named(self):
        self.assertIn(
            "cannot write absent/x.json",
            self.kernel("add_one.opdasm", "-o", "absent/x.json", command="profile", expect=FAILED).stderr,
        )


class Export(CliTest):
    def test_a_program_and_its_kernels_become_one_file(self):
        answer = self.succeeds("run", "add_one.opdasm", "--import", "kernels.c", "-i", "@x.npy")
        for out in ("exported.so", "exported.tar"):
            self.assertEqual("", self.succeeds("export", "add_one.opdasm", out, "--import", "kernels.c"))
            self.assertEqual(answer, self.succeeds("run", out, "-i", "@x.npy"))
            self.succeeds("export", "add_one.opdasm", out, "--object", "kernels.c")
            self.assertEqual(answer, self.succeeds("run", out, "-i", "@x.npy"))
        compile_kernels("linked.so")
        self.succeeds("export", "add_one.opdasm", "exported.so", "--import", "linked.so")
        self.assertEqual(answer, self.succeeds("run", "exported.so", "-i", "@x.npy"))
        self.succeeds("export", "exported.so", "again.so")
        self.assertEqual(answer, self.succeeds("run", "again.so", "-i", "@x.npy"))

    def test_what_cannot_be_exported_is_named(self):
        self.assertIn("(.so)", self.fails(REFUSED, "export", "add_one.opdasm", "out.zip"))
        compile_kernels("linked.so")
        both = ["--import", "linked.so", "--import", "kernels.c"]
        self.assertIn("linked already", self.fails(REFUSED, "export", "add_one.opdasm", "out.so", *both))
        self.assertIn("absent.o", self.fails(REFUSED, "export", "add_one.opdasm", "out.so", "--object", "absent.o"))
        self.fails(USAGE, "export", "add_one.opdasm")


class Collectors(CliTest):
    def profile(self, *words, expect=OK):
        return self.kernel("symbolic.opdasm", *words, "--dim", "n=4", command="profile", expect=expect)

    def test_several_add_columns(self):
        report = json.loads(self.profile("--collector", "time", "--collector", "memory", "--json").stdout)
        call = next(call for call in report["calls"] if call["Name"]["string"] == "add_one")
        self.assertGreater(call["Wall time (us)"]["microseconds"], call["Duration (us)"]["microseconds"])
        self.assertIn("Peak (bytes)", call)
        self.assertIn("Collector cost: time (us)", report["configuration"])

    def test_without_events_what_cannot_be_counted_is_left_out(self):
        configuration = json.loads(self.profile("--collector", "perf", "--json").stdout)["configuration"]
        self.assertIn("Collector cost: perf (us)", configuration)

    def test_events_that_do_not_exist_and_collectors_that_do_not_are_named(self):
        self.assertIn("page-faults", self.profile("--collector", "perf:faults", expect=FAILED).stderr)
        self.assertEqual(
            "opdyno profile: there is no collector 'tim'; there are time, memory, perf, papi, energy, nvml, device\nTry 'opdyno help profile'.\n",
            self.profile("--collector", "tim", expect=USAGE).stderr)
        self.assertEqual(
            "opdyno profile: the collector time has no events to choose from\nTry 'opdyno help profile'.\n",
            self.profile("--collector", "time:x", expect=USAGE).stderr)

    def test_info_says_what_can_be_measured_here(self):
        text = self.succeeds("info", "--collectors")
        self.assertRegex(text, r"(?m)^  time +.*\n +here: yes$")
        for name in ("perf", "papi", "energy", "nvml", "device"):
            self.assertRegex(text, r"(?m)^  %s +.*\n +here: (yes|no: .+|in part, as .+)$" % name)
        self.assertIn("takes no file", self.fails(USAGE, "info", "x.npy", "--collectors"))
        self.assertIn("has no JSON", self.fails(USAGE, "info", "--collectors", "--json"))
