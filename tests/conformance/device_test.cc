// One suite for every kind of devices. OPDYNO_DEVICE names the kind: "cpu", "vpi" (simulated, by the public table) or a
// back end's. Devices that are absent are skipped with the reason that the library gives.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

#include "conformance/tested_device.h"
#include "support/opdyno_test.h"
#include "support/params_test.h"
#include "support/report_test.h"

using namespace opdyno_test;

TEST_F(ADevice, ExistsAndHasAName) {
  EXPECT_TRUE(opdyno::device_attr(device(), OPD_ATTR_EXIST).view().u.int64);
  EXPECT_FALSE(opdyno::device_attr(device(), OPD_ATTR_DEVICE_NAME).string().empty());
  for (const opd_device_attr attr : {OPD_ATTR_MULTI_PROCESSOR_COUNT, OPD_ATTR_MAX_THREADS_PER_BLOCK, OPD_ATTR_WARP_SIZE,
                                     OPD_ATTR_MAX_SHARED_MEMORY_PER_BLOCK, OPD_ATTR_TOTAL_GLOBAL_MEMORY}) {
    const Value value = opdyno::device_attr(device(), attr);
    if (value.type() != OPD_NONE) { EXPECT_GT(value.view().u.int64, 0) << attr; }
  }
}

TEST_F(ADevice, WithAnInvalidNumberIsAbsentAndSaysWhy) {
  for (const int32_t id : {-1, 1000, INT32_MAX}) {
    const DLDevice absent = {device().device_type, id};
    EXPECT_FALSE(opdyno::device_attr(absent, OPD_ATTR_EXIST).view().u.int64);
    const std::string reason = opdyno::device_attr(absent, OPD_ATTR_ABSENCE).string();
    EXPECT_FALSE(reason.empty());
    expect_throws([&] { opdyno::device_attr(absent, OPD_ATTR_DEVICE_NAME); }, OPD_UNSUPPORTED, reason);
    expect_throws([&] { Tensor({1}, "float32", absent); }, OPD_UNSUPPORTED, reason);
    expect_throws([&] { opdyno::sync(absent); }, OPD_UNSUPPORTED, reason);
    expect_throws([&] { opdyno::Stream{absent}; }, OPD_UNSUPPORTED, reason);
  }
}

TEST_F(ADevice, StoresBytesUnchanged) {
  for (const size_t count : {0u, 1u, 3u, 1000u, 1u << 18}) {
    const std::vector<float> values = counted(count);
    const Tensor there({static_cast<int64_t>(count)}, "float32", device());
    there.copy_from_bytes(values.data(), count * sizeof(float));
    std::vector<float> back(count, -1);
    there.copy_to_bytes(back.data(), count * sizeof(float));
    EXPECT_EQ(back, values);
  }
}

TEST_F(ADevice, CopiesWithinItselfAndToTheHost) {
  const Tensor first = on(device(), counted(100)), second({100}, "float32", device()), host({100}, "float32");
  second.copy_from(first);
  host.copy_from(second);
  EXPECT_EQ(read(host), counted(100));
}

TEST_F(ADevice, CopiesTensorsWithStrides) {
  const Tensor host = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor there({3, 2}, "float32", device());
  DLTensor transposed = host.view();
  int64_t shape[] = {3, 2}, strides[] = {1, 3};
  transposed.shape = shape, transposed.strides = strides;
  there.copy_from(transposed);
  EXPECT_EQ(read(there), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST_F(ADevice, HasViewsOfPartsOfATensor) {
  const Tensor whole = on(device(), counted(256)), host({64}, "float32");
  DLTensor part = whole.view();
  int64_t shape[] = {64};
  part.shape = shape, part.strides = nullptr, part.byte_offset = 128 * sizeof(float);
  host.copy_from(part);
  const std::vector<float> all = counted(256);
  EXPECT_EQ(read(host), std::vector<float>(all.begin() + 128, all.begin() + 192));
}

TEST_F(ADevice, CountsItsMemory) {
  const opd_memory_stats before = opdyno::memory_stats(device());
  {
    const Tensor there({1000}, "float32", device());
    EXPECT_EQ(opdyno::memory_stats(device()).live_bytes, before.live_bytes + 4000);
    EXPECT_EQ(opdyno::memory_stats(device()).alloc_count, before.alloc_count + 1);
  }
  EXPECT_EQ(opdyno::memory_stats(device()).live_bytes, before.live_bytes);
  opdyno::trim_memory(device());
}

TEST_F(ADevice, RefusesMoreMemoryThanThereIs) {
  expect_throws([&] { Tensor({int64_t{1} << 50}, "float32", device()); }, OPD_OUT_OF_MEMORY, "bytes");
  EXPECT_EQ(read(on(device(), {1, 2})), (std::vector<float>{1, 2})) << "and is usable afterwards";
}

TEST_F(ADevice, IsUsedByManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 20; ++i) {
        const std::vector<float> values(static_cast<size_t>(100 + t), static_cast<float>(10 * t + i));
        EXPECT_EQ(read(on(device(), values)), values);
      }
    });
  for (std::thread &thread : threads) thread.join();
}

