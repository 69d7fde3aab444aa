"""run --check-bounds: kernels that touch memory outside their tensors are named."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import npy
import programs
from case import COMPILER, HERE, MISMATCH, USAGE, WORK, CliTest
from device_cases import Cuda

DATA = Path(os.environ["OPDYNO_INTEROP_DATA"])
READ, WROTE = ("read", "wrote") if platform.machine() == "x86_64" else ("accessed", "accessed")


class CheckBounds(CliTest):
    @classmethod
    def setUpClass(cls):
        shutil.copy(HERE / "bounds.c", WORK)
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", "bounds.so", "bounds.c"], cwd=WORK, check=True)

    def finds(self, message, kernel, size=4):
        """In the library and in a program that calls it, at sizes that end at a page's end and that do not."""
        tensor = "%dxf32=range" % size
        given = self.fails(MISMATCH, "run", "bounds.so", kernel, "-i", tensor, "-i", tensor, "--check-bounds")
        self.assertEqual("opdyno run: the kernel %s %s\n" % (kernel, message), given)
        if size == 4:
            (WORK / "unary.opdasm").write_text(programs.program(programs.unary("main", kernel)))
            words = ["run", "unary.opdasm", "-i", tensor, "--import", "bounds.so", "--check-bounds"]
            self.assertEqual(given, self.fails(MISMATCH, *words))

    def test_writes_near_a_tensor_name_it_and_the_distance(self):
        self.finds("wrote memory that begins 0 B after the end of argument 1, float32[4]", "writes_behind")
        self.finds("wrote memory that begins 4 B before argument 1, float32[4]", "writes_before")

    def test_guards_are_found_by_reads_and_writes(self):
        for size in (4, 16):
            for kernel, verb, place in (
                ("reads_a_row_behind", READ, "400000 B after the end of argument 0"),
                ("writes_a_row_behind", WROTE, "400000 B after the end of argument 1"),
            ):
                self.finds("%s memory that begins %s, float32[%d]" % (verb, place, size), kernel, size)
        self.finds("%s memory that begins 0 B after the end of argument 0, float32[16]" % READ, "reads_behind", 16)
        self.finds("%s memory that begins 0 B after the end of argument 1, float32[16]" % WROTE, "writes_behind", 16)
        self.finds("%s memory that begins 4 B before argument 0, float32[16]" % READ, "reads_before", 16)

    def test_writes_within_the_page_before_are_found(self):
        self.finds("wrote memory that begins 4000 B before argument 1, float32[4]", "writes_a_row_before")

    def test_reads_that_no_guard_sees_are_found_by_their_results(self):
        self.finds(
            "computed different results, from byte 0 on of argument 1, float32[4], in two calls with equal tensors: it "
            "reads memory outside them, or its results depend on more than its arguments",
            "reads_behind",
        )
        self.assertIn("computed different results", self.fails(MISMATCH, *self.checked("counts", 16)))

    def test_faults_on_other_threads_are_the_kernels(self):
        self.finds("%s memory that begins 400000 B after the end of argument 1, float32[4]" % WROTE, "parallel_writes")

    def test_any_other_fault_names_the_kernel_and_the_address(self):
        self.finds("%s memory at address 0x10, which is near none of its tensors" % WROTE, "writes_far_away")

    def checked(self, kernel, size):
        tensor = "%dxf32=range" % size
        return ["run", "bounds.so", kernel, "-i", tensor, "-i", tensor, "--check-bounds"]

    def test_a_kernel_that_keeps_to_its_tensors_gives_the_same_results(self):
        for size in (0, 1, 4, 16, 1024, 5000):
            result = self.check(0, *self.checked("copies", size), "--csv", silent=False)
            self.assertEqual(["out,%d,%d" % (i, i) for i in range(size)], result.stdout.splitlines()[1:])
            self.assertEqual("opdyno run: checked 1 call of 1 kernel\n", result.stderr)

    def test_a_tensor_within_another_one_lets_the_kernel_use_the_larger_one(self):
        lines = ['%s = call vm.builtin.alloc_storage(%vm, shape(4096), 0, dtype(uint8), "global")']
        lines += ["%%%s = call vm.builtin.alloc_tensor(%%s, 0, shape(%d), dtype(float32))" % place for place in (("a", 2), ("b", 4))]
        for pair in ("%a, %b", "%b, %a"):
            calls = ["call copies(%x, %b)", "call fills_its_output(" + pair + ")", "ret %b"]
            (WORK / "within.opdasm").write_text(programs.program(programs.function("main", "x", *lines, *calls)))
            words = ["run", "within.opdasm", "-i", "4xf32=range", "--import", "bounds.so", "--check-bounds", "--csv"]
            out = self.check(0, *words, silent=False).stdout
            last = ["1", "1", "1", "1"] if pair == "%a, %b" else ["1", "1", "2", "3"]
            self.assertEqual(last, [line.split(",")[-1] for line in out.splitlines()[1:]])

    def test_a_tensor_that_begins_within_another_one_may_come_first(self):
        lines = ['%s = call vm.builtin.alloc_storage(%vm, shape(4096), 0, dtype(uint8), "global")']
        lines += ["%whole = call vm.builtin.alloc_tensor(%s, 0, shape(32), dtype(float32))",
                  "%late = call vm.builtin.alloc_tensor(%s, 64, shape(16), dtype(float32))"]
        calls = ["call copies(%x, %whole)", "call doubles_in_place(%late, %whole)", "ret %whole"]
        (WORK / "late.opdasm").write_text(programs.program(programs.function("main", "x", *lines, *calls)))
        words = ["run", "late.opdasm", "-i", "32xf32=range", "--import", "bounds.so", "--csv", "--check-bounds"]
        result = self.check(0, *words, silent=False)
        self.assertEqual("opdyno run: checked 2 calls of 2 kernels\n", result.stderr)
        numbers = [int(line.split(",")[-1]) for line in result.stdout.splitlines()[1:]]
        self.assertEqual([*range(16, 32), *range(32, 64, 2)], numbers)

    def test_the_tensors_of_the_call_itself_are_written_once(self):
        tensor = ["-i", "4xf32=1,2,3,4", "-i", "4xf32=0"]
        words = ["run", "bounds.so", "doubles_in_place", *tensor, "--out-arg", "0", "--csv", "--check-bounds"]
        out = self.check(0, *words, silent=False).stdout
        self.assertEqual(["2", "4", "6", "8"], [line.split(",")[-1] for line in out.splitlines()[1:]])

    def test_tensors_that_share_memory_share_it_in_the_check(self):
        shared = programs.function(
            "main", "x", programs.HEAP, *programs.check("x"), programs.output("t"), "call add_one(%x, %t)",
            "call add_one(%t, %t)", "call needs_its_output_as_input(%t, %t)", "ret %t",
        )  # fmt: skip
        (WORK / "shared.opdasm").write_text(programs.program(shared))
        words = ["run", "shared.opdasm", "-i", "4xf32=1,2,3,4", "--import", "bounds.so", "--check-bounds", "--csv"]
        result = self.check(0, *words, silent=False)
        self.assertEqual("opdyno run: checked 3 calls of 2 kernels\n", result.stderr)
        self.assertEqual(["3", "4", "5", "6"], [line.split(",")[-1] for line in result.stdout.splitlines()[1:]])

    def test_parameters_of_files_are_checked_too(self):
        npy.save(WORK / "x16.npz", x=([4], [1, 2, 3, 4]))
        (WORK / "unary.opdasm").write_text(programs.program(programs.unary("main", "writes_behind")))
        words = ["run", "unary.opdasm", "--params", "x16.npz", "--import", "bounds.so", "--check-bounds"]
        self.assertIn("after the end of argument 1", self.fails(MISMATCH, *words))

    def test_kernels_that_a_state_calls_are_said_to_be_left_out(self):
        lines = ["%kernels = call vm.builtin.make_tuple(@does_nothing)", "%initial = call vm.builtin.make_tuple(%x)",
                 "%state = call vm.builtin.rnn_state_create(1, 2, 2, %kernels, %kernels, %initial)",
                 "call vm.builtin.kv_state_add_sequence(%state, 7)",
                 "call vm.builtin.kv_state_begin_forward(%state, shape(7), shape(1))",
                 "call vm.builtin.rnn_state_get(%state, 0, 0, %x)", "call add_one(%x, %x)", "ret %x"]  # fmt: skip
        (WORK / "stateful.opdasm").write_text(programs.program(programs.function("main", "x", *lines)))
        words = ["run", "stateful.opdasm", "-i", "4xf32=0", "--import", "bounds.so", "--check-bounds"]
        expected = "opdyno run: checked 1 call of 1 kernel; kernels that KV caches and states call are not checked\n"
        self.assertEqual(expected, self.check(0, *words, silent=False).stderr)

    def test_a_kernels_own_error_stays_what_it_is(self):
        (WORK / "fails.opdasm").write_text(programs.program(programs.unary("main", "fails")))
        words = ["run", "fails.opdasm", "-i", "4xf32=0", "--import", "bounds.so"]
        self.assertEqual(self.fails(4, *words), self.fails(4, *words, "--check-bounds"))

    def test_tvms_kernels_keep_to_their_tensors_in_both_modes(self):
        for model, function, calls in (
            ("0.27/cnn", "main", 4),
            ("0.27/transformer", "main", 14),
            ("0.27/mlp", "with_constants", 2),
            ("compiled/0.27/mlp", "with_constants", 2),
        ):
            words = ["run", str(DATA / (model + ".so")), function]
            result = self.check(0, *words, "--check-bounds", silent=False)
            self.assertIn("checked %d calls" % calls, result.stderr)
            self.assertEqual(self.succeeds(*words), result.stdout)

    def test_functions_that_are_no_kernels_are_named(self):
        host = programs.function("main", "x", "call add_one(%x, %x)", "%n = call relax.run.shape_to_tensor(shape(2, 3))", "ret %x")
        (WORK / "host.opdasm").write_text(programs.program(host))
        words = ["run", "host.opdasm", "-i", "4xf32=0", "--import", "bounds.so", "--check-bounds"]
        message = self.check(0, *words, silent=False).stderr
        rest = "; not checked, because they are not kernels of MOD: relax.run.shape_to_tensor\n"
        self.assertEqual("opdyno run: checked 1 call of 1 kernel" + rest, message)

    def test_kernels_of_other_devices_are_refused(self):
        self.check(0, *self.checked("copies", 4), "--device", "cpu:1", silent=False)
        message = self.fails(USAGE, *self.checked("copies", 4), "--device", "cuda:0", env=Cuda.recording())
        self.assertIn("option '--check-bounds' checks kernels of the CPU only", message)
