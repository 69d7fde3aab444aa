// The arguments of compiled functions: what they get of strings, and tensors that they may not write.
#include "support/module_test.h"

namespace opdyno_test {
namespace {

Value string_of(const std::string &text) {
  Value value;
  check(opd_string_create(text.data(), text.size(), value.out()));
  return value;
}

// "kinds" gives the types of its arguments as pairs of digits: 8 is a C string; and a million for each character.
TEST(ACompiledFunction, GetsStringsOfAnyLengthAsCStrings) {
  const Function kinds = Module::load(library()).function("kinds");
  for (size_t size = 0; size < 20; ++size) {
    const int64_t length = static_cast<int64_t>(size) * 1000000;
    EXPECT_EQ(as_int(kinds(string_of(std::string(size, 'x')))), 8 + length) << size;
    EXPECT_EQ(as_int(kinds(7, string_of(std::string(size, 'x')))), 108 + length) << size;
  }
  EXPECT_EQ(as_int(kinds(string_of("a"), floats({1}), string_of("a string that is no small one"))),
            ((8 + int64_t{1000000}) * 100 + 70) * 100 + 8 + 29 * 1000000);
  for (const std::string &broken : {std::string(1, '\0'), std::string("abcdef\0", 7), std::string("abcdefghij\0", 11)})
    expect_throws([&] { kinds(1, 2, string_of(broken)); }, OPD_INVALID_ARGUMENT,
                  "argument 2 of compiled function kinds is a string with a 0 byte in it");
}

TEST(ACompiledFunction, GetsNoTensorThatItMayNotWrite) {
  float elements[4] = {1, 2, 3, 4};
  int64_t count = 4;
  DLManagedTensorVersioned managed{};
  managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  managed.dl_tensor = {elements, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &count, nullptr, 0};
  Tensor read_only;
  check(opd_tensor_from_dlpack_versioned(&managed, read_only.out()));
  const Tensor other = floats({1});
  const Function kinds = Module::load(library()).function("kinds"),
                 typed = Module::load(build_library("typed_arguments", kTyped)).function("typed");
  for (const auto &[function, name] : {std::pair{&kinds, std::string("kinds")}, {&typed, std::string("typed")}})
    for (int place = 0; place < 3; ++place) {
      opd_value args[3] = {arg(other), arg(other), arg(other)}, result = opd_none();
      args[place] = arg(read_only);
      expect_error(
          opd_function_call(function->get(), args, 3, &result), OPD_INVALID_ARGUMENT,
          "argument " + std::to_string(place) + " of compiled function " + name +
              " is float32[4] on cpu:0, which is read-only, and a compiled function does not say which "
              "arguments it writes; pass a copy, or a DLTensor view of the tensor if the function only reads it");
      // With a string among the others, which must be converted.
      const Value text = string_of("a string that is no small one");
      args[(place + 1) % 3] = text.view();
      expect_error(opd_function_call(function->get(), args, 3, &result), OPD_INVALID_ARGUMENT,
                   "argument " + std::to_string(place) + " of compiled function " + name + " is float32[4] on cpu:0");
    }
  EXPECT_EQ(as_int(typed(other, string_of("a string that is no small one"))), 2) << "which it converts itself";
}

}  // namespace
}  // namespace opdyno_test