TEST_F(ADevice, HasStreamsUnlessItsWorkEndsAtOnce) {
  if (!has_streams()) {
    expect_throws([] { opdyno::Stream{device()}; }, OPD_UNSUPPORTED, "streams");
    return;
  }
  const opdyno::Stream stream(device());
  EXPECT_NE(stream.get(), nullptr);
  EXPECT_EQ(opdyno::set_stream(device(), stream.get()), nullptr);
  const Tensor first = on(device(), counted(5000)), second({5000}, "float32", device());
  second.copy_from(first);
  stream.sync();
  EXPECT_EQ(read(second), counted(5000));
  std::thread([&] { EXPECT_EQ(opdyno::set_stream(device(), nullptr), nullptr) << "each thread has its own"; }).join();
  EXPECT_EQ(opdyno::set_stream(device(), nullptr), stream.get());
  opdyno::sync(device());
  int place = 0;
  expect_throws([&] { opdyno::set_stream(device(), &place); }, OPD_INVALID_ARGUMENT, "is not a stream of");
  expect_error(opd_stream_sync(device(), &place), OPD_INVALID_ARGUMENT, "is not a stream of");
  expect_error(opd_stream_free(device(), &place), OPD_INVALID_ARGUMENT, "is not a stream of");
}

// The work of a stream that nobody else waits for: at its end it has been done often.
TEST_F(ADevice, IsWaitedForInAllItsStreams) {
  const Module kernels = kernels_or_none("all_streams");
  if (!kernels) return end_without_kernels();
  const Function scale = kernels.function("scale", 1);
  constexpr int kBlocks = 2000, kTimes = 40;
  const Tensor x = on(device(), std::vector<float>(4 * kBlocks));
  if (is_simulated()) SimulatedDevice::get().set_latency(std::chrono::microseconds(2000));
  {
    const opdyno::Stream stream(device());
    opdyno::set_stream(device(), stream.get());
    for (int i = 0; i < kTimes; ++i) scale(x, x, 1.0, 1, kBlocks, 4);
    opdyno::set_stream(device(), nullptr);
    opdyno::sync(device());
    EXPECT_EQ(read(x), std::vector<float>(4 * kBlocks, kTimes));
  }
  if (is_simulated()) SimulatedDevice::get().set_latency({});
}

TEST_F(ADevice, RunsKernels) {
  const Module kernels = kernels_or_none("runs");
  if (!kernels) return end_without_kernels();
  const Function scale = kernels.function("scale", 1);
  const Tensor from = on(device(), counted(96)), to({96}, "float32", device());
  // to[i] = factor * from[i] + offset, for 96 elements in 24 blocks of 4
  scale(from, to, 2.5, 7, 24, 4);
  std::vector<float> expected = counted(96);
  for (float &value : expected) value = value * 2.5f + 7;
  EXPECT_EQ(read(to), expected);
  scale(to, to, 1.0, -7, 24, 4);
  for (float &value : expected) value -= 7;
  EXPECT_EQ(read(to), expected) << "launches of one stream are in order";
}

