// Options and numbers out of their range are refused, with the option, its range and the value. The nearest values that
// are allowed are accepted.
#include "support/opdyno_test.h"

namespace {

using namespace opdyno_test;

// Calls `use` with options changed by `change`; expects that message, or success if it is empty.
template <class Options>
void expect_options(void (*init)(Options *), const std::function<opd_error *(const Options *)> &use,
                    const std::vector<std::pair<std::function<void(Options &)>, std::string>> &cases) {
  for (const auto &[change, message] : cases) {
    Options options;
    init(&options);
    change(options);
    opd_error *error = use(&options);
    if (message.empty()) {
      EXPECT_EQ(error, nullptr) << opd_error_message(error);
      opd_error_release(error);
      continue;
    }
    ASSERT_NE(error, nullptr) << message;
    const Error given(error);
    EXPECT_EQ(given.code(), OPD_INVALID_ARGUMENT) << message;
    EXPECT_EQ(given.message(), message);
  }
}

TEST(Options, HaveRangesForProfilers) {
  using Options = opd_profiler_options;
  const auto use = [](const Options *options) {
    Handle<opd_profiler> made;
    return opd_profiler_create(options, made.out());
  };
  const std::string most = "281474976710657; a schedule has at most 2^48 steps";
  constexpr uint64_t kMost = uint64_t{1} << 48;
  expect_options<Options>(
      opd_profiler_options_init, use,
      {
          {[](Options &) {}, ""},
          {[](Options &o) { o.all_calls = 1; }, ""},
          {[](Options &o) { o.profile_memory = 1; }, ""},
          {[](Options &o) { o.with_stack = 1; }, ""},
          {[](Options &o) { o.parallel_tasks = 1; }, ""},
          {[](Options &o) { o.device_work = 1; }, ""},
          {[](Options &o) { o.device_work = 2; }, ""},
          {[](Options &o) { o.device_work = 3; }, "device_work must be 0, 1 or 2, but is 3"},
          {[](Options &o) { o.device_work = -1; }, "device_work must be 0, 1 or 2, but is -1"},
          {[](Options &o) { o.buffer = OPD_PROFILER_KEEP_LAST; }, ""},
          {[](Options &o) { o.active = 1, o.wait = 1, o.skip_first = 1, o.skip_first_wait = 1; }, ""},
          {[](Options &o) { o.active = 1, o.skip_first_wait = -1; }, "skip_first_wait must be 0 or 1, but is -1"},
          {[](Options &o) { o.file = "/nonexistent/x", o.keep_in_file = 2; }, "keep_in_file must be 0 or 1, but is 2"},
          {[](Options &o) { o.all_calls = 2; }, "all_calls must be 0 or 1, but is 2"},
          {[](Options &o) { o.all_calls = -1; }, "all_calls must be 0 or 1, but is -1"},
          {[](Options &o) { o.profile_memory = 2; }, "profile_memory must be 0 or 1, but is 2"},
          {[](Options &o) { o.with_stack = 3; }, "with_stack must be 0 or 1, but is 3"},
          {[](Options &o) { o.parallel_tasks = 4; }, "parallel_tasks must be 0 or 1, but is 4"},
          {[](Options &o) { o.device_work = 8; }, "device_work must be 0, 1 or 2, but is 8"},
          {[](Options &o) { o.reserved = 9; }, "reserved must be 0, but is 9"},
          {[](Options &o) { o.keep_in_file = 5; }, "keep_in_file must be 0 or 1, but is 5"},
          {[](Options &o) { o.skip_first_wait = 6; }, "skip_first_wait must be 0 or 1, but is 6"},
          {[](Options &o) { o.buffer = static_cast<opd_profiler_buffer>(7); },
           "buffer must be a kind of buffer, but is 7"},
          {[](Options &o) { o.keep_in_file = 1; }, "keep_in_file needs a file"},
          {[](Options &o) { o.flush_interval_ns = 1; }, "flush_interval_ns needs a file"},
          {[](Options &o) { o.file = ""; }, "file must not be empty"},
          {[](Options &o) { o.active = kMost; }, ""},
          {[](Options &o) { o.active = kMost + 1; }, "active is " + most},
          {[](Options &o) { o.active = 1, o.wait = kMost + 1; }, "wait is " + most},
          {[](Options &o) { o.active = 1, o.warmup = kMost + 1; }, "warmup is " + most},
          {[](Options &o) { o.active = 1, o.skip_first = kMost + 1; }, "skip_first is " + most},
          {[](Options &o) { o.wait = 1; }, "a schedule needs at least one active step"},
          {[](Options &o) { o.warmup = 1; }, "a schedule needs at least one active step"},
          {[](Options &o) { o.repeat = 1; }, "a schedule needs at least one active step"},
          {[](Options &o) { o.skip_first = 1; }, "a schedule needs at least one active step"},
          {[](Options &o) { o.skip_first_wait = 1; }, "a schedule needs at least one active step"},
      });
  Handle<opd_profiler> profiler;
  check(opd_profiler_create(nullptr, profiler.out()));
  for (const int wrong : {-1, 4})
    expect_error(opd_profiler_set_action(profiler.get(), static_cast<opd_profiler_action>(wrong)), OPD_INVALID_ARGUMENT,
                 "action must be an action of profilers, but is " + std::to_string(wrong));
}

TEST(Options, HaveRangesForTraces) {
  Handle<opd_profiler> profiler;
  Handle<opd_trace> trace;
  check(opd_profiler_create(nullptr, profiler.out()));
  check(opd_profiler_start(profiler.get()));
  check(opd_profiler_stop(profiler.get(), trace.out()));
  using Options = opd_trace_write_options;
  const auto as = [&](opd_trace_format form) {
    return [&trace, form](const Options *options) {
      Handle<opd_buffer> text;
      return opd_trace_write(trace.get(), form, options, text.out());
    };
  };
  expect_options<Options>(
      opd_trace_write_options_init, as(OPD_TRACE_TABLE),
      {
          {[](Options &o) { o.per_event = 2; }, "per_event must be 0 or 1, but is 2"},
          {[](Options &o) { o.per_event = 1; }, ""},
          {[](Options &o) { o.group_by_input_shape = 1, o.with_flops = 1, o.top_level_events_only = 1; }, ""},
          {[](Options &o) { o.group_by_stack_n = 0, o.row_limit = 0; }, ""},
          {[](Options &o) { o.max_shapes_column_width = 1, o.max_src_column_width = 1; }, ""},
          {[](Options &o) { o.group_by_input_shape = -1; }, "group_by_input_shape must be 0 or 1, but is -1"},
          {[](Options &o) { o.with_flops = 2; }, "with_flops must be 0 or 1, but is 2"},
          {[](Options &o) { o.top_level_events_only = 9; }, "top_level_events_only must be 0 or 1, but is 9"},
          {[](Options &o) { o.group_by_stack_n = -2; }, "group_by_stack_n must not be negative, but is -2"},
          {[](Options &o) { o.row_limit = -1; }, ""},
          {[](Options &o) { o.row_limit = -2; }, "row_limit must be -1 or more, but is -2"},
          {[](Options &o) { o.max_name_column_width = 1; }, ""},
          {[](Options &o) { o.max_name_column_width = 0; }, "max_name_column_width must be positive, but is 0"},
          {[](Options &o) { o.max_shapes_column_width = -1; }, "max_shapes_column_width must be positive, but is -1"},
          {[](Options &o) { o.max_src_column_width = 0; }, "max_src_column_width must be positive, but is 0"},
      });
  expect_options<Options>(opd_trace_write_options_init, as(OPD_TRACE_STACKS),
                          {
                              {[](Options &o) { o.metric = "self_cpu_time_total"; }, ""},
                              {[](Options &o) { o.metric = "self_cuda_time_total"; }, ""},
                              {[](Options &o) { o.metric = "time"; },
                               "metric must be self_cpu_time_total or self_cuda_time_total, but is \"time\""},
                          });
  expect_options<Options>(opd_trace_write_options_init, as(static_cast<opd_trace_format>(77)),
                          {{[](Options &) {}, "there is no form 77 of a trace"}});
}

TEST(Options, HaveRangesForModulesVmsAndCalls) {
  using OfModule = opd_module_options;
  const auto load = [](const OfModule *options) {
    Handle<opd_module> module;
    return opd_module_load("/nonexistent", options, module.out());
  };
  expect_options<OfModule>(
      opd_module_options_init, load,
      {
          {[](OfModule &o) { o.copy = opd_copy_policy(9); }, "copy must be a copy policy, but is 9"},
          {[](OfModule &o) { o.copy = opd_copy_policy(-1); }, "copy must be a copy policy, but is -1"},
          {[](OfModule &o) { o.inspect_only = 2; }, "inspect_only is 2, neither 0 nor 1"},
          {[](OfModule &o) { o.build_timeout_ms = -1; }, "build_timeout_ms is -1, less than 0"},
      });
  const Module module = Executable::assemble(".func main(x) {\n  ret %x\n}").to_module();
  const Vm vm(module);
  using OfVm = opd_vm_options;
  const auto create = [&](const OfVm *options) {
    Handle<opd_vm> made;
    return opd_vm_create(module.get(), options, made.out());
  };
  expect_options<OfVm>(opd_vm_options_init, create,
                       {
                           {[](OfVm &o) { o.num_devices = 1; }, "devices must not be NULL"},
                           {[](OfVm &o) { o.num_devices = -1; }, "num_devices must be >= 0, but is -1"},
                       });
  using OfCall = opd_call_options;
  const opd_value one = opd_int(1);
  const auto call = [&](const OfCall *options) {
    Value result;
    return opd_vm_call(vm.get(), "main", &one, 1, options, result.out());
  };
  expect_options<OfCall>(
      opd_call_options_init, call,
      {
          {[](OfCall &) {}, ""},
          {[](OfCall &o) { o.timeout_ns = -5; }, "timeout_ns must not be negative, but is -5"},
          {[](OfCall &o) { o.num_outputs = 1; }, "outputs must not be NULL"},
          {[](OfCall &o) { o.num_outputs = -1; }, "num_outputs must be >= 0, but is -1"},
          {[&](OfCall &o) { o.param_module = module.get(); }, "param_module is an option of set_input only"},
      });
  using OfProfile = opd_profile_options;
  const auto profile = [&](const OfProfile *options) {
    Handle<opd_report> report;
    return opd_vm_profile(vm.get(), "main", &one, 1, nullptr, options, report.out(), nullptr);
  };
  expect_options<OfProfile>(
      opd_profile_options_init, profile,
      {
          {[](OfProfile &) {}, ""},
          {[](OfProfile &o) { o.builtins = opd_profile_builtins(3); },
           "builtins is 3, but must be 0 (with tensors), 1 (all) or 2 (folded)"},
          {[](OfProfile &o) { o.builtins = opd_profile_builtins(-1); },
           "builtins is -1, but must be 0 (with tensors), 1 (all) or 2 (folded)"},
          {[](OfProfile &o) { o.sample_interval = 0; }, "sample_interval must be at least 1"},
          {[](OfProfile &o) { o.turn = -1; }, "turn must be at least 0, but is -1"},
          {[](OfProfile &o) { o.warmup = -1; }, "warmup must be at least 0 and repeat at least 1, but are -1 and 1"},
          {[](OfProfile &o) { o.repeat = 0; }, "warmup must be at least 0 and repeat at least 1, but are 1 and 0"},
      });
}

TEST(Options, NumbersOutOfRangeAreNamed) {
  Handle<opd_benchmark> benchmark;
  const double seconds[] = {1, -1, 2};
  expect_error(opd_benchmark_create(seconds, 3, benchmark.out()), OPD_INVALID_ARGUMENT,
               "seconds[1] must be at least 0, but is -1");
  expect_error(opd_benchmark_create(seconds, 0, benchmark.out()), OPD_INVALID_ARGUMENT, "num must be > 0, but is 0");
  Handle<opd_executable_builder> builder;
  check(opd_executable_builder_create(builder.out()));
  const char *names[] = {"a", nullptr};
  expect_error(opd_executable_builder_begin_function(builder.get(), "f", 2, names), OPD_INVALID_ARGUMENT,
               "param_names[1] must not be NULL");
  for (const int64_t wrong : {-1, 65536})
    expect_error(opd_executable_builder_begin_function(builder.get(), "f", static_cast<int32_t>(wrong), nullptr),
                 OPD_INVALID_ARGUMENT, "num_params must lie in 0 to 65535, but is " + std::to_string(wrong));
  const opd_value one = opd_int(1), pair[] = {one, one};
  Handle<opd_array> array;
  Handle<opd_map> map;
  Value out, key;
  check(opd_array_create(&one, 1, array.out()));
  check(opd_map_create(pair, 1, map.out()));
  expect_error(opd_array_get(array.get(), 1, out.out()), OPD_OUT_OF_RANGE, "index 1 of an array of 1 items");
  expect_error(opd_map_entry(map.get(), 1, key.out(), out.out()), OPD_OUT_OF_RANGE, "index 1 of a map of 1 entries");
  Handle<opd_tensor> tensor;
  const int64_t two = 2;
  expect_error(opd_tensor_create(&two, -1, {kDLFloat, 32, 1}, {kDLCPU, 0}, tensor.out()), OPD_INVALID_ARGUMENT,
               "ndim must be >= 0, but is -1");
  expect_error(opd_tensor_create(nullptr, 1, {kDLFloat, 32, 1}, {kDLCPU, 0}, tensor.out()), OPD_INVALID_ARGUMENT,
               "dims must not be NULL");
  EXPECT_EQ(opd_object_type(nullptr), OPD_NONE);
  EXPECT_EQ(opd_error_code(nullptr), OPD_OK);
}

TEST(Options, HaveRangesForReports) {
  const opdyno::ReportBuilder builder;
  builder.add_call();
  builder.set_call("Name", OPD_METRIC_STRING, opdyno::arg("f"));
  const Report report = builder.finish();
  using OfWrite = opd_report_write_options;
  const auto write = [&](const OfWrite *options) {
    Handle<opd_buffer> text;
    return opd_report_write(report.get(), OPD_REPORT_TABLE, options, text.out());
  };
  expect_options<OfWrite>(
      opd_report_write_options_init, write,
      {
          {[](OfWrite &o) { o.width = 40; }, ""},
          {[](OfWrite &o) { o.width = 39; }, "width must be 0 or at least 40, but is 39"},
          {[](OfWrite &o) { o.width = -1; }, "width must be 0 or at least 40, but is -1"},
          {[](OfWrite &o) { o.width = 80, o.max_rows = -1; }, "max_rows must be at least 0, but is -1"},
      });
  using OfDiff = opd_diff_options;
  const opd_report *one[] = {report.get()};
  const auto diff = [&](const OfDiff *options) {
    Handle<opd_report> made;
    return opd_report_diff(one, 1, one, 1, options, made.out());
  };
  expect_options<OfDiff>(
      opd_diff_options_init, diff,
      {
          {[](OfDiff &o) { o.min_effect = -0.1; }, "option min_effect is -0.1; it must lie between 0 and 1000"},
          {[](OfDiff &o) { o.min_effect = 1001; }, "option min_effect is 1001; it must lie between 0 and 1000"},
          {[](OfDiff &o) { o.level = 0.6; }, "option level is 0.6; it must lie between 1e-12 and 0.5"},
          {[](OfDiff &o) { o.level = 0; }, "option level is 0; it must lie between 1e-12 and 0.5"},
          {[](OfDiff &o) { o.min_share = 1.5; }, "option min_share is 1.5; it must lie between 0 and 1"},
          {[](OfDiff &o) { o.fail_above = 1001; }, "option fail_above is 1001; it must be at most 1000"},
          {[](OfDiff &o) { o.is_paired = 2; }, "option is_paired is 2; it must be 0 or 1"},
      });
  Handle<opd_report> made;
  const opd_report *absent[] = {report.get(), nullptr};
  expect_error(opd_report_diff(absent, 0, one, 1, nullptr, made.out()), OPD_INVALID_ARGUMENT,
               "at least one report is expected before");
  expect_error(opd_report_diff(one, 1, absent, 2, nullptr, made.out()), OPD_INVALID_ARGUMENT,
               "after[1] must not be NULL");
  Value value;
  const auto get = [&](opd_report_section section, size_t row) {
    return opd_report_get(report.get(), section, row, "Name", value.out(), nullptr);
  };
  expect_error(get(OPD_REPORT_DEVICES, 3), OPD_OUT_OF_RANGE, "row must be below 0, but is 3");
  expect_error(get(OPD_REPORT_CONFIGURATION, 2), OPD_OUT_OF_RANGE, "row must be below 1, but is 2");
}

}  // namespace
