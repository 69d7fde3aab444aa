// Files of recordings: what they keep, what damages them, when they are written.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <thread>

#include "support/attention_kernels.h"
#include "support/paths.h"
#include "support/recorded_calls.h"
#include "support/simulated_device.h"

using namespace opdyno_test;

namespace {

const std::string kEcho = ".func main(x) {\n  ret %x\n}\n";

std::string record_echo(const opd_value &value) { return record(make_vm(kEcho), {value}); }
std::string shown(const std::string &path, size_t row) {
  auto options = opdyno::defaults(opd_replay_options_init);
  options.run = 0;
  return cell(opdyno::replay(path, &options).report, row, "Value");
}

}  // namespace

TEST(RecordingFile, KeepsValuesOfEachKind) {
  const Tensor x = floats({1, 2, 3, 4}, {2, 2});
  const Array pair(std::vector<opd_value>{arg(x), opd_int(-7)});
  const Array nested(std::vector<opd_value>{arg(pair), opd_none(), opd_bool(true)});
  EXPECT_TRUE(is_same(opdyno::replay(record_echo(arg(nested)))));
  EXPECT_EQ(shown(recording_path(), 0), "float32[2, 2] on cpu:0");
  EXPECT_EQ(shown(recording_path(), 1), "-7");
  const Shape shape({3, 4});
  for (const opd_value &value : {opd_float(0.5), opd_cstring("a text that is long"), opd_cstring("short"),
                                 opd_dtype_value({kDLFloat, 16, 1}), opd_device_value({kDLCPU, 0}), arg(shape)}) {
    const auto path = record_echo(value);
    EXPECT_TRUE(is_same(opdyno::replay(path)));
    EXPECT_EQ(shown(path, 0), shown(path, 1));
  }
  EXPECT_EQ(shown(recording_path(), 0), "[3, 4]");
}

