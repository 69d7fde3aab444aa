// The listings of a program as a whole: Python, JSON, figures, assembly.
#include "support/opdyno_test.h"
#include "support/program_bytes.h"

using namespace opdyno_test;

namespace {

// The table of functions is later, kernel, main, "k\x7f"; main's six instructions come before the one of later.
const char *const kListed = R"(
.declare later
.declare kernel
.const = "t\x01\"\\\xff é"
.const = shape()
.scope c[0] "global"
.func main(x, "odd \"name") {
  %c = call kernel(%x, -7, c[0], @later, %vm, %void)
  if %c else other
  call later(%x)
  goto end
other:
  %c = call "k\x7f"()
end:
  ret %c
}
.func later(a) {
  ret %void
}
)";

std::string listing(const Executable &executable, opd_executable_format format) { return executable.write(format); }

}  // namespace

// As TVM's relax.ExecBuilder takes it: kinds 0 (packed) and 1 (of the VM), jumps from the instruction itself.
TEST(ExecutableListings, PythonHasEachFunctionConstantAndInstruction) {
  const std::string text = listing(Executable::assemble(kListed), OPD_EXECUTABLE_PYTHON);
  const std::string expected = R"(# Rebuilds the program with TVM, as `executable`.
import ctypes

import tvm
from tvm import relax


def tensor(dtype, shape, data):
    made = tvm.runtime.empty(shape, dtype)
    copy = tvm.get_global_func("runtime.TVMTensorCopyFromBytes")
    copy(made, ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p), len(data))
    return made


ib = relax.ExecBuilder()
ib.declare_function("later", 1)
ib.declare_function("kernel", 0)
ib.declare_function("main", 1)
ib.declare_function("k\x7f", 0)
c = [
    ib.convert_constant("t\x01\"\\\udcff é"),
    ib.convert_constant(tvm.runtime.ShapeTuple([])),
]
with ib.function("main", num_inputs=2, param_names=["x", "odd \"name"]):
    ib.emit_call("kernel", args=[ib.r(0), ib.imm(-7), c[0], ib.f("later"), ib.vm_state(), ib.void_arg()], dst=ib.r(2))
    ib.emit_if(ib.r(2), 3)
    ib.emit_call("later", args=[ib.r(0)])
    ib.emit_goto(2)
    ib.emit_call("k\x7f", args=[], dst=ib.r(2))
    ib.emit_ret(ib.r(2))
with ib.function("later", num_inputs=1, param_names=["a"]):
    ib.emit_ret(ib.void_arg())
executable = ib.get()
)";
  EXPECT_EQ(text, expected);
  EXPECT_NE(listing(Executable::assemble(".func f() {\n  ret %vm\n}\n"), OPD_EXECUTABLE_PYTHON)
                .find("with ib.function(\"f\", num_inputs=0):\n    ib.emit_ret(ib.vm_state())\n"),
            std::string::npos);
}

TEST(ExecutableListings, AssemblyHasEachFunctionConstantAndInstruction) {
  const std::string constant = "\"t\\x01\\\"\\\\\xFF é\"";
  EXPECT_EQ(listing(Executable::assemble(kListed), OPD_EXECUTABLE_ASSEMBLY),
            ".executable \"0.14\"\n.declare later\n.declare kernel\n.declare main\n.declare \"k\\x7f\"\n"
            ".const = " +
                constant +
                "  ; c[0]\n.const = shape()  ; c[1]\n.scope c[0] \"global\"\n"
                "\n.func main(x, \"odd \\\"name\") regs=3 {\n"
                "  %2 = call kernel(%x, -7, " +
                constant +
                ", @later, %vm, %void)\n  if %2 else L4\n  call later(%x)\n  goto L5\n"
                "L4:\n  %2 = call \"k\\x7f\"()\nL5:\n  ret %2\n}\n"
                "\n.func later(a) regs=1 {\n  ret %void\n}\n");
}

// Names of parameters that would be read as another register are written as numbers, and parameters without names get
// some. A constant that is long or stands there twice is written by its number.
TEST(ExecutableListings, AssemblyHasNumbersWhereNamesDoNotSuffice) {
  const std::string of_80 = "\"" + std::string(78, 'x') + "\"", of_81 = "\"" + std::string(79, 'x') + "\"";
  Bytes bytes;
  bytes.put<uint64_t>(0xD225DE2F4214151E).text("0.14").put<uint64_t>(4);
  bytes.function(1, "named", 2, 4, 6, 7, {"vm", "x", "x", "void", "a b", ""});
  bytes.function(1, "unnamed", 0, 2, 2, 2).function(0, "f", 0, 0, -2, 0).function(2, "made here", 0, 0, 0, 0);
  bytes.put<uint64_t>(0).put<uint64_t>(5);
  bytes.put<int32_t>(OPD_INT).put<int64_t>(5).put<int32_t>(OPD_INT).put<int64_t>(5);
  bytes.put<int32_t>(OPD_STRING).text(of_80.substr(1, 78)).put<int32_t>(OPD_STRING).text(of_81.substr(1, 79));
  bytes.put<int32_t>(OPD_INT).put<int64_t>(-1);
  const int64_t c = int64_t{2} << 56, call = 1, ret = 2, packed = 2, nowhere = int64_t{1} << 54;
  bytes.words({0, 9, 11, 22});
  bytes.words({call, nowhere, packed, 5, c, c | 1, c | 2, c | 3, c | 4, ret, 1,            // unnamed
               call, 6,       packed, 7, 0, 1,     2,     3,     4,     5,   6, ret, 6});  // named
  EXPECT_EQ(listing(Executable::load(bytes.out), OPD_EXECUTABLE_ASSEMBLY),
            ".executable \"0.14\"\n.declare named\n.declare unnamed\n.declare f\n.declare \"made here\"\n"
            ".const = i64(5)  ; c[0]\n.const = i64(5)  ; c[1]\n.const = " +
                of_80 + "  ; c[2]\n.const = " + of_81 +
                "  ; c[3]\n.const = i64(-1)  ; c[4]\n"
                "; \"made here\" is compiled: its body lies in the library\n"
                "\n.func unnamed(param_0, param_1) regs=2 {\n  call f(i64(5), c[1], " +
                of_80 +
                ", c[3], i64(-1))\n  ret %1\n}\n"
                "\n.func named(vm, x, x, void, \"a b\", \"\") regs=7 {\n"
                "  %6 = call f(%0, %x, %2, %3, %4, %5, %6)\n  ret %6\n}\n");
}

