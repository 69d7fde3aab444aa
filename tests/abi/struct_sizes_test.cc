// Structs that begin with struct_size, from callers whose header knows more or less than the library.
#include <cstring>

#include "support/opdyno_test.h"

namespace opdyno_test {
namespace {

constexpr DLDevice kCpu = {kDLCPU, 0};
constexpr size_t kMore = 64;  // bytes that a later header may have

// A struct as a later header has it.
template <class T>
struct Later {
  T known{};
  unsigned char unknown[kMore] = {};
};

Module module() { return Executable::assemble(".func main(x) {\n  ret %x\n}\n").to_module(); }

// One for each struct: what the library says to it.
opd_error *use(const opd_vm_options *options) { return opd_vm_create(module().get(), options, Vm().out()); }
opd_error *use(const opd_call_options *options) {
  const opd_value x = opd_int(1);
  return opd_vm_call(Vm(module()).get(), "main", &x, 1, options, nullptr);
}
opd_error *use(const opd_profile_options *options) {
  const opd_value x = opd_int(1);
  Handle<opd_report> report;
  return opd_vm_profile(Vm(module()).get(), "main", &x, 1, nullptr, options, report.out(), nullptr);
}
opd_error *use(const opd_module_options *options) {
  const Executable executable = Executable::assemble(".func main(x) {\n  ret %x\n}\n");
  const std::string bytes = executable.save();
  return opd_module_load_bytes(bytes.data(), bytes.size(), nullptr, options, Module().out());
}
opd_error *use(const opd_params_options *options) {
  Params params;
  check(opd_params_create(params.out()));
  check(opd_params_set(params.get(), "x", floats({1, 2}).get()));
  std::string bytes = text_of(opd_params_save_bytes, params.get());
  return opd_params_open_bytes(bytes.data(), bytes.size(), options, nullptr, nullptr, params.out());
}
opd_error *use(const opd_evaluator_options *options) {
  const Function nothing = make_function([](const opd_value *, int32_t, opd_value *) {});
  Handle<opd_evaluator> evaluator;
  return opd_evaluator_create(nothing.get(), options, evaluator.out());
}
opd_error *use(const opd_counter_options *options) {
  Handle<opd_collector> collector;
  return opd_collector_create_builtin(OPD_COLLECTOR_TIME, options, collector.out());
}
opd_error *use(const opd_collector_table *table) {
  Handle<opd_collector> collector;
  return opd_collector_create("mine", table, collector.out());
}

template <class T>
void init(T &table) {
  table = {};
  table.struct_size = sizeof table;
}
#define OPD_INIT(TYPE) \
  void init(TYPE &options) { TYPE##_init(&options); }
OPD_INIT(opd_vm_options)
OPD_INIT(opd_call_options)
OPD_INIT(opd_profile_options)
OPD_INIT(opd_module_options)
OPD_INIT(opd_params_options)
OPD_INIT(opd_evaluator_options)
OPD_INIT(opd_counter_options)
#undef OPD_INIT

template <class T>
struct Inputs : testing::Test {};
using InputStructs =
    testing::Types<opd_vm_options, opd_call_options, opd_profile_options, opd_module_options, opd_params_options,
                   opd_evaluator_options, opd_counter_options, opd_collector_table>;
TYPED_TEST_SUITE(Inputs, InputStructs);

TYPED_TEST(Inputs, OfALaterHeaderAreReadIfTheirNewFieldsAreZero) {
  Later<TypeParam> later;
  init(later.known);
  later.known.struct_size = sizeof later;
  check(use(&later.known));
}

TYPED_TEST(Inputs, OfALaterHeaderAreRefusedIfANewFieldIsUsed) {
  Later<TypeParam> later;
  init(later.known);
  later.known.struct_size = sizeof later;
  for (const size_t place : {size_t{0}, kMore - 1}) {
    later.unknown[place] = 1;
    expect_error(use(&later.known), OPD_UNSUPPORTED, "field at byte " + std::to_string(sizeof(TypeParam) + place));
    later.unknown[place] = 0;
  }
}

TYPED_TEST(Inputs, OfAnEarlierHeaderKeepTheDefaultsOfFieldsThatItLacks) {
  TypeParam earlier;
  std::memset(&earlier, 0xFF, sizeof earlier);  // must not be read
  earlier.struct_size = 8;
  constexpr bool kHasDevice = std::is_same_v<TypeParam, opd_evaluator_options>;
  const uint32_t second = kHasDevice ? kDLCPU : 0;  // each has a number behind the size
  std::memcpy(reinterpret_cast<char *>(&earlier) + 4, &second, 4);
  check(use(&earlier));
}

TYPED_TEST(Inputs, OfAnImpossibleSizeAreRefused) {
  TypeParam given;
  init(given);
  for (const uint32_t size : {0u, 3u, 9u, 4104u, UINT32_MAX}) {
    given.struct_size = size;
    expect_error(use(&given), OPD_INVALID_ARGUMENT, "struct_size is " + std::to_string(size));
  }
}

opd_error *fill(opd_memory_stats *out) { return opd_memory_get_stats(kCpu, out); }
opd_error *fill(opd_machine_peak *out) { return opd_machine_measure_peak(out); }
opd_error *fill(opd_params_stats *out) {
  Params params;
  check(opd_params_create(params.out()));
  return opd_params_get_stats(params.get(), out);
}
opd_error *fill(opd_tensor_info *out) {
  static Params params;
  if (!params.get()) {
    check(opd_params_create(params.out()));
    check(opd_params_set(params.get(), "x", floats({1, 2}).get()));
  }
  return opd_params_get_info(params.get(), 0, out);
}
opd_error *fill(opd_benchmark_stats *out) {
  const double seconds[] = {1, 2};
  Handle<opd_benchmark> benchmark;
  check(opd_benchmark_create(seconds, 2, benchmark.out()));
  return opd_benchmark_get_stats(benchmark.get(), out);
}

template <class T>
struct Outputs : testing::Test {};
using OutputStructs =
    testing::Types<opd_memory_stats, opd_params_stats, opd_tensor_info, opd_benchmark_stats, opd_machine_peak>;
TYPED_TEST_SUITE(Outputs, OutputStructs);

TYPED_TEST(Outputs, OfALaterHeaderAreZeroWhereTheLibraryKnowsNothing) {
  Later<TypeParam> later;
  std::memset(later.unknown, 0xA5, kMore);
  later.known.struct_size = sizeof later;
  check(fill(&later.known));
  EXPECT_EQ(later.known.struct_size, sizeof later.known) << "the bytes that were filled";
  for (const unsigned char byte : later.unknown) EXPECT_EQ(byte, 0);
}

TYPED_TEST(Outputs, OfAnEarlierHeaderAreWrittenAsFarAsItGoes) {
  TypeParam earlier;
  std::memset(&earlier, 0xA5, sizeof earlier);
  earlier.struct_size = 8;
  check(fill(&earlier));
  EXPECT_EQ(earlier.struct_size, 8u);
  const auto *bytes = reinterpret_cast<const unsigned char *>(&earlier);
  for (size_t i = 8; i < sizeof earlier; ++i) EXPECT_EQ(bytes[i], 0xA5) << "byte " << i;
}

TYPED_TEST(Outputs, OfAnImpossibleSizeAreRefused) {
  TypeParam given{};
  for (const uint32_t size : {0u, 3u, 9u, 4104u, UINT32_MAX}) {
    given.struct_size = size;
    expect_error(fill(&given), OPD_INVALID_ARGUMENT, "struct_size is " + std::to_string(size));
  }
}

TEST(OptionsInit, WithoutOptionsDoesNothing) {
  opd_vm_options_init(nullptr);
  opd_call_options_init(nullptr);
  opd_profile_options_init(nullptr);
  opd_module_options_init(nullptr);
  opd_export_options_init(nullptr);
  opd_params_options_init(nullptr);
  opd_evaluator_options_init(nullptr);
  opd_counter_options_init(nullptr);
  opd_diff_options_init(nullptr);
}

TEST(Handles, OfEveryKindCanBeRetainedAndReleased) {
  opd_shape *shape = nullptr;
  const int64_t dims[] = {1, 2};
  check(opd_shape_create(dims, 2, &shape));
  opd_shape *again = opd_shape_retain(shape);
  EXPECT_EQ(again, shape);
  opd_shape_release(shape);
  EXPECT_EQ(opd_shape_dims(again, nullptr)[1], 2) << "the second reference keeps it";
  opd_shape_release(again);
  opd_shape_release(nullptr);
  EXPECT_EQ(opd_array_retain(nullptr), nullptr);
  opd_error *error = opd_error_create(OPD_IO, nullptr, "no");
  opd_error_release(opd_error_retain(error));
  EXPECT_EQ(opd_error_code(error), OPD_IO);
  opd_error_release(error);
}

}  // namespace
}  // namespace opdyno_test
