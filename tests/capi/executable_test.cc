// Programs as data: bytes, assembly text, the builder, and what the verifier refuses.
#include <cstring>

#include "support/opdyno_test.h"
#include "support/program_bytes.h"

using namespace opdyno_test;

namespace {

const char *const kAssembled = R"(.executable "0.14"
.declare vm.builtin.copy
.func main(x, y) {
  call vm.builtin.copy(%x, -7, shape(2, 3), "te\"xt\n\x01", dtype(float8_e4m3fn), f64(0.1), i64(9223372036854775807))
  %c = call vm.builtin.copy(@helper)
  if %c else other
  ret %x
other:
  %c = call helper(%c)
  goto other
}
.func helper(a) {
  ret %vm
}
)";

std::string program(const std::vector<int64_t> &offsets, const std::vector<int64_t> &words, int64_t start = 0,
                    int64_t end = 1, int64_t num_args = 1, int64_t registers = 2, uint64_t magic = 0xD225DE2F4214151E) {
  Bytes b;
  b.put(magic).text("0.14").put<uint64_t>(2);
  b.put<int32_t>(1).text("main").put(start).put(end).put(num_args).put(registers).put<uint64_t>(
      num_args > 0 && num_args < 100 ? num_args : 0);
  for (int64_t i = 0; i < num_args && num_args < 100; ++i) b.text("p");
  b.put<int32_t>(0)
      .text("vm.builtin.copy")
      .put<int64_t>(0)
      .put<int64_t>(0)
      .put<int64_t>(-2)
      .put<int64_t>(0)
      .put<uint64_t>(0);
  if (magic == 0xD225DE2F4214151E) b.put<uint64_t>(0);
  b.put<uint64_t>(1).put<int32_t>(OPD_INT).put<int64_t>(42);
  return b.words(offsets).words(words).out;
}

constexpr int64_t kConstant = int64_t{2} << 56, kFunction = int64_t{3} << 56;

void refused(const std::string &bytes, const std::string &part) {
  opd_executable *executable = nullptr;
  expect_error(opd_executable_load_bytes(bytes.data(), bytes.size(), &executable), OPD_BAD_FORMAT, part);
  EXPECT_EQ(executable, nullptr);
}

}  // namespace

TEST(Assembly, RoundTripsToTheSameBytes) {
  const Executable first = Executable::assemble(kAssembled);
  const std::string text = first.disassemble();
  const Executable second = Executable::assemble(text);
  EXPECT_EQ(first.save(), second.save()) << text;
  EXPECT_EQ(text, second.disassemble());
}

TEST(Assembly, SaysLineAndColumnOfAMistake) {
  const auto fails = [](const std::string &text, const std::string &part) {
    expect_throws([&] { Executable::assemble(text); }, OPD_BAD_FORMAT, part);
  };
  fails(".func main(x) {\n  rett %x\n}", "line 2, column 3: rett is not an instruction");
  fails(".func main(x) {\n  goto nowhere\n}", "line 2, column 8: there is no label nowhere");
  fails(".func main(x) {\n  %y = call f(dtype(float33x))\n  ret %y\n}", "line 2");
  fails(".func main(x) {\n  call f(\"open)\n}", "line 2, column 10: this string does not end");
  fails(".func main(x) {\n  call f(\"open\n  call g(\"x\")\n}",
        "line 2, column 10: this string does not end on its line");
  fails(".func main(x) {\n  call f(c[0])\n  ret %x\n}", "constant 0 of 0");
  fails(".func main(x) {\n  call f(72057594037927936)\n  ret %x\n}", "56 bits");
  fails(".func main(x) {\n  ret %x\n}\n.func main(x) {\n  ret %x\n}", "line 4, column 7");
  fails(".func main(x) {\n  ret %x\n", "before the end");
  fails(".func main(x) {\nl:\nl:\n  ret %x\n}", "line 3, column 1: the label l is there already");
  fails(".func main() {\n  %a = call f(%3)\n  ret %a\n}", "both numbered and named");
  fails(".const = tensor(float32, (2), 0x00)\n", "1 bytes are given for a tensor of 8");
  fails("garbage", "line 1, column 1");
  fails(".executable \"0.13\"\n", "line 1, column 13: the version must be \"0.14\"");
  fails(".const = 5\n", "line 1, column 10: expected a constant: shape(), dtype(), i64(), f64(), tensor() or a string");
  fails(".func main() {\n  %a = call f(%1048576)\n  ret %a\n}", "line 2, column 15: there is no register %1048576");
  fails(".func main(x) {\n  call f(})\n  ret %x\n}", "line 2, column 10: expected an operand, not }");
  fails(".func main(x) {\n  call f(%x, ", "expected an operand, not the end");
  for (const char *number : {"1.5.5", "0x", "0xg", "1e", "e", "0x12345678901234567"})
    fails(".const = f64(" + std::string(number) + ")\n", "line 1, column 14");
}

