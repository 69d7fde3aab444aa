// Structs that begin with struct_size, from callers whose header knows more or less than the library. contract_test.py
// compares the lists here with the public headers.
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "conformance/memory_table.h"
#include "support/attention_kernels.h"
#include "support/rpc_servers.h"

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

// ---- structs that the library reads

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
opd_error *use(const opd_export_options *options) {
  const std::string path = testing::TempDir() + "/struct_sizes.so";
  return opd_module_export(module().get(), path.c_str(), options);
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
opd_error *use(const opd_memory_hooks *hooks) {
  opd_error *const error = opd_memory_set_hooks(hooks);
  if (!error) check(opd_memory_set_hooks(nullptr));
  return error;
}
opd_error *use(const opd_device_table *table) {
  static int count = 0;
  int32_t type = 0;
  return opd_device_register(("struct_sizes" + std::to_string(++count)).c_str(), table, &type);
}
opd_error *use(const opd_instruction *instruction) {
  Handle<opd_executable_builder> builder;
  check(opd_executable_builder_create(builder.out()));
  check(opd_executable_builder_begin_function(builder.get(), "main", 1, nullptr));
  return opd_executable_builder_emit(builder.get(), instruction);
}
Handle<opd_report> report() {
  const opd_value x = opd_int(1);
  Handle<opd_report> made;
  check(opd_vm_profile(Vm(module()).get(), "main", &x, 1, nullptr, nullptr, made.out(), nullptr));
  return made;
}
opd_error *use(const opd_report_write_options *options) {
  Handle<opd_buffer> text;
  return opd_report_write(report().get(), OPD_REPORT_TABLE, options, text.out());
}
opd_error *use(const opd_diff_options *options) {
  const auto one = report();
  const opd_report *const runs[] = {one.get()};
  Handle<opd_report> made;
  return opd_report_diff(runs, 1, runs, 1, options, made.out());
}
opd_error *use(const opd_compare_options *options) {
  const opd_value x = opd_int(1);
  Handle<opd_report> made;
  return opd_compare(Vm(module()).get(), Vm(module()).get(), "main", &x, 1, options, made.out(), nullptr);
}
opd_error *use(const opd_record_options *options) {
  const std::string path = testing::TempDir() + "/struct_sizes.opdcall";
  return opd_vm_record_next_call(Vm(module()).get(), path.c_str(), options);
}
opd_error *use(const opd_replay_options *options) {
  const std::string path = testing::TempDir() + "/struct_sizes.opdcall";
  const Vm vm(module());
  check(opd_vm_record_next_call(vm.get(), path.c_str(), nullptr));
  vm.call("main", 1);
  Handle<opd_report> made;
  return opd_replay(path.c_str(), options, nullptr, made.out(), nullptr);
}
Handle<opd_profiler> profiler() {
  Handle<opd_profiler> made;
  check(opd_profiler_create(nullptr, made.out()));
  return made;
}
opd_error *use(const opd_profiler_options *options) {
  Handle<opd_profiler> made;
  return opd_profiler_create(options, made.out());
}
opd_error *use(const opd_profiler_dump_options *options) { return opd_profiler_set_dumps(profiler().get(), options); }
Handle<opd_trace> trace() {
  const auto recording = profiler();
  check(opd_profiler_start(recording.get()));
  Handle<opd_trace> made;
  check(opd_profiler_stop(recording.get(), made.out()));
  return made;
}
opd_error *use(const opd_trace_write_options *options) {
  Handle<opd_report> made;
  return opd_trace_to_report(trace().get(), OPD_TRACE_KEY_AVERAGES, options, made.out());
}
opd_error *use(const opd_trace_merge_options *options) {
  const auto one = trace();
  const opd_trace *const traces[] = {one.get()};
  Handle<opd_trace> made;
  return opd_trace_merge(traces, 1, options, made.out());
}
opd_error *use(const opd_telemetry_options *options) {
  Handle<opd_telemetry> made;
  return opd_telemetry_start(options, made.out());
}
Handle<opd_telemetry> telemetry() {
  Handle<opd_telemetry> made;
  check(opd_telemetry_start(nullptr, made.out()));
  return made;
}
opd_error *use(const opd_telemetry_value *value) { return opd_telemetry_set_value(telemetry().get(), value); }
// Nobody listens where it connects to, which is found out after the options are read.
opd_error *use(const opd_rpc_connect_options *options) {
  int port = 0;
  close(listening(port));
  Handle<opd_rpc_session> session;
  opd_error *const error = opd_rpc_connect(("127.0.0.1:" + std::to_string(port)).c_str(), options, session.out());
  if (opd_error_code(error) != OPD_IO) return error;
  opd_error_release(error);
  return nullptr;
}
opd_error *use(const opd_rpc_serve_options *options) {
  Handle<opd_buffer> json;
  return opd_rpc_serve_describe(options, json.out());
}

// One for each struct: what the test begins with, which the library takes.
void init(opd_collector_table &table) { table = {}, table.struct_size = sizeof table; }
void init(opd_device_table &table) { table = memory_table(); }
void init(opd_instruction &instruction) { instruction = opd_instruction_ret(0); }
void init(opd_memory_hooks &hooks) {
  hooks = {};
  hooks.struct_size = sizeof hooks;
  hooks.allocate = [](void *, size_t size, size_t alignment) { return std::aligned_alloc(alignment, size); };
  hooks.deallocate = [](void *, void *data, size_t, size_t) { std::free(data); };
}
#define OPD_INIT(TYPE) \
  void init(TYPE &options) { TYPE##_init(&options); }
OPD_INIT(opd_vm_options)
OPD_INIT(opd_call_options)
OPD_INIT(opd_profile_options)
OPD_INIT(opd_module_options)
OPD_INIT(opd_export_options)
OPD_INIT(opd_params_options)
OPD_INIT(opd_evaluator_options)
OPD_INIT(opd_counter_options)
OPD_INIT(opd_report_write_options)
OPD_INIT(opd_diff_options)
OPD_INIT(opd_compare_options)
OPD_INIT(opd_record_options)
OPD_INIT(opd_replay_options)
OPD_INIT(opd_profiler_options)
OPD_INIT(opd_trace_write_options)
OPD_INIT(opd_trace_merge_options)
OPD_INIT(opd_telemetry_options)
OPD_INIT(opd_rpc_connect_options)
OPD_INIT(opd_rpc_serve_options)
#undef OPD_INIT
void init(opd_profiler_dump_options &options) {
  opd_profiler_dump_options_init(&options);
  options.path = "dump.json";
}
void init(opd_telemetry_value &value) {
  opd_telemetry_value_init(&value);
  value.name = "struct_sizes";
}

// How much of a struct its function cannot do without. The rest may be missing in the caller's header.
template <class T>
constexpr uint32_t kLeast = 8;
template <>
constexpr uint32_t kLeast<opd_device_table> = offsetof(opd_device_table, create_stream);
template <>
constexpr uint32_t kLeast<opd_instruction> = offsetof(opd_instruction, offset);
template <>
constexpr uint32_t kLeast<opd_memory_hooks> = offsetof(opd_memory_hooks, user_data);
template <>
constexpr uint32_t kLeast<opd_profiler_dump_options> = offsetof(opd_profiler_dump_options, signal);
template <>
constexpr uint32_t kLeast<opd_telemetry_value> = offsetof(opd_telemetry_value, help);

template <class T>
struct Inputs : testing::Test {};
using InputStructs =
    testing::Types<opd_vm_options, opd_call_options, opd_profile_options, opd_module_options, opd_export_options,
                   opd_params_options, opd_evaluator_options, opd_counter_options, opd_report_write_options,
                   opd_diff_options, opd_compare_options, opd_record_options, opd_replay_options, opd_profiler_options,
                   opd_profiler_dump_options, opd_trace_write_options, opd_trace_merge_options, opd_telemetry_options,
                   opd_rpc_connect_options, opd_rpc_serve_options, opd_telemetry_value, opd_collector_table,
                   opd_device_table, opd_memory_hooks, opd_instruction>;
TYPED_TEST_SUITE(Inputs, InputStructs);

TYPED_TEST(Inputs, AreReadIfTheirNewFieldsAreZero) {
  Later<TypeParam> later;
  init(later.known);
  later.known.struct_size = sizeof later;
  check(use(&later.known));
}

TYPED_TEST(Inputs, AreRefusedIfANewFieldIsUsed) {
  Later<TypeParam> later;
  init(later.known);
  later.known.struct_size = sizeof later;
  for (const size_t place : {size_t{0}, kMore - 1}) {
    later.unknown[place] = 1;
    expect_error(use(&later.known), OPD_UNSUPPORTED, "field at byte " + std::to_string(sizeof(TypeParam) + place));
    later.unknown[place] = 0;
  }
}

TYPED_TEST(Inputs, HaveDefaultsForFieldsThatAnEarlierHeaderLacks) {
  TypeParam earlier;
  init(earlier);
  earlier.struct_size = kLeast<TypeParam>;
  std::memset(reinterpret_cast<char *>(&earlier) + kLeast<TypeParam>, 0xFF, sizeof earlier - kLeast<TypeParam>);
  check(use(&earlier));  // which must not read these bytes
}

TYPED_TEST(Inputs, AreRefusedIfTheirSizeIsImpossible) {
  TypeParam given;
  init(given);
  for (const uint32_t size : {0u, 3u, 9u, 4104u, UINT32_MAX}) {
    given.struct_size = size;
    expect_error(use(&given), OPD_INVALID_ARGUMENT, "struct_size is " + std::to_string(size));
  }
}

// ---- structs that the library fills

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
opd_error *fill(opd_telemetry_stats *out) { return opd_telemetry_get_stats(telemetry().get(), out); }
opd_error *fill(opd_kv_stats *out) {
  static const KvState state(attention::make_cache(attention::Sizes{}));
  return opd_kv_state_get_stats(state.get(), out);
}
// While the session runs, which has a request.
opd_error *fill(opd_rpc_progress *out) {
  opd_rpc_serve_options options = defaults(opd_rpc_serve_options_init);
  options.progress = out;
  RawSession session(options);
  session.greet();
  if (session.receive(8 + 7).size() == 8 + 7)  // the server has begun
    session.ask(kInitServer, Packet().text("0.8.0").raw<int32_t>(0)).expect_done();
  return session.end();
}

template <class T>
struct Outputs : testing::Test {};
using OutputStructs = testing::Types<opd_memory_stats, opd_params_stats, opd_tensor_info, opd_benchmark_stats,
                                     opd_machine_peak, opd_telemetry_stats, opd_kv_stats, opd_rpc_progress>;
TYPED_TEST_SUITE(Outputs, OutputStructs);

TYPED_TEST(Outputs, HaveZerosInFieldsOfNewerHeaders) {
  Later<TypeParam> later;
  std::memset(later.unknown, 0xA5, kMore);
  later.known.struct_size = sizeof later;
  check(fill(&later.known));
  EXPECT_EQ(later.known.struct_size, sizeof later.known) << "the bytes that were filled";
  for (const unsigned char byte : later.unknown) EXPECT_EQ(byte, 0);
}

TYPED_TEST(Outputs, StayWithinTheCallersStructSize) {
  TypeParam earlier;
  std::memset(&earlier, 0xA5, sizeof earlier);
  earlier.struct_size = 8;
  check(fill(&earlier));
  EXPECT_EQ(earlier.struct_size, 8u);
  const auto *bytes = reinterpret_cast<const unsigned char *>(&earlier);
  for (size_t i = 8; i < sizeof earlier; ++i) EXPECT_EQ(bytes[i], 0xA5) << "byte " << i;
}

TYPED_TEST(Outputs, AreRefusedIfTheirSizeIsImpossible) {
  TypeParam given{};
  for (const uint32_t size : {0u, 3u, 9u, 4104u, UINT32_MAX}) {
    given.struct_size = size;
    expect_error(fill(&given), OPD_INVALID_ARGUMENT, "struct_size is " + std::to_string(size));
  }
}

TEST(OptionsInit, WithoutOptionsDoesNothing) {
  opd_call_options_init(nullptr);
  opd_compare_options_init(nullptr);
  opd_counter_options_init(nullptr);
  opd_diff_options_init(nullptr);
  opd_evaluator_options_init(nullptr);
  opd_export_options_init(nullptr);
  opd_module_options_init(nullptr);
  opd_params_options_init(nullptr);
  opd_profile_options_init(nullptr);
  opd_profiler_dump_options_init(nullptr);
  opd_profiler_options_init(nullptr);
  opd_record_options_init(nullptr);
  opd_replay_options_init(nullptr);
  opd_report_write_options_init(nullptr);
  opd_rpc_connect_options_init(nullptr);
  opd_rpc_progress_init(nullptr);
  opd_rpc_serve_options_init(nullptr);
  opd_telemetry_options_init(nullptr);
  opd_telemetry_value_init(nullptr);
  opd_trace_merge_options_init(nullptr);
  opd_trace_write_options_init(nullptr);
  opd_vm_options_init(nullptr);
}

TEST(Handles, CanAllBeRetainedAndReleased) {
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