TEST(RecordingFile, KeepsStridesAndWhichTensorsAreTheSame) {
  alignas(64) static float aligned[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  int64_t dims[] = {2, 2}, strides[] = {1, 4};
  DLTensor view{};
  view.data = aligned, view.ndim = 2, view.shape = dims, view.strides = strides;
  view.device = {kDLCPU, 0}, view.dtype = {kDLFloat, 32, 1};
  const Tensor strided = Tensor::borrow(view);
  const Vm vm = make_vm(".func main(x, y) {\n  %a = call vm.builtin.make_tuple(%x, %y)\n  ret %a\n}\n");
  const auto path = record(vm, {arg(strided), arg(strided)});
  const auto replayed = opdyno::replay(path);
  EXPECT_TRUE(is_same(replayed)) << verdict(replayed);
  EXPECT_EQ(shown(path, 1), "tensor 0 of the arguments");
  strided.end_borrow();
}

TEST(RecordingFile, HasNothingOfTheMemoryBetweenElements) {
  alignas(64) static char memory[] = "ELEMsecrENTS";
  int64_t dims[] = {2}, strides[] = {2};
  DLTensor view{};
  view.data = memory, view.ndim = 1, view.shape = dims, view.strides = strides;
  view.device = {kDLCPU, 0}, view.dtype = {kDLInt, 32, 1};
  const Tensor strided = Tensor::borrow(view);
  const auto path = record_echo(arg(strided));
  strided.end_borrow();
  const std::string bytes = bytes_of(path);
  EXPECT_EQ(bytes.find("secr"), std::string::npos);
  EXPECT_NE(bytes.find("ELEM"), std::string::npos);
  EXPECT_NE(bytes.find("ENTS"), std::string::npos);
  EXPECT_TRUE(is_same(opdyno::replay(path)));
}

TEST(RecordingFile, IsNoLargerThanTensorsThatAreMostlyGaps) {
  const Tensor whole({1 << 12, 1 << 10}, "float32");
  std::fill_n(whole.data<float>(), 1 << 22, 1.F);
  int64_t dims[] = {1 << 12}, strides[] = {1 << 10};
  DLTensor column = whole.view();
  column.ndim = 1, column.shape = dims, column.strides = strides;
  const Tensor narrow = Tensor::borrow(column);
  const auto path = record_echo(arg(narrow));
  narrow.end_borrow();
  EXPECT_LT(bytes_of(path).size(), size_t{1} << 15);
  EXPECT_TRUE(is_same(opdyno::replay(path)));
}

TEST(RecordingFile, MayHaveManyValues) {
  const std::vector<opd_value> numbers(100'000, opd_int(7));
  const Array many(numbers);
  const auto replayed = opdyno::replay(record_echo(arg(many)));
  EXPECT_EQ(verdict(replayed), "the call returned what was recorded: 100000 values are equal bit for bit");
}

TEST(RecordingFile, IsWrittenWhereThePathLedWhenItWasRequested) {
  const auto path = recording_path();
  const std::string link = recording_path(".link"), name = path.substr(path.rfind('/') + 1);
  std::remove(path.c_str()), std::remove(link.c_str());
  ASSERT_EQ(symlink(name.c_str(), link.c_str()), 0);  // to a file that is not there yet
  const std::filesystem::path before = std::filesystem::current_path();
  const Vm vm = make_vm(kEcho);
  std::filesystem::current_path(test_scratch(""));
  vm.record_next_call(link.substr(link.rfind('/') + 1));
  std::filesystem::current_path("/");
  vm.call("main", 3);
  vm.end_recording();
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
  EXPECT_EQ(shown(link, 0), "3");
}

TEST(RecordingFile, HasNoNameOfTheMachineUnlessAsked) {
  char host[256] = "";
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  const auto path = record_echo(opd_int(1));
  EXPECT_EQ(bytes_of(path).find(test_scratch("")), std::string::npos);
  auto options = opdyno::defaults(opd_record_options_init);
  options.with_paths = 1;
  record(make_vm(kEcho), {opd_int(1)}, &options);
  EXPECT_EQ(entry(opdyno::replay(path).report, "Host"), host);
}

TEST(RecordingFile, EachChangedByteIsNoticed) {
  const auto path = record_echo(opd_int(1));
  const std::string whole = bytes_of(path), damaged = recording_path(".damaged");
  ASSERT_GT(whole.size(), 300U);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
    write_bytes(damaged, bytes);
    opd_report *report = nullptr;
    opd_error *error = opd_replay(damaged.c_str(), nullptr, nullptr, &report, nullptr);
    ASSERT_NE(error, nullptr) << "byte " << at;
    const opd_code code = opd_error_code(error);
    EXPECT_TRUE(code == OPD_BAD_FORMAT || code == OPD_UNSUPPORTED) << opd_error_message(error);
    opd_error_release(error);
  }
}

TEST(RecordingFile, ATruncatedOneIsNeverAccepted) {
  const auto path = record_echo(opd_int(1));
  const std::string whole = bytes_of(path), cut = recording_path(".cut");
  bool was_unfinished = false;
  std::string last_refusal;
  for (size_t size = 0; size < whole.size(); ++size) {
    write_bytes(cut, whole.substr(0, size));
    opd_report *report = nullptr;
    opd_error *error = opd_replay(cut.c_str(), nullptr, nullptr, &report, nullptr);
    if (error) {
      EXPECT_FALSE(was_unfinished);
      last_refusal = opd_error_message(error);
      EXPECT_EQ(opd_error_code(error), OPD_BAD_FORMAT) << last_refusal;
      opd_error_release(error);
      continue;
    }
    was_unfinished = true;  // from here on, it has all that leads to the call
    const Report taken(report);
    EXPECT_EQ(entry(taken, "Recorded"), "did not end");
    EXPECT_EQ(taken.value(OPD_REPORT_CONFIGURATION, 0, "Same").view().u.int64, 0);
  }
  EXPECT_TRUE(was_unfinished);
  EXPECT_NE(last_refusal.find("the parts before the call are incomplete"), std::string::npos) << last_refusal;
}

TEST(RecordingFile, RefusesOtherFilesAndNewerVersions) {
  const auto path = recording_path();
  expect_throws([&] { opdyno::replay(path + ".none"); }, OPD_NOT_FOUND, "none");
  write_bytes(path, "PK\3\4 something else, which is long enough");
  expect_throws([&] { opdyno::replay(path); }, OPD_BAD_FORMAT, "is not a recording of a call");
  std::string bytes = bytes_of(record_echo(opd_int(1)));
  bytes[8] = 2;
  write_bytes(path, bytes);
  expect_throws([&] { opdyno::replay(path); }, OPD_UNSUPPORTED, "has version 2 of the format of recordings");
}

TEST(RecordingFile, PathsThatCannotBeWrittenAreRefusedAtOnce) {
  const Vm vm = make_vm(kEcho);
  expect_throws([&] { vm.record_next_call("/nowhere/at/all.opdrec"); }, OPD_NOT_FOUND, "/nowhere/at/all.opdrec");
  expect_throws([&] { vm.record_next_call("/dev/null"); }, OPD_INVALID_ARGUMENT, "not a regular file");
  const std::string folder = recording_path(".folder");
  mkdir(folder.c_str(), 0500);
  if (geteuid() != 0) expect_throws([&] { vm.record_next_call(folder + "/x"); }, OPD_IO, "x");
  expect_throws([&] { vm.end_recording(); }, OPD_FAILED_PRECONDITION,
                "no recording of a call of this VM was requested");
}

TEST(RecordingFile, OnlyTheNextCallIsRecorded) {
  const Vm vm = make_vm(kEcho);
  const auto path = recording_path();
  vm.record_next_call(path);
  expect_throws([&] { vm.record_next_call(path); }, OPD_FAILED_PRECONDITION, "already requested or in progress");
  vm.call("main", 1);
  const std::string first = bytes_of(path);
  vm.call("main", 2);
  EXPECT_EQ(bytes_of(path), first);
  vm.end_recording();
  expect_throws([&] { vm.end_recording(); }, OPD_FAILED_PRECONDITION, "no recording of a call of this VM");
  vm.record_next_call(path);
  expect_throws([&] { vm.end_recording(); }, OPD_FAILED_PRECONDITION, "was not called after");
  vm.call("main", 3);
  EXPECT_EQ(bytes_of(path), first);
  vm.record_next_call(path);
  vm.function("main")(4);     // also a call without the VM's name for it
  vm.record_next_call(path);  // without asking what became of the first
  vm.set_input("main", {opd_int(5)});
  vm.invoke_stateful("main");
  vm.end_recording();
  EXPECT_EQ(shown(path, 0), "5");
}

TEST(RecordingFile, OneOfManyThreadsIsRecorded) {
  const Vm vm = make_vm(kEcho);
  for (int round = 0; round < 20; ++round) {
    vm.record_next_call(recording_path());
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&vm, i] {
        for (int call = 0; call < 50; ++call) EXPECT_EQ(vm.call("main", i).view().u.int64, i);
      });
    for (std::thread &thread : threads) thread.join();
    vm.end_recording();
    EXPECT_TRUE(is_same(opdyno::replay(recording_path())));
  }
}

