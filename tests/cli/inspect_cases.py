"""`opdyno inspect` and the listings of programs: what they show of modules, whole and damaged."""

import ctypes
import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from unittest import mock

from case import COMPILER, MISMATCH, REFUSED, USAGE, WORK, CliTest

MODELS = Path(os.environ["OPDYNO_INTEROP_DATA"])


class Inspect(CliTest):
    def test_text_shows_functions_imports_and_needs(self):
        text = self.succeeds("inspect", "symbolic.opdasm", "--import", "kernels.c")
        self.assertTrue(text.startswith("relax.VMExecutable\n"), text)
        self.assertIn("main(x: float32[n])", text)
        (WORK / "least.opdasm").write_text(".func main(x) {\n  ret %x\n}\n")
        self.assertIn("main(x)  1 instruction, 1 register\n", self.succeeds("inspect", "least.opdasm"))
        self.assertRegex(text, r"(?m)^  imports:\n    \w+")
        self.assertRegex(text, r"(?m)^  needs: add_one\n  builtins: .*make_tuple")

    def test_a_library_of_another_machine_is_read(self):
        (WORK / "plain.c").write_text("int __tvm_ffi_f(void *a, void *b, int c, void *d) { return 0; }\n")
        library = WORK / "other_machine.so"
        subprocess.run([COMPILER, "-shared", "-nostdlib", "-fPIC", "-o", library, "plain.c"], cwd=WORK, check=True)
        content = bytearray(library.read_bytes())
        here = content[18]
        other, name = (183, "AArch64") if here == 62 else (62, "x86-64")
        content[18] = other  # e_machine; there is nothing else in it that only one machine has
        library.write_bytes(content)
        text = self.succeeds("inspect", "other_machine.so")
        self.assertIn("is made for %s; this process runs on " % name, text)
        self.assertRegex(text, r"(?m)^ .*\bf\b")
        self.assertIn("is made for " + name, self.fails(REFUSED, "run", "other_machine.so", "f"))
        content[18] = 243
        library.write_bytes(content)
        self.assertIn("is made for RISC-V (ELF machine 243)", self.fails(REFUSED, "inspect", "other_machine.so"))

    def test_json_has_the_program_and_the_tree(self):
        module = json.loads(self.succeeds("inspect", "with_weight.opdasm", "--import", "kernels.c", "--json", "--load"))
        self.assertEqual("relax.VMExecutable", module["kind"])
        self.assertEqual(["x", "weight"], [param["name"] for param in module["program"]["functions"][0]["params"]])
        self.assertIn("add_one", module["imports"][0]["functions"])

    def test_c_sources_are_modules_of_kernels(self):
        self.assertIn("add_one", self.succeeds("inspect", "kernels.c", "--load"))

    def test_a_longer_name_is_no_kernel(self):
        (WORK / "names.c").write_text("x__tvm_ffi_hidden(a) {}\nint __tvm_ffi_shown(int a) {}\n")
        text = self.succeeds("inspect", "names.c")
        self.assertIn("shown", text)
        self.assertNotIn("hidden", text)
        (WORK / "first.c").write_text("__tvm_ffi_first(a) {}\n")
        self.assertIn("first", self.succeeds("inspect", "first.c"))

    def test_what_cannot_be_loaded_is_refused(self):
        (WORK / "short.vmexec").write_bytes(b"\x1e\x15\x14B/\xde%\xd2\x04")
        (WORK / "broken.c").write_text("int broken(void) { return nothing_like_this; }\n")
        self.assertIn("absent.so", self.fails(REFUSED, "inspect", "absent.so"))
        self.assertIn("absent.opdasm", self.fails(REFUSED, "inspect", "absent.opdasm"))
        self.assertIn("short.vmexec", self.fails(REFUSED, "inspect", "short.vmexec"))
        self.assertIn("nothing_like_this", self.fails(REFUSED, "inspect", "broken.c", "--load"))
        self.assertIn("absent.c", self.fails(REFUSED, "inspect", "add_one.opdasm", "--import", "absent.c"))
        self.assertIn("--copy' takes always", self.fails(USAGE, "inspect", "kernels.c", "--copy", "maybe"))

    def test_the_tree_has_a_line_per_module(self):
        lines = self.succeeds("inspect", "add_one.opdasm", "--import", "kernels.c", "--tree").splitlines()
        self.assertEqual(2, len(lines))
        self.assertRegex(lines[0], r"^relax\.VMExecutable: 1 function, \d+ constants, needs \d+ functions$")
        self.assertRegex(lines[1], r"^└─ c  kernels\.c: \d+ functions$")

    def test_signatures_have_parameters_and_results(self):
        text = self.succeeds("inspect", "symbolic.opdasm", "--import", "kernels.c", "--signatures", "--load")
        self.assertIn("\n  main(x: float32[n]) -> (float32[n], (int n, float32[n]))\n", text)
        self.assertIn("\n  add_one(…)\n", text)
        self.assertIn("main(x)\n", self.succeeds("inspect", "identity.opdasm", "--signatures"))
        self.assertIn("main(s: shape[n0, n1], k: int n0) -> (shape[n0, n1], int n0)", self.succeeds("inspect", "shapes.opdasm", "--signatures"))

    def test_signatures_show_each_kind_of_parameter(self):
        (WORK / "kinds_of_parameters.opdasm").write_text(
            """.func one(x) {
  call vm.builtin.check_tensor_info(%x, 2, dtype(int8), "m")
  %r = call vm.builtin.make_tuple(%x)
  ret %r
}
.func pair(x, y, s, t, u, b, f) {
  call vm.builtin.check_tensor_info(%x, 0, dtype(int8), "m")
  call vm.builtin.check_prim_value_info(%b, dtype(bool), "m")
  call vm.builtin.check_prim_value_info(%f, dtype(float32), "m")
  call vm.builtin.check_shape_info(%s, 2, "m")
  call vm.builtin.check_tuple_info(%t, 2, "m")
  call vm.builtin.check_string_info(%u, "m")
  %r = call vm.builtin.make_tuple(%y, %s, %b)
  ret %r
}
.func none() {
  ret %void
}
""")
        self.assertEqual(
            "relax.VMExecutable\n"
            "  one(x: int8[?, ?]) -> (int8[?, ?],)\n"
            "  pair(x: int8[], y, s: shape[?, ?], t: tuple, u: string, b: bool, f: float32) -> (any, shape[?, ?], bool)\n"
            "  none() -> none\n",
            self.succeeds("inspect", "kinds_of_parameters.opdasm", "--signatures"),
        )

    def test_signatures_of_what_tvm_made(self):
        text = self.succeeds("inspect", MODELS / "0.27/dynamic.so", "--signatures")
        self.assertIn("affine(x: float32[n, 8], w: float32[8, 4], b: float32[4]) -> float32[n, 4]", text)
        self.assertIn("join(x: float32[n0, 2], y: float32[n1, 2]) -> float32[?, 2]", text)

    def test_sizes_are_those_of_the_file_and_its_functions(self):
        self.succeeds("as", "add_one.opdasm", "sized.vmexec")
        text = self.succeeds("inspect", "sized.vmexec", "--sizes")
        sections = [int(line.split(" bytes")[0].split()[-1]) for line in text.splitlines()[1:4]]
        self.assertEqual((WORK / "sized.vmexec").stat().st_size, sum(sections) + 20 + 8)  # header, count of memory scopes
        model = MODELS / "0.27/mlp.so"
        text = self.succeeds("inspect", model, "--sizes")
        self.assertRegex(text, r"(?m)^  file +%d bytes$" % model.stat().st_size)
        self.assertRegex(text, r"(?m)^    fused_matmul_add_relu +\d+ bytes$")

    def test_disassembly_is_that_of_dis(self):
        self.assertEqual(self.succeeds("dis", "loops.opdasm"), self.succeeds("inspect", "loops.opdasm", "--disasm"))
        self.assertEqual("there is no VM program in it\n", self.succeeds("inspect", "kernels.c", "--disasm"))

    def test_parts_come_in_one_order_with_a_line_between(self):
        words = ("inspect", "add_one.opdasm", "--import", "kernels.c")
        parts = [self.succeeds(*words, part) for part in ("--tree", "--signatures", "--sizes", "--disasm", "--verify")]
        together = self.succeeds(*words, "--verify", "--disasm", "--sizes", "--signatures", "--tree")
        self.assertEqual("\n".join(parts), together)

    def test_json_has_what_was_asked_for(self):
        found = json.loads(self.succeeds("inspect", "add_one.opdasm", "--json", "--disasm", "--verify"))
        self.assertEqual(self.succeeds("dis", "add_one.opdasm"), found["disassembly"])
        self.assertEqual(["ok", "open"], [finding["state"] for finding in found["verification"]])
        self.assertEqual("tensor", found["program"]["functions"][0]["result"]["kind"])
        self.assertNotIn("verification", json.loads(self.succeeds("inspect", "add_one.opdasm", "--json")))

    def test_a_whole_module_verifies(self):
        for model in ("0.25/control.so", "0.27/control.so", "compiled/0.27/control.so"):
            if not (MODELS / model).exists():
                continue
            text = self.succeeds("inspect", MODELS / model, "--verify")
            self.assertEqual({"ok"}, {line.split()[0] for line in text.splitlines()}, text)
            self.assertRegex(text, r"(?m)^ok +program: [1-9]\d* functions that it calls outside itself, all are there$")

    def test_machine_code_tells_which_functions_it_calls(self):
        """The program is compiled and has one function without parameters, constants and instructions: docs/executable.md."""
        number = struct.Struct("<Q").pack
        function = struct.pack("<i", 2) + number(4) + b"main" + 5 * number(0)
        head = number(0xD225DE2F4214151E) + number(4) + b"0.14" + number(1)
        (WORK / "compiled.vmexec").write_bytes(head + function + 4 * number(0))
        places = "".join(
            f'static void *place{i} __asm__(".tvm_func.{name}") __attribute__((used));\n'
            for i, name in enumerate(["nobody.has_this", "vm.builtin.copy"])
        )
        (WORK / "places.c").write_text(places + "int __tvm_ffi___vmtir__main(void *s, void *a, int n, void *r) { return 0; }\n")
        subprocess.run([COMPILER, "-shared", "-fPIC", "places.c", "-o", "places.so"], cwd=WORK, check=True)
        words = ["inspect", "compiled.vmexec", "--import", "places.so", "--verify"]
        expected = r"(?m)^open +program: of 2 functions that it calls outside itself not all are there: nobody\.has_this$"
        self.assertRegex(self.succeeds(*words), expected)
        self.assertRegex(self.succeeds(*words, "--load"), r"(?m)^open +program: of 2 functions .*: nobody\.has_this$")
        self.assertIn("calls: nobody.has_this, vm.builtin.copy\n", self.succeeds("inspect", "places.so"))

    def test_what_is_missing_is_open(self):
        text = self.succeeds("inspect", "needs_missing.opdasm", "--verify")
        self.assertRegex(text, r"(?m)^open .*nobody_has_this")
        text = self.succeeds("inspect", "add_one.opdasm", "--import", "kernels.c", "--verify", "--load")
        self.assertNotIn("open", text)

    def test_a_read_that_no_path_wrote_is_a_warning(self):
        (WORK / "unsure.opdasm").write_text(".func main(c) regs=2 {\n if %c else b\n %1 = call vm.builtin.copy(%c)\nb:\n ret %1\n}\n")
        self.assertRegex(
            self.succeeds("inspect", "unsure.opdasm", "--verify"), r"(?m)^warning .*function main, instruction 2 may read"
        )

    def test_damage_is_named_with_its_place(self):
        self.succeeds("as", "add_one.opdasm", "whole.vmexec")
        whole = (WORK / "whole.vmexec").read_bytes()
        (WORK / "cut.vmexec").write_bytes(whole[:-8])
        text = self.check(MISMATCH, "inspect", "cut.vmexec", "--verify").stdout
        self.assertRegex(text, r"^damaged  .*cut\.vmexec.*instruction words.*\d+")
        (WORK / "register.vmexec").write_bytes(whole[:-8] + (1 << 40).to_bytes(8, "little"))  # of the last: ret
        text = self.check(MISMATCH, "inspect", "register.vmexec", "--verify").stdout
        self.assertIn("function main, instruction", text)
        self.assertIn("register %d" % (1 << 40), text)
        library = (MODELS / "0.27/mlp.so").read_bytes()
        (WORK / "cut.so").write_bytes(library[:3000])
        findings = json.loads(self.check(MISMATCH, "inspect", "cut.so", "--verify", "--json").stdout)["verification"]
        self.assertEqual("damaged", findings[0]["state"])
        self.assertRegex(findings[0]["text"], r"cut\.so: .*at offset \d+")

    def test_what_is_not_there_is_refused_not_damaged(self):
        self.assertIn("absent.so", self.fails(REFUSED, "inspect", "absent.so", "--verify"))


