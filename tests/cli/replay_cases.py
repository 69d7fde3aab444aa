"""run --record and replay: calls in files, made again."""

import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import programs
from case import COMPILER, FAILED, HERE, MISMATCH, OK, OPDYNO, REFUSED, USAGE, WORK, CliTest, run

DATA = Path(os.environ["OPDYNO_INTEROP_DATA"])
SAME = "the call returned what was recorded: 1 value is equal bit for bit\n"
CRASH = """#include "kernels.c"
KERNEL(crashes) { UNUSED; return *(volatile int *)16; }
"""


class Replay(CliTest):
    @classmethod
    def setUpClass(cls):
        for sanitizer in ("ASAN_OPTIONS", "TSAN_OPTIONS"):  # which would handle the signal of the crash
            os.environ[sanitizer] = os.environ.get(sanitizer, "") + ":handle_segv=0"
        shutil.copy(HERE / "bounds.c", WORK)
        (WORK / "crash.c").write_text(CRASH)
        for name in ("bounds", "crash", "kernels"):
            words = [COMPILER, "-shared", "-fPIC", "-o", name + "-replayed.so", name + ".c"]
            subprocess.run(words, cwd=WORK, check=True)
        (WORK / "wrong.c").write_text((HERE / "kernels.c").read_text().replace("+ 1", "+ 2"))
        (WORK / "chain.opdasm").write_text(programs.program(programs.function(
            "main", "x", programs.output("a"), "call add_one(%x, %a)", programs.output("b"), "call KERNEL(%a, %b)",
            "ret %b")))

    def chain(self, kernel):
        text = (WORK / "chain.opdasm").read_text().replace("KERNEL", kernel)
        (WORK / (kernel + ".opdasm")).write_text(text)
        return kernel + ".opdasm"

    def record(self, *words, program="add_one.opdasm", library="kernels-replayed.so", code=OK):
        given = ["run", program, "-i", "4xf32=1,2,3,4", "--import", library, "--record", "call.opdrec", *words]
        self.check(code, *given)

    def test_a_call_is_made_again_elsewhere(self):
        self.record()
        folder = WORK / "elsewhere"
        folder.mkdir(exist_ok=True)
        (WORK / "call.opdrec").rename(folder / "call.opdrec")
        result = subprocess.run([OPDYNO, "replay", "call.opdrec"], cwd=folder, capture_output=True, text=True)
        self.assertEqual((0, SAME, ""), (result.returncode, result.stdout, result.stderr))

    def test_a_profile_is_printed_behind_the_verdict(self):
        self.record()
        lines = self.succeeds("replay", "call.opdrec", "--profile").splitlines()
        self.assertEqual([SAME.strip(), ""], lines[:2])
        self.assertTrue(any(line.startswith("add_one ") for line in lines), lines)

    def test_info_shows_what_the_file_has(self):
        self.record("--with-operators")
        text = self.succeeds("replay", "call.opdrec", "--info")
        for part in ("Function:    main\n", "Recorded:    returned\n", "Devices:     cpu:0\n", "Operators:   1\n",
                     "arg_0  argument  float32[4] on cpu:0", "out    result    float32[4] on cpu:0"):
            self.assertIn(part, text)
        self.assertNotIn("Path:", text)
        table = "\n\nName   Kind      Value                State\narg_0  argument  float32[4] on cpu:0\nout    result    float32[4] on cpu:0\n"
        self.assertTrue(text.endswith(table), text)
        names = [line.split(":")[0] for line in text.split("\n\n")[0].splitlines()]
        self.assertEqual(["Function", "Recorded", "Program", "opdyno", "Processor", "Threads", "Devices"],
                         [name for name in names if name not in ("Environment", "Operators")])
        self.assertEqual({13}, {len(re.match(r"[^:]+: +", line)[0]) for line in text.split("\n\n")[0].splitlines()})
        given = json.loads(self.succeeds("replay", "call.opdrec", "--info", "--json"))
        self.assertEqual("main", given["configuration"]["Function"]["string"])
        self.assertNotIn("Verdict", given["configuration"])

    def test_nothing_of_the_machine_is_in_the_file_unless_asked(self):
        for words, expected in (((), False), (("--with-paths",), True)):
            self.record(*words, program=str(DATA / "0.27" / "mlp.so"), code=USAGE)  # wrong inputs: nothing is recorded
            self.check(OK, "run", str(DATA / "0.27" / "mlp.so"), "with_constants", "--record", "mlp.opdrec", *words)
            content = (WORK / "mlp.opdrec").read_bytes()
            self.assertEqual(expected, str(DATA).encode() in content)
            if not expected:
                self.assertNotIn(str(WORK).encode(), content)
            else:
                text = self.succeeds("replay", "mlp.opdrec", "--info")
                self.assertIn("Path:        %s" % (DATA / "0.27" / "mlp.so"), text)
                self.assertIn("Host:        %s" % socket.gethostname(), text)

    def test_another_result_is_exit_code_1(self):
        self.record("--with-outputs", "--with-operators")
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", "wrong.so", "wrong.c"], cwd=WORK, check=True)
        words = ["replay", "call.opdrec", "--with", "add_one.opdasm", "--import", "wrong.so"]
        text = self.check(MISMATCH, *words).stdout
        self.assertTrue(text.startswith(
            "the call returned something else than was recorded: out, float32[4] on cpu:0, differs at 4 of 4 elements: "
            "max abs 1 (tolerance "), text)
        self.assertIn("; the first operator that differs is add_one, number 1 of the call\n", text)
        self.assertIn("note: the program is another one than was recorded\n", text)
        self.succeeds("replay", "call.opdrec", "--with", "add_one.opdasm", "--import", "kernels-replayed.so")
        text = self.check(MISMATCH, *words, "--minimise", "small.opdrec").stdout
        self.assertIn("the call of add_one is in small.opdrec\n", text)
        text = self.check(MISMATCH, "replay", "small.opdrec").stdout
        self.assertIn("the first operator that differs is add_one", text)
        given = json.loads(self.check(MISMATCH, *words, "--json").stdout)
        self.assertEqual(0, given["configuration"]["Same"]["count"])

    def test_tolerances_decide_whether_another_result_is_the_same(self):
        self.record("--with-outputs")
        words = ("replay", "call.opdrec", "--with", "add_one.opdasm", "--import", "wrong.c")  # 3, 4, 5, 6 and not 2, 3, 4, 5
        for option, value, code in ("--atol", "1", OK), ("--atol", "0.99", MISMATCH), ("--rtol", "0.5", OK), ("--rtol", "0.3", MISMATCH):
            text = self.check(code, *words, option, value).stdout
            self.assertEqual(code == OK, "1 value agrees within the tolerance, 0 are equal bit for bit" in text, text)
        self.assertIn("option rtol takes numbers of at least 0", self.fails(USAGE, *words, "--rtol", "x"))
        self.assertIn("option atol takes numbers of at least 0", self.fails(USAGE, *words, "--atol", "x"))

    def test_a_call_that_does_not_end_has_a_deadline(self):
        (WORK / "spins.opdasm").write_text(".func main(x) {\nagain:\n  goto again\n}\n")
        self.fails(FAILED, "run", "spins.opdasm", "-i", "4xf32=1,2,3,4", "--record", "loop.opdrec", "--timeout", "300ms")
        text = self.check(OK, "replay", "loop.opdrec", "--timeout", "300ms").stdout
        self.assertIn("the call failed as it did when it was recorded", text)
        self.assertIn("deadline", text)

    def test_without_the_program_the_file_has_its_hash(self):
        self.record("--without-program")
        self.assertIn("has only hashes of its program", self.fails(FAILED, "replay", "call.opdrec"))
        self.assertEqual("opdyno replay: call.opdrec has only hashes of its program: give it by --with\n",
                         self.fails(FAILED, "replay", "call.opdrec", "--check-bounds"))
        result = self.check(OK, "replay", "call.opdrec", "--check-bounds", "--with", "add_one.opdasm", "--import",
                            "kernels-replayed.so", silent=False)
        self.assertEqual((SAME, "opdyno replay: checked 1 call of 1 kernel\n"), (result.stdout, result.stderr))
        self.assertEqual(SAME, self.succeeds("replay", "call.opdrec", "--with", "add_one.opdasm", "--import",
                                             "kernels-replayed.so"))

    def test_an_error_happens_again_and_its_operator_is_cut_out(self):
        program = self.chain("fails")
        self.record(program=program, code=FAILED)
        text = self.succeeds("replay", "call.opdrec")
        self.assertTrue(text.startswith("the call failed as it did when it was recorded: fails: "), text)
        text = self.succeeds("replay", "call.opdrec", "--minimise", "small.opdrec")
        self.assertIn("the call of fails is in small.opdrec\n", text)
        text = self.succeeds("replay", "small.opdrec")
        self.assertTrue(text.startswith("the call failed as it did when it was recorded: fails: "), text)
        self.assertLess((WORK / "small.opdrec").stat().st_size, (WORK / "call.opdrec").stat().st_size + 100)

    def crash(self, *words, **settings):
        result = run("run", self.chain("crashes"), "-i", "4xf32=1,2,3,4", "--import", "crash-replayed.so", *words, **settings)
        self.assertEqual(-signal.SIGSEGV, result.returncode, result.stderr)

    def test_a_call_that_ends_its_process_is_in_the_file(self):
        self.crash("--record", "crash.opdrec")
        self.assertIn("Recorded:    did not end\n", self.succeeds("replay", "crash.opdrec", "--info"))
        self.assertEqual(-signal.SIGSEGV, run("replay", "crash.opdrec").returncode)
        text = self.succeeds("replay", "crash.opdrec", "--minimise", "small.opdrec")
        self.assertEqual("the call ends its process by signal 11 (Segmentation fault), within crashes\n"
                         "the call of it is in small.opdrec\n", text)
        self.assertEqual(-signal.SIGSEGV, run("replay", "small.opdrec").returncode)
        self.assertIn("arg_1  argument  float32[4] on cpu:0", self.succeeds("replay", "small.opdrec", "--info"))

    def test_a_debugger_shows_where_a_call_ends_its_process(self):
        if not shutil.which("gdb"):
            self.skipTest("skipped: gdb is not installed")
        self.crash("--record", "crash.opdrec")
        words = ["gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off", "-ex", "run", "-ex", "bt", "--args", OPDYNO, "replay", "crash.opdrec"]
        result = subprocess.run(words, cwd=WORK, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        if "ptrace" in result.stderr:
            self.skipTest("skipped: no process may be traced here")
        self.assertIn("received signal SIGSEGV", result.stdout)
        self.assertRegex(result.stdout, "#0 .* __tvm_ffi_crashes ", "the private copy's symbols")

    def test_a_crash_that_was_not_recorded_is_another_outcome(self):
        self.record()
        words = ("--with", self.chain("crashes"), "--import", "crash-replayed.so", "--minimise", "small.opdrec")
        text = self.check(MISMATCH, "replay", "call.opdrec", *words).stdout
        self.assertEqual("the call ends its process by signal 11 (Segmentation fault), within crashes; when it was recorded, it returned\n"
                         "the call of it is in small.opdrec\n", text)

    def test_the_last_call_is_kept_if_the_environment_says_so(self):
        settings = dict(os.environ, OPDYNO_RECORD_LAST="last.opdrec")
        self.crash(env=settings)
        self.assertIn("Recorded:    did not end\n", self.succeeds("replay", "last.opdrec", "--info"))
        words = ["run", "add_one.opdasm", "-i", "4xf32=5,6,7,8", "--import", "kernels-replayed.so"]
        self.check(OK, *words, env=settings)
        self.assertEqual(SAME, self.succeeds("replay", "last.opdrec"))
        self.assertIn("Recorded:    returned\n", self.succeeds("replay", "last.opdrec", "--info"))
        self.check(OK, "bench", *words[1:], "--number", "3", "--repeat", "2", env=settings)
        self.assertEqual(SAME, self.succeeds("replay", "last.opdrec"))
        self.check(OK, *words, env=dict(settings, OPDYNO_RECORD_LAST="/nowhere/last.opdrec"), silent=False)
        self.assertEqual([], [path.name for path in WORK.glob("*.opdrec.*")])  # nothing is left beside the files

    def test_kernels_that_touch_memory_outside_their_tensors_are_found(self):
        self.record(program=self.chain("writes_behind"), library="bounds-replayed.so")
        text = self.fails(MISMATCH, "replay", "call.opdrec", "--check-bounds")
        self.assertEqual("opdyno replay: the kernel writes_behind wrote memory that begins 0 B after the end of argument 1, "
                         "float32[4]\n", text)
        self.record()
        result = self.check(OK, "replay", "call.opdrec", "--check-bounds", silent=False)
        self.assertEqual("opdyno replay: checked 1 call of 1 kernel\n", result.stderr)

    def test_a_call_is_made_again_on_another_device(self):
        self.record("--with-operators")
        result = self.check(OK, "replay", "call.opdrec", "--device", "cpu:1", "--profile", silent=False)
        self.assertEqual("opdyno: warning: cpu:1 has the same processors as cpu:0: all processors of a machine are one device\n", result.stderr)
        text = result.stdout
        self.assertTrue(text.startswith(SAME + "note: "), text)
        self.assertIn("recorded on cpu:0, made on cpu:1 again\n", text)
        self.assertRegex(text, r"(?m)^add_one .*\bcpu1\b")
        self.check(OK, "replay", "call.opdrec", "--device", "cpu:1", "--check-bounds", silent=False)
        self.assertIn("there is no device cpu:1000 here", self.fails(FAILED, "replay", "call.opdrec", "--device", "cpu:1000"))
        self.assertIn("option '--device'", self.fails(USAGE, "replay", "call.opdrec", "--device", "fpga:0"))
        self.assertIn("there is no device webgpu:0 here", self.fails(FAILED, "replay", "call.opdrec", "--device", "webgpu:0"))

    def test_an_operator_that_fails_on_another_device_is_cut_out_there(self):
        self.record(program=self.chain("fails"), code=FAILED)
        text = self.succeeds("replay", "call.opdrec", "--device", "cpu:1", "--minimise", "small.opdrec", silent=False)
        self.assertIn("the call of fails is in small.opdrec\n", text)
        text = self.succeeds("replay", "small.opdrec", "--info")
        self.assertIn("arg_0  argument  float32[4] on cpu:1", text)
        self.assertIn("Devices:     cpu:1\n", text)
        self.assertIn("the call failed as it did", self.succeeds("replay", "small.opdrec"))

    def test_programs_for_opencl_are_made_again_on_another_of_its_devices(self):
        environment = dict(os.environ, POCL_DEVICES="basic basic")
        devices = json.loads(run("info", "--json", env=environment).stdout)["devices"]
        if sum(device["device"].startswith("opencl:") for device in devices) < 2:
            self.skipTest("there are no two OpenCL devices")
        program = str(DATA / "opencl" / "mlp_bytecode.so")
        self.check(OK, "run", program, "--device", "opencl:0", "--record", "cl.opdrec", silent=False, env=environment)
        text = self.succeeds("replay", "cl.opdrec", "--device", "opencl:1", env=environment)
        self.assertTrue(text.startswith(SAME) and "recorded on opencl:0, made on opencl:1 again" in text, text)
        self.assertIn("the program has no kernels for cpu:0: its kernels are for opencl; give a build of it for that device",
                      self.fails(REFUSED, "replay", "cl.opdrec", "--device", "cpu:0", env=environment))
        self.assertIn("'--check-bounds' checks kernels of the CPU only", self.fails(
            USAGE, "replay", "cl.opdrec", "--device", "opencl:1", "--check-bounds", env=environment))

    def test_what_a_c_source_was_compiled_to_is_in_the_file(self):
        self.record(library="kernels.c")
        self.assertEqual(SAME, self.succeeds("replay", "call.opdrec", env=dict(os.environ, CC="/nowhere/cc")))

    def test_programs_of_tvm_are_made_again(self):
        calls = [("0.27/%s.so" % name, []) for name in ("cnn", "transformer", "chain_100")]
        for folder in ("0.25", "0.26", "0.27", "compiled/0.25", "compiled/0.27"):
            calls += [(folder + "/mlp.so", [function]) for function in ("with_arguments", "with_constants")]
        calls += [("0.27/parallel.so", ["doubled"]), ("compiled/0.27/branches.so", ["run_four"])]
        for name, words in calls:
            self.check(OK, "run", str(DATA / name), *words, "--record", "tvm.opdrec", "--with-operators", silent=False)
            self.assertEqual(SAME, self.succeeds("replay", "tvm.opdrec"), name)

    def test_constants_of_a_library_are_kept_once(self):
        path = DATA / "0.27" / "mlp.so"
        self.check(OK, "run", str(path), "with_constants", "--record", "tvm.opdrec", silent=False)
        self.assertLess((WORK / "tvm.opdrec").stat().st_size, path.stat().st_size + 3000)

    def test_results_are_shown_also_if_the_file_could_not_be_written(self):
        result = self.check(FAILED, "run", "add_one.opdasm", "-i", "4xf32=1,2,3,4", "--import", "kernels-replayed.so", "--record",
                            "long.opdrec", silent=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16500, 16500)))
        self.assertIn("[2 3 4 5]", result.stdout)
        self.assertIn("cannot write", result.stderr)
        self.assertFalse((WORK / "long.opdrec").exists())

    def test_command_lines_that_cannot_be_meant_are_refused(self):
        self.assertIn("option '--with-paths' needs --record", self.fails(USAGE, "run", "add_one.opdasm", "--with-paths"))
        self.assertIn("add_one is a plain function", self.fails(
            USAGE, "run", "kernels-replayed.so", "add_one", "-i", "4xf32", "-i", "4xf32", "--record", "x.opdrec"))
        self.assertIn("exclude each other", self.fails(USAGE, "replay", "x.opdrec", "--info", "--profile"))
        for option in ("--profile",), ("--check-bounds",), ("--minimise", "y.opdrec"), ("--device", "cpu:1"):
            self.assertIn("--info and %s exclude each other" % option[0], self.fails(USAGE, "replay", "x.opdrec", "--info", *option))
        self.assertIn("--json and --profile exclude each other", self.fails(USAGE, "replay", "x.opdrec", "--json", "--profile"))
        for threads in "0", "1025":
            message = "option '--threads' takes an integer from 1 to 1024, not '%s'" % threads
            self.assertIn(message, self.fails(USAGE, "replay", "x.opdrec", "--threads", threads))
        for option in "--with-paths", "--with-outputs", "--with-operators", "--without-program":
            self.assertIn("option '%s' needs --record" % option, self.fails(USAGE, "run", "add_one.opdasm", option))
        self.assertIn("option '--record' records calls of this machine", self.fails(
            USAGE, "run", "add_one.opdasm", "--record", "x.opdrec", "--on", "127.0.0.1:1"))
        self.assertIn("kernels.c holds no VM program", self.fails(REFUSED, "replay", "x.opdrec", "--with", "kernels.c"))
        self.assertIn("cannot open none.opdrec", self.fails(FAILED, "replay", "none.opdrec"))
        (WORK / "other.opdrec").write_text("something else, which is long enough to be read")
        self.assertIn("other.opdrec is not a recording of a call", self.fails(REFUSED, "replay", "other.opdrec"))
        self.record()
        content = bytearray((WORK / "call.opdrec").read_bytes())
        content[len(content) // 2] ^= 1
        (WORK / "damaged.opdrec").write_bytes(content)
        self.assertIn("damaged", self.fails(REFUSED, "replay", "damaged.opdrec"))
        self.assertIn("cannot write", self.fails(FAILED, "run", "add_one.opdasm", "-i", "4xf32", "--import",
                                                 "kernels-replayed.so", "--record", "/nowhere/x.opdrec"))
