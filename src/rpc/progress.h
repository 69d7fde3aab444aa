// Where a session notes what happens in it, as far as the caller's header has the fields. Copies write to one place.
#pragma once
#include <opdyno/rpc.h>

#include <atomic>
#include <cstring>
#include <string_view>

namespace opd::rpc {

class Progress {
 public:
  // `to`: null, or with the number of bytes that may be written in its struct_size. It is read here once, since
  // other processes may write to the memory.
  explicit Progress(opd_rpc_progress *to) : to_(to), size_(to ? to->struct_size : 0) {}

  // For others to read meanwhile. One thread writes.
  void add(uint64_t opd_rpc_progress::*field, uint64_t count) const {
    if (!has(field)) return;
    std::atomic_ref<uint64_t> number(to_->*field);
    number.store(number.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  // From a handler of a signal. `name` has less than kMostName bytes.
  static constexpr size_t kMostName = sizeof(opd_rpc_progress::crashed_in) - 1;
  void note_crash(std::string_view name) const noexcept {
    if (!has(&opd_rpc_progress::crashed_in)) return;
    std::memcpy(to_->crashed_in, name.data(), name.size());
    to_->crashed_in[name.size()] = '\0';
  }

 private:
  template <class Field>
  bool has(Field opd_rpc_progress::*field) const noexcept {
    if (!to_) return false;
    const auto begin = reinterpret_cast<const char *>(&(to_->*field)) - reinterpret_cast<const char *>(to_);
    return static_cast<size_t>(begin) + sizeof(Field) <= size_;
  }

  opd_rpc_progress *const to_;
  const uint32_t size_;
};

}  // namespace opd::rpc