class PythonListing(CliTest):
    def builder_of(self, program):
        """What the script of a program tells TVM's builder, for which a recorder stands."""
        (WORK / "listed.opdasm").write_text(program)
        tvm = mock.MagicMock()
        builder = tvm.relax.ExecBuilder.return_value
        builder.r.side_effect = "r{}".format
        builder.imm.side_effect = "imm{}".format
        builder.f.side_effect = "f:{}".format
        builder.vm_state.return_value = "vm"
        builder.convert_constant.side_effect = lambda value: value
        tvm.DataType.side_effect = "dtype:{}".format
        tvm.runtime.ShapeTuple.side_effect = tuple
        with mock.patch.dict(sys.modules, {"tvm": tvm}):
            exec(self.succeeds("dis", "listed.opdasm", "--python"), {})
        return tvm, builder

    def test_it_tells_the_builder_every_function_and_instruction(self):
        _, builder = self.builder_of(
            ".func main(x, y) {\n if %x else b\n %r = call kernel(%x, -3, @main, %vm)\n ret %r\nb:\n goto c\nc:\n ret %y\n}\n"
        )
        self.assertEqual([mock.call("main", 1), mock.call("kernel", 0)], builder.declare_function.call_args_list)
        builder.function.assert_called_once_with("main", num_inputs=2, param_names=["x", "y"])
        builder.emit_if.assert_called_once_with("r0", 3)
        builder.emit_call.assert_called_once_with("kernel", args=["r0", "imm-3", "f:main", "vm"], dst="r2")
        builder.emit_goto.assert_called_once_with(1)
        self.assertEqual([mock.call("r2"), mock.call("r1")], builder.emit_ret.call_args_list)

    def test_constants_of_every_kind_read_back_as_python(self):
        text = 'a "quoted" \\\\ text\\n\\x01 é'
        tvm, builder = self.builder_of(
            '.const = tensor(int8, (2), 0x0102)\n.func main() {\n call kernel(c[0], "%s", shape(2, 3), dtype(int8), f64(0.1), i64(7))\n ret %%void\n}\n'
            % text.replace('"quoted"', '\\"quoted\\"')
        )
        tensor, *others = (call.args[0] for call in builder.convert_constant.call_args_list)
        self.assertEqual(['a "quoted" \\ text\n\x01 é', (2, 3), "dtype:int8", 0.1, 7], others)
        tvm.runtime.empty.assert_called_once_with([2], "int8")
        self.assertIs(tvm.runtime.empty.return_value, tensor)
        copied = tvm.get_global_func.return_value.call_args.args
        self.assertEqual(b"\1\2", ctypes.string_at(copied[1], copied[2]))
