"""--on: the commands run, profile and bench on other machines, which here are servers of their own processes."""

import csv
import io
import json
import os
import re
import socket
import subprocess
import unittest

import case
from case import FAILED, HAS_ASAN, HAS_TSAN, OK, REFUSED, USAGE, WORK, run
from rpc_client import Client, Refused, Tracker
from rpc_server import ServerCliTest

SECRET = "0123456789abcdef0123456789abcdef"


class Machines(ServerCliTest):
    def on(self, *words, key="k"):
        return ("--on", "127.0.0.1:%d,key=%s" % (self.serve(*words, key=key), key))

    def fleet(self, count, with_odd=False):
        """Servers at a tracker: their ports, and what finds them. The odd one is the last, and has IS_ODD in its environment."""
        self.tracker = Tracker()
        self.addCleanup(self.tracker.listener.close)
        address = "127.0.0.1:%d" % self.tracker.port
        ports = [self.serve("--tracker", address, key="board") for _ in range(count)]
        if with_odd:
            ports.append(self.serve("--tracker", address, key="board", env=dict(os.environ, IS_ODD="1")))
        with self.tracker.changed:
            self.assertTrue(self.tracker.changed.wait_for(lambda: len(self.tracker.servers) == len(ports), 60))
        return ports, "tracker=%s,key=board" % address

    def test_a_program_runs_there_as_it_does_here(self):
        on = self.on()
        words = ("add_one.opdasm", "--import", "kernels.c", "-i", "4xf32=1,2,3,4")
        self.assertEqual(self.succeeds("run", *words), self.succeeds("run", *words, *on))
        self.assertEqual("out: float32[4]\n[2 3 4 5]\n", self.succeeds("run", *words, *on))
        self.succeeds("run", *words, *on, "-o", "there.npz")
        self.succeeds("run", *words, "--expect", "there.npz")

    def test_inputs_are_made_for_the_parameters_there(self):
        on = self.on()
        words = ("symbolic.opdasm", "--import", "kernels.c", "--dim", "n=3", "--seed", "5")
        self.assertEqual(self.succeeds("run", *words), self.succeeds("run", *words, *on))
        words = ("with_weight.opdasm", "--import", "kernels.c", "-i", "x:@x.npy", "--params", "two.npz")
        self.assertEqual("out: float32[4]\n[11 22 33 44]\n", self.succeeds("run", *words, *on))

    def test_shapes_that_only_kernels_check_are_found_here(self):
        on = self.on()
        words = ("add_one.opdasm", "--import", "kernels.c")
        self.assertEqual(self.succeeds("run", *words), self.succeeds("run", *words, *on))

    def test_a_plain_function_runs_there(self):
        on = self.on()
        words = ("kernels.c", "add_one", "-i", "4xf32=1,2,3,4", "-i", "4xf32=0")
        self.assertEqual("out: float32[4]\n[2 3 4 5]\n", self.succeeds("run", *words, *on))
        self.assertIn("name one of its functions", self.fails(USAGE, "run", "kernels.c", *on))

    def test_errors_are_those_of_there(self):
        on = self.on()
        port = re.search(r":(\d+)", on[1])[1]
        said = self.fails(FAILED, "run", "kernels.c", "fails", *on)
        self.assertIn("it always does (on 127.0.0.1:%s)" % port, said)
        (WORK / "broken.so").write_bytes(b"no library")
        self.assertIn("broken.so", self.fails(REFUSED, "run", "broken.so", *on))
        self.assertIn("another key", self.fails(FAILED, "run", "kernels.c", "add_one", "--on", "127.0.0.1:%s,key=x" % port))
        self.assertIn("there is no device cuda on 127.0.0.1:%s" % port, self.fails(FAILED, "run", "kernels.c", "add_one", *on, "--device", "cuda"))
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.assertIn("127.0.0.1:%d" % port, self.fails(FAILED, "run", "kernels.c", "add_one", "--on", "127.0.0.1:%d" % port))

    def test_a_profile_is_made_there(self):
        on = self.on()
        words = ("add_one.opdasm", "--import", "kernels.c", *on)
        self.succeeds("profile", *words, "-o", "there.json", "--chrome", "there.trace", "--repeat", "3", "--collector", "time")
        report = json.loads((WORK / "there.json").read_text())
        self.assertEqual(["add_one"] * 3, [call["Name"]["string"] for call in report["calls"] if "add_one" in str(call["Name"])])
        self.assertEqual(socket.gethostname(), report["configuration"]["Machine"]["string"])
        names = {event.get("name") for event in json.loads((WORK / "there.trace").read_text())["traceEvents"]}
        self.assertIn("add_one", names)
        self.assertRegex(self.succeeds("profile", *words), r"(?m)^Machine: %s$" % re.escape(socket.gethostname()))
        self.assertIn("plain function", self.fails(USAGE, "profile", "kernels.c", "add_one", *on))

    def test_counters_are_read_there(self):
        on = self.on()
        words = ("profile", "add_one.opdasm", "--import", "kernels.c", "-i", "4xf32=1", "--json", "--collector")
        # Events of the kernel, which virtual machines have, too.
        for spec, events in (("perf:task-clock,page-faults", {"task-clock", "page-faults"}), ("papi:perf::TASK-CLOCK", {"perf::TASK-CLOCK"})):
            with self.subTest(spec=spec):
                here = run(*words, spec)
                if here.returncode != OK:
                    self.skip("these events cannot be counted here, so no test has a server count them: " + here.stderr)
                (row,) = (call for call in json.loads(self.succeeds(*words, spec, *on))["calls"] if call["Name"]["string"] == "add_one")
                self.assertEqual(events, events & set(row))
                self.assertTrue(all(row[event]["count"] >= 0 for event in events), row)

    def test_the_machine_there_says_which_events_it_lacks(self):
        on = self.on()
        words = ("profile", "add_one.opdasm", "--import", "kernels.c", "-i", "4xf32=1", "--collector")
        said = self.fails(FAILED, *words, "perf:no-such-event", *on)
        self.assertIn("no-such-event", said)
        self.assertRegex(said, r"\(on 127\.0\.0\.1:\d+\)")
        self.assertNotIn("(on ", self.fails(FAILED, *words, "perf:no-such-event"))

    def test_a_call_is_measured_there(self):
        on = self.on()
        words = ("bench", "add_one.opdasm", "--import", "kernels.c", *on, "--min-repeat-ms", "0")
        text = self.succeeds(*words, "--number", "7", "--repeat", "6", "--warmup", "3")
        self.assertIn("main: 6 repeats of 7 calls\n  warm-up: 3 calls\n", text)
        self.assertIn("  machine: name %s (127.0.0.1:" % socket.gethostname(), text)
        found = json.loads(self.succeeds(*words, "--concurrency", "2", "--warmup", "steady:10s", "--json"))
        self.assertEqual(2 * 10, len(found["results_us"]))
        self.assertGreater(found["warmup_calls"], 1)
        (WORK / "base.json").write_text(self.succeeds(*words, "--json"))
        self.check(OK, *words, "--compare", "base.json", "--fail-above", "100000%")

    @unittest.skipIf(HAS_ASAN or HAS_TSAN, "the run-time library of a sanitizer must be loaded before any other")
    def test_the_machine_has_the_name_of_the_one_that_measured(self):
        (WORK / "name.c").write_text("#include <string.h>\nint gethostname(char *to, size_t size) { strncpy(to, \"board7\", size); return 0; }\n")
        subprocess.run([case.COMPILER, "-shared", "-fPIC", "-o", "name.so", "name.c"], cwd=WORK, check=True)
        port = self.serve(env=dict(os.environ, LD_PRELOAD=str(WORK / "name.so")))
        words = ("--json", "--repeat", "2", "--number", "1", "--min-repeat-ms", "0", "--on", "127.0.0.1:%d,key=k" % port)
        library = case.compile_kernels("kernels_there.so")
        for measured in (("add_one.opdasm", "--import", library), ("--copies=4K",)):
            self.assertEqual("board7", json.loads(self.succeeds("bench", *measured, *words))["machine"])

    def test_two_programs_are_measured_there_in_turns(self):
        on = self.on()
        once = (WORK / "add_one.opdasm").read_text()
        call = re.search(r"(?m)^ *call add_one.*\n", once)[0]
        (WORK / "often.opdasm").write_text(once.replace(call, 100 * call))
        words = ("ab", "add_one.opdasm", "often.opdasm", "--import", "kernels.c", *on, "--runs", "6", "--as", "json")
        report = json.loads(self.succeeds(*words, "-i", "4xf32=1,2,3,4"))
        operators = {row["Name"]["string"]: row for row in report["calls"] if row["Kind"]["string"] == "operator"}
        self.assertEqual((1, 100), tuple(operators["add_one"][when]["ratio"] for when in ("Calls Before", "Calls After")))
        self.assertEqual({"count": 6}, report["configuration"]["Runs after"])
        self.assertIn("there is no device cuda on", self.fails(FAILED, *words, "--device", "cuda"))

    def test_its_devices_are_shown(self):
        on = self.on("--memory-limit", "1000G")  # PoCL has as much memory as its process may
        here, there = json.loads(self.succeeds("info", "--json")), json.loads(self.succeeds("info", "--json", *on))
        self.assertEqual(["address", "host", "server", "devices", "absent_devices"], list(there))
        self.assertEqual(socket.gethostname(), there["host"])
        self.assertRegex(there["server"], r"^opdyno \d+\.\d+\.\d+")

        def facts(devices):
            return [{name: value for name, value in device.items() if "free" not in name and "clock" not in name} for device in devices]

        self.assertEqual(facts(here["devices"]), facts(there["devices"]))
        self.assertEqual(list(here["absent_devices"]), list(there["absent_devices"]))
        text = self.succeeds("info", *on)
        self.assertRegex(text, r"^%s \(127\.0\.0\.1:\d+\), a server of opdyno [\d.]+\ndevices:\n  cpu:0\n" % re.escape(socket.gethostname()))
        self.assertIn("\nnot there: %s\n" % ", ".join(there["absent_devices"]), text)
        for option in ("--measure", "--functions", "--collectors"):
            self.assertIn("option '%s' is of this machine" % option, self.fails(USAGE, "info", option, *on))
        self.assertIn("takes no file", self.fails(USAGE, "info", "two.npz", *on))

    def test_copies_to_it_are_measured(self):
        on = self.on()
        copies = json.loads(self.succeeds("bench", "--copies=4K", "--json", "--repeat", "2", "--number", "1", *on))["copies"]
        there = "cpu:0 of %s" % re.search(r"127\.0\.0\.1:\d+", on[1])[0]
        self.assertEqual([("cpu:0", there), (there, "cpu:0"), (there, there)], [(copy["from"], copy["to"]) for copy in copies])
        self.assertIn("leave n out", self.fails(USAGE, "bench", "--copies", "--on", "tracker=127.0.0.1:1,key=k,n=2"))
        self.assertIn("leave n out", self.fails(USAGE, "info", "--on", "tracker=127.0.0.1:1,key=k,n=2"))

    def test_a_kernel_that_crashes_there_is_an_error_here(self):
        crash = (WORK / "kernels.c").read_text() + "KERNEL(crashes) { UNUSED; *(volatile int *)8 = 1; return 0; }\n"
        (WORK / "crash.c").write_text(crash)
        self.assertIn("crashes", self.fails(FAILED, "run", "crash.c", "crashes", *self.on()))

    def test_options_of_this_machine_are_refused(self):
        on = self.on()
        for word in ("--c-flags=-O3", "--copy=never", "--threads=2", "--memory-limit=1G", "--check-bounds"):
            self.assertIn("does not go with --on", self.fails(USAGE, "run", "kernels.c", "add_one", *on, word))
        self.assertIn("does not go with --on", self.fails(USAGE, "bench", "kernels.c", "add_one", *on, "--flush-cache=1M"))
        for text, why in (
            ("", "takes HOST:PORT"), ("host", "takes HOST:PORT"), ("key=k", "the address is missing"),
            ("1,2", "two addresses"), ("1,tracker=2", "two addresses"), ("1,n=2", "n is for a tracker"),
            ("tracker=1", "needs the key"), ("tracker=1,key=k,n=0", "n is all, or 1 to 256"),
            ("tracker=1,key=k,n=x", "n is all, or 1 to 256"), ("1,colour=red", "there is no 'colour'"),
        ):  # fmt: skip
            self.assertIn(why, self.fails(USAGE, "run", "kernels.c", "add_one", "--on", text))
        self.assertIn("takes one machine here", self.fails(USAGE, "run", "kernels.c", "--on", "tracker=1,key=k,n=2"))

    def test_a_fleet_is_measured_at_once(self):
        ports, on = self.fleet(3)
        words = ("bench", "add_one.opdasm", "--import", "kernels.c", "--repeat", "8", "--on")
        text = self.succeeds(*words, on + ",n=all")
        self.assertTrue(text.startswith("main: 8 repeats on each of 3 machines\n"), text)
        for port in ports:
            self.assertRegex(text, r"(?m)^ +127\.0\.0\.1:%d +%s +\d.* [+-]\d+\.\d %%" % (port, re.escape(socket.gethostname())))
        self.assertRegex(text, r"(?m)^  over 3 machines: median .*, from .* to .* \(spread \d+\.\d %\)$")
        found = json.loads(self.succeeds(*words, on + ",n=2", "--json"))
        self.assertEqual(2, len({one["address"] for one in found["machines"]} & {"127.0.0.1:%d" % port for port in ports}))
        medians = sorted(one["rows"][0]["median_us"] for one in found["machines"])
        (spread,) = found["spread"]
        self.assertEqual((2, medians[0], medians[1]), (spread["machines"], spread["min_us"], spread["max_us"]))
        self.assertAlmostEqual(sum(medians) / 2, spread["median_us"])
        self.assertAlmostEqual((medians[1] - medians[0]) / spread["median_us"], spread["relative"])
        self.assertEqual([8, 8], [len(one["rows"][0]["results_us"]) for one in found["machines"]])
        self.assertEqual([False, False], [one["rows"][0]["outlier"] for one in found["machines"]], "two cannot tell")

    def test_a_fleet_sweeps_over_sizes(self):
        ports, on = self.fleet(2)
        words = ("bench", "symbolic.opdasm", "--import", "kernels.c", "--repeat", "2", "--sweep", "n=2,5", "--on", on + ",n=2")
        text = self.succeeds(*words)
        self.assertEqual(["n=2:", "n=5:"], re.findall(r"(?m)^n=\d:$", text))
        rows = list(csv.DictReader(io.StringIO(self.succeeds(*words, "--csv"))))
        self.assertEqual(
            sorted(("127.0.0.1:%d" % port, n) for port in ports for n in "25"), sorted((row["address"], row["n"]) for row in rows)
        )
        self.assertTrue(all(float(row["median_us"]) > 0 and row["error"] == "" for row in rows))

    def test_a_fleet_of_one_is_compared_with_none(self):
        (port,), on = self.fleet(1)
        words = ("bench", "add_one.opdasm", "--import", "kernels.c", "--repeat", "2", "--number", "3", "--min-repeat-ms", "0", "--on", on + ",n=all")
        lines = self.succeeds(*words).splitlines()
        self.assertEqual("main: 2 repeats on each of 1 machine", lines[0])
        self.assertEqual("machine host median 95 % interval p99 calls/s against the median", " ".join(lines[1].split()))
        self.assertRegex(lines[2], r"^  127\.0\.0\.1:%d +%s +[\d.]+ [num]?s +unknown +[\d.]+ [num]?s +\d+ +\(noisy\)$" % (
            port, re.escape(socket.gethostname())))
        self.assertEqual(3, len(lines), lines)
        whole = json.loads(self.succeeds(*words, "--json"))
        self.assertEqual(["function", "machines", "spread"], list(whole))
        (machine,), (spread,) = whole["machines"], whole["spread"]
        self.assertEqual(["address", "host", "device", "rows"], list(machine))
        name = json.loads(self.succeeds("info", "--json"))["devices"][0]["name"]
        self.assertEqual(("main", "127.0.0.1:%d" % port, socket.gethostname(), name), (
            whole["function"], machine["address"], machine["host"], machine["device"]))
        (row,) = machine["rows"]
        self.assertEqual(({}, ["float32[4]"], 3, 2, False), tuple(row[name] for name in ("sizes", "arguments", "number", "repeat", "outlier")))
        self.assertEqual(["sizes", "machines", "median_us", "min_us", "max_us", "relative"], list(spread))
        self.assertEqual((1, 0), (spread["machines"], spread["relative"]))
        self.assertEqual({row["median_us"]}, {spread[name] for name in ("median_us", "min_us", "max_us")})
        text = self.succeeds(*words, "--csv")
        self.assertTrue(text.startswith(
            "function,address,host,device,repeat,number,median_us,median_low_us,median_high_us,p99_us,calls_per_second,noisy,outlier,error\n"))
        (row,) = csv.DictReader(io.StringIO(text))
        self.assertEqual(("main", machine["address"], machine["host"], name, "2", "3", "", "", "1", "0", ""), tuple(row[name] for name in (
            "function", "address", "host", "device", "repeat", "number", "median_low_us", "median_high_us", "noisy", "outlier", "error")))
        self.assertLessEqual(float(row["median_us"]), float(row["p99_us"]))
        self.assertGreater(float(row["calls_per_second"]), 0)

    def test_files_of_one_name_are_kept_apart_there(self):
        on = self.on()
        for folder, more in ("one", 1), ("two", 2):
            (WORK / folder).mkdir(exist_ok=True)
            source = (WORK / "kernels.c").read_text().replace("KERNEL(add_one)", "KERNEL(add_%s)" % folder).replace("[i] + 1;", "[i] + %d;" % more)
            (WORK / folder / "same.c").write_text("\n".join(source.split("KERNEL(add) {")[0].splitlines()) + "\n")
        text = (WORK / "add_one.opdasm").read_text()
        call = re.search(r"(?m)^ *call add_one\(.*\)\n", text)[0]
        (WORK / "both.opdasm").write_text(text.replace(call, call + call.replace("add_one(%x", "add_two(%t")))
        words = ("run", "both.opdasm", "--import", "one/same.c", "--import", "two/same.c", "-i", "4xf32=1,2,3,4")
        self.assertEqual("out: float32[4]\n[4 5 6 7]\n", self.succeeds(*words))
        self.assertEqual("out: float32[4]\n[4 5 6 7]\n", self.succeeds(*words, *on))

    def test_a_fleet_has_as_many_machines_as_are_asked_for(self):
        _, on = self.fleet(2)
        words = ("bench", "add_one.opdasm", "--import", "kernels.c", "--repeat", "2", "--on")
        self.assertIn("knows 2 servers of the key board, but 3", self.fails(FAILED, *words, on + ",n=3"))
        self.assertIn("knows no server of the key pi", self.fails(FAILED, *words, on.replace("board", "pi") + ",n=all"))
        self.assertIn("--compare is for one machine", self.fails(USAGE, *words, on + ",n=2", "--compare", "x.json"))
        self.assertIn("missing.so", self.fails(REFUSED, "bench", "missing.so", "--on", on + ",n=2"))

    def test_a_machine_that_fails_does_not_end_the_others(self):
        (*_, odd), on = self.fleet(2, with_odd=True)
        source = "#include <stdlib.h>\n%sKERNEL(odd) { UNUSED; if (getenv(\"IS_ODD\")) *(volatile int *)8 = 1; return 0; }\n"
        (WORK / "odd.c").write_text(source % (WORK / "kernels.c").read_text())
        words = ("bench", "odd.c", "odd", "--repeat", "2", "--on", on + ",n=3")
        result = self.check(FAILED, *words)
        self.assertIn("  over 2 machines: ", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^  failed: .*127\.0\.0\.1:%d.* odd" % odd)
        found = json.loads(self.check(FAILED, *words, "--json").stdout)
        self.assertEqual([2, 2], [len(one["rows"][0]["results_us"]) for one in found["machines"] if "error" not in one])
        self.assertEqual(["127.0.0.1:%d" % odd], [one["address"] for one in found["machines"] if "error" in one])
        rows = list(csv.DictReader(io.StringIO(self.check(FAILED, *words, "--csv").stdout)))
        self.assertEqual(1, sum(bool(row["error"]) for row in rows))

    def test_a_machine_that_fails_amid_a_sweep_has_no_rows(self):
        (*_, odd), on = self.fleet(1, with_odd=True)
        begin, fault = "KERNEL(add_one) {\n", '  if (getenv("IS_ODD") && size(tensor(args[0])) > 900) *(volatile int *)8 = 1;\n'
        source = (WORK / "kernels.c").read_text()
        self.assertEqual(1, source.count(begin))
        (WORK / "amid.c").write_text("#include <stdlib.h>\n" + source.replace(begin, begin + fault))
        words = ("bench", "symbolic.opdasm", "--import", "amid.c", "--repeat", "2", "--sweep", "n=2,1000", "--on", on + ",n=2", "--json")
        found = json.loads(self.check(FAILED, *words).stdout)
        self.assertEqual([("127.0.0.1:%d" % odd, 0)], [(one["address"], len(one["rows"])) for one in found["machines"] if "error" in one])
        self.assertEqual([2], [len(one["rows"]) for one in found["machines"] if "error" not in one])

    def test_a_machine_that_is_unlike_the_others_is_an_outlier(self):
        (*_, odd), on = self.fleet(3, with_odd=True)
        source = "#include <stdlib.h>\n#include <unistd.h>\n%sKERNEL(dozes) { UNUSED; usleep(getenv(\"IS_ODD\") ? 100000 : 1000); return 0; }\n"
        (WORK / "dozes.c").write_text(source % (WORK / "kernels.c").read_text())
        words = ("bench", "dozes.c", "dozes", "--repeat", "6", "--warmup", "0", "--min-repeat-ms", "0", "--on", on + ",n=4")
        found = json.loads(self.succeeds(*words, "--json"))
        self.assertEqual(["127.0.0.1:%d" % odd], [one["address"] for one in found["machines"] if one["rows"][0]["outlier"]])
        rows = csv.DictReader(io.StringIO(self.succeeds(*words, "--csv")))
        self.assertEqual(["0", "0", "0", "1"], [row["outlier"] for row in sorted(rows, key=lambda row: row["address"] == "127.0.0.1:%d" % odd)])
        self.assertRegex(self.succeeds(*words), r"(?m)^ +127\.0\.0\.1:%d .* \+\d+\.\d %% \(outlier\)" % odd)

    def test_a_secret_lets_in_who_knows_it(self):
        secret, other = WORK / "secret", WORK / "other"
        for path, text in ((secret, SECRET), (other, SECRET.replace("0", "1"))):
            path.write_text(text + "\n")
            path.chmod(0o600)
        on = self.on("--secret-file", "secret")
        words = ("run", "kernels.c", "add_one", "-i", "4xf32=1", "-i", "4xf32=0")
        self.succeeds(*words, "--on", on[1] + ",secret-file=secret")
        port = int(re.search(r":(\d+)", on[1])[1])
        with self.assertRaises(Refused):
            Client(port, "k")
        self.expect_message("ends: .*does not say that it knows the secret; TVM's clients know none$")
        self.assertIn("or wants a secret", self.fails(FAILED, *words, *on))
        self.assertIn("knows another secret", self.fails(FAILED, *words, "--on", on[1] + ",secret-file=other"))
        # A server without one is no server for who has one.
        self.assertIn("does not say that it knows the secret", self.fails(FAILED, *words, "--on", self.on()[1] + ",secret-file=secret"))
        (WORK / "short").write_text("short\n")
        (WORK / "short").chmod(0o600)
        self.assertIn("at least 16 bytes", self.fails(USAGE, "serve", "--secret-file", "short"))
        secret.chmod(0o640)
        self.assertIn("others may read the secret in secret; chmod 600", self.fails(USAGE, "serve", "--secret-file", "secret"))

    def test_other_machines_need_a_secret_or_leave(self):
        said = self.fails(USAGE, "serve", "--listen", "0.0.0.0:0")
        self.assertIn("--secret-file FILE", said)
        self.assertIn("--allow-anyone", said)
