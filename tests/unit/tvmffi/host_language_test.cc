// What a host language gives and gets: its signals, its tensors, its streams, and slots that it fills itself.
#include <gtest/gtest.h>

#include "support/tvmffi_symbol.h"
#include "value/tensor.h"

namespace opd {
namespace {

std::string register_function_of(const char *name, void *function) {
  return symbol<int(const char *, void *)>("TVMFFIEnvRegisterCAPI")(name, function) ? raised() : "";
}
template <class F>
void *address(F *function) {
  return reinterpret_cast<void *>(function);
}

std::string steps;
int answer = 0;

TEST(HostLanguage, IsAskedForSignalsUnderItsLock) {
  auto *check = symbol<int()>("TVMFFIEnvCheckSignals");
  steps.clear();
  int (*asks)() = [] { return steps += "check ", answer; };
  void *(*locks)() = []() -> void * { return steps += "lock ", &answer; };
  void (*unlocks)(void *) = [](void *state) { steps += state == &answer ? "unlock " : "other "; };
  EXPECT_EQ(register_function_of("PyErr_CheckSignals", address(asks)), "");
  EXPECT_EQ(check(), 0);
  EXPECT_EQ(steps, "") << "all three are needed";
  EXPECT_EQ(register_function_of("PyGILState_Ensure", address(locks)), "");
  EXPECT_EQ(check(), 0);
  EXPECT_EQ(steps, "");
  EXPECT_EQ(register_function_of("PyGILState_Release", address(unlocks)), "");
  EXPECT_EQ(check(), 0);
  EXPECT_EQ(steps, "lock check unlock ");
  answer = 3;
  EXPECT_EQ(check(), -1);
  EXPECT_EQ(steps, "lock check unlock lock check unlock ");
  EXPECT_EQ(register_function_of("PyErr_Print", address(asks)), "ValueError: Unknown env API PyErr_Print");
  EXPECT_EQ(register_function_of(nullptr, address(asks)), "ValueError: TVMFFIEnvRegisterCAPI: name must not be NULL");
  for (const char *name : {"PyErr_CheckSignals", "PyGILState_Ensure", "PyGILState_Release"})
    EXPECT_EQ(register_function_of(name, nullptr), "");
  EXPECT_EQ(check(), 0);
}

TEST(HostLanguage, IsAskedOnlyForTensorsOfAValidShape) {
  auto *allocate = symbol<int(DLTensor *, void **)>("TVMFFIEnvTensorAlloc");
  int64_t dims[] = {2};
  DLTensor prototype{nullptr, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, dims, nullptr, 0};
  void *made = nullptr;
  const std::string refused =
      "ValueError: TVMFFIEnvTensorAlloc: out and prototype must not be NULL, and prototype must have a shape";
  EXPECT_EQ(allocate(nullptr, &made), -1);
  EXPECT_EQ(raised(), refused);
  EXPECT_EQ(allocate(&prototype, nullptr), -1);
  EXPECT_EQ(raised(), refused);
  prototype.ndim = -1;
  EXPECT_EQ(allocate(&prototype, &made), -1);
  EXPECT_EQ(raised(), refused);
  prototype.ndim = 1, prototype.shape = nullptr;
  EXPECT_EQ(allocate(&prototype, &made), -1);
  EXPECT_EQ(raised(), refused);
  prototype.ndim = 0;
  ASSERT_EQ(allocate(&prototype, &made), 0);
  EXPECT_EQ(concat(describe(static_cast<Tensor *>(static_cast<Object *>(made))->dl)), "float32[] on cpu:0");
  EXPECT_EQ(symbol<int(void *)>("TVMFFIObjectDecRef")(made), 0);
}

TEST(HostLanguage, SetsStreamsOfValidDevicesOnly) {
  auto *set = symbol<int(int32_t, int32_t, void *, void **)>("TVMFFIEnvSetStream");
  EXPECT_EQ(set(-1, 0, nullptr, nullptr), -1);
  EXPECT_EQ(raised(), "ValueError: a stream was set for device -1:0");
  EXPECT_EQ(set(1, -2, nullptr, nullptr), -1);
  EXPECT_EQ(raised(), "ValueError: a stream was set for device 1:-2");
}

TEST(HostLanguage, FillsSlotsWithNamesOfItsOwn) {
  auto *fill = symbol<int(const char *, void *)>("TVMFFIEnvModRegisterContextSymbol");
  static int mine = 0;
  EXPECT_EQ(fill("__HostLanguageTestSlot", &mine), 0);
  EXPECT_EQ(provided_symbol("HostLanguageTestSlot"), &mine);
  void *const before = provided_symbol("TVMFFIFunctionCall");
  EXPECT_EQ(fill("__TVMFFIFunctionCall", &mine), 0);
  EXPECT_EQ(provided_symbol("TVMFFIFunctionCall"), before) << "the library's own stay";
  EXPECT_EQ(fill("Slot", &mine), -1);
  EXPECT_EQ(raised(), "ValueError: TVMFFIEnvModRegisterContextSymbol was given \"Slot\"; names start with __");
  EXPECT_EQ(fill(nullptr, &mine), -1);
  EXPECT_EQ(raised(), "ValueError: TVMFFIEnvModRegisterContextSymbol was given \"\"; names start with __");
  EXPECT_EQ(fill("__Slot", nullptr), -1);
  raised();
}

TEST(HostLanguage, GivesIntegersOfWholeWords) {
  auto *make = symbol<int(const ByteArray *, View *)>("TVMFFIBigIntFromByteArray");
  const ByteArray seven{"1234567", 7}, none{"", 0};
  View out = opd_none();
  EXPECT_EQ(make(&seven, &out), -1);
  EXPECT_EQ(raised(), "ValueError: BigInt content must contain whole 64-bit words, but has 7 bytes");
  EXPECT_EQ(make(&none, &out), 0);
  EXPECT_EQ(out.type, OPD_INT);
  EXPECT_EQ(out.u.int64, 0);
}

}  // namespace
}  // namespace opd
