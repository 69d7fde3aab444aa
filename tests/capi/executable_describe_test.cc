// What a program tells about itself: types of parameters and results, sizes, figures, a script for TVM.
#include "support/program_json.h"

using namespace opdyno_test;

namespace {

// The number after `"name":` in the sizes of the sections.
uint64_t section(const std::string &json, const std::string &name) {
  const size_t sections = json.find("\"section_bytes\""), place = json.find("\"" + name + "\":", sections);
  return std::stoull(json.substr(place + name.size() + 3));
}

}  // namespace

TEST(Executable, DescribesTheChecksOfItsParameters) {
  const Executable executable = Executable::assemble(R"(
.func main(x, n, s, f, b, i) {
  call vm.builtin.check_tensor_info(%x, 2, dtype(float16), "x")
  call vm.builtin.match_shape(%x, %heap, 2, 0, 3, 1, 4, "x")
  call vm.builtin.match_prim_value(%n, %heap, 3, 4, "n")
  call vm.builtin.check_shape_info(%s, 2, "s")
  call vm.builtin.check_prim_value_info(%f, dtype(float64), "f")
  call vm.builtin.check_prim_value_info(%b, dtype(bfloat16), "b")
  call vm.builtin.check_prim_value_info(%i, dtype(int32), "i")
  ret %x
})");
  const std::string json = text_of(opd_executable_write, executable.get(), OPD_EXECUTABLE_JSON);
  for (const char *part :
       {R"({"name":"x","kind":"tensor","dtype":"float16","shape":[3,"n"]})",
        R"({"name":"n","kind":"int","symbol":"n"})", R"({"name":"s","kind":"shape","shape":[null,null]})",
        R"({"name":"f","kind":"float","dtype":"float64"})", R"({"name":"b","kind":"float","dtype":"bfloat16"})",
        R"({"name":"i","kind":"int","dtype":"int32"})"})
    EXPECT_NE(json.find(part), std::string::npos) << part << " is not in " << json;
}

TEST(Executable, DescribesChecksByConstantsButNotByRegisters) {
  const auto shape_checked_by = [](const std::string &rank_and_sizes) {
    const std::string json = json_of(".func f(x, r) {\n  call vm.builtin.match_shape(%x, %heap, " + rank_and_sizes +
                                     ", \"x\")\n  ret %void\n}\n");
    const size_t begin = json.find("{\"name\":\"x\"");
    return json.substr(begin, json.find('}', begin) + 1 - begin);
  };
  const char *const three_and_any = R"({"name":"x","kind":"any","shape":[3,null]})";
  EXPECT_EQ(shape_checked_by("2, 0, 3, 2, 0"), three_and_any);
  EXPECT_EQ(shape_checked_by("i64(2), i64(0), i64(3), i64(2), i64(0)"), three_and_any);
  EXPECT_EQ(shape_checked_by("2, 0, 3, %r, 0"), three_and_any);
  EXPECT_EQ(shape_checked_by("%r, 0, 3, 2, 0"), R"({"name":"x","kind":"any"})");
  EXPECT_EQ(shape_checked_by("\"2\", 0, 3, 2, 0"), R"({"name":"x","kind":"any"})");
}

TEST(Executable, DescribesResultsByTheirOrigin) {
  EXPECT_EQ(result_of("x", "%t = call vm.builtin.alloc_tensor(%x, 0, shape(2, 3), dtype(int8))\n ret %t"),
            R"({"kind":"tensor","dtype":"int8","shape":[2,3]})");
  EXPECT_EQ(result_of("x",
                      "%t = call vm.builtin.make_tuple(%x, 4, \"s\", dtype(int8))\n %u = call "
                      "vm.builtin.make_tuple(%t)\n ret %u"),
            R"({"kind":"tuple","items":[{"kind":"tuple","items":[{"kind":"any"},{"kind":"int"},{"kind":"string"},)"
            R"({"kind":"dtype"}]}]})");
  EXPECT_EQ(result_of("x",
                      "%t = call vm.builtin.make_tuple(%x, f64(1))\n %u = call vm.builtin.tuple_getitem(%t, 1)\n "
                      "%v = call vm.builtin.copy(%u)\n ret %v"),
            R"({"kind":"float"})");
  EXPECT_EQ(result_of("x", "%t = call some_kernel(%x)\n ret %t"), R"({"kind":"any"})");
  EXPECT_EQ(result_of("x", "ret %void"), R"({"kind":"none"})");
}