TEST(Assembly, KeepsNamesTextsScopesAndNumbersOfEveryForm) {
  const char *const parts[] = {"call \"a b\\\"c\\\\\\n\\t\\x01\\x7f\"(",
                               "\"text \\\"quoted\\\" \\\\ \\n\"",
                               "f64(0x7ff8000000000001)",
                               "f64(-0)",
                               "f64(1e+300)",
                               "i64(72057594037927936)",
                               "shape()",
                               "shape(1, -2, 9223372036854775807)",
                               "dtype(bfloat16)",
                               "dtype(void)",
                               "\n.scope c[0] \"global.texture\"\n",
                               "\n.scope c[1] \"a \\\"b\\\"\"\n",
                               ".func \"odd name\"(x, \"odd parameter\") regs="};
  std::string program =
      ".const = \"first\"\n.const = i64(5)\n.scope c[0] \"global.texture\"\n.scope c[1] \"a \\\"b\\\"\"\n"
      ".func \"odd name\"(x, \"odd parameter\") {\n  %r = ";
  program += parts[0];
  for (int i = 1; i <= 9; ++i) program += std::string(i > 1 ? ", " : "") + parts[i];
  program += ", c[0], c[1])\n  ret %r\n}\n";
  const Executable first = Executable::assemble(program);
  const std::string text = first.disassemble();
  for (const char *part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  const Executable second = Executable::assemble(text);
  EXPECT_EQ(first.save(), second.save());
  EXPECT_EQ(text, second.disassemble());
}

TEST(Assembly, HasNumbersInDecimalAndBits) {
  const std::pair<const char *, double> numbers[] = {{"1.5", 1.5},
                                                     {"-0.25", -0.25},
                                                     {"+2", 2},
                                                     {"1e3", 1000},
                                                     {"0x3ff0000000000000", 1},
                                                     {"inf", INFINITY},
                                                     {"-inf", -INFINITY},
                                                     {"0x8000000000000000", -0.0}};
  for (const auto &[text, number] : numbers) {
    const Executable built = Executable::assemble(".func main() {\n  %r = call vm.builtin.copy(f64(" +
                                                  std::string(text) + "))\n  ret %r\n}");
    const Value result = Vm(built.to_module()).call("main");
    EXPECT_EQ(result.type(), OPD_FLOAT) << text;
    EXPECT_EQ(std::memcmp(&result.view().u.float64, &number, sizeof number), 0) << text;
  }
}

TEST(Assembly, TensorConstantsKeepTheirBytes) {
  const Executable executable = Executable::assemble(
      ".const = tensor(float32, (2), 0x0000803f00000040)\n.func main() {\n  %r = call vm.builtin.copy(c[0])\n  ret "
      "%r\n}");
  EXPECT_EQ(to_floats(Vm(executable.to_module()).call("main")), (std::vector<float>{1, 2}));
  EXPECT_EQ(Executable::assemble(executable.disassemble()).save(), executable.save());
}

TEST(Executable, BothVersionsAreRead) {
  const std::vector<int64_t> words = {2, 0};
  for (const uint64_t magic : {0xD225DE2F4214151Dull, 0xD225DE2F4214151Eull}) {
    const Executable executable = Executable::load(program({0}, words, 0, 1, 1, 2, magic));
    EXPECT_EQ(Vm(executable.to_module()).call("main", 5).view().u.int64, 5);
  }
}

TEST(Executable, EveryTruncationIsAnErrorWithItsPlace) {
  const std::string whole = Executable::assemble(kAssembled).save();
  for (size_t size = 0; size < whole.size(); ++size) {
    opd_executable *executable = nullptr;
    opd_error *error = opd_executable_load_bytes(whole.data(), size, &executable);
    ASSERT_NE(error, nullptr) << "the first " << size << " bytes were taken";
    EXPECT_EQ(opd_error_code(error), OPD_BAD_FORMAT);
    EXPECT_NE(std::string(opd_error_message(error)).find("offset"), std::string::npos) << opd_error_message(error);
    opd_error_release(error);
  }
}

TEST(Executable, EveryFlippedByteIsAnErrorOrAProgramThatRunsSafely) {
  const std::string whole = Executable::assemble(R"(
.func main(x) {
  %heap = call vm.builtin.alloc_shape_heap(%vm, 2)
  call vm.builtin.match_shape(%x, %heap, 1, 1, 0, "x")
  %n = call vm.builtin.make_shape(%heap, 1, 1, 0)
  %s = call vm.builtin.alloc_storage(%vm, shape(64), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  %u = call vm.builtin.alloc_tensor(%s, 0, %n, dtype(float32))
  %p = call vm.builtin.make_tuple(%t, %u)
  %c = call vm.builtin.read_if_cond(1)
  if %c else end
  %p = call vm.builtin.make_tuple(%p, %n)
end:
  %f = call vm.builtin.make_closure(@main, %x)
  ret %p
})")
                                .save();
  const Tensor x = floats({1, 2, 3, 4});
  opd_vm_options options;
  opd_vm_options_init(&options);
  options.memory_limit_bytes = 1 << 20;
  opd_call_options call;
  opd_call_options_init(&call);
  call.timeout_ns = 200'000'000;
  int ran = 0;
  for (size_t i = 0; i < whole.size(); ++i)
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ flip);
      Executable executable;
      if (opd_error *error = opd_executable_load_bytes(bytes.data(), bytes.size(), executable.out())) {
        EXPECT_NE(opd_error_message(error)[0], '\0');
        opd_error_release(error);
        continue;
      }
      Vm vm;
      const Module module = executable.to_module();
      if (opd_error *error = opd_vm_create(module.get(), &options, vm.out())) {
        opd_error_release(error);
        continue;
      }
      const opd_value args[] = {arg(x)};
      Value result;
      ++ran;
      opd_error_release(opd_vm_call(vm.get(), "main", args, 1, &call, result.out()));
    }
  EXPECT_GT(ran, 100);
}