TEST_F(ADevice, RunsKernelsOnPartsOfTensors) {
  const Module kernels = kernels_or_none("parts");
  if (!kernels) return end_without_kernels();
  const Tensor whole = on(device(), std::vector<float>(4096, 1));
  char *const begin = static_cast<char *>(whole.view().data) + 1024 * sizeof(float);  // as host code gets it
  kernels.function("scale", 1)(opd_pointer(begin), opd_pointer(begin), 3.0, 0, 16, 4);
  std::vector<float> expected(4096, 1);
  std::fill(expected.begin() + 1024, expected.begin() + 1088, 3.f);
  EXPECT_EQ(read(whole), expected);
}

TEST_F(ADevice, NamesTheBadArgumentOfALaunch) {
  const Module kernels = kernels_or_none("wrong");
  if (!kernels) return end_without_kernels();
  const Function scale = kernels.function("scale", 1);
  const Tensor there = on(device(), counted(32)), host = floats(counted(32));
  expect_throws([&] { scale(there, there, 1.0, 0, 1); }, OPD_INVALID_ARGUMENT,
                "kernel scale takes 4 arguments and 2 launch values, but was given 5");
  expect_throws([&] { scale(there, host, 1.0, 0, 1, 32); }, OPD_INVALID_ARGUMENT,
                "argument 1 of kernel scale must lie on");
  expect_throws([&] { scale(there, there, "x", 0, 1, 32); }, OPD_INVALID_ARGUMENT, "");
  expect_throws([&] { scale(there, 5, 1.0, 0, 1, 32); }, OPD_INVALID_ARGUMENT, "argument 1 of kernel scale");
  expect_throws([&] { scale(there, there, 1.0, 0, -1, 32); }, OPD_OUT_OF_RANGE,
                "launch value 0 of kernel scale must be from 0 to 4294967295, but is -1");
  expect_throws([&] { scale(there, there, 1.0, 0, 1, int64_t{1} << 32); }, OPD_OUT_OF_RANGE, "launch value 1");
  expect_throws([&] { kernels.function("nothing", 1); }, OPD_NOT_FOUND, "nothing");
  scale(there, there, 1.0, 5, 0, 32);  // no block: nothing runs
  EXPECT_EQ(read(there), counted(32));
}

TEST_F(ADevice, ComputesForAVm) {
  const Module kernels = kernels_or_none("vm");
  if (!kernels) return end_without_kernels();
  const Vm vm = vm_on(device(), kernels);
  for (int round = 0; round < 3; ++round) {
    const Value result = vm.call("main", on(device(), {1, 2, 3, 4}));
    const Tensor there = Tensor::of(result);
    EXPECT_EQ(there.view().device.device_type, device().device_type);
    EXPECT_EQ(read(there), (std::vector<float>{17, 26, 35, 44})) << "(x * 3 + 2) * 3 + 2";
  }
}

TEST_F(ADevice, TakesTheInputsOfStatefulCallsFromTheHost) {
  const Module kernels = kernels_or_none("stateful");
  if (!kernels) return end_without_kernels();
  const Vm vm = vm_on(device(), kernels);
  const Tensor host = floats({1, 2, 3, 4});
  vm.set_input("main", {arg(host)});
  vm.invoke_stateful("main");
  EXPECT_EQ(read(Tensor::of(vm.outputs("main"))), (std::vector<float>{17, 26, 35, 44}));
}

TEST_F(ADevice, IsWaitedForByProfiles) {
  const Module kernels = kernels_or_none("profile");
  if (!kernels) return end_without_kernels();
  const Vm vm = vm_on(device(), kernels);
  if (is_simulated()) SimulatedDevice::get().set_latency(std::chrono::microseconds(2000));
  const Tensor x = on(device(), {1, 2, 3, 4});
  const Report report = vm.profile("main", {arg(x)}).report;
  if (is_simulated()) SimulatedDevice::get().set_latency({});
  const std::string csv = report.write(OPD_REPORT_CSV), name = opdyno::to_string(device());
  EXPECT_NE(csv.find(name.substr(0, name.find(':')) + "0"), std::string::npos) << csv;
  size_t kernels_seen = 0;
  for (size_t row = 0; row < report.count(OPD_REPORT_CALLS); ++row) {
    if (text_value(call_value(report, row, "Name")) != "scale") continue;
    kernels_seen += static_cast<size_t>(number_of(call_value(report, row, "Count")));
    if (is_simulated()) { EXPECT_GE(number_of(call_value(report, row, "Duration (us)")), 2000) << csv; }
  }
  EXPECT_EQ(kernels_seen, 2u) << csv;
}

