#include "device/plugin/plugin_activity.h"

#include <cstddef>
#include <cstring>
#include <set>

#include "base/json_writer.h"
#include "device/device.h"
#include "device/plugin/plugin_call.h"

namespace opd {
namespace {

// What a record needs; plug-ins of later releases may give more.
constexpr uint32_t kLeastSize = offsetof(opd_device_activity, stream) + sizeof(uint32_t);

WorkKind work_kind_of(opd_activity_kind kind) {
  static_assert(static_cast<int>(WorkKind::kOverhead) == OPD_ACTIVITY_OVERHEAD);
  return static_cast<WorkKind>(kind);
}

}  // namespace

void PluginActivity::start() {
  {
    const std::scoped_lock lock(guard_);
    launches_.clear(), clocks_.clear();
  }
  check(table_.set_activity(table_.user_data, 1));
  is_on_.store(true, std::memory_order_release);
}

void PluginActivity::stop() noexcept {
  is_on_.store(false, std::memory_order_release);
  has_succeeded(table_.set_activity(table_.user_data, 0));
}

PluginActivity::Submission::Submission(PluginActivity &activity, int32_t device, void *stream)
    : activity_(activity),
      number_(activity.next_.fetch_add(1, std::memory_order_relaxed)),
      stream_(stream_number({activity.type_, device}, stream)) {
  note(begin_);  // work may end, and be reported, before its submission returns
  activity_.table_.set_correlation(activity_.table_.user_data, number_);
}

PluginActivity::Submission::~Submission() {
  const uint64_t end = ticks_of(tick_clock());
  activity_.table_.set_correlation(activity_.table_.user_data, 0);
  try {
    note(end);
  } catch (const std::bad_alloc &) {}  // then the launch took no time
}

void PluginActivity::Submission::note(uint64_t end) {
  const std::scoped_lock lock(activity_.guard_);
  activity_.launches_.add(number_, {by_, {begin_, end}, stream_});
}

void PluginActivity::take(const opd_device_activity &given, Reading &into) const {
  constexpr size_t kMostName = 4096;
  const bool is_usable = given.struct_size >= kLeastSize && given.kind >= OPD_ACTIVITY_KERNEL &&
                         given.kind <= OPD_ACTIVITY_OVERHEAD && given.name && given.begin_ns &&
                         given.end_ns >= given.begin_ns && given.device_id >= 0 && given.stream < kOverheadStream;
  const std::string_view name = is_usable ? std::string_view(given.name, ::strnlen(given.name, kMostName)) : "";
  if (name.empty() || !is_utf8(name)) return void(++into.lost);
  Reported made{};
  made.work.name = name_id(name);
  made.work.device = {type_, given.device_id};
  made.work.kind = work_kind_of(given.kind);
  made.work.stream = given.kind == OPD_ACTIVITY_OVERHEAD ? kOverheadStream : static_cast<uint16_t>(given.stream);
  made.work.bytes = given.bytes;
  made.begin_ns = given.begin_ns, made.end_ns = given.end_ns, made.correlation = given.correlation;
  into.found.push_back(made);
}

// The plug-in's functions are called without a lock: they are not this library's.
void PluginActivity::flush(bool waits) noexcept try {
  struct Receiver {
    const PluginActivity &activity;
    Reading reading;
  } receiver{*this, {}};
  const auto receive = [](void *to, const opd_device_activity *given) {
    auto &[activity, reading] = *static_cast<Receiver *>(to);
    try {
      if (given) activity.take(*given, reading);
      else ++reading.lost;
    } catch (const std::bad_alloc &) { ++reading.lost; }
  };
  uint64_t dropped = 0;
  if (!has_succeeded(table_.read_activity(table_.user_data, waits, receive, &receiver, &dropped))) ++dropped;
  auto &[found, lost] = receiver.reading;
  lost += dropped;
  const std::map<int32_t, Moment> moments = moments_of(found);
  const auto has_no_clock = [&](const Reported &each) { return !moments.contains(each.work.device.device_id); };
  lost += std::erase_if(found, has_no_clock);
  if (lost) count_lost_work(lost);
  const std::scoped_lock lock(guard_);
  for (const auto &[device, moment] : moments) {
    DeviceClock &clock = clocks_.try_emplace(device, "get_time of the plug-in").first->second;
    clock.observe(moment.ns, moment.interval);
  }
  std::set<int32_t> told;
  for (const Reported &each : found) add(each, told.insert(each.work.device.device_id).second);
} catch (const std::bad_alloc &) { count_lost_work(1); }

std::map<int32_t, PluginActivity::Moment> PluginActivity::moments_of(const std::vector<Reported> &works) const {
  std::map<int32_t, Moment> moments;
  for (const Reported &each : works) {
    const int32_t device = each.work.device.device_id;
    if (moments.contains(device)) continue;
    Moment moment{};
    moment.interval.begin = ticks_of(tick_clock());
    const bool is_known = has_succeeded(table_.get_time(table_.user_data, device, &moment.ns));
    moment.interval.end = ticks_of(tick_clock());
    if (is_known) moments.emplace(device, moment);
  }
  return moments;
}

// `tells_clock`: the event of the clock comes before those of work that were placed by it.
void PluginActivity::add(const Reported &reported, bool tells_clock) {
  const DeviceClock &clock = clocks_.at(reported.work.device.device_id);
  LaunchedWork work = reported.work;
  const Launch *const launch = launches_.find(reported.correlation);
  if (launch && work.kind != WorkKind::kOverhead) work.launch = launch->ticks, work.stream = launch->stream;
  else work.launch.begin = work.launch.end = clock.ticks_at(reported.begin_ns);
  const WorkTimes times = clock.times_of(reported.begin_ns, reported.end_ns, work.launch);
  if (tells_clock) add_clock_event(work.device, ticks_of(tick_clock()), times.clock);
  add_work_event(work, launch ? launch->by : WorkLauncher{}, times.work);
}

}  // namespace opd