TEST(Executable, FollowsResultsThrough64Copies) {
  const auto of_copies = [](int count) {
    std::string body = "%r0 = call vm.builtin.alloc_tensor(%x, 0, shape(2), dtype(int8))\n";
    for (int i = 1; i <= count; ++i)
      body += " %r" + std::to_string(i) + " = call vm.builtin.copy(%r" + std::to_string(i - 1) + ")\n";
    return result_of("x", body + " ret %r" + std::to_string(count));
  };
  EXPECT_EQ(of_copies(64), R"({"kind":"tensor","dtype":"int8","shape":[2]})");
  EXPECT_EQ(of_copies(65), R"({"kind":"any"})");
}

TEST(Executable, NamesSizesOfResultsThatParametersHave) {
  EXPECT_EQ(result_of("x", R"(call vm.builtin.match_shape(%x, %heap, 1, 1, 3, "x")
  %s = call vm.builtin.make_shape(%heap, 3, 1, 3, 0, 7, 1, 2)
  %t = call vm.builtin.alloc_tensor(%x, 0, %s, dtype(float32))
  %u = call vm.builtin.reshape(%t, %s)
  ret %u)"),
            R"({"kind":"tensor","dtype":"float32","shape":["n",7,null]})");
}

TEST(Executable, DescribesOnlyWhatAllPathsShareOfAResult) {
  const auto chosen = [](const std::string &one, const std::string &other) {
    return result_of("x, c", "if %c else b\n %r = call vm.builtin.alloc_tensor(%x, 0, " + one +
                                 ")\n ret %r\nb:\n %s = call vm.builtin.alloc_tensor(%x, 0, " + other + ")\n ret %s");
  };
  EXPECT_EQ(chosen("shape(2), dtype(int8)", "shape(2), dtype(int8)"),
            R"({"kind":"tensor","dtype":"int8","shape":[2]})");
  EXPECT_EQ(chosen("shape(2, 4), dtype(int8)", "shape(2, 5), dtype(int16)"), R"({"kind":"tensor","shape":[2,null]})");
  EXPECT_EQ(chosen("shape(2), dtype(int8)", "shape(2, 2), dtype(int8)"), R"({"kind":"tensor","dtype":"int8"})");
  EXPECT_EQ(result_of("x, c",
                      "%r = call vm.builtin.make_tuple(%x)\n if %c else b\n %r = call vm.builtin.null_value()\nb:\n "
                      "ret %r"),
            R"({"kind":"any"})");
}

TEST(Executable, DoesNotDescribeItemsOfChangedTuples) {
  EXPECT_EQ(result_of("x", "%t = call vm.builtin.make_tuple(1, 2)\n call vm.builtin.tuple_reset_item(%t, 0)\n ret %t"),
            R"({"kind":"tuple","items":[{"kind":"any"},{"kind":"any"}]})");
}

TEST(Executable, LimitsTheWorkForLargeAndCyclicTypes) {
  std::string body = "%r0 = call vm.builtin.make_tuple(%x, %x)\n";
  for (int i = 1; i < 60; ++i)
    body += "%r" + std::to_string(i) + " = call vm.builtin.make_tuple(%r" + std::to_string(i - 1) + ", %r" +
            std::to_string(i - 1) + ")\n";
  EXPECT_EQ(result_of("x", body + "ret %r59").substr(0, 15), R"({"kind":"tuple")");  // 2^60 items would not end
  EXPECT_EQ(result_of("x", "%a = call vm.builtin.copy(%b)\n %b = call vm.builtin.copy(%a)\n ret %a"),
            R"({"kind":"any"})");
}

TEST(Executable, ListsReadsOfRegistersThatMayBeUnset) {
  EXPECT_NE(json_of(".func f(c) regs=2 {\n if %c else b\n %1 = call vm.builtin.copy(%c)\nb:\n ret %1\n}\n")
                .find("\"unproved_reads\":[2]"),
            std::string::npos);
}

TEST(Executable, SizesOfItsSectionsAddUpToItsBytes) {
  const Executable executable = Executable::assemble(R"(
.const = tensor(float32, (2, 3), 0x000000000000000000000000000000000000000000000000)
.const = tensor(bool, (), 0x01)
.scope c[0] "global"
.func main(x, longer_name) {
  call needed(%x, shape(1, 2), "text", dtype(int8), f64(2), i64(5))
  ret %x
})");
  const std::string json = text_of(opd_executable_write, executable.get(), OPD_EXECUTABLE_JSON);
  const uint64_t scopes = section(json, "memory_scopes"), constants = section(json, "constants");
  EXPECT_EQ(scopes, 8u + 8 + 8 + 6);  // one: constant, length, "global"
  EXPECT_EQ(section(json, "header") + section(json, "functions") + scopes + constants + section(json, "code"),
            executable.save().size());
}

