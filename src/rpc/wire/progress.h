// Writes a session's progress to an opd_rpc_progress, as far as the caller's header has the fields, and makes the last
// answer to the client. Copies write to the same struct.
#pragma once
#include <opdyno/rpc_serve.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>

namespace opd::rpc {

template <size_t kSize>
std::string_view text_in(const char (&place)[kSize]) {
  return {place, ::strnlen(place, kSize)};
}

// Text in a fixed buffer, because a signal handler must not allocate memory. Longer texts are cut.
template <size_t kSize>
class FixedText {
 public:
  FixedText &operator<<(std::string_view more) noexcept {
    const size_t count = std::min(more.size(), kSize - size_);
    std::memcpy(bytes_ + size_, more.data(), count);
    size_ += count;
    return *this;
  }
  std::string_view view() const { return {bytes_, size_}; }

 private:
  char bytes_[kSize];
  size_t size_ = 0;
};

class Progress {
 public:
  // `to` may be null. Its struct_size, the number of bytes that may be written, is read once, because another process
  // may change it.
  explicit Progress(opd_rpc_progress *to) : to_(to), size_(to ? to->struct_size : 0) {}

  // Only one thread writes. Other threads and processes may read at the same time.
  void add(uint64_t opd_rpc_progress::*field, uint64_t count) const {
    if (!has(field)) return;
    std::atomic_ref<uint64_t> number(to_->*field);
    number.store(number.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  // Signal handlers may call these. Longer texts are cut.
  static constexpr size_t kMostName = sizeof(opd_rpc_progress::crashed_in) - 1;
  void note_operator(std::string_view name) const noexcept {
    if (has(&opd_rpc_progress::crashed_in)) put(name, to_->crashed_in);
  }
  void note_end(std::string_view reason) const noexcept {
    if (has(&opd_rpc_progress::end_reason)) put(reason, to_->end_reason);
  }
  // The reason that another process wrote; "": none.
  std::string_view end_reason() const noexcept {
    return has(&opd_rpc_progress::end_reason) ? text_in(to_->end_reason) : "";
  }
  // Whether another process may send a frame to the client once this one has ended. It may if no frame has begun.
  enum class Wire : uint32_t { kClosed, kOpen, kOpenWithChecksums };
  void note_wire(Wire state) const noexcept {
    if (has(&opd_rpc_progress::private_state))
      std::atomic_ref(to_->private_state).store(static_cast<uint32_t>(state), std::memory_order_relaxed);
  }

 private:
  template <size_t kSize>
  static void put(std::string_view text, char (&to)[kSize]) noexcept {
    const size_t size = std::min(text.size(), kSize - 1);
    std::memmove(to, text.data(), size);
    to[size] = '\0';
  }
  template <class Field>
  bool has(Field opd_rpc_progress::*field) const noexcept {
    if (!to_) return false;
    const auto begin = reinterpret_cast<const char *>(&(to_->*field)) - reinterpret_cast<const char *>(to_);
    return static_cast<size_t>(begin) + sizeof(Field) <= size_;
  }

  opd_rpc_progress *const to_;
  const uint32_t size_;
};

// ---- end_answer.cc: the last answer of a session to its client: the reason why its process has ended. It allocates no
// memory, because signal handlers make it, too.

// The beginning of such answers. Clients recognize the end of the session by it.
inline constexpr std::string_view kEndAnswer = "ConnectionError: the session's process was ended by ";

// The packet. `reason`: "SIGSEGV (it used memory that is not there)". `operator_name`: "": none ran.
inline constexpr size_t kMostEndAnswer = 640;
using EndAnswer = FixedText<kMostEndAnswer>;
EndAnswer end_answer(std::string_view reason, std::string_view operator_name) noexcept;

// Sends the answer to the client of a process that has ended, if a whole frame can be sent at once: see
// opd_rpc_tell_end().
void tell_end(int descriptor, const opd_rpc_progress &progress);

}  // namespace opd::rpc
