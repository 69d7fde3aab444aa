"""What `opdyno inspect` prints, as a whole: overviews, trees, sizes and findings of programs and libraries."""

import hashlib
import json
import os
import re
import struct
import subprocess
from pathlib import Path

import npy
from case import COMPILER, WORK, CliTest, compile_kernels

MLP = Path(os.environ["OPDYNO_INTEROP_DATA"]) / "0.27/mlp.so"
PROGRAM = """.const = tensor(int8, (2), 0x0102)
.func main(x) {
  %r = call kernel(c[0], %x)
  %s = call vm.builtin.copy(%r)
  ret %s
}
"""
KERNELS = ["add", "add_one", "fails", "hangs", "naps", "shouts", "sleeps", "sum_of", "two"]


class InspectText(CliTest):
    @classmethod
    def setUpClass(cls):
        (WORK / "shown.opdasm").write_text(PROGRAM)
        compile_kernels("shown.so")
        (WORK / "bare.c").write_text("int bare(int x) { return x; }\n")
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", "bare.so", "bare.c"], cwd=WORK, check=True)

    def inspect(self, *words):
        return self.succeeds("inspect", *words)

    def test_an_overview_has_functions_needs_constants_and_imports(self):
        overview = """relax.VMExecutable
  functions:
    main(x)  3 instructions, 3 registers
  needs: kernel
  builtins: copy
  constants:
    0: tensor Tensor(int8[2], cpu:0)
  imports:
    c
      file: kernels.c
      functions: none
      not compiled: the functions are those that the text names; --load compiles it
"""
        self.assertEqual(overview, self.inspect("shown.opdasm", "--import", "kernels.c"))
        (WORK / "least.opdasm").write_text(".func main(x) {\n  ret %x\n}\n")
        self.assertEqual(
            "relax.VMExecutable\n  functions:\n    main(x)  1 instruction, 1 register\n", self.inspect("least.opdasm"))

    def test_an_overview_of_a_library_says_if_it_offers_nothing(self):
        lines = self.inspect("shown.so").splitlines()
        self.assertEqual(["library", "  file: shown.so", "  size_bytes: %d" % (WORK / "shown.so").stat().st_size], lines[:3])
        self.assertEqual(KERNELS, sorted(lines[3].replace("  functions: ", "").split(", ")))
        self.assertEqual(4, len(lines), lines)
        lines = self.inspect("bare.so").splitlines()
        self.assertEqual("  functions: none", lines[3])
        self.assertTrue(lines[4].startswith("  note: no symbol of this library starts with __tvm_ffi_"), lines)
        self.assertNotIn("note:", self.inspect(MLP))

    def test_an_overview_of_what_tvm_made_has_its_release(self):
        text = self.inspect(MLP)
        self.assertTrue(text.startswith("relax.VMExecutable\n  file: %s\n  functions:\n    with_arguments(" % MLP), text)
        self.assertTrue(text.endswith(
            "  imports:\n    library\n      file: %s\n      tvm_release: 0.24 or newer\n      size_bytes: %d\n"
            "      functions: fused_matmul_add_relu, fused_matmul1_add1\n" % (MLP, MLP.stat().st_size)), text)
        self.assertIn("\n  needs: fused_matmul_add_relu, fused_matmul1_add1\n  builtins: check_tensor_info, ", text)
        listing = self.succeeds("dis", str(MLP))
        for name in "with_arguments", "with_constants":
            body, registers = re.search(r"\.func %s\(.*?\) regs=(\d+) \{\n(.*?)\n\}" % name, listing, re.S).group(2, 1)
            count = sum(line.startswith("  ") for line in body.splitlines())
            self.assertRegex(text, r"\n    %s\(.*\) -> float32\[2, 10\]  %d instructions, %s registers\n" % (name, count, registers))

    def test_a_tree_is_drawn_with_its_branches(self):
        self.assertEqual(
            "relax.VMExecutable: 1 function, 1 constant, needs 2 functions\n"
            "├─ c  kernels.c: 0 functions\n"
            "├─ relax.VMExecutable: 1 function, 0 constants, needs 0 functions\n"
            "└─ library  shown.so: 9 functions\n",
            self.inspect("shown.opdasm", "--import", "kernels.c", "--import", "identity.opdasm", "--import", "shown.so", "--tree"),
        )
        self.assertEqual(
            "relax.VMExecutable  %s: 2 functions, 17 constants, needs 7 functions\n"
            "└─ library  %s: 2 functions, made by TVM 0.24 or newer\n" % (MLP, MLP), self.inspect(MLP, "--tree"))
        self.assertEqual("library  bare.so: 0 functions\n", self.inspect("bare.so", "--tree"))

    def test_signatures_of_libraries_are_names(self):
        lines = self.inspect("shown.so", "--signatures").splitlines()
        self.assertEqual("library  shown.so", lines[0])
        self.assertEqual(["  %s(…)" % name for name in KERNELS], sorted(lines[1:]))
        self.assertEqual("library  bare.so\n", self.inspect("bare.so", "--signatures"))

    def test_sizes_stand_in_columns(self):
        self.succeeds("as", "shown.opdasm", "shown.vmexec")
        lines = self.inspect("shown.vmexec", "--sizes").splitlines()
        self.assertEqual("relax.VMExecutable  shown.vmexec", lines[0])
        found = [re.fullmatch(r"(  [a-z ]+?) +(\d+) bytes(  .*)?", line).groups() for line in lines[1:]]
        self.assertEqual(
            [
                ("  function table", "  3 entries"),  # main, kernel, vm.builtin.copy
                ("  constants", "  1 constant, of which 1 tensor with 2 bytes of data"),
                ("  code", "  3 instructions"),
                ("    main", "  3 instructions, 3 registers"),
            ],
            [(name, note) for name, _, note in found],
        )
        self.assertEqual(1, len({line.index(" bytes") for line in lines[1:]}), "numbers are aligned at their ends")
        sizes = [int(size) for _, size, _ in found]
        self.assertEqual((WORK / "shown.vmexec").stat().st_size, sum(sizes[:3]) + 28)  # header, count of memory scopes
        self.assertLess(sizes[3], sizes[2], "the code has the places of the instructions, too")
        bytes_of_data = 4 * (16 * 32 + 32 + 32 * 10 + 10)  # of the four weights
        self.assertIn("17 constants, of which 4 tensors with %d bytes of data\n" % bytes_of_data, self.inspect(MLP, "--sizes"))
        lines = self.inspect("shown.so", "--sizes").splitlines()
        self.assertEqual("library  shown.so", lines[0])
        names = [re.match(r" +[a-z_]+( [a-z]+)*", line)[0].rstrip() for line in lines[1:]]
        self.assertEqual(["  file", "  in memory", "  segments with code"], names[:3])
        self.assertEqual(["    " + name for name in KERNELS], sorted(names[3:]))

    def test_sizes_of_functions_are_those_of_their_symbols(self):
        try:
            listed = subprocess.run(["nm", "-D", "-S", "shown.so"], cwd=WORK, capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("nm is not installed")
        symbols = {
            fields[3].replace("__tvm_ffi_", ""): int(fields[1], 16)
            for fields in (line.split() for line in listed.splitlines()) if len(fields) == 4 and "__tvm_ffi_" in fields[3]
        }
        shown = re.findall(r"(?m)^    (\w+) +(\d+) bytes$", self.inspect("shown.so", "--sizes"))
        self.assertEqual(symbols, {name: int(size) for name, size in shown})

    def test_findings_say_what_was_looked_at(self):
        sound = "ok       program: every index, range and jump of 1 function with 3 instructions is sound\n"
        self.assertEqual(
            sound + "open     program: of 2 functions that it calls outside itself not all are there: kernel\n"
            "open     c  kernels.c was not compiled, so only functions that its text names are known (--load compiles it)\n"
            "ok       library: 9 functions by name (--load tries to get each)\n",
            self.inspect("shown.opdasm", "--import", "kernels.c", "--import", "shown.so", "--verify"),
        )
        text = self.inspect("shown.opdasm", "--import", "shown.so", "--verify", "--load").splitlines(True)
        self.assertEqual(sound, text[0])
        self.assertRegex(text[1], r"^open     program: of 2 functions .* not all are there: .*kernel\n$")
        self.assertEqual("ok       library: 9 functions, each can be had\n", text[2])
        self.assertEqual(
            "ok       program: every index, range and jump of 1 function with 7 instructions is sound\n"
            "ok       program: 6 functions that it calls outside itself, all are there\n"
            "ok       library: 9 functions by name (--load tries to get each)\n",
            self.inspect("add_one.opdasm", "--import", "shown.so", "--verify"),
        )
        findings = json.loads(self.inspect("add_one.opdasm", "--import", "shown.so", "--verify", "--load", "--json"))["verification"]
        self.assertEqual(["ok", "ok", "ok"], [finding["state"] for finding in findings])
        self.assertEqual("library: 9 functions, each can be had", findings[2]["text"])


class ParameterLists(CliTest):
    def test_sizes_have_the_unit_that_fits(self):
        sizes = {"a": 1023, "b": 1024, "größe": 1024 * 1024 - 1, "c": 1024 * 1024, "d": 0}
        npy.save(WORK / "sizes.npz", **{name: ([size], bytes(size), "|u1") for name, size in sizes.items()})
        lines = self.succeeds("info", "sizes.npz").splitlines()
        self.assertEqual(
            [
                "a      uint8[1023]     1023 bytes",
                "b      uint8[1024]     1.0 KiB",
                "größe  uint8[1048575]  1024.0 KiB",
                "c      uint8[1048576]  1.0 MiB",
                "d      uint8[0]        0 bytes",
            ],
            lines[:5],
        )
        self.assertEqual("5 tensors, 2.0 MiB, of which 0 bytes can be used where they lie", lines[5])
        npy.save(WORK / "one.npz", a=([2], [1, 2]))
        self.assertEqual(
            "a  float32[2]  8 bytes\n1 tensor, 8 bytes, of which 0 bytes can be used where they lie\n",
            self.succeeds("info", "one.npz"))

    def test_what_opdyno_wrote_is_used_where_it_lies(self):
        self.succeeds("run", "identity.opdasm", "-i", "tuple(2x3xf32=0;4xi8=0)", "-o", "aligned.npz")
        self.assertEqual(
            "out_0  float32[2, 3]  24 bytes\nout_1  int8[4]        4 bytes\n"
            "2 tensors, 28 bytes, of which 28 bytes can be used where they lie\n",
            self.succeeds("info", "aligned.npz"))
        self.assertEqual(
            {"tensors": [
                {"name": "out_0", "dtype": "float32", "shape": [2, 3], "bytes": 24, "view": True},
                {"name": "out_1", "dtype": "int8", "shape": [4], "bytes": 4, "view": True},
            ]},
            json.loads(self.succeeds("info", "aligned.npz", "--json")))

    def test_a_tensor_cache_says_where_each_tensor_lies(self):
        (WORK / "cache_dir").mkdir(exist_ok=True)
        self.succeeds("run", "identity.opdasm", "-i", "tuple(3xf32=1,2,3;2xi8=4,5)", "-o", "cache_dir/tensor-cache.json")
        shard = (WORK / "cache_dir/params_shard_0.bin").read_bytes()
        self.assertEqual(struct.pack("<3f", 1, 2, 3) + bytes(52) + b"\x04\x05", shard)  # each begins at a multiple of 64
        records = [
            {"name": "out_0", "shape": [3], "dtype": "float32", "format": "raw", "nbytes": 12, "byteOffset": 0},
            {"name": "out_1", "shape": [2], "dtype": "int8", "format": "raw", "nbytes": 2, "byteOffset": 64},
        ]
        self.assertEqual(
            {"metadata": {}, "records": [{
                "dataPath": "params_shard_0.bin", "format": "raw-shard", "records": records, "nbytes": 66,
                "md5sum": hashlib.md5(shard).hexdigest()}]},
            json.loads((WORK / "cache_dir/tensor-cache.json").read_text()))