// A trace has a track for each stream, and each operator the time of the kernels that it launched.
TEST_F(ADevice, HasTracksOfItsWorkInTraces) {
  const Module kernels = kernels_or_none("trace");
  if (!kernels) return end_without_kernels();
  const std::string name = opdyno::to_string(device());
  const Vm vm = vm_on(device(), kernels);
  vm.call("main", on(device(), {1, 2, 3, 4}));  // compiles the kernels
  if (is_simulated()) SimulatedDevice::get().set_latency(std::chrono::microseconds(2000));
  const opdyno::Stream stream(device());
  opdyno::Profiler profiler;
  profiler.start();
  const Value first = vm.call("main", on(device(), {1, 2, 3, 4}));
  opdyno::set_stream(device(), stream.get());
  const Value second = vm.call("main", on(device(), {1, 2, 3, 4}));
  opdyno::set_stream(device(), nullptr);
  EXPECT_EQ(read(Tensor::of(first)), (std::vector<float>{17, 26, 35, 44}));
  const opdyno::Trace trace = profiler.stop();
  if (is_simulated()) SimulatedDevice::get().set_latency({});

  const Report events = trace.report(OPD_TRACE_EVENTS);
  std::map<std::string, int> launched;  // by track
  double gap = 0, work_us = 0;
  int copies = 0;
  for (size_t row = 0; row < events.count(OPD_REPORT_CALLS); ++row) {
    if (text_value(call_value(events, row, "Kind")) != "device") continue;
    EXPECT_EQ(text_value(call_value(events, row, "Device")), name.substr(0, name.find(':')) + "0");
    EXPECT_EQ(number_of(call_value(events, row, "Duration (us)")), 0) << "of the host";
    gap = std::max(gap, number_of(call_value(events, row, "Launch Gap (us)")));
    const std::string what = text_value(call_value(events, row, "Name"));
    if (what != "scale") {
      ++copies;
      EXPECT_EQ(number_of(call_value(events, row, "Bytes")), 16) << what;
      continue;
    }
    ++launched[text_value(call_value(events, row, "Thread"))];
    work_us += number_of(call_value(events, row, "Device Duration (us)"));
  }
  EXPECT_EQ(launched, (std::map<std::string, int>{{name + ", default stream", 2}, {launched.rbegin()->first, 2}}));
  EXPECT_TRUE(launched.rbegin()->first.starts_with(name + ", stream ")) << launched.rbegin()->first;
  EXPECT_EQ(copies, 3) << "two inputs and a result";
  if (is_simulated()) { EXPECT_GE(gap, 1000) << "the second kernel waits for the first one"; }

  const Report averages = trace.report(OPD_TRACE_KEY_AVERAGES);
  double of_calls = -1, of_kernels = -1, of_runs = -1;
  for (size_t row = 0; row < averages.count(OPD_REPORT_CALLS); ++row) {
    const std::string what = text_value(call_value(averages, row, "Name")),
                      kind = text_value(call_value(averages, row, "Kind"));
    const double us = number_of(call_value(averages, row, "Device Duration (us)"));
    if (what == "scale") (kind == "device" ? of_kernels : of_calls) = us;
    if (what == "main") of_runs = us;
  }
  EXPECT_NEAR(of_kernels, work_us, 0.1);
  EXPECT_NEAR(of_calls, work_us, 0.1);
  EXPECT_NEAR(of_runs, work_us, 0.1);
  if (is_simulated()) { EXPECT_GE(work_us, 4 * 1900); }
}