TEST(Verifier, NamesFunctionAndInstructionOfAValueOutOfBounds) {
  const int64_t call = 1, ret = 2, go = 3, branch = 4;
  refused(program({0}, {7, 0}), "instruction 0 at word 0 has the unknown opcode 7");
  refused(program({9}, {ret, 0}), "instruction 0 starts at word 9 of 2");
  refused(program({-1}, {ret, 0}), "instruction 0 starts at word -1");
  refused(program({0}, {ret}), "takes 2 words, 1 remain");
  refused(program({0, 0}, {ret, 0}, 0, 2), "instruction 1 starts at word 0, inside the one before it, which ends at 2");
  refused(program({0}, {call, 0, 1, 70000}), "passes 70000 arguments");
  refused(program({0}, {call, 0, 1, -1, 0}), "passes -1 arguments");
  refused(program({0}, {ret, 2}), "function main, instruction 0 (word 0) reads register 2 of 2");
  refused(program({0}, {ret, -1}), "reads register -1");
  refused(program({0, 4}, {call, 5, 1, 0, ret, 0}, 0, 2), "writes register 5 of 2");
  refused(program({0, 4}, {call, -1, 1, 0, ret, 0}, 0, 2), "writes register -1");
  refused(program({0, 4}, {call, 0, 2, 0, ret, 0}, 0, 2), "calls function 2 of 2");
  refused(program({0, 4}, {call, 0, 0, 0, ret, 0}, 0, 2), "calls main with 0 arguments; it takes 1");
  refused(program({0, 5}, {call, 0, 1, 1, kConstant | 1, ret, 0}, 0, 2), "reads constant 1 of 1");
  refused(program({0, 5}, {call, 0, 1, 1, kFunction | 2, ret, 0}, 0, 2), "names function 2 of 2");
  refused(program({0, 5}, {call, 0, 1, 1, int64_t{9} << 56, ret, 0}, 0, 2), "operand of unknown kind 9");
  refused(program({0}, {go, 1}), "jumps by 1 out of the function's instructions 0 to 1");
  refused(program({0}, {go, INT64_MAX}), "jumps by");
  refused(program({0, 3}, {branch, 0, 1, ret, 0}, 0, 2), "jumps by 1 if false");
  refused(program({0}, {call, 0, 1, 0}), "is the last, but does not return");
  refused(program({0}, {ret, 0}, 0, 2), "covers instructions 0 to 2 of 1");
  refused(program({0}, {ret, 0}, 1, 1), "covers instructions 1 to 1");
  refused(program({0}, {ret, 0}, 0, 1, 3, 2), "3 arguments and 2 registers");
  refused(program({0}, {ret, 0}, 0, 1, 1, int64_t{1} << 40), "registers");
  refused(program({0}, {ret, 0}, 0, 1, -5, 2), "-5 arguments");
  // The name "main" has a NUL byte in it; the length in front of it stays 4.
  std::string with_nul = program({0}, {ret, 0});
  with_nul[with_nul.find("main") + 2] = '\0';
  refused(with_nul, "has a NUL byte in its name");
  with_nul = program({0}, {ret, 0});
  with_nul[with_nul.find(std::string("\1\0\0\0\0\0\0\0p", 9)) + 8] = '\0';
  refused(with_nul, "function main or one of its parameters has a NUL byte in its name");
}

