#include "device/plugin/plugin_activity.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>
#include <utility>

#include "base/json_writer.h"
#include "device/device.h"

namespace opd {
namespace {

// Size of the members that a record must have. Plug-ins of later releases may append more.
constexpr uint32_t kLeastSize = offsetof(opd_device_activity, stream) + sizeof(uint32_t);

thread_local PluginActivity::Submission *innermost = nullptr;

WorkKind work_kind_of(opd_activity_kind kind) {
  static_assert(static_cast<int>(WorkKind::kOverhead) == OPD_ACTIVITY_OVERHEAD);
  return static_cast<WorkKind>(kind);
}

// Returns an empty launcher if there is no memory.
WorkLauncher launcher_or_none() noexcept try { return launcher_of_work(); } catch (const std::bad_alloc &) {
  return {};
}

}  // namespace

void PluginActivity::start() {
  {
    const std::scoped_lock lock(guard_);
    launches_.clear(), clocks_.clear();
  }
  if (std::exchange(generation_, fork_generation()) != fork_generation())
    num_reading_.store(0);  // the count may include threads of the parent
  began_ns_.store(monotonic_ns());
  check(table_.set_activity(table_.user_data, 1));
  state_.store(on_in(fork_generation()), std::memory_order_release);
}

PluginActivity::Submission::Submission(PluginActivity &activity, int32_t device, void *stream) noexcept
    : activity_(activity),
      outer_(std::exchange(innermost, this)),
      number_(activity.next_.fetch_add(1, std::memory_order_relaxed)),
      stream_(stream_number({activity.type_, device}, stream)),
      by_(launcher_or_none()) {
  note(begin_);  // called now because work may end, and be reported, before its submission returns
  activity_.table_.set_correlation(activity_.table_.user_data, number_);
}

PluginActivity::Submission::~Submission() {
  const uint64_t end = ticks_of(tick_clock());
  innermost = outer_;
  activity_.table_.set_correlation(activity_.table_.user_data, outer_number());
  note(end);
}

uint64_t PluginActivity::Submission::outer_number() const {
  for (const Submission *each = outer_; each; each = each->outer_)
    if (&each->activity_ == &activity_) return each->number_;
  return 0;
}

// If memory cannot be allocated, the work is reported without its launch.
void PluginActivity::Submission::note(uint64_t end) noexcept try {
  const std::scoped_lock lock(activity_.guard_);
  activity_.launches_.add(number_, {by_, {begin_, end}, stream_});
} catch (const std::bad_alloc &) {}

void PluginActivity::take(const opd_device_activity &given, Reading &into) const {
  const bool is_usable = given.struct_size >= kLeastSize && given.kind >= OPD_ACTIVITY_KERNEL &&
                         given.kind <= OPD_ACTIVITY_OVERHEAD && given.name && given.begin_ns &&
                         given.end_ns >= given.begin_ns && given.device_id >= 0 && given.stream < kOverheadStream;
  constexpr size_t kMostName = 4096;
  const std::string_view name =
      is_usable ? cut_text({given.name, ::strnlen(given.name, kMostName + 1)}, kMostName) : std::string_view();
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

// If `waits`, also waits until other threads have added the records that they have read.
void PluginActivity::flush(bool waits) noexcept {
  const uint64_t state = state_.load(std::memory_order_acquire);
  if (state != on_in(fork_generation()) && state != ending_in(fork_generation())) return;
  num_reading_.fetch_add(1);
  try {
    read(waits);
  } catch (const std::bad_alloc &) { count_lost_work(1); }
  num_reading_.fetch_sub(1);
  num_reading_.notify_all();
  if (!waits) return;
  for (uint32_t others = num_reading_.load(); others; others = num_reading_.load()) num_reading_.wait(others);
}

// Calls the plug-in's functions without a lock, because they are foreign code. Launches need the lock, so it is held
// for one part of the records at a time.
void PluginActivity::read(bool waits) {
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
  if (!has_succeeded(table_.read_activity(table_.user_data, waits, receive, &receiver, &dropped))) dropped = 1;
  auto &[found, lost] = receiver.reading;
  constexpr uint64_t kMostDropped = uint64_t{1} << 40;  // a greater number is a mistake of the plug-in
  lost += std::min(dropped, kMostDropped);
  const std::map<int32_t, Moment> moments = moments_of(found);
  constexpr uint64_t kSlack = 1'000'000'000;
  const uint64_t recorded_ns = monotonic_ns() - began_ns_.load() + kSlack;
  // A record is wrong if its work ends after the current time of the device, or began before the recording.
  const auto is_lost = [&](const Reported &each) {
    const auto moment = moments.find(each.work.device.device_id);
    return moment == moments.end() || each.end_ns > moment->second.ns ||
           moment->second.ns - each.begin_ns > recorded_ns;
  };
  lost += std::erase_if(found, is_lost);
  if (lost) count_lost_work(lost);
  {
    const std::scoped_lock lock(guard_);
    for (const auto &[device, moment] : moments)
      clocks_.try_emplace(device, "get_time of the plug-in").first->second.observe(moment.ns, moment.interval);
  }
  std::set<int32_t> told;
  constexpr size_t kPart = 256;
  for (std::span<const Reported> rest(found); !rest.empty();) {
    const size_t count = std::min(rest.size(), kPart);
    for (const Placed &each : place(rest.first(count))) {
      // The event of the clock comes before those of the work placed with it.
      if (told.insert(each.work.device.device_id).second)
        add_clock_event(each.work.device, ticks_of(tick_clock()), each.times.clock);
      add_work_event(each.work, each.by, each.times.work);
    }
    rest = rest.subspan(count);
  }
}

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

std::vector<PluginActivity::Placed> PluginActivity::place(std::span<const Reported> works) {
  std::vector<Placed> placed;
  placed.reserve(works.size());
  const std::scoped_lock lock(guard_);
  for (const Reported &each : works) {
    const auto clock = clocks_.find(each.work.device.device_id);
    if (clock == clocks_.end()) continue;  // another thread has restarted the recording
    Placed made{each.work, {}, {}};
    const Launch *const launch = launches_.find(each.correlation);
    if (launch && made.work.kind != WorkKind::kOverhead)
      made.work.launch = launch->ticks, made.work.stream = launch->stream, made.by = launch->by;
    else made.work.launch.begin = made.work.launch.end = clock->second.ticks_at(each.begin_ns);
    made.times = clock->second.times_of(each.begin_ns, each.end_ns, made.work.launch);
    placed.push_back(made);
  }
  return placed;
}

}  // namespace opd
