#include "profile/counter_collector.h"

#include <algorithm>

namespace opd {

void CounterCollector::add_counter(Counter counter) {
  least_.push_back(concat(counter.name, " (least of threads)"));
  most_.push_back(concat(counter.name, " (most of threads)"));
  counters_.push_back(std::move(counter));
}

void CounterCollector::add_note(std::string_view text) { notes_ += concat(notes_.empty() ? "" : "; ", text); }

void CounterCollector::init(std::span<const DLDevice>) {
  estimated_.assign(counters_.size(), false);
  went_back_.assign(counters_.size(), false);
  failed_join_.clear();
  threads_.push_back(open(true));
  if (std::none_of(counters_.begin(), counters_.end(), [](const Counter &c) { return c.per_thread; })) return;
  add_worker_watch(*this);
  watches_ = true;
  gather_workers();
}

void CounterCollector::joined() noexcept {
  std::string failure;
  try {
    auto counters = open(false);
    std::scoped_lock lock(guard_);
    threads_.push_back(std::move(counters));
    return;
  } catch (const Exception &e) { failure = e.error()->message; } catch (...) {
    failure = "no memory";
  }
  std::scoped_lock lock(guard_);
  if (failed_join_.empty()) failed_join_ = std::move(failure);
}

void CounterCollector::finish() noexcept {
  if (std::exchange(watches_, false)) remove_worker_watch(*this);
  threads_.clear();
}

void *CounterCollector::start(DLDevice device) {
  const auto is_of = [&](const Counter &counter) {
    return counter.device.device_type == device.device_type &&
           (counter.device.device_id < 0 || counter.device.device_id == device.device_id);
  };
  if (std::none_of(counters_.begin(), counters_.end(), is_of)) return nullptr;
  if (idle_.empty()) idle_.push_back(std::make_unique<State>());
  auto state = std::move(idle_.back());
  idle_.pop_back();
  state->device = device;
  std::scoped_lock lock(guard_);
  const size_t width = counters_.size();
  state->begin.assign(threads_.size() * width, 0);
  for (size_t i = threads_.size(); i-- > 0;) threads_[i]->read(&state->begin[i * width]);  // the caller's last
  return state.release();
}

// What one thread's counter counted. A counter may wrap; else it only rises, unless somebody resets it.
double CounterCollector::change(size_t place, size_t thread, const State &state, bool &is_good) const {
  const Counter &counter = counters_[place];
  const size_t at = thread * counters_.size() + place;
  const uint64_t begin = at < state.begin.size() ? state.begin[at] : 0, end = now_[at];
  uint64_t counted = end - begin;
  if (counter.range && end < begin) counted += counter.range;
  is_good = counted <= static_cast<uint64_t>(INT64_MAX);
  return static_cast<double>(counted) * counter.scale;
}

void CounterCollector::give(size_t place, const State &state, MetricRows &out) {
  const Counter &counter = counters_[place];
  const auto metric = [&](double number) {
    return Metric{metric_kind_of(counter.kind)}.is_integer() ? Metric::of_count(static_cast<int64_t>(number))
                                                             : number_metric(counter.kind, number);
  };
  const size_t threads = counter.per_thread ? now_.size() / counters_.size() : 1;
  double sum = 0, least = 0, most = 0;
  for (size_t i = 0; i < threads; ++i) {
    bool is_good;
    const double counted = change(place, i, state, is_good);
    if (!is_good) return void(went_back_[place] = true);
    sum += counted;
    least = i ? std::min(least, counted) : counted;
    most = std::max(most, counted);
  }
  out.set(counter.name, metric(sum));
  if (!per_thread_ || !counter.per_thread) return;
  out.set(least_[place], metric(least));
  out.set(most_[place], metric(most));
}

void CounterCollector::stop(void *given, MetricRows &out) {
  std::unique_ptr<State> state(static_cast<State *>(given));
  std::scoped_lock lock(guard_);
  const size_t width = counters_.size();
  now_.assign(threads_.size() * width, 0);
  for (size_t i = 0; i < threads_.size(); ++i) threads_[i]->read(&now_[i * width]);  // the caller's first
  for (size_t place = 0; place < counters_.size(); ++place) {
    const DLDevice device = counters_[place].device;
    if (device.device_type != state->device.device_type) continue;
    if (device.device_id >= 0 && device.device_id != state->device.device_id) continue;
    give(place, *state, out);
    for (const auto &thread : threads_)
      if (thread->is_estimated(place)) estimated_[place] = true;
  }
  idle_.push_back(std::move(state));
}

std::string CounterCollector::note() {
  std::string text = notes_;
  const auto add = [&](std::string_view more) { text += concat(text.empty() ? "" : "; ", more); };
  const auto add_names = [&](const std::vector<char> &marks, std::string_view what) {
    std::string names;
    for (size_t i = 0; i < marks.size(); ++i)
      if (marks[i]) names += concat(names.empty() ? "" : ", ", counters_[i].name);
    if (!names.empty()) add(concat(names, what));
  };
  add_names(estimated_, ": counted part of the time and scaled, since the processor has too few counters for all");
  add_names(went_back_, ": left out where the counter fell, as one that is reset does");
  if (!failed_join_.empty()) add(concat("not all worker threads are counted: ", failed_join_));
  return text;
}

}  // namespace opd