TEST(Verifier, AcceptsValuesJustWithinTheBounds) {
  const int64_t call = 1, ret = 2, go = 3, branch = 4, nowhere = int64_t{1} << 54, vm = nowhere + 1;
  const auto accepted = [](const std::string &bytes) {
    opd_executable *executable = nullptr;
    check(opd_executable_load_bytes(bytes.data(), bytes.size(), &executable));
    opd_executable_release(executable);
  };
  accepted(program({0}, {ret, 1}));
  accepted(program({0}, {ret, nowhere}));
  accepted(program({0}, {ret, vm}));
  accepted(program({0}, {go, 0}));
  accepted(program({0, 3, 5}, {branch, 0, 2, ret, 0, ret, 0}, 0, 3));
  accepted(program({0, 2}, {ret, 0, go, -1}, 0, 2));
  accepted(program({0, 4}, {call, 1, 1, 0, ret, 0}, 0, 2));
  accepted(program({0, 4}, {call, nowhere, 1, 0, ret, 0}, 0, 2));
  accepted(program({0, 4}, {call, INT64_MAX, 1, 0, ret, 0}, 0, 2));
  accepted(program({0, 5}, {call, 0, 0, 1, 0, ret, 0}, 0, 2));
  accepted(program({0, 7}, {call, 0, 1, 3, kConstant, kFunction | 1, (int64_t{1} << 56) | 5, ret, 0}, 0, 2));
  accepted(program({1, 4}, {7, ret, 0, 7, ret, 0}, 0, 2));  // words between instructions
  accepted(program({0, 2}, {ret, 0, ret, 1}, 1, 2));
  accepted(program({0}, {ret, 0}, 0, 1, 0, 1));
  accepted(program({0}, {ret, 0}, 0, 1, 2, 2));
  accepted(program({0}, {ret, 0}, 0, 1, 1, 1 << 20));
  refused(program({0}, {ret, 0}, 0, 1, 1, (1 << 20) + 1), "function main has 1 arguments and 1048577 registers");
  std::vector<int64_t> many = {call, 0, 1, 65535};
  many.resize(4 + 65535, 0), many.insert(many.end(), {ret, 0});
  accepted(program({0, 4 + 65535}, many, 0, 2));
  many.insert(many.begin() + 4, 0), many[3] = 65536;
  refused(program({0, 4 + 65536}, many, 0, 2), "instruction 0 passes 65536 arguments");
}

