"""--on: the commands run, profile and bench on other machines, which here are servers of their own processes."""

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
        calls = json.loads(self.succeeds("profile", *words, "--json"))["calls"]
        numbers = [call["Repeat"]["count"] for call in calls if call["Name"]["string"] == "add_one"]
        self.assertEqual(list(range(len(numbers))), numbers, "all calls until the medians are stable")
        self.assertGreaterEqual(len(numbers), 10)
        self.assertRegex(self.succeeds("profile", *words), r"(?m)^Machine: %s$" % re.escape(socket.gethostname()))
        self.assertIn("plain function", self.fails(USAGE, "profile", "kernels.c", "add_one", *on))

    def test_counters_are_read_there(self):
        on = self.on()
        words = ("profile", "add_one.opdasm", "--import", "kernels.c", "-i", "4xf32=1", "--repeat", "1", "--json", "--collector")
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
            ("1,2", "two addresses"), ("1,tracker=2", "two addresses"), ("tracker=1,key=k,n=2", "there is no 'n'"),
            ("tracker=1", "needs the key"), ("1,colour=red", "there is no 'colour'"),
        ):  # fmt: skip
            self.assertIn(why, self.fails(USAGE, "run", "kernels.c", "add_one", "--on", text))

    def test_a_tracker_gives_the_machine(self):
        tracker = Tracker()
        self.addCleanup(tracker.listener.close)
        address = "127.0.0.1:%d" % tracker.port
        self.serve("--tracker", address, key="board")
        with tracker.changed:
            self.assertTrue(tracker.changed.wait_for(lambda: len(tracker.servers) == 1, 60))
        words = ("bench", "add_one.opdasm", "--import", "kernels.c", "--repeat", "2", "--json")
        found = json.loads(self.succeeds(*words, "--on", "tracker=%s,key=board" % address))
        self.assertEqual((socket.gethostname(), 2), (found["machine"], len(found["results_us"])))

    def test_a_key_that_no_server_has_is_told_with_those_that_there_are(self):
        tracker = Tracker()
        self.addCleanup(tracker.listener.close)
        address = "127.0.0.1:%d" % tracker.port
        for servers, said in (
            ([{"key": "server:phone"}, {"key": "server:board"}, {"key": "client"}], "the keys are board, phone"),
            ([], "there are no servers"),
        ):
            tracker.servers = servers
            message = self.fails(FAILED, "run", "add_one.opdasm", "-i", "4xf32", "--on", "tracker=%s,key=bord" % address, "--timeout", "2s")
            self.assertIn("no server at the tracker %s has the key bord, so the request waits for one; %s\n" % (address, said), message)

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
        self.assertIn("has another secret", self.fails(FAILED, *words, "--on", on[1] + ",secret-file=other"))
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