// Each form of a trace has the work of devices.
TEST_F(ADevice, HasItsWorkInEveryFormOfATrace) {
  const Module kernels = kernels_or_none("forms");
  if (!kernels) return end_without_kernels();
  const std::string name = opdyno::to_string(device()), kind = name.substr(0, name.find(':'));
  const Vm vm = vm_on(device(), kernels);
  const Tensor x = on(device(), {1, 2, 3, 4});
  vm.call("main", x);
  const opdyno::Profiler profiler;
  profiler.start();
  EXPECT_EQ(read(Tensor::of(vm.call("main", x))), (std::vector<float>{17, 26, 35, 44}));
  const opdyno::Trace trace = profiler.stop();

  const std::string chrome = trace.chrome();
  const auto count = [](const std::string &text, const std::string &part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(chrome, R"("cat":"kernel","name":"scale")"), 2u) << chrome;
  EXPECT_EQ(count(chrome, R"("cat":"gpu_memcpy","name":"Memcpy DtoH")"), 1u) << chrome;
  EXPECT_EQ(count(chrome, R"("name":"launch")"), 2u) << chrome;
  EXPECT_EQ(count(chrome, R"("name":"copy")"), 1u) << chrome;
  EXPECT_EQ(count(chrome, R"({"ph":"s","id":)"), 3u) << chrome;
  EXPECT_EQ(count(chrome, R"({"ph":"f","id":)"), 3u) << chrome;
  EXPECT_EQ(count(chrome, R"("args":{"name":")" + name + R"("})"), 1u) << "the device is a process of its own\n"
                                                                       << chrome;
  EXPECT_EQ(count(chrome, R"("args":{"name":"stream 0"})"), 1u) << chrome;

  for (const opd_trace_format format : {OPD_TRACE_PERFETTO, OPD_TRACE_SPEEDSCOPE})
    EXPECT_EQ(count(trace.write(format), name + ", default stream"), 1u) << format;
  for (const opd_trace_format format : {OPD_TRACE_STACKS, OPD_TRACE_FLAME_SVG})  // which are of the host's time
    EXPECT_EQ(trace.write(format).find("Memcpy"), std::string::npos) << format;
  std::string capitals = kind;
  for (char &c : capitals) c = static_cast<char>(std::toupper(c));
  const std::string table = trace.table();
  for (const char *title : {"Self @", "Self @ %", "@ total", "@ time avg", "Self @ time total: "}) {
    std::string wanted = title;
    wanted.replace(wanted.find('@'), 1, capitals);
    EXPECT_NE(table.find(wanted), std::string::npos) << wanted << "\n" << table;
  }
  EXPECT_NE(table.find("Memcpy DtoH"), std::string::npos) << table;
}

// A range of the host's goes from before the launches to after the wait for the device. The work lies within it, but
// for the error of the device's clock that the report states.
TEST_F(ADevice, StatesHowFarItsTimesMayBeOff) {
  const Module kernels = kernels_or_none("clock");
  if (!kernels) return end_without_kernels();
  const Vm vm = vm_on(device(), kernels);
  const Tensor x = on(device(), {1, 2, 3, 4});
  vm.call("main", x);
  opdyno::sync(device());
  const opdyno::Profiler profiler;
  profiler.start();
  for (int i = 0; i < 20; ++i) {
    const opdyno::Range around("around");
    vm.call("main", x);
    opdyno::sync(device());
  }
  const opdyno::Trace trace = profiler.stop();
  const Report events = trace.report(OPD_TRACE_EVENTS);
  std::string name = opdyno::to_string(device());
  name.erase(name.find(':'), 1);
  const double error = number_of(configuration_value(events, ("Device clock error: " + name + " (us)").c_str()));
  EXPECT_TRUE(std::isfinite(error));
  EXPECT_GT(error, 0);
  EXPECT_NE(text_value(configuration_value(events, ("Device clock: " + name).c_str())).find(", error "),
            std::string::npos);
  std::vector<std::pair<double, double>> ranges, works;
  for (size_t row = 0; row < events.count(OPD_REPORT_CALLS); ++row) {
    const bool is_work = text_value(call_value(events, row, "Kind")) == "device";
    if (!is_work && text_value(call_value(events, row, "Name")) != "around") continue;
    const double begin = number_of(call_value(events, row, "Start (us)"));
    const char *const column = is_work ? "Device Duration (us)" : "Duration (us)";
    (is_work ? works : ranges).emplace_back(begin, begin + number_of(call_value(events, row, column)));
  }
  ASSERT_EQ(ranges.size(), 20u);
  ASSERT_EQ(works.size(), 40u);
  constexpr double kRounding = 0.01;  // of a time in the report
  for (size_t i = 0; i < works.size(); ++i) {
    EXPECT_GE(works[i].first, ranges[i / 2].first - error - kRounding) << i;
    EXPECT_LE(works[i].second, ranges[i / 2].second + error + kRounding) << i;
  }
  EXPECT_NE(trace.chrome().find(R"("opdyno_device_clocks":[{"pid":)"), std::string::npos);
}