TEST(Verifier, RefusesValuesJustBeyondTheBounds) {
  const int64_t call = 1, ret = 2, go = 3, branch = 4, nowhere = int64_t{1} << 54;
  refused(program({0}, {0, 0}), "instruction 0 at word 0 has the unknown opcode 0");
  refused(program({0}, {5, 0}), "instruction 0 at word 0 has the unknown opcode 5");
  refused(program({0, 2}, {ret, 0}, 0, 1), "instruction 1 starts at word 2 of 2");
  refused(program({0, 1}, {ret, 0, ret, 0}, 0, 2),
          "instruction 1 starts at word 1, inside the one before it, which "
          "ends at 2");
  refused(program({0}, {call, 0, 1}), "instruction 0 at word 0 takes 4 words, 3 remain");
  refused(program({0}, {call, 0, 1, 1}), "instruction 0 at word 0 takes 5 words, 4 remain");
  refused(program({0}, {branch, 0}), "instruction 0 at word 0 takes 3 words, 2 remain");
  refused(program({0}, {ret, nowhere - 1}), "reads register 18014398509481983 of 2");
  refused(program({0}, {ret, nowhere + 2}), "reads register 18014398509481986 of 2");
  refused(program({0, 4}, {call, 2, 1, 0, ret, 0}, 0, 2),
          "function main, instruction 0 (word 0) writes register 2 of 2");
  refused(program({0, 4}, {call, nowhere - 1, 1, 0, ret, 0}, 0, 2), "writes register 18014398509481983 of 2");
  refused(program({0, 4}, {call, 0, -1, 0, ret, 0}, 0, 2), "calls function -1 of 2");
  refused(program({0, 5}, {call, 0, 1, 1, 2, ret, 0}, 0, 2), "reads register 2 of 2");
  refused(program({0, 5}, {call, 0, 1, 1, kFunction - 1, ret, 0}, 0, 2), "reads constant -1 of 1");
  refused(program({0, 5}, {call, 0, 1, 1, (int64_t{4} << 56) - 1, ret, 0}, 0, 2), "names function -1 of 2");
  refused(program({0, 5}, {call, 0, 1, 1, int64_t{4} << 56, ret, 0}, 0, 2), "has an operand of unknown kind 4");
  refused(program({0}, {go, -1}), "jumps by -1 out of the function's instructions 0 to 1");
  refused(program({0, 2}, {ret, 0, go, -1}, 1, 2),
          "instruction 1 (word 2) jumps by -1 out of the function's instructions "
          "1 to 2");
  refused(program({0, 3}, {branch, 0, 2, ret, 0}, 0, 2), "jumps by 2 out of the function's instructions 0 to 2");
  refused(program({0, 3}, {branch, 2, 2, ret, 0}, 0, 2), "reads register 2 of 2");
  refused(program({0, 3}, {branch, 0, 0, ret, 0}, 0, 2), "jumps by 0 if false; a forward jump of at least 2 is needed");
  refused(program({0}, {branch, 0, 2}), "instruction 0 (word 0) jumps by 2 out");
  refused(program({0, 2}, {ret, 0, call, 0, 1, 0}, 0, 2), "instruction 1 (word 2) is the last, but does not return");
  refused(program({0}, {ret, 0}, -1, 1), "function main covers instructions -1 to 1 of 1");
  refused(program({0}, {ret, 0}, 0, 1, 2, 1), "function main has 2 arguments and 1 registers");
}