TEST(RecordingFile, ObjectsThatCannotBeKeptAreNamed) {
  const Vm vm = make_vm(kEcho);
  const auto path = recording_path();
  const auto function = make_function([](const opd_value *, int32_t, opd_value *) {});
  vm.record_next_call(path);
  vm.call("main", function);  // the call goes on
  expect_throws(
      [&] { vm.end_recording(); }, OPD_UNSUPPORTED,
      "the recorded call cannot be made again: argument 0, of type ffi.Function, cannot be kept in a recording");
  EXPECT_EQ(shown(path, 0), "an object of type ffi.Function");
  expect_throws([&] { opdyno::replay(path); }, OPD_UNSUPPORTED, "argument 0 of main");
}

TEST(RecordingFile, TuplesAndMapsMayBeNested16Deep) {
  const auto nested = [](int depth, const auto &around) {
    Value value = Value::retain(opd_int(1));
    for (int i = 0; i < depth; ++i) value = around(value);
    return value;
  };
  const auto in_array = [](const Value &value) { return array_of({value.view()}); };
  const auto in_map = [](const Value &value) { return map_of({opd_int(7), value.view()}); };
  for (const auto &[deepest, deeper, type] : {std::tuple(nested(16, in_array), nested(17, in_array), "ffi.Array"),
                                              std::tuple(nested(16, in_map), nested(17, in_map), "ffi.Map")}) {
    EXPECT_TRUE(is_same(opdyno::replay(record_echo(deepest.view()))));
    const Vm vm = make_vm(kEcho);
    vm.record_next_call(recording_path());
    vm.call("main", deeper);
    expect_throws([&] { vm.end_recording(); }, OPD_UNSUPPORTED, std::string("argument 0, of type ") + type);
  }
}