// One function of kind 2 (compiled), whose start and end mean nothing and may be any numbers.
TEST(Executable, InstructionsOfCompiledFunctionsAreNotCounted) {
  std::string bytes;
  const auto put = [&](auto number) { bytes.append(reinterpret_cast<const char *>(&number), sizeof number); };
  const auto text = [&](const std::string &s) { put(uint64_t{s.size()}), bytes += s; };
  put(uint64_t{0xD225DE2F4214151E}), text("0.14"), put(uint64_t{1});
  put(int32_t{2}), text("main"), put(INT64_MAX), put(INT64_MIN), put(int64_t{1}), put(int64_t{2}), put(uint64_t{1}),
      text("x");
  for (int section = 0; section < 4; ++section) put(uint64_t{0});
  const std::string json = text_of(opd_executable_write, Executable::load(bytes).get(), OPD_EXECUTABLE_JSON);
  EXPECT_NE(json.find("\"kind\":\"compiled\""), std::string::npos);
  EXPECT_NE(json.find("\"instructions\":0"), std::string::npos) << json;
  const std::string note = " is compiled: its body lies in the library\n";
  const auto listed = [](const Executable &executable) { return executable.write(OPD_EXECUTABLE_ASSEMBLY); };
  EXPECT_NE(listed(Executable::load(bytes)).find("; main" + note), std::string::npos)
      << listed(Executable::load(bytes));
  const Executable calls = Executable::assemble(".func main() {\n  call kernel()\n  ret %void\n}");
  EXPECT_EQ(listed(calls).find(note), std::string::npos) << "a function of the host or of a library";
}

TEST(Executable, StatsCountFunctionsInstructionsAndConstants) {
  const Executable executable = Executable::assemble(R"(
.const = tensor(float32, (2, 3), 0x000000000000000000000000000000000000000000000000)
.func main(x) {
  if %x else other
  call kernel(%x, "text")
  ret %x
other:
  ret %x
})");
  const std::string stats = executable.write(OPD_EXECUTABLE_STATS);
  for (const char *part : {"bytecode functions (1): main\n", "compiled functions (0): none\n",
                           "packed functions (1): kernel\n", "instructions (4): 1 call, 2 ret, 0 goto, 1 if;",
                           "data of tensors 24\n", "tensors: Tensor(float32[2, 3], cpu:0)\n", "others: \"text\"\n"})
    EXPECT_NE(stats.find(part), std::string::npos) << part << " is not in " << stats;
}

TEST(Executable, PythonWritesConstantsOfEachKind) {
  const std::string text = Executable::assemble(R"(
.const = i64(4294967297)
.const = f64(1.5)
.const = f64(inf)
.const = f64(-inf)
.const = f64(nan)
.const = "a text"
.const = shape(2, 3)
.const = dtype(float16)
.const = tensor(int8, (2), 0x01ff)
.func main() {
  ret %void
})")
                               .write(OPD_EXECUTABLE_PYTHON);
  for (const char *literal : {"4294967297", "float(\"1.5\")", "float(\"inf\")", "float(\"-inf\")", "float(\"nan\")",
                              "\"a text\"", "tvm.runtime.ShapeTuple([2, 3])", "tvm.DataType(\"float16\")",
                              "tensor(\"int8\", [2], bytes.fromhex(\"01ff\"))"})
    EXPECT_NE(text.find(std::string("    ib.convert_constant(") + literal + "),\n"), std::string::npos)
        << literal << " is not in " << text;
}

TEST(Executable, DescribesADtypeOnlyIfItIsAConstant) {
  const std::string json =
      json_of(".func f(x, d) {\n  call vm.builtin.check_tensor_info(%x, 1, %d, \"x\")\n  ret %void\n}\n");
  EXPECT_NE(json.find(R"({"name":"x","kind":"tensor","shape":[null]})"), std::string::npos) << json;
}

TEST(Executable, MissingArgumentsOfListingsAreErrors) {
  opd_buffer *text = nullptr;
  expect_error(opd_executable_write(nullptr, OPD_EXECUTABLE_STATS, &text), OPD_INVALID_ARGUMENT, "must not be NULL");
  const Executable executable = Executable::assemble(".func main(x) {\n  ret %x\n}");
  expect_error(opd_executable_write(executable.get(), static_cast<opd_executable_format>(4), &text),
               OPD_INVALID_ARGUMENT, "format must be a format of executables, but is 4");
  expect_error(opd_executable_write(executable.get(), OPD_EXECUTABLE_JSON, nullptr), OPD_INVALID_ARGUMENT);
}
