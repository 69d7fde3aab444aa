// What is wrong with an argument is said in full: which one, what it must be, and what it is.
#include <limits>

#include "support/c_artifact.h"
#include "support/opdyno_test.h"

namespace {

using namespace opdyno_test;

// The code and the message of an error, which is released.
std::string told(opd_error *error) {
  const std::string text =
      error ? std::string(opd_code_name(opd_error_code(error))) + ": " + opd_error_message(error) : "accepted";
  opd_error_release(error);
  return text;
}
std::string invalid(const std::string &message) { return "OPD_INVALID_ARGUMENT: " + message; }

template <class Options>
Options defaults(void (*init)(Options *)) {
  Options options;
  init(&options);
  return options;
}

// Calls `use` with the defaults changed by each of `cases`.
template <class Options, class Use>
void expect_told(void (*init)(Options *), const Use &use,
                 const std::vector<std::pair<std::function<void(Options &)>, std::string>> &cases) {
  for (const auto &[change, message] : cases) {
    Options options = defaults(init);
    change(options);
    EXPECT_EQ(told(use(options)), message);
  }
}

TEST(Messages, NameTheBadArgumentOfFileFunctions) {
  const std::string path = scratch_directory() + "/written";
  EXPECT_EQ(told(opd_file_write(nullptr, "x", 1)), invalid("path must be the name of a file"));
  EXPECT_EQ(told(opd_file_write("", "x", 1)), invalid("path must be the name of a file"));
  EXPECT_EQ(told(opd_file_write(path.c_str(), nullptr, 1)), invalid("data must not be NULL"));
  EXPECT_EQ(told(opd_file_write(path.c_str(), "text", 3)), "accepted");
  EXPECT_EQ(read_bytes(path), "tex");
  EXPECT_EQ(told(opd_file_write(path.c_str(), nullptr, 0)), "accepted");
  EXPECT_EQ(read_bytes(path), "");
  const Error made(opd_error_create(OPD_IO, nullptr, nullptr)), other(opd_error_create(OPD_IO, "KeyError", "text"));
  EXPECT_EQ(made.kind() + "|" + made.message(), "OSError|");
  EXPECT_EQ(other.kind() + "|" + other.message(), "KeyError|text");
}

TEST(Messages, NameTheBadArgumentOfCollectorFunctions) {
  using Options = opd_counter_options;
  const char *const events[] = {"cycles", nullptr};
  Handle<opd_collector> made;
  expect_told<Options>(
      opd_counter_options_init,
      [&](const Options &options) { return opd_collector_create_builtin(OPD_COLLECTOR_PERF, &options, made.out()); },
      {{[&](Options &o) { o.events = events, o.num_events = 2; }, invalid("events[1] must not be NULL")},
       {[](Options &o) { o.num_events = 1; }, invalid("events must not be NULL")},
       {[&](Options &o) { o.events = events, o.num_events = -1; }, invalid("num_events must be >= 0, but is -1")}});
  Handle<opd_array> names;
  for (const int kind : {-1, OPD_COLLECTOR_DEVICE + 1})
    EXPECT_EQ(told(opd_collector_list_events(static_cast<opd_collector_kind>(kind), names.out())),
              invalid("kind must be a kind of collectors, but is " + std::to_string(kind)));
  for (const opd_collector_kind none :
       {OPD_COLLECTOR_TIME, OPD_COLLECTOR_MEMORY, OPD_COLLECTOR_NVML, OPD_COLLECTOR_DEVICE}) {
    check(opd_collector_list_events(none, names.out()));
    EXPECT_EQ(opd_array_count(names.get()), 0) << none;
  }
  opd_collector_table table{};
  table.struct_size = sizeof table;
  EXPECT_EQ(told(opd_collector_create("\xff", &table, made.out())), invalid("the collector's name is not UTF-8"));
  EXPECT_EQ(told(opd_collector_create("", &table, made.out())), invalid("name must not be empty"));
  const Function function = make_function([](const opd_value *, int32_t, opd_value *) {});
  Handle<opd_function> profiled;
  EXPECT_EQ(told(opd_function_profile(function.get(), {kDLCPU, 0}, nullptr, 0, -1, profiled.out())),
            invalid("warmup_iters must not be negative, but is -1"));
  EXPECT_EQ(told(opd_function_profile(function.get(), {kDLCPU, 0}, nullptr, 1, 0, profiled.out())),
            invalid("collectors must not be NULL"));
  EXPECT_EQ(told(opd_function_profile(function.get(), {kDLCPU, 0}, nullptr, -1, 0, profiled.out())),
            invalid("num_collectors must be >= 0, but is -1"));
  opd_collector *const absent[] = {nullptr};
  EXPECT_EQ(told(opd_function_profile(function.get(), {kDLCPU, 0}, absent, 1, 0, profiled.out())),
            invalid("collectors[0] must not be NULL"));
  EXPECT_NE(told(opd_function_profile(function.get(), {kDLMetal, 0}, nullptr, 0, 0, profiled.out())), "accepted")
      << "the device must be there";
}

TEST(Messages, NameTheBadArgumentOfExecutableFunctions) {
  const Executable program = Executable::assemble(".func main(x) {\n  ret %x\n}");
  Handle<opd_buffer> text;
  for (const int format : {-1, 77})
    EXPECT_EQ(told(opd_executable_write(program.get(), static_cast<opd_executable_format>(format), text.out())),
              invalid("format must be a format of executables, but is " + std::to_string(format)));
  Handle<opd_executable_builder> builder;
  check(opd_executable_builder_create(builder.out()));
  check(opd_executable_builder_begin_function(builder.get(), "f", 2, nullptr));
  opd_instruction instruction{};
  instruction.struct_size = sizeof instruction;
  const auto emitted = [&](auto change) {
    opd_instruction changed = instruction;
    change(changed);
    return told(emit(builder.get(), changed));
  };
  instruction.opcode = OPD_OPCODE_CALL;
  EXPECT_EQ(emitted([](opd_instruction &) {}), invalid("callee must not be NULL"));
  EXPECT_EQ(emitted([](opd_instruction &i) { i.callee = "g", i.num_args = 1; }), invalid("args must not be NULL"));
  EXPECT_EQ(emitted([](opd_instruction &i) { i.callee = "g", i.num_args = -1; }),
            invalid("num_args must be >= 0, but is -1"));
  EXPECT_EQ(emitted([](opd_instruction &i) { i.opcode = static_cast<decltype(i.opcode)>(99); }),
            invalid("opcode must be one of the opcodes, but is 99"));
  // The usual names of parameters.
  EXPECT_EQ(emitted([](opd_instruction &i) { i.opcode = OPD_OPCODE_RET, i.reg = 1; }), "accepted");
  check(opd_executable_builder_end_function(builder.get()));
  Handle<opd_executable> made;
  check(opd_executable_builder_get(builder.get(), made.out()));
  check(opd_executable_write(made.get(), OPD_EXECUTABLE_ASSEMBLY, text.out()));
  EXPECT_NE(std::string(opd_buffer_data(text.get())).find("f(param_0, param_1)"), std::string::npos)
      << opd_buffer_data(text.get());
  opd_vm_options options = defaults(opd_vm_options_init);
  Handle<opd_vm> vm;
  options.num_devices = 1;
  const Module module = program.to_module();
  EXPECT_EQ(told(opd_vm_create(module.get(), &options, vm.out())), invalid("devices must not be NULL"));
}

TEST(Messages, NameTheBadArgumentOfModuleFunctions) {
  Handle<opd_module> module;
  const char *const names[] = {"f", nullptr}, *const empty[] = {""}, *const signatures[] = {"i32()", nullptr};
  const auto load_static = [&](const char *const *given, int32_t count) {
    return told(opd_module_load_static_library("/nonexistent.o", given, count, module.out()));
  };
  EXPECT_EQ(load_static(names, 2), invalid("func_names[1] must be a name"));
  EXPECT_EQ(load_static(empty, 1), invalid("func_names[0] must be a name"));
  EXPECT_EQ(load_static(nullptr, 1), invalid("func_names must not be NULL"));
  EXPECT_EQ(load_static(names, -1), invalid("num_func_names must be >= 0, but is -1"));
  const auto load_native = [&](const char *const *given, const char *const *types, int32_t count) {
    return told(opd_module_load_native("/nonexistent.so", given, types, count, nullptr, module.out()));
  };
  EXPECT_EQ(load_native(names, signatures, 2), invalid("names[1] must not be NULL"));
  const char *const both[] = {"f", "g"};
  EXPECT_EQ(load_native(both, signatures, 2), invalid("signatures[1] must not be NULL"));
  EXPECT_EQ(load_native(nullptr, signatures, 1), invalid("names must not be NULL"));
  EXPECT_EQ(load_native(names, nullptr, 1), invalid("signatures must not be NULL"));
  EXPECT_EQ(load_native(names, signatures, -1), invalid("num_functions must be >= 0, but is -1"));
  const Module program = Executable::assemble(".func main(x) {\n  ret %x\n}").to_module();
  Handle<opd_function> function;
  EXPECT_EQ(told(opd_module_native_function(program.get(), "nobody", "i32()", function.out())),
            "OPD_NOT_FOUND: the module of kind relax.VMExecutable has no C symbol \"nobody\"");
  opd_export_options options = defaults(opd_export_options_init);
  options.num_addons = 1;
  EXPECT_EQ(told(opd_module_export(program.get(), "/nonexistent/x.so", &options)), invalid("addons must not be NULL"));
  const char *const addons[] = {"a.o", nullptr};
  options.addons = addons, options.num_addons = 2;
  EXPECT_EQ(told(opd_module_export(program.get(), "/nonexistent/x.so", &options)),
            invalid("addons[1] must not be NULL"));
  options.num_addons = -1;
  EXPECT_EQ(told(opd_module_export(program.get(), "/nonexistent/x.so", &options)),
            invalid("num_addons must be >= 0, but is -1"));
}

TEST(Messages, NameTheBadArgumentOfReportFunctions) {
  const ReportBuilder builder;
  const opd_value one = arg(1), word = arg("word"), bad = arg("\xff");
  const auto set = [&](opd_report_section section, const char *device, const char *name, opd_metric_kind kind,
                       const opd_value &value) {
    return told(opd_report_builder_set(builder.get(), section, device, name, kind, &value));
  };
  const auto set_call = [&](const char *name, opd_metric_kind kind, const opd_value &value) {
    return set(OPD_REPORT_CALLS, nullptr, name, kind, value);
  };
  EXPECT_EQ(set_call("n", OPD_METRIC_COUNT, one),
            "OPD_FAILED_PRECONDITION: there is no call yet; add one before its metrics");
  builder.add_call();
  EXPECT_EQ(set_call("n", OPD_METRIC_COUNT, one), "accepted");
  EXPECT_EQ(set_call("n", OPD_METRIC_COUNT, one), "OPD_ALREADY_EXISTS: the call has a metric \"n\" already");
  for (const opd_metric_kind kind : {OPD_METRIC_NONE, OPD_METRIC_JSON, static_cast<opd_metric_kind>(-3)})
    EXPECT_EQ(set_call("m", kind, one),
              invalid("the kind of m must be a kind of metrics (1 to 7), but is " + std::to_string(kind)));
  EXPECT_EQ(set_call("m", OPD_METRIC_STRING, bad), invalid("the text of m is not UTF-8"));
  EXPECT_EQ(set_call("m", OPD_METRIC_STRING, one), invalid("m must be a string, but is int"));
  EXPECT_EQ(set_call("m", OPD_METRIC_COUNT, word), invalid("m must be int, but is const char*"));
  EXPECT_EQ(set_call("m", OPD_METRIC_RATIO, word), invalid("m must be float, but is const char*"));
  EXPECT_EQ(set_call("\xff", OPD_METRIC_COUNT, one), invalid("a metric's name is not UTF-8"));
  EXPECT_EQ(set(OPD_REPORT_DEVICES, "\xff", "m", OPD_METRIC_COUNT, one), invalid("a metric's name is not UTF-8"));
  EXPECT_EQ(set(OPD_REPORT_DEVICES, "cpu0", "m", OPD_METRIC_BYTES, one), "accepted");
  EXPECT_EQ(set(OPD_REPORT_DEVICES, "cpu0", "m", OPD_METRIC_BYTES, one),
            "OPD_ALREADY_EXISTS: cpu0 has a metric \"m\" already");
  EXPECT_EQ(set(OPD_REPORT_DEVICES, "cpu1", "m", OPD_METRIC_BYTES, one), "accepted");
  EXPECT_EQ(set(OPD_REPORT_CONFIGURATION, nullptr, "m", OPD_METRIC_STRING, word), "accepted");
  EXPECT_EQ(set(OPD_REPORT_CONFIGURATION, nullptr, "m", OPD_METRIC_STRING, word),
            "OPD_ALREADY_EXISTS: the configuration has a metric \"m\" already");
  const std::string device = invalid("device must be given for the section of devices, and be NULL for other sections");
  EXPECT_EQ(set(OPD_REPORT_DEVICES, nullptr, "m", OPD_METRIC_COUNT, one), device);
  EXPECT_EQ(set(OPD_REPORT_CALLS, "cpu0", "m", OPD_METRIC_COUNT, one), device);
  const auto other = static_cast<opd_report_section>(9);
  const std::string section = invalid("section must be a section of reports, but is 9");
  EXPECT_EQ(set(other, nullptr, "m", OPD_METRIC_COUNT, one), section);
  const Report report = builder.finish();
  Handle<opd_report> made;
  const std::string taken = "OPD_FAILED_PRECONDITION: the report was taken from its builder";
  EXPECT_EQ(told(opd_report_builder_finish(builder.get(), made.out())), taken);
  EXPECT_EQ(told(opd_report_builder_add_call(builder.get())), taken);
  EXPECT_EQ(set_call("x", OPD_METRIC_COUNT, one), taken);
  EXPECT_EQ(set(OPD_REPORT_DEVICES, "cpu0", "x", OPD_METRIC_COUNT, one), taken);
  Handle<opd_array> names;
  Handle<opd_buffer> text;
  Value value;
  EXPECT_EQ(told(opd_report_list(report.get(), other, names.out())), section);
  EXPECT_EQ(told(opd_report_get(report.get(), other, 0, "n", value.out(), nullptr)), section);
  EXPECT_EQ(told(opd_report_get_column(report.get(), other, "n", names.out(), nullptr)), section);
  for (const opd_report_section none : {other, static_cast<opd_report_section>(-1)})
    EXPECT_EQ(opd_report_count(report.get(), none), 0);
  EXPECT_EQ(told(opd_report_write(report.get(), static_cast<opd_report_format>(9), nullptr, text.out())),
            invalid("format must be a format of reports, but is 9"));
  const opd_report *const some[] = {report.get(), nullptr};
  EXPECT_EQ(told(opd_report_merge(some, 0, made.out())), invalid("at least one report is expected"));
  EXPECT_EQ(told(opd_report_merge(some, 2, made.out())), invalid("reports[1] must not be NULL"));
  const std::string peaks = invalid("the machine's peaks must both be positive, or both be 0");
  for (const auto &[gflops, gbps] : {std::pair<double, double>{1, 0}, {0, 1}, {-1, 1}, {1, -1}, {-1, -1}})
    EXPECT_EQ(told(opd_report_add_roofline(report.get(), gflops, gbps, made.out())), peaks);
  const Report empty = ReportBuilder().finish();
  EXPECT_EQ(told(opd_report_get_column(empty.get(), OPD_REPORT_CALLS, "n", names.out(), nullptr)),
            "OPD_NOT_FOUND: a report without calls has no column \"n\"");
  using OfDiff = opd_diff_options;
  expect_told<OfDiff>(
      opd_diff_options_init,
      [&](const OfDiff &options) { return opd_report_diff(some, 1, some, 1, &options, made.out()); },
      {{[](OfDiff &o) { o.confidence = 0.4; },
        invalid("option confidence is 0.4; it must lie between 0.5 and 0.999999999999")},
       {[](OfDiff &o) { o.confidence = 1; },
        invalid("option confidence is 1; it must lie between 0.5 and 0.999999999999")},
       {[](OfDiff &o) { o.min_share = -0.5; }, invalid("option min_share is -0.5; it must lie between 0 and 1")},
       {[](OfDiff &o) { o.min_effect = std::numeric_limits<double>::quiet_NaN(); },
        invalid("option min_effect is nan; it must lie between 0 and 1000")}});
}

// The nearest numbers that are allowed.
TEST(Messages, AreAbsentForValuesAtALimit) {
  const Module program = Executable::assemble(".func main(x) {\n  ret %x\n}").to_module();
  Handle<opd_benchmark> benchmark;
  const double limits[] = {0, std::numeric_limits<double>::max()}, beyond[] = {std::numeric_limits<double>::infinity()},
               none[] = {0, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_EQ(told(opd_benchmark_create(limits, 2, benchmark.out())), "accepted");
  EXPECT_EQ(told(opd_benchmark_create(beyond, 1, benchmark.out())),
            invalid("seconds[0] must be at least 0, but is inf"));
  EXPECT_EQ(told(opd_benchmark_create(none, 2, benchmark.out())), invalid("seconds[1] must be at least 0, but is nan"));
  for (const int64_t count : {0, 65535}) {
    Handle<opd_executable_builder> builder;
    check(opd_executable_builder_create(builder.out()));
    EXPECT_EQ(told(opd_executable_builder_begin_function(builder.get(), "f", count, nullptr)), "accepted") << count;
  }
  using OfModule = opd_module_options;
  const std::string absent = "OPD_NOT_FOUND: cannot load /nonexistent: No such file or directory",
                    no_record = "OPD_NOT_FOUND: cannot open /nonexistent: No such file or directory";
  Handle<opd_module> module;
  expect_told<OfModule>(
      opd_module_options_init,
      [&](const OfModule &options) { return opd_module_load("/nonexistent", &options, module.out()); },
      {{[](OfModule &o) { o.inspect_only = 1; }, absent},
       {[](OfModule &o) { o.copy = OPD_COPY_NEVER; }, absent},
       {[](OfModule &o) { o.copy = OPD_COPY_ALWAYS; }, absent},
       {[](OfModule &o) { o.build_timeout_ms = 0; }, absent}});
  Handle<opd_report> report;
  using OfReplay = opd_replay_options;
  expect_told<OfReplay>(
      opd_replay_options_init,
      [&](const OfReplay &options) { return opd_replay("/nonexistent", &options, nullptr, report.out(), nullptr); },
      {{[](OfReplay &o) { o.run = 0; }, no_record},
       {[](OfReplay &o) { o.repeat = 0, o.timeout_ns = 1, o.minimise = "x"; }, no_record}});
  const Vm a(program), b(program);
  const opd_value one = opd_int(1);
  using OfCompare = opd_compare_options;
  expect_told<OfCompare>(opd_compare_options_init,
                         [&](const OfCompare &options) {
                           return opd_compare(a.get(), b.get(), "main", &one, 1, &options, report.out(), nullptr);
                         },
                         {{[](OfCompare &o) { o.repeat = 0, o.equal_nan = 0; }, "accepted"},
                          {[](OfCompare &o) { o.timeout_ns = INT64_MAX; }, "accepted"}});
  const double seconds[] = {1, 2, 3, 4, 5, 6};
  Handle<opd_benchmark> before, after;
  check(opd_benchmark_create(seconds, 6, before.out()));
  check(opd_benchmark_create(seconds, 6, after.out()));
  using OfDiff = opd_diff_options;
  expect_told<OfDiff>(
      opd_diff_options_init,
      [&](const OfDiff &options) { return opd_benchmark_diff(before.get(), after.get(), &options, report.out()); },
      {{[](OfDiff &o) { o.min_effect = 0; }, "accepted"},
       {[](OfDiff &o) { o.min_effect = 1000; }, "accepted"},
       {[](OfDiff &o) { o.level = 1e-12; }, "accepted"},
       {[](OfDiff &o) { o.level = 0.5; }, "accepted"},
       {[](OfDiff &o) { o.confidence = 0.5; }, "accepted"},
       {[](OfDiff &o) { o.confidence = 1 - 1e-12; }, "accepted"},
       {[](OfDiff &o) { o.min_share = 0; }, "accepted"},
       {[](OfDiff &o) { o.min_share = 1; }, "accepted"},
       {[](OfDiff &o) { o.fail_above = 1000; }, "accepted"},
       {[](OfDiff &o) { o.is_paired = 1; }, "accepted"}});
  const Function function = make_function([](const opd_value *, int32_t, opd_value *) {});
  Handle<opd_function> profiled;
  EXPECT_EQ(told(opd_function_profile(function.get(), {kDLCPU, 0}, nullptr, 0, 0, profiled.out())), "accepted");
}

TEST(Messages, NameTheBadArgumentOfTraceFunctions) {
  Handle<opd_profiler> profiler;
  Handle<opd_trace> trace, merged;
  check(opd_profiler_create(nullptr, profiler.out()));
  check(opd_profiler_start(profiler.get()));
  check(opd_profiler_stop(profiler.get(), trace.out()));
  Handle<opd_report> report;
  for (const int view : {-1, 77})
    EXPECT_EQ(told(opd_trace_to_report(trace.get(), static_cast<opd_trace_view>(view), nullptr, report.out())),
              invalid("there is no view " + std::to_string(view) + " of a trace"));
  const opd_trace *const some[] = {trace.get(), nullptr};
  EXPECT_EQ(told(opd_trace_merge(some, 2, nullptr, merged.out())), invalid("traces[1] must not be NULL"));
  using Options = opd_trace_merge_options;
  expect_told<Options>(
      opd_trace_merge_options_init,
      [&](const Options &options) { return opd_trace_merge(some, 1, &options, merged.out()); },
      {{[](Options &o) { o.num_labels = -1; }, invalid("num_labels must be >= 0, but is -1")},
       {[](Options &o) { o.num_labels = 1; }, invalid("labels must not be NULL")},
       {[](Options &o) { o.num_offsets_ns = -2; }, invalid("num_offsets_ns must be >= 0, but is -2")},
       {[](Options &o) { o.num_offsets_ns = 3; }, invalid("offsets_ns must not be NULL")},
       {[](Options &o) { o.num_clock_errors_ns = -1; }, invalid("num_clock_errors_ns must be >= 0, but is -1")},
       {[](Options &o) { o.num_clock_errors_ns = 1; }, invalid("clock_errors_ns must not be NULL")}});
  using OfDumps = opd_profiler_dump_options;
  expect_told<OfDumps>(
      opd_profiler_dump_options_init,
      [&](const OfDumps &options) { return opd_profiler_set_dumps(profiler.get(), &options); },
      {{[](OfDumps &) {}, invalid("dumps need a path")},
       {[](OfDumps &o) { o.path = ""; }, invalid("dumps need a path")},
       {[](OfDumps &o) { o.path = "x", o.on_error = 2; }, invalid("on_error must be 0 or 1, but is 2")},
       {[](OfDumps &o) { o.path = "x", o.on_error = -1; }, invalid("on_error must be 0 or 1, but is -1")},
       {[](OfDumps &o) { o.path = "x", o.format = static_cast<opd_trace_format>(77); },
        invalid("format must be a form of traces, but is 77")}});
  const std::string file = scratch_directory() + "/events";
  opd_profiler_options options = defaults(opd_profiler_options_init);
  options.file = file.c_str();
  options.flush_interval_ns = 86'400'000'000'000;
  EXPECT_EQ(told(opd_profiler_create(&options, profiler.out())), "accepted") << "a day";
  ++options.flush_interval_ns;
  EXPECT_EQ(told(opd_profiler_create(&options, profiler.out())),
            invalid("flush_interval_ns must be at most 86400000000000, which is a day, but is 86400000000001"));
}

TEST(Messages, NameTheBadArgumentOfCompareAndReplayFunctions) {
  const Module module = Executable::assemble(".func main(x) {\n  ret %x\n}").to_module();
  const Vm vm(module);
  const opd_value one = opd_int(1);
  Handle<opd_report> report;
  using OfCompare = opd_compare_options;
  expect_told<OfCompare>(
      opd_compare_options_init,
      [&](const OfCompare &options) {
        return opd_compare(vm.get(), vm.get(), "main", &one, 1, &options, report.out(), nullptr);
      },
      {{[](OfCompare &o) { o.repeat = -1; }, invalid("option repeat must be at least 0, but is -1")},
       {[](OfCompare &o) { o.timeout_ns = -1; }, invalid("option timeout_ns must not be negative, but is -1")},
       {[](OfCompare &o) { o.equal_nan = 2; }, invalid("option equal_nan must be 0 or 1, but is 2")},
       {[](OfCompare &o) { o.equal_nan = -1; }, invalid("option equal_nan must be 0 or 1, but is -1")}});
  using OfReplay = opd_replay_options;
  expect_told<OfReplay>(
      opd_replay_options_init,
      [&](const OfReplay &options) { return opd_replay("/nonexistent", &options, nullptr, report.out(), nullptr); },
      {{[](OfReplay &o) { o.repeat = -1; }, invalid("option repeat must be at least 0, but is -1")},
       {[](OfReplay &o) { o.timeout_ns = -1; }, invalid("option timeout_ns must not be negative, but is -1")},
       {[](OfReplay &o) { o.run = 2; }, invalid("option run must be 0 or 1, but is 2")},
       {[](OfReplay &o) { o.run = -1; }, invalid("option run must be 0 or 1, but is -1")},
       {[](OfReplay &o) { o.run = 0, o.minimise = "x"; }, invalid("option minimise needs the call to run")}});
  using OfRecord = opd_record_options;
  expect_told<OfRecord>(
      opd_record_options_init,
      [&](const OfRecord &options) { return opd_vm_record_next_call(vm.get(), "x.opdrec", &options); },
      {{[](OfRecord &o) { o.with_program = 2; }, invalid("option with_program must be 0 or 1, but is 2")},
       {[](OfRecord &o) { o.with_outputs = -1; }, invalid("option with_outputs must be 0 or 1, but is -1")},
       {[](OfRecord &o) { o.with_operators = 2; }, invalid("option with_operators must be 0 or 1, but is 2")},
       {[](OfRecord &o) { o.with_paths = 2; }, invalid("option with_paths must be 0 or 1, but is 2")}});
}

TEST(Messages, NameTheBadArgumentOfSessionFunctions) {
  Handle<opd_rpc_session> session;
  using Options = opd_rpc_connect_options;
  const auto connect = [&](const Options &options) { return opd_rpc_connect("127.0.0.1:1", &options, session.out()); };
  const std::string limits =
      invalid("connect_timeout_ns must be greater than 0, and answer_timeout_ns and session_timeout_ns not negative");
  expect_told<Options>(opd_rpc_connect_options_init, connect,
                       {{[](Options &o) { o.connect_timeout_ns = 0; }, limits},
                        {[](Options &o) { o.answer_timeout_ns = -1; }, limits},
                        {[](Options &o) { o.session_timeout_ns = -1; }, limits},
                        {[](Options &o) { o.tls_name = "x"; }, invalid("tls_name is for tls_ca_file, which is NULL")}});
  EXPECT_EQ(told(opd_rpc_connect("127.0.0.1:0", nullptr, session.out())),
            invalid("\"127.0.0.1:0\" is not an address of a server: its port is 0"));
  using OfServer = opd_rpc_serve_options;
  const std::string sizes =
      invalid("max_packet_bytes and max_file_bytes must not be 0, and max_silence_ns not negative");
  const std::string tls = invalid("tls_certificate_file and tls_key_file go together");
  const char *const path = "/usr";
  expect_told<OfServer>(opd_rpc_serve_options_init,
                        [&](const OfServer &options) { return opd_rpc_serve(-1, &options); },
                        {{[](OfServer &o) { o.max_packet_bytes = 0; }, sizes},
                         {[](OfServer &o) { o.max_file_bytes = 0; }, sizes},
                         {[](OfServer &o) { o.max_silence_ns = -1; }, sizes},
                         {[&](OfServer &o) { o.num_read_paths = -1, o.read_paths = &path; },
                          invalid("num_read_paths must be >= 0, but is -1")},
                         {[](OfServer &o) { o.num_read_paths = 1; }, invalid("read_paths must not be NULL")},
                         {[](OfServer &o) { o.tls_certificate_file = "x"; }, tls},
                         {[](OfServer &o) { o.tls_key_file = "x"; }, tls}});
}

TEST(Messages, NameTheBadArgumentOfTelemetryFunctions) {
  Handle<opd_telemetry> started;
  using Options = opd_telemetry_options;
  const std::string interval = "interval_ns must be from 1 ms to a day, but is ",
                    queue = "max_queue must be from 1 to 1000000, but is ",
                    series = "max_series must be from 1 to 1000000, but is ";
  expect_told<Options>(
      opd_telemetry_options_init,
      [&](const Options &options) {
        opd_error *error = opd_telemetry_start(&options, started.out());
        started = {};  // and stopped
        return error;
      },
      {{[](Options &o) { o.per_operator = -1; }, invalid("per_operator must be 0 or 1, but is -1")},
       {[](Options &o) { o.spans = 2; }, invalid("spans must be 0 or 1, but is 2")},
       {[](Options &o) { o.process_metrics = 2; }, invalid("process_metrics must be 0 or 1, but is 2")},
       {[](Options &o) { o.interval_ns = 1'000'000; }, "accepted"},
       {[](Options &o) { o.interval_ns = 999'999; }, invalid(interval + "999999")},
       {[](Options &o) { o.interval_ns = 86'400'000'000'000; }, "accepted"},
       {[](Options &o) { o.interval_ns = 86'400'000'000'001; }, invalid(interval + "86400000000001")},
       {[](Options &o) { o.max_queue = 1, o.max_series = 1, o.max_bytes = 1; }, "accepted"},
       {[](Options &o) { o.max_queue = 0; }, invalid(queue + "0")},
       {[](Options &o) { o.max_queue = 1'000'001; }, invalid(queue + "1000001")},
       {[](Options &o) { o.max_series = 0; }, invalid(series + "0")},
       {[](Options &o) { o.max_series = 1'000'001; }, invalid(series + "1000001")},
       {[](Options &o) { o.max_queue = 1'000'000, o.max_series = 1'000'000; }, "accepted"},
       {[](Options &o) { o.max_bytes = 0; }, invalid("max_bytes must not be 0")}});
  check(opd_telemetry_start(nullptr, started.out()));
  Handle<opd_buffer> text;
  EXPECT_EQ(told(opd_telemetry_to_text(started.get(), static_cast<opd_telemetry_format>(7), text.out())),
            invalid("format must be a format of telemetry, but is 7"));
  const char *const labels[] = {"a", "1a"}, *const values[] = {"x", "y"}, *const gap[] = {"x", nullptr};
  const char *const reserved[] = {"__a"};
  using OfValue = opd_telemetry_value;
  const auto set = [&](const OfValue &value) { return opd_telemetry_set_value(started.get(), &value); };
  const std::string own =
      "\": the name of a metric of the program's own ends without _total, and begins with neither opdyno_ nor process_";
  expect_told<OfValue>(
      opd_telemetry_value_init, set,
      {{[](OfValue &) {}, invalid("\"\" is not a valid name of a metric")},
       {[](OfValue &o) { o.name = ""; }, invalid("\"\" is not a valid name of a metric")},
       {[](OfValue &o) { o.name = "1a"; }, invalid("\"1a\" is not a valid name of a metric")},
       {[](OfValue &o) { o.name = "a-b"; }, invalid("\"a-b\" is not a valid name of a metric")},
       {[](OfValue &o) { o.name = "_aZ09z_A"; }, "accepted"},
       {[](OfValue &o) { o.name = "a_total"; }, invalid("\"a_total" + own)},
       {[](OfValue &o) { o.name = "opdyno_a"; }, invalid("\"opdyno_a" + own)},
       {[](OfValue &o) { o.name = "process_a"; }, invalid("\"process_a" + own)},
       {[](OfValue &o) { o.name = "a", o.kind = static_cast<opd_telemetry_kind>(9); },
        invalid("kind must be a kind of metrics, but is 9")},
       {[](OfValue &o) { o.name = "a", o.num_label_names = -1; }, invalid("num_label_names must be >= 0, but is -1")},
       {[&](OfValue &o) { o.name = "a", o.num_label_names = 1, o.label_names = labels; },
        invalid("label_values must not be NULL")},
       {[&](OfValue &o) { o.name = "a", o.num_label_names = 1, o.label_values = values; },
        invalid("label_names must not be NULL")},
       {[](OfValue &o) { o.name = "a", o.reserved = 3; }, invalid("reserved must be 0, but is 3")},
       {[&](OfValue &o) { o.name = "b", o.num_label_names = 1, o.label_names = labels, o.label_values = values; },
        "accepted"},
       {[&](OfValue &o) { o.name = "b", o.num_label_names = 2, o.label_names = labels, o.label_values = values; },
        invalid("\"1a\" is not a name of a label")},
       {[&](OfValue &o) { o.name = "b", o.num_label_names = 1, o.label_names = reserved, o.label_values = values; },
        invalid("\"__a\" is not a name of a label")},
       {[&](OfValue &o) { o.name = "b", o.num_label_names = 1, o.label_names = gap + 1, o.label_values = values; },
        invalid("\"\" is not a name of a label")},
       {[&](OfValue &o) { o.name = "b", o.num_label_names = 2, o.label_names = values, o.label_values = gap; },
        invalid("label_values[1] must not be NULL")}});
  const auto span = [](OfValue &o) {
    o.kind = OPD_TELEMETRY_SPAN, o.name = "a b", o.begin_ns = 5, o.end_ns = 5;
    o.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  };
  const std::string number = "\" is not the id of a span", order = "begin_ns must be from 1 to end_ns, 5, but is ";
  const char *const any_text[] = {"a-1 b"}, *const no_text[] = {""};
  expect_told<OfValue>(
      opd_telemetry_value_init, set,
      {{[&](OfValue &o) { span(o); }, "accepted"},
       {[&](OfValue &o) { span(o), o.name = ""; }, invalid("the name of a span must not be empty")},
       {[&](OfValue &o) { span(o), o.name = nullptr; }, invalid("the name of a span must not be empty")},
       {[&](OfValue &o) { span(o), o.reserved = 1; }, invalid("reserved and reserved2 must be 0")},
       {[&](OfValue &o) { span(o), o.reserved2 = 1; }, invalid("reserved and reserved2 must be 0")},
       {[&](OfValue &o) { span(o), o.begin_ns = 0; }, invalid(order + "0")},
       {[&](OfValue &o) { span(o), o.begin_ns = 6; }, invalid(order + "6")},
       {[&](OfValue &o) { span(o), o.span_kind = 0; }, invalid("span_kind must be from 1 to 5, but is 0")},
       {[&](OfValue &o) { span(o), o.span_kind = 5; }, "accepted"},
       {[&](OfValue &o) { span(o), o.span_kind = 6; }, invalid("span_kind must be from 1 to 5, but is 6")},
       {[&](OfValue &o) { span(o), o.traceparent = nullptr; }, invalid("\"\" is not a valid traceparent header")},
       {[&](OfValue &o) { span(o), o.traceparent = "x"; }, invalid("\"x\" is not a valid traceparent header")},
       {[&](OfValue &o) { span(o), o.parent_span = "00f067aa0ba902b7"; }, "accepted"},
       {[&](OfValue &o) { span(o), o.parent_span = "00f067aa0ba902b"; }, invalid("\"00f067aa0ba902b" + number)},
       {[&](OfValue &o) { span(o), o.parent_span = "00F067aa0ba902b7"; }, invalid("\"00F067aa0ba902b7" + number)},
       {[&](OfValue &o) { span(o), o.parent_span = "0000000000000000"; }, invalid("\"0000000000000000" + number)},
       {[&](OfValue &o) { span(o), o.num_label_names = 1, o.label_names = any_text, o.label_values = values; },
        "accepted"},
       {[&](OfValue &o) { span(o), o.num_label_names = 1, o.label_names = no_text, o.label_values = values; },
        invalid("\"\" is not a name of a label")}});
  EXPECT_EQ(told(opd_telemetry_set_parent("00-x")), invalid("\"00-x\" is not a valid traceparent header"));
  EXPECT_EQ(told(opd_telemetry_set_parent(nullptr)), "accepted");
}

}  // namespace