TEST(Executable, SaysWhichPartOfItsBytesIsWrong) {
  const std::string whole = program({0}, {2, 0});
  const auto with = [&](size_t at, const std::string &bytes) {
    std::string changed = whole;
    return changed.replace(at, bytes.size(), bytes);
  };
  const auto at = [&](const std::string &place, const std::string &problem) { return "offset " + place + problem; };
  // The first function's kind is at 28, the memory scopes at 172, the only constant at 188.
  ASSERT_EQ(whole.find("main"), 28u + 4 + 8);
  refused(with(28, "\3"), "is 3; 0, 1 and 2 are supported");
  refused(with(28, "\xFF\xFF\xFF\xFF"), "is -1; 0, 1 and 2 are supported");
  const size_t constant = whole.size() - (8 + 16) - (8 + 8) - 12;
  refused(with(constant, std::string(1, static_cast<char>(OPD_MAP))),
          "is " + std::to_string(OPD_MAP) + ", which no known TVM release writes");
  refused(whole + "abc", at(std::to_string(whole.size()), " is followed by 3 bytes that belong to nothing"));
  std::string no_program = whole;
  no_program[0] = 'x';
  refused(no_program, "executable: the first 8 bytes are not those of a TVM VM executable");
  opd_executable *executable = nullptr;
  Bytes newer;
  newer.put<uint64_t>(0xD225DE2F4214151E).text("0.99 of a long name that goes on");
  expect_error(opd_executable_load_bytes(newer.out.data(), newer.out.size(), &executable), OPD_UNSUPPORTED,
               "executable: its format version is \"0.99 of a long name \", readable is \"0.14\" (TVM 0.22 to 0.27); "
               "export it again with such a release");
}

TEST(Executable, KeepsMemoryScopesAndRefusesUnknownConstants) {
  const auto with_scope = [](int64_t constant) {
    Bytes b;
    b.put<uint64_t>(0xD225DE2F4214151E).text("0.14").put<uint64_t>(0);
    b.put<uint64_t>(1).put(constant).text("global");
    b.put<uint64_t>(2).put<int32_t>(OPD_INT).put<int64_t>(42).put<int32_t>(OPD_SHAPE).put<uint64_t>(0);
    return b.words({}).words({}).out;
  };
  EXPECT_EQ(Executable::load(with_scope(1)).save(), with_scope(1));
  refused(with_scope(2), "executable: a memory scope names constant 2 of 2");
  refused(with_scope(-1), "executable: a memory scope names constant -1 of 2");
}

TEST(Verifier, RefusesNamesOfMoreOrFewerParametersThanThereAre) {
  const auto with_names = [](std::initializer_list<const char *> names) {
    Bytes b;
    b.put<uint64_t>(0xD225DE2F4214151E).text("0.14").put<uint64_t>(1);
    b.put<int32_t>(1).text("one").put<int64_t>(0).put<int64_t>(1).put<int64_t>(2).put<int64_t>(2);
    b.put<uint64_t>(names.size());
    for (const char *name : names) b.text(name);
    return b.put<uint64_t>(0).put<uint64_t>(0).words({0}).words({2, 0}).out;
  };
  refused(with_names({"x"}), "function one names 1 parameters and takes 2");
  refused(with_names({"x", "y", "z"}), "function one names 3 parameters and takes 2");
  for (const std::string &good : {with_names({}), with_names({"x", "y"})}) {
    opd_executable *executable = nullptr;
    check(opd_executable_load_bytes(good.data(), good.size(), &executable));
    opd_executable_release(executable);
  }
}

TEST(Verifier, RefusesFunctionsThatShareInstructions) {
  Bytes b;
  b.put<uint64_t>(0xD225DE2F4214151E).text("0.14").put<uint64_t>(2);
  for (const char *name : {"one", "two"})
    b.put<int32_t>(1).text(name).put<int64_t>(0).put<int64_t>(1).put<int64_t>(0).put<int64_t>(1).put<uint64_t>(0);
  refused(b.put<uint64_t>(0).put<uint64_t>(0).words({0}).words({2, 0}).out,
          "functions one and two share instruction 0");
}