// Sizes by docs/executable.md: a function has 4 + 8 + 4 * 8 + 8 bytes and its name, a parameter 8 and its name.
TEST(ExecutableListings, JsonHasEachFunctionConstantAndSection) {
  const Executable executable = Executable::assemble(R"(
.const = tensor(float32, (2, 1), 0x0000803f00000040)
.const = "text"
.const = shape(2, 3)
.const = dtype(float16)
.const = f64(1.5)
.const = i64(-5)
.scope c[0] "global"
.func first(x) regs=4 {
  call vm.builtin.check_tensor_info(%x, 1, dtype(float16), "text")
  %2 = call kernel(%x, %3)
  ret %2
}
.func second() {
  ret %void
}
)");
  const int functions = 8 + (52 + 5 + 8 + 1) + (52 + 28) + (52 + 6) + (52 + 6);
  const int tensor = 4 + 8 + 8 + 8 + 4 + 4 + 2 * 8 + 8 + 8;
  const int constants = 8 + tensor + (4 + 8 + 4) + (4 + 8 + 16) + (4 + 4) + (4 + 8) + (4 + 8);
  const int code_of_first = 8 * ((4 + 4) + (4 + 2) + 2), code = 16 + 8 * 4 + code_of_first + 8 * 2;
  const auto number = [](int n) { return std::to_string(n); };
  EXPECT_EQ(
      listing(executable, OPD_EXECUTABLE_JSON),
      R"({"functions":[{"name":"first","kind":"bytecode","params":[{"name":"x","kind":"tensor","dtype":"float16",)"
      R"("shape":[null]}],"result":{"kind":"any"},"registers":4,"instructions":3,"code_bytes":)" +
          number(code_of_first) +
          R"(,"unproved_reads":[1]},{"name":"second","kind":"bytecode","params":[],"result":{"kind":"none"},)"
          R"("registers":0,"instructions":1,"code_bytes":16,"unproved_reads":[]}],)"
          R"("packed":["vm.builtin.check_tensor_info","kernel"],"constants":[)"
          R"j({"kind":"tensor","value":"Tensor(float32[2, 1], cpu:0)","bytes":8},)j"
          R"j({"kind":"string","value":"\"text\""},)j"
          R"({"kind":"shape","value":"[2, 3]"},{"kind":"dtype","value":"float16"},{"kind":"float","value":"1.5"},)"
          R"({"kind":"int","value":"-5"}],"section_bytes":{"header":20,"functions":)" +
          number(functions) + R"(,"memory_scopes":)" + number(8 + 8 + 8 + 6) + R"(,"constants":)" + number(constants) +
          R"(,"code":)" + number(code) + "}}");
  EXPECT_EQ(executable.save().size(), static_cast<size_t>(20 + functions + 30 + constants + code));
}

TEST(ExecutableListings, StatsHaveEachFigure) {
  Bytes bytes;
  bytes.put<uint64_t>(0xD225DE2F4214151E).text("0.14").put<uint64_t>(5);
  bytes.function(1, "one", 0, 3, 1, 1).function(1, "two", 3, 5, 0, 1).function(2, "made", 0, 0, 0, 0);
  bytes.function(0, "f", 0, 0, -2, 0).function(0, "g", 0, 0, -2, 0);
  bytes.put<uint64_t>(0).put<uint64_t>(2).put<int32_t>(OPD_INT).put<int64_t>(5).put<int32_t>(OPD_FLOAT).put(0.5);
  const int64_t call = 1, ret = 2, go = 3, branch = 4, nowhere = int64_t{1} << 54;
  bytes.words({0, 3, 5, 7, 11}).words({branch, 0, 2, go, 1, ret, 0, call, nowhere, 3, 0, ret, nowhere});
  EXPECT_EQ(listing(Executable::load(bytes.out), OPD_EXECUTABLE_STATS),
            "VM program:\n"
            "  bytecode functions (2): one, two\n"
            "  compiled functions (1): made\n"
            "  packed functions (2): f, g\n"
            "  instructions (5): 1 call, 2 ret, 1 goto, 1 if; 160 bytes\n"  // 16 + 8 * (5 + 13)
            "  constants (2): 32 bytes, of which the data of tensors 0\n"   // 8 + 2 * (4 + 8)
            "    tensors: none\n"
            "    others: 5, 0.5\n");
}