TEST_F(ADevice, HasItsWorkInSnapshots) {
  const Module kernels = kernels_or_none("snapshots");
  if (!kernels) return;  // kernels of the CPU are functions of libraries
  const Vm vm = vm_on(device(), kernels);
  const Tensor x = on(device(), {1, 2, 3, 4});
  vm.call("main", x);
  const opdyno::Profiler profiler;
  profiler.start();
  vm.call("main", x);
  opdyno::sync(device());
  EXPECT_NE(profiler.snapshot().chrome().find(R"("cat":"kernel")"), std::string::npos);
  EXPECT_NE(profiler.stop().chrome().find(R"("cat":"kernel")"), std::string::npos);
}

TEST_F(ADevice, ReusesTracksOfStreamsThatHaveEnded) {
  const Module kernels = kernels_or_none("streams");
  if (!kernels) return;  // kernels of the CPU are functions of libraries
  const Vm vm = vm_on(device(), kernels);
  const Tensor x = on(device(), {1, 2, 3, 4});
  const opdyno::Profiler profiler;
  profiler.start();
  for (int i = 0; i < 5; ++i) {
    const opdyno::Stream stream(device());
    opdyno::set_stream(device(), stream.get());
    vm.call("main", x);
    opdyno::set_stream(device(), nullptr);
  }
  const Report events = profiler.stop().report(OPD_TRACE_EVENTS);
  std::map<std::string, int> tracks;
  for (size_t row = 0; row < events.count(OPD_REPORT_CALLS); ++row)
    if (text_value(call_value(events, row, "Kind")) == "device")
      ++tracks[text_value(call_value(events, row, "Thread"))];
  EXPECT_EQ(tracks.size(), 1u);
  EXPECT_EQ(tracks.begin()->second, 10);
}

TEST_F(ADevice, HasItsWorkInFilesOfRecordings) {
  const Module kernels = kernels_or_none("files");
  if (!kernels) return end_without_kernels();
  const Vm vm = vm_on(device(), kernels);
  const Tensor x = on(device(), {1, 2, 3, 4});
  const params_test::TemporaryDirectory directory;
  const std::string file = directory / "work";
  auto options = opdyno::defaults(opd_profiler_options_init);
  options.file = file.c_str();
  options.keep_in_file = 1;
  const auto kernels_in = [](const opdyno::Trace &trace) {
    const Report averages = trace.averages();
    double found = 0;
    for (size_t row = 0; row < averages.count(OPD_REPORT_CALLS); ++row)
      if (text_value(call_value(averages, row, "Kind")) == "device" &&
          text_value(call_value(averages, row, "Name")) == "scale")
        found += number_of(call_value(averages, row, "Count"));
    return found;
  };
  {
    const opdyno::Profiler profiler(&options);
    profiler.start();
    for (int i = 0; i < 3; ++i) vm.call("main", x);
    EXPECT_FALSE(profiler.stop());
    EXPECT_EQ(kernels_in(opdyno::Trace::load(file.c_str())), 6);
  }
  options.file = nullptr, options.keep_in_file = 0, options.device_work = 0;
  const opdyno::Profiler without(&options);
  without.start();
  vm.call("main", x);
  EXPECT_EQ(kernels_in(without.stop()), 0);
}

