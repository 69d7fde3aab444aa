// What opdyno.hpp wraps of the C API beside arguments of calls (value_cpp_test.cc): each class once.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/opdyno_test.h"

namespace opdyno_test {
namespace {

Vm adder() {
  define("face.add",
         [](const opd_value *args, int32_t, opd_value *) { elements(args[1])[0] = elements(args[0])[0] + 1; });
  return Vm(Executable::assemble(R"(
.func main(x, y) {
  call face.add(%x, %y)
  ret %y
})")
                .to_module());
}

TEST(Errors, HaveCauseKindAndCodeAndAreCopied) {
  const Error error(opd_error_create(OPD_IO, "OSError", "disk"));
  const Error copy = error;
  EXPECT_EQ(copy.code(), OPD_IO);
  EXPECT_STREQ(copy.code_name(), "OPD_IO");
  EXPECT_EQ(copy.kind() + copy.message() + copy.backtrace(), "OSErrordisk");
  EXPECT_STREQ(copy.what(), "OSError: disk");
  EXPECT_FALSE(copy.cause());
}

TEST(Errors, KeepTheirKindThroughACallback) {
  const auto fails =
      Function::of([](const opd_value *, int32_t) { check(opd_error_create(OPD_IO, "OSError", "disk")); });
  try {
    fails();
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.kind(), "OSError");
    EXPECT_EQ(error.code(), OPD_IO);
  }
}

TEST(Containers, HoldTheirItems) {
  const Array array({opd_int(1), opd_cstring("two")});
  EXPECT_EQ(array.size(), 2u);
  EXPECT_EQ(Array::of(Value::of(array))[1].string(), "two");
  EXPECT_EQ(array.type(), OPD_ARRAY);
  const Map map({opd_cstring("one"), opd_int(1), opd_int(2), opd_float(0.5)});
  EXPECT_EQ(Map::of(Value::of(map)).size(), 2u);
  EXPECT_EQ(map["one"].view().u.int64, 1);
  EXPECT_EQ(map[2].view().u.float64, 0.5);
  EXPECT_EQ(map.entry(1).first.view().u.int64, 2);
  expect_throws([&] { map["three"]; }, OPD_NOT_FOUND);
  EXPECT_THROW(Map({opd_int(1)}), std::invalid_argument);
  EXPECT_EQ(Shape::of(Value::of(Shape({2, 3}))).dims(), (std::vector<int64_t>{2, 3}));
  EXPECT_THROW(Shape::of(opd_int(1)), std::invalid_argument);
  EXPECT_EQ(Value::bytes(std::string_view("a\0b", 3)).string(), std::string("a\0b", 3));
}

int down(const void *a, const void *b) { return *static_cast<const int *>(b) - *static_cast<const int *>(a); }

TEST(Functions, AreMadeOfCFunctionsAndBecomeCFunctions) {
  const auto native = Function::native(reinterpret_cast<void *>(down), "i32(ptr, ptr)", "down");
  int one = 1, five = 5;
  EXPECT_EQ(native(opd_pointer(&one), opd_pointer(&five)).view().u.int64, 4);
  const Closure order(native, "i32(ptr, ptr)");
  int numbers[] = {3, 1, 2};
  std::qsort(numbers, 3, sizeof(int), order.pointer<int (*)(const void *, const void *)>());
  EXPECT_EQ(numbers[0], 3);
  EXPECT_EQ(numbers[2], 1);
  order.throw_error();
  const Closure fails(Function::of([](const opd_value *, int32_t) { throw std::runtime_error("no"); }), "i32()");
  EXPECT_EQ(fails.pointer<int (*)()>()(), 0);
  expect_throws([&] { fails.throw_error(); }, OPD_CALL_FAILED, "no");
}

TEST(Functions, AreRegisteredListedAndRemoved) {
  Function::of([](const opd_value *, int32_t) { return 7; }).register_global("face.seven");
  EXPECT_EQ(Function::global("face.seven").call({}).view().u.int64, 7);
  const auto names = Function::list_global();
  EXPECT_EQ(std::count(names.begin(), names.end(), "face.seven"), 1);
  Function::remove_global("face.seven");
  expect_throws([] { Function::global("face.seven"); }, OPD_NOT_FOUND);
}

TEST(Devices, ReportTheirAttributesAndMemory) {
  const DLDevice cpu = device_of("cpu");
  EXPECT_EQ(opdyno::to_string(cpu), "cpu:0");
  EXPECT_EQ(device_attr(cpu, OPD_ATTR_EXIST).view().u.int64, 1);
  sync(cpu);
  const uint64_t before = memory_stats(cpu).live_bytes;
  const Tensor tensor({1000}, dtype_of("f32"));
  EXPECT_EQ(memory_stats(cpu).live_bytes - before, tensor.bytes());
  reset_memory_peak(cpu);
  trim_memory(cpu);
  const int32_t threads = threads_count();
  set_threads_count(3);
  EXPECT_EQ(threads_count(), 3);
  set_threads_count(0);
  EXPECT_EQ(threads_count(), threads);
}

TEST(Tensors, AreCopiedReshapedAndHandedOn) {
  const Tensor a = floats({1, 2, 3, 4}), b = a.reshape({2, 2}), c({4}, "float32");
  EXPECT_EQ(b.shape(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(b.data<float>(), a.data<float>());
  c.copy_from(a);
  EXPECT_EQ(to_floats(Value::of(c)), to_floats(Value::of(a)));
  float numbers[4];
  a.copy_to_bytes(numbers, sizeof numbers);
  numbers[3] = 9;
  c.copy_from_bytes(numbers, sizeof numbers);
  EXPECT_EQ(c.data<float>()[3], 9);
  EXPECT_TRUE(c.is_contiguous());
  EXPECT_FALSE(c.is_read_only());
  EXPECT_EQ(Tensor::from_dlpack(a.to_dlpack()).data<float>(), a.data<float>());
  EXPECT_EQ(Tensor::from_dlpack(a.to_dlpack_versioned()).data<float>(), a.data<float>());
}

TEST(Modules, ReportTheirKindFormatAndFunctions) {
  auto options = defaults(opd_module_options_init);
  options.format = "c";
  const Module module = Module::load_bytes("double twice(double x) { return 2 * x; }", &options);
  EXPECT_EQ(module.native_function("twice", "f64(f64)")(0.5).view().u.float64, 1);
  EXPECT_TRUE(module.functions().empty());
  const Executable program = Executable::assemble(".func main(x) {\n  ret %x\n}");
  const Module of_program = Executable::load(program.save()).to_module();
  EXPECT_STREQ(of_program.kind(), "relax.VMExecutable");
  EXPECT_STREQ(of_program.format(), "vmexec");
  EXPECT_EQ(Executable::of(of_program).disassemble(), program.disassemble());
  EXPECT_FALSE(of_program.formats().empty());
  EXPECT_NE(of_program.json().find("relax.VMExecutable"), std::string::npos);
  of_program.add_import(module);
  EXPECT_EQ(of_program.imports().at(0).get(), module.get());
  EXPECT_TRUE(Module::enabled("cpu"));
  EXPECT_FALSE(Module::enabled("no such target"));
}

TEST(ParamSets, AreSavedToMemoryAndReadFromIt) {
  const Params made = Params::create();
  made.set("a", floats({1, 2}));
  Params read = Params::open_bytes(made.save_bytes());
  const Tensor tensor = read.get_tensor("a");
  read = {};
  EXPECT_EQ(to_floats(Value::of(tensor)), (std::vector<float>{1, 2}));
}

Report run_of(double us) {
  const ReportBuilder builder;
  builder.add_call();
  builder.set_call("Name", OPD_METRIC_STRING, arg("matmul"));
  builder.set_call("Argument Shapes", OPD_METRIC_STRING, arg("float32[8, 8], float32[8, 8], float32[8, 8]"));
  builder.set_call("Duration (us)", OPD_METRIC_DURATION, arg(us));
  return builder.finish();
}

TEST(Reports, AreMergedComparedAndSetAgainstThePeak) {
  const Report merged = Report::merge({run_of(1), run_of(2)});
  EXPECT_EQ(merged.count(), 2u);
  const auto columns = merged.columns();
  EXPECT_EQ(std::count(columns.begin(), columns.end(), "Run"), 1);
  EXPECT_EQ(merged.column(OPD_REPORT_CALLS, "Duration (us)")[1].view().u.float64, 2);
  EXPECT_EQ(merged.with_roofline().value(OPD_REPORT_CALLS, 0, "FLOP").view().u.int64, 2 * 8 * 8 * 8);
  const Report diff = Report::diff({run_of(1)}, {run_of(2)});
  EXPECT_EQ(diff.value(OPD_REPORT_CALLS, 0, "Change").view().u.float64, 1);
  ArrowArrayStream stream{};
  merged.to_arrow(&stream);
  stream.release(&stream);
  EXPECT_GT(measure_peak().gflops, 0);
}

TEST(Benchmarks, AreMadeOfTimesOrOfCalls) {
  const Benchmark times = Benchmark::of({1, 2, 3});
  EXPECT_EQ(times.seconds(), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(times.percentile(50), 2);
  EXPECT_EQ(times.stats().max, 3);
  EXPECT_FALSE(times.to_text().empty());
  EXPECT_EQ(Benchmark::diff(times, times).count(), 1u);
  int calls = 0;
  auto options = defaults(opd_evaluator_options_init);
  options.number = 3, options.warmup = 2;
  const Evaluator evaluator(Function::of([&calls](const opd_value *, int32_t count) { calls += count; }), &options);
  evaluator(7);
  EXPECT_EQ(calls, 5);
  evaluator.call({opd_int(7), opd_int(8)});
  EXPECT_EQ(calls, 15);
}

struct Counter {
  int *calls;
  void *start(DLDevice) { return calls; }
  void stop(void *state, const Metrics &metrics) {
    metrics.set("seen", OPD_METRIC_COUNT, ++*static_cast<int *>(state));
  }
};

TEST(Vms, AreProfiledWithCollectors) {
  const Vm vm = adder();
  const Tensor x = floats({1}), y = floats({0});
  int calls = 0;
  const std::vector<Collector> collectors{Collector::of("counter", Counter{&calls}),
                                          Collector::builtin(OPD_COLLECTOR_TIME)};
  auto handles = handles_of(collectors);
  auto options = defaults(opd_profile_options_init);
  options.collectors = handles.data(), options.num_collectors = 2, options.turn = 3;
  const Profile profile = vm.profile("main", {arg(x), arg(y)}, &options);
  EXPECT_EQ(profile.report.value(OPD_REPORT_CALLS, 0, "seen").view().u.int64, 1);
  EXPECT_EQ(profile.report.value(OPD_REPORT_CONFIGURATION, 0, "Turn").view().u.int64, 3);
  EXPECT_EQ(profile.trace.size(), 1u);
  EXPECT_EQ(profile.trace.dropped(), 0u);
  EXPECT_NE(profile.trace.chrome().find("face.add"), std::string::npos);
  vm.profile_start();
  vm.call("main", x, y);
  EXPECT_EQ(vm.profile_stop().trace.size(), 1u);
  EXPECT_TRUE(Collector::list_events(OPD_COLLECTOR_TIME).empty());
  const Map metrics = Map::of(profiled(vm.function("main"), {kDLCPU, 0}, {collectors[0]})(x, y));
  EXPECT_EQ(Array::of(metrics["seen"])[1].view().u.int64, calls);
}

TEST(Vms, AreCalledInThreeStepsByNameAndByClosure) {
  const Vm vm = adder();
  const Tensor x = floats({1}), y = floats({0});
  EXPECT_EQ(vm.functions(), std::vector<std::string>{"main"});
  EXPECT_EQ(vm.params("main"), (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(vm.has_function("main"));
  vm.save_function("main", "saved", {arg(x), arg(y)});
  EXPECT_EQ(to_floats(vm.call("saved")), std::vector<float>{2});
  EXPECT_EQ(to_floats(vm.invoke_closure(vm.function("main"), {arg(x), arg(y)})), std::vector<float>{2});
  vm.set_input("main", {arg(y), arg(x)});
  vm.invoke_stateful("main");
  EXPECT_EQ(to_floats(vm.outputs("main")), std::vector<float>{3});
  int seen = 0;
  vm.set_instrument(Function::of([&seen](const opd_value *, int32_t) { ++seen; }));
  vm.call("saved");
  vm.set_instrument({});
  vm.call("saved");
  EXPECT_EQ(seen, 2) << "before and after one call";
  vm.trim();
}

TEST(CancelTokens, EndCalls) {
  const Vm vm = adder();
  const CancelToken token = CancelToken::create();
  const Tensor x = floats({1}), y = floats({0});
  auto options = defaults(opd_call_options_init);
  options.cancel = token.get();
  token.cancel();
  expect_throws([&] { vm.call_with(options, "main", {arg(x), arg(y)}); }, OPD_CANCELLED);
  token.reset();
  vm.call_with(options, "main", {arg(x), arg(y)});
  EXPECT_EQ(token.current_operator(), nullptr);
  token.set_default();
  token.cancel();
  expect_throws([&] { vm.call("main", x, y); }, OPD_CANCELLED);
  CancelToken().set_default();
  vm.call("main", x, y);
}

TEST(Files, AreWrittenAsAWhole) {
  const auto path = std::filesystem::temp_directory_path() / ("opdyno_face_" + std::to_string(std::rand()));
  std::ofstream(path) << "old and longer";
  write_file(path, "new");
  EXPECT_EQ(std::filesystem::file_size(path), 3u);
  std::filesystem::remove(path);
  expect_throws([&] { write_file(path / "absent" / "x", ""); }, OPD_NOT_FOUND, "absent");
  expect_throws([] { check(opd_file_write("", "x", 1)); }, OPD_INVALID_ARGUMENT, "path");
  expect_throws([] { check(opd_file_write("/dev/null", nullptr, 1)); }, OPD_INVALID_ARGUMENT, "data");
  EXPECT_EQ(opd_file_write("/dev/null", nullptr, 0), nullptr);
}

TEST(Library, ReportsItsVersionAndSendsLogMessages) {
  EXPECT_NE(build_info().find(opdyno::version()), std::string::npos);
  int messages = 0;
  set_log([&messages](opd_log_level, const char *) { ++messages; });
  end_log();
}

}  // namespace
}  // namespace opdyno_test
