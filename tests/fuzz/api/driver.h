// What the random driver of the C API owns, and what it expects of the library: each reference that it was given is
// ended once, and what it still holds is alive.
#pragma once
#include <opdyno/opdyno.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace api_driver {

// A thing of the caller that the library takes over: user data, or a DLPack tensor. Counts that each ends once.
struct Probe {
  static inline std::atomic<int64_t> alive{0};
  bool ended = false;
  Probe() { ++alive; }
  static void end(void *self) {
    auto *probe = static_cast<Probe *>(self);
    if (probe->ended) std::abort();  // before its memory goes: a second end is the library's mistake
    probe->ended = true;
    --alive;
    delete probe;
  }
};

class Driver {
 public:
  explicit Driver(uint64_t seed) : random_(seed) {}
  ~Driver() { release_all(); }
  Driver(const Driver &) = delete;

  uint64_t below(uint64_t end) { return random_() % end; }
  bool one_in(uint64_t n) { return below(n) == 0; }
  template <class Items>
  auto pick(const Items &items) {
    return *(std::begin(items) + below(std::size(items)));
  }

  // ---- handles, by their C type; each entry is one reference

  template <class T>
  void keep(T *owned) {
    if (!owned) return;
    auto &pool = handles<T>();
    pool.push_back(owned);
    if (one_in(8)) pool.push_back(static_cast<T *>(opd_object_retain(owned)));
    while (pool.size() > kMostKept) opd_object_release(take_at(pool, below(pool.size())));
  }
  template <class T>
  T *borrow() {  // may be NULL
    auto &pool = handles<T>();
    return pool.empty() || one_in(12) ? nullptr : static_cast<T *>(pool[below(pool.size())]);
  }
  template <class T>
  T *take_away() {
    auto &pool = handles<T>();
    return pool.empty() || one_in(4) ? nullptr : static_cast<T *>(take_at(pool, below(pool.size())));
  }
  void *borrow_any() {
    auto &pool = *pools_[below(pools_.size())];
    return pool.empty() ? nullptr : pool[below(pool.size())];
  }
  // References of another driver's handles, for use by another thread.
  template <class... T>
  void share(Driver &other) {
    const auto copy = [](const std::vector<void *> &from, std::vector<void *> &to) {
      for (void *handle : from) to.push_back(opd_object_retain(handle));
    };
    (copy(other.handles<T>(), handles<T>()), ...);
  }

  // ---- values; each is owned

  void keep(const opd_value &owned) {
    values_.push_back(owned);
    while (values_.size() > kMostKept) {
      const size_t place = below(values_.size());
      opd_value_release(&values_[place]);
      values_.erase(values_.begin() + static_cast<ptrdiff_t>(place));
    }
  }
  opd_value borrow_value();

  // ---- results

  void end(opd_error *error) {  // of an error only its text matters
    was_accepted = !error;
    if (!error) return void(++accepted);
    read(opd_error_message(error));
    read(opd_error_kind(error));
    if (one_in(16)) keep(error);
    else opd_error_release(error);
  }
  void read(const char *text) { sum_ += text ? std::strlen(text) : 0; }

  void release_all() {
    for (opd_value &value : values_) opd_value_release(&value);
    values_.clear();
    for (auto &pool : pools_)
      while (!pool->empty()) opd_object_release(take_at(*pool, pool->size() - 1));
  }

  std::string scratch;  // the only directory that paths lead to
  std::vector<std::string> files, texts;
  uint64_t accepted = 0;
  bool was_accepted = false;  // the call under way; what a refused call was to take over is still the caller's
  bool may_write = true;      // false: another thread may have the tensors, too

 private:
  static constexpr size_t kMostKept = 12;

  template <class T>
  std::vector<void *> &handles() {
    static const size_t place = number_of_kinds++;
    while (pools_.size() <= place) pools_.push_back(std::make_unique<std::vector<void *>>());
    return *pools_[place];
  }
  static void *take_at(std::vector<void *> &pool, size_t place) {
    void *taken = pool[place];
    pool.erase(pool.begin() + static_cast<ptrdiff_t>(place));
    return taken;
  }

  static inline std::atomic<size_t> number_of_kinds{0};
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<std::vector<void *>>> pools_;
  std::vector<opd_value> values_;
  uint64_t sum_ = 0;
};

struct ApiCall {
  const char *name;
  void (*call)(Driver &);
};
struct LeftOut {
  const char *name, *reason;
};

}  // namespace api_driver