TEST_F(ADevice, HasItsOwnTimeInProfiles) {
  const Module kernels = kernels_or_none("times");
  if (!kernels) return end_without_kernels();
  const Vm vm = vm_on(device(), kernels);
  const Tensor x = on(device(), {1, 2, 3, 4});
  vm.call("main", x);
  if (is_simulated()) SimulatedDevice::get().set_latency(std::chrono::microseconds(2000));
  const auto [report, trace] = vm.profile("main", {arg(x)});
  if (is_simulated()) SimulatedDevice::get().set_latency({});
  const Report averages = trace.averages();
  for (size_t row = 0; row < averages.count(OPD_REPORT_CALLS); ++row) {
    if (text_value(call_value(averages, row, "Kind")) != "device") continue;
    EXPECT_EQ(number_of(call_value(averages, row, "Count")), 2) << "the warm-up is left out";
  }
  double work_us = 0;
  for (size_t row = 0; row < report.count(OPD_REPORT_CALLS); ++row) {
    if (text_value(call_value(report, row, "Name")) != "scale") continue;
    const double us = number_of(call_value(report, row, "Device Duration (us)"));
    EXPECT_LE(us, number_of(call_value(report, row, "Duration (us)"))) << "the call waits for the device";
    work_us += us;
  }
  if (is_simulated()) { EXPECT_GE(work_us, 2 * 1900); }
  const std::string json = report.write(OPD_REPORT_JSON);
  EXPECT_NE(json.find("\"Device Duration (us)\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"Device Idle (us)\""), std::string::npos) << json;
}

TEST_F(ADevice, HasConditionsAndShapesThatProgramsRead) {
  auto options = opdyno::defaults(opd_vm_options_init);
  const DLDevice there = device();
  options.devices = &there;
  options.num_devices = 1;
  const Vm vm(Executable::assemble(R"(
.func choose(condition) {
  %yes = call vm.builtin.read_if_cond(%condition)
  ret %yes
}
.func sizes(x) {
  %shape = call vm.builtin.tensor_to_shape(%x)
  ret %shape
})")
                  .to_module(),
              &options);
  for (const bool yes : {true, false}) {
    const Tensor condition({}, "bool", there);
    condition.copy_from_bytes(&yes, 1);
    EXPECT_EQ(vm.call("choose", condition).view().u.int64, yes ? 1 : 0);
  }
  const int64_t sizes[] = {3, 5};
  const Tensor x({2}, "int64", there);
  x.copy_from_bytes(sizes, sizeof sizes);
  EXPECT_EQ(opdyno::to_string(vm.call("sizes", x).view()), "[3, 5]");
}

TEST_F(ADevice, NamesItselfWhereItLacksAMemoryScope) {
  const DLDevice device = this->device();
  auto options = opdyno::defaults(opd_vm_options_init);
  options.devices = &device;
  options.num_devices = 1;
  const Vm vm(Executable::assemble(R"(.func storage(scope) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), %scope)
  ret %s
}
.func tensor(scope) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32), %scope)
  ret %t
})")
                  .to_module(),
              &options);
  const Function to_device = Function::global("vm.builtin.to_device");
  const Tensor host = floats({1, 2});
  const int kind = device.device_type;
  for (const char *scope : {"global", ""}) {
    vm.call("storage", scope);
    EXPECT_EQ(Tensor::of(vm.call("tensor", scope)).view().device.device_type, device.device_type);
    EXPECT_EQ(read(Tensor::of(to_device(host, kind, 0, scope))), (std::vector<float>{1, 2}));
  }
  const auto refusal = [&](const std::string &scope) {
    return "memory scope \"" + scope + "\" is not offered by " + opdyno::to_string(device) + "; \"global\" is";
  };
  const bool has_textures = device.device_type == kDLOpenCL;  // tests/interop/textures_test.cc
  for (const char *scope : {"global.texture", "global.texture-weight", "local", "global.textures"}) {
    if (has_textures && std::string(scope).starts_with("global.texture") && scope != std::string("global.textures"))
      continue;
    expect_throws([&] { vm.call("storage", scope); }, OPD_UNSUPPORTED, refusal(scope));
    expect_throws([&] { vm.call("tensor", scope); }, OPD_UNSUPPORTED, refusal(scope));
    expect_throws([&] { to_device(host, kind, 0, scope); }, OPD_UNSUPPORTED, refusal(scope));
  }
  const std::string constants =
      ".const = tensor(float32, (1), 0x0000803f)\n.scope c[0] \"global.texture\"\n"
      ".func main() {\n  %x = call vm.builtin.copy(c[0])\n  ret %x\n}\n";
  if (has_textures) return;
  expect_throws([&] { Vm(Executable::assemble(constants).to_module(), &options); }, OPD_UNSUPPORTED,
                refusal("global.texture"));
}