TEST(RecordingFile, AResultThatCannotBeKeptIsNamedOnly) {
  define("test.make_function", [](const opd_value *, int32_t, opd_value *out) {
    give(arg(make_function([](const opd_value *, int32_t, opd_value *) {})), out);
  });
  const Vm vm = make_vm(
      ".func inner(x) {\n  ret %x\n}\n.func main(x) {\n"
      "  %f = call vm.builtin.make_closure(@inner, %x)\n  ret %f\n}\n");
  const auto path = record(vm, {opd_int(1)});
  EXPECT_EQ(shown(path, 1), "an object of type ffi.Function");
  EXPECT_TRUE(is_same(opdyno::replay(path)));
  const Vm asking = make_vm(".func main(x) {\n  %f = call test.make_function()\n  ret %x\n}\n");
  asking.record_next_call(path);
  asking.call("main", 1);
  expect_throws([&] { asking.end_recording(); }, OPD_UNSUPPORTED,
                "the recorded call cannot be made again: the result of test.make_function, of type ffi.Function");
}

TEST(RecordingFile, ACacheWithKernelsOfTheHostIsNamed) {
  const Value cache = attention::make_cache(attention::Sizes{});
  const Vm vm = make_vm(kEcho);
  vm.record_next_call(recording_path());
  vm.call("main", cache);
  expect_throws(
      [&] { vm.end_recording(); }, OPD_UNSUPPORTED,
      "argument 0, of type opdyno.vm.PagedKVCache (a function that is not of the program is among its kernels), "
      "cannot be kept");
  expect_throws([&] { opdyno::replay(recording_path()); }, OPD_UNSUPPORTED, "cannot be kept in a recording");
}

TEST(RecordingFile, TensorsOfADeviceComeBackThere) {
  const DLDevice device = SimulatedDevice::get().device();
  const DLDevice devices[] = {device};
  auto options = opdyno::defaults(opd_vm_options_init);
  options.devices = devices, options.num_devices = 1;
  const Tensor x({4}, "float32", device);
  x.copy_from(floats({1, 2, 3, 4}));
  const auto path = record(make_vm(kEcho, &options), {arg(x)});
  const auto replayed = opdyno::replay(path);
  EXPECT_TRUE(is_same(replayed)) << verdict(replayed);
  EXPECT_EQ(shown(path, 0), "float32[4] on " + opdyno::to_string(device));
  EXPECT_EQ(entry(replayed.report, "Devices"), opdyno::to_string(device) + ", cpu:0");
}

TEST(RecordingFile, ALibraryFromMemoryCannotBeKept) {
  const std::string bytes = bytes_of(test_data("/../interop/data/0.27/mlp.so"));
  ASSERT_FALSE(bytes.empty());
  const Vm vm(Module::load_bytes(bytes));
  const auto path = recording_path();
  std::remove(path.c_str());
  vm.record_next_call(path);
  EXPECT_THROW(vm.call("with_constants"), Error);
  expect_throws([&] { vm.end_recording(); }, OPD_UNSUPPORTED, "loaded from memory");
  EXPECT_EQ(bytes_of(path), "");
  for (const auto &file : std::filesystem::directory_iterator(test_scratch("")))
    EXPECT_FALSE(file.path().string().starts_with(path + ".")) << file.path();
}

// A call that succeeds leaves errno as it was. The limit ends what would write for ever.
TEST(RecordingFile, IsWrittenOnceIfErrnoWasSetBefore) {
  const Vm vm = make_vm(kEcho);
  const auto path = record(vm, {opd_int(1)});  // the file is there, so that no search for it fails
  const std::string first = bytes_of(path);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{size_t{1} << 20, before.rlim_max};
  void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  vm.record_next_call(path);
  errno = EINTR;
  vm.call("main", 1);
  opd_error *const failure = opd_vm_record_next_call(vm.get(), nullptr, nullptr);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  check(failure);
  EXPECT_EQ(bytes_of(path), first);
}

TEST(RecordingFile, OptionsAreChecked) {
  const Vm vm = make_vm(kEcho);
  auto options = opdyno::defaults(opd_record_options_init);
  options.with_outputs = 2;
  expect_throws([&] { vm.record_next_call(recording_path(), &options); }, OPD_INVALID_ARGUMENT,
                "option with_outputs must be 0 or 1, but is 2");
  expect_error(opd_vm_record_next_call(nullptr, "x", nullptr), OPD_INVALID_ARGUMENT, "vm must not be NULL");
  expect_error(opd_replay(nullptr, nullptr, nullptr, nullptr, nullptr), OPD_INVALID_ARGUMENT, "must not be NULL");
  auto how = opdyno::defaults(opd_replay_options_init);
  how.timeout_ns = -1;
  expect_throws([&] { opdyno::replay("x", &how); }, OPD_INVALID_ARGUMENT, "timeout_ns must not be negative");
}
