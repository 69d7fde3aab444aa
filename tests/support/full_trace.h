// A trace with events of all kinds, made by hand. Ticks are nanoseconds of Unix time.
#pragma once
#include <cmath>

#include "support/trace_builder.h"
#include "trace/model/names.h"
#include "trace/record/memory_event.h"

namespace opd {

inline Event event_of(EventKind kind, const char *name, uint64_t begin, uint64_t end) {
  Event made{};
  made.kind = kind, made.name = name ? name_id(name) : kNoName, made.begin = begin, made.end = end;
  made.recordings = 1;
  return made;
}
inline Event work_of(const char *name, const DeviceWork &work, uint64_t begin, uint64_t end, uint64_t run) {
  Event made = event_of(EventKind::kDeviceWork, name, begin, end);
  made.device = {kDLOpenCL, 0}, made.run = run;
  set_device_work(made, work);
  return made;
}
inline Event task_of(uint32_t task, uint64_t begin, uint64_t end) {
  Event made = event_of(EventKind::kTask, nullptr, begin, end);
  made.run = 5;
  set_loop_task(made, {.loop = 1, .task = task, .num_tasks = 2, .thread = 7});
  return made;
}
inline Event counter_of(const char *name, uint64_t tick, double value) {
  Event made = event_of(EventKind::kCounter, name, tick, tick);
  made.device = {kDLOpenCL, 0};
  set_counter_value(made, value);
  return made;
}
inline StackId stack_of_line(uint32_t line) {
  const uint64_t frame = pack_frame({name_id("serve"), name_id("a.py"), line});
  return stack_id({&frame, 1});
}

// Thread 7: a step from 1000 to 11000; in it the range "outer" from 1500 to 10500; in it a run of "main" from 2000 to
// 10000; in it the call "conv" from 3000 to 5000, which failed, and "add" from 7000 to 7500. Thread 8: a task of the
// loop that "conv" launched, and a range from 9000 on that did not end. The device did two kernels, a copy and a fill,
// in two streams; 100 ns were its driver's.
inline TraceParts full_trace() {
  constexpr DLDevice kHost{kDLCPU, 0}, kGpu{kDLOpenCL, 0};
  TraceBuilder built;
  int64_t shape[] = {2, 3};
  DLTensor matrix{nullptr, kHost, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
  DLTensor scalar{nullptr, kGpu, 0, {kDLInt, 64, 1}, nullptr, nullptr, 0};
  const View args[] = {opd_dltensor(&matrix), opd_dltensor(&scalar)};
  EventItems error;
  error.add({EventItem::Type::kError, 1, kNoName, {MetricKind::kString, 0}, "no \"luck\""});
  built.memory(EventKind::kAlloc, 3100, kHost, {1, 64, 164, 200}, memory_use_name(MemoryUse::kParameter));
  built.memory(EventKind::kAlloc, 3200, kGpu, {2, 32, 32, 64});
  built.range(3500, 3500, "moment", EventKind::kMark);
  built.call({3000, 5000, name_id("conv"), 5, 4, 1}, args, 0, error);
  built.memory(EventKind::kFree, 6000, kHost, {1, 64, 100, 200});
  built.call({7000, 7500, name_id("add"), 5}, {}, 1);
  built.run(5, 2000, 10'000, name_id("main"));
  built.range(1500, 10'500, "outer").range(1000, 11'000, nullptr, EventKind::kStep, 3);
  TraceParts parts = built.parts({{0, 0}, 1}, 7);
  TraceTrack &main = parts.tracks[0];
  for (const Event *range : main.ranges) const_cast<Event *>(range)->stack = 0;
  const_cast<Event *>(main.ranges[0])->stack = stack_of_line(13);
  const_cast<Event *>(main.ranges[1])->stack = stack_of_line(12);
  const Event on_main[] = {task_of(0, 3300, 3900), counter_of("Power (W)", 3600, 12.5),
                           counter_of("Power (W)", 3700, NAN)};
  main.add_open(on_main);
  TraceTrack worker, driver;
  worker.thread_id = 8, worker.thread_name = "worker", worker.dropped = 2;
  Event open = event_of(EventKind::kRange, "open", 9000, 12'000);
  open.is_open = true;
  const Event on_worker[] = {task_of(1, 3300, 3800), open};
  worker.add_open(on_worker);
  Event clock = event_of(EventKind::kDeviceClock, "bracketed events", 2000, 2000);
  clock.device = kGpu;
  set_device_moment(clock, {clock.name, 2000, 2500, 100});
  const Event on_device[] = {work_of("conv_kernel", {4000, 10, 7, 0, 0, WorkKind::kKernel}, 4500, 5500, 5),
                             work_of("copy", {7100, 20, 7, 256, 2, WorkKind::kCopyToDevice}, 8000, 8250, 5),
                             work_of("fill", {7200, 5, 7, 16, 0, WorkKind::kFill}, 8300, 8310, 5),
                             work_of("flush", {8400, 0, 7, 0, kOverheadStream, WorkKind::kOverhead}, 8400, 8500, 0),
                             work_of("late", {10'800, 10, 7, 0, 0, WorkKind::kKernel}, 11'500, 11'600, 0),
                             clock};
  driver.add_open(on_device);
  parts.tracks.push_back(std::move(worker));
  parts.tracks.push_back(std::move(driver));
  parts.has_memory = parts.has_stacks = true;
  parts.processes[0].id = 41, parts.processes[0].name = "server";
  return parts;
}

}  // namespace opd