TEST(Executable, RefusesForeignBytesAndUnknownVersions) {
  refused("not an executable at all", "not those of a TVM VM executable");
  Bytes newer;
  newer.put<uint64_t>(0xD225DE2F4214151E).text("0.99");
  opd_executable *executable = nullptr;
  expect_error(opd_executable_load_bytes(newer.out.data(), newer.out.size(), &executable), OPD_UNSUPPORTED, "\"0.99\"");
}

TEST(Builder, WritesTheSameBytesAsTheAssembler) {
  Handle<opd_executable_builder> builder;
  check(opd_executable_builder_create(builder.out()));
  const char *params[] = {"x"};
  check(opd_executable_builder_begin_function(builder.get(), "main", 1, params));
  Value text;
  check(opd_string_create("a long string", 13, text.out()));
  opd_operand constant, again;
  check(opd_executable_builder_add_constant(builder.get(), &text.view(), &constant));
  check(opd_executable_builder_add_constant(builder.get(), &text.view(), &again));
  EXPECT_EQ(constant, again);
  const opd_operand args[] = {opd_operand_register(0), opd_operand_immediate(-3), constant};
  check(emit(builder.get(), opd_instruction_call("vm.builtin.make_tuple", args, 3, 1)));
  check(emit(builder.get(), opd_instruction_if(0, 2)));
  check(emit(builder.get(), opd_instruction_ret(1)));
  check(emit(builder.get(), opd_instruction_goto(-1)));
  check(opd_executable_builder_end_function(builder.get()));
  Executable built;
  check(opd_executable_builder_get(builder.get(), built.out()));
  const Executable assembled = Executable::assemble(
      ".func main(x) {\n  %r = call vm.builtin.make_tuple(%x, -3, \"a long string\")\n  if %x else back\nret:\n  ret "
      "%r\nback:\n  goto ret\n}");
  EXPECT_EQ(built.save(), assembled.save());
}

// A file has the elements of a constant in their order, without gaps.
TEST(Builder, ConstantsThatDoNotLieCompactlyAreNotWritten) {
  static float data[] = {1, 2, 3, 4, 5, 6};
  static int64_t dims[] = {2, 3}, columns[] = {1, 2}, gaps[] = {3, 1};
  const auto saved = [](int64_t *strides) {
    auto *managed = new DLManagedTensor{};
    managed->dl_tensor = {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, dims, strides, 0};
    managed->deleter = [](DLManagedTensor *self) { delete self; };
    Tensor tensor;
    check(opd_tensor_from_dlpack(managed, tensor.out()));
    Handle<opd_executable_builder> builder;
    check(opd_executable_builder_create(builder.out()));
    check(opd_executable_builder_begin_function(builder.get(), "main", 0, nullptr));
    opd_operand constant;
    const opd_value value = arg(tensor);
    check(opd_executable_builder_add_constant(builder.get(), &value, &constant));
    check(emit(builder.get(), opd_instruction_call("vm.builtin.copy", &constant, 1, 0)));
    check(emit(builder.get(), opd_instruction_ret(0)));
    check(opd_executable_builder_end_function(builder.get()));
    Executable built;
    check(opd_executable_builder_get(builder.get(), built.out()));
    return built.save();
  };
  EXPECT_NE(saved(gaps).find(std::string(reinterpret_cast<const char *>(data), sizeof data)), std::string::npos);
  EXPECT_EQ(saved(nullptr), saved(gaps));
  expect_throws([&] { saved(columns); }, OPD_INVALID_ARGUMENT,
                "only contiguous tensors of the CPU can be written, not ");
}

TEST(Builder, MisuseIsAnError) {
  Handle<opd_executable_builder> builder;
  check(opd_executable_builder_create(builder.out()));
  expect_error(emit(builder.get(), opd_instruction_ret(0)), OPD_FAILED_PRECONDITION, "no function was begun");
  check(opd_executable_builder_begin_function(builder.get(), "main", 0, nullptr));
  expect_error(opd_executable_builder_begin_function(builder.get(), "other", 0, nullptr), OPD_FAILED_PRECONDITION,
               "end main first");
  Executable executable;
  expect_error(opd_executable_builder_get(builder.get(), executable.out()), OPD_FAILED_PRECONDITION, "not ended");
  check(opd_executable_builder_end_function(builder.get()));
  expect_error(opd_executable_builder_get(builder.get(), executable.out()), OPD_BAD_FORMAT, "covers instructions");
  expect_error(opd_executable_builder_begin_function(builder.get(), "main", 0, nullptr), OPD_ALREADY_EXISTS, "main");
  const opd_value pointer = opd_pointer(&executable);
  opd_operand operand;
  expect_error(opd_executable_builder_add_constant(builder.get(), &pointer, &operand), OPD_INVALID_ARGUMENT,
               "must be a tensor, shape");
}

TEST(Builder, TakesCallsWithoutArgumentsAndRefusesMissingOnes) {
  Handle<opd_executable_builder> builder;
  check(opd_executable_builder_create(builder.out()));
  check(opd_executable_builder_begin_function(builder.get(), "main", 0, nullptr));
  const opd_operand one = opd_operand_immediate(1);
  expect_error(emit(builder.get(), opd_instruction_call("f", &one, -1, 0)), OPD_INVALID_ARGUMENT,
               "num_args must be >= 0, but is -1");
  expect_error(emit(builder.get(), opd_instruction_call("f", nullptr, 1, 0)), OPD_INVALID_ARGUMENT, "args");
  expect_error(emit(builder.get(), opd_instruction_call(nullptr, &one, 1, 0)), OPD_INVALID_ARGUMENT, "callee");
  check(emit(builder.get(), opd_instruction_call("vm.builtin.make_tuple", nullptr, 0, 0)));
  check(emit(builder.get(), opd_instruction_ret(0)));
  check(opd_executable_builder_end_function(builder.get()));
  Executable built;
  check(opd_executable_builder_get(builder.get(), built.out()));
  EXPECT_EQ(Array::of(Vm(built.to_module()).call("main")).size(), 0u);
}

TEST(Builder, RefusesAnUnknownInstruction) {
  Handle<opd_executable_builder> builder;
  check(opd_executable_builder_create(builder.out()));
  check(opd_executable_builder_begin_function(builder.get(), "main", 0, nullptr));
  opd_instruction instruction = opd_instruction_ret(OPD_REGISTER_VOID);
  instruction.opcode = opd_opcode(4);
  expect_error(emit(builder.get(), instruction), OPD_INVALID_ARGUMENT, "opcode must be one of the opcodes, but is 4");
  instruction.struct_size = 0;
  expect_error(emit(builder.get(), instruction), OPD_INVALID_ARGUMENT, "struct_size is 0");
}

TEST(Builder, NamesFunctionsAsOperands) {
  Handle<opd_executable_builder> builder;
  check(opd_executable_builder_create(builder.out()));
  opd_operand first, again, other;
  check(opd_executable_builder_add_function(builder.get(), "kernel", &first));
  check(opd_executable_builder_add_function(builder.get(), "kernel", &again));
  check(opd_executable_builder_add_function(builder.get(), "other", &other));
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
}

// TVM's executables offer these to any caller, without a VM.
TEST(Executable, OffersItsTextsAsFunctionsOfItsModule) {
  const std::string text = ".func main(x) {\n  %r = call vm.builtin.copy(%x)\n  ret %r\n}\n";
  const Module module = Executable::assemble(text).to_module();
  EXPECT_EQ(module.function("as_text")().string(), module.source("opdasm"));
  EXPECT_NE(module.function("as_python")().string().find("vm.builtin.copy"), std::string::npos);
  EXPECT_NE(module.function("stats")().string(), module.function("as_python")().string());
  expect_throws([&] { module.function("as_json"); }, OPD_NOT_FOUND, "as_json");
  const Module own = Executable::assemble(text + ".func stats(x) {\n  ret %x\n}\n").to_module();
  expect_throws([&] { own.function("stats"); }, OPD_UNSUPPORTED,
                "function \"stats\" of a program is not called by itself: a VM runs it");
  EXPECT_NE(own.function("as_text")().string().find(".func stats"), std::string::npos);
}
