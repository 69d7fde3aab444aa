// Errors: a reference-counted object with a code, a kind and a message. The library throws it internally, and the C API
// returns it.
#pragma once
#include <opdyno/base.h>

#include <exception>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "base/object.h"
#include "base/text.h"

namespace opd {

struct ByteArray {  // TVMFFIByteArray
  const char *data = nullptr;
  size_t size = 0;
};
inline std::string_view text_of(const ByteArray &bytes) { return {bytes.data, bytes.size}; }
inline ByteArray bytes_of(std::string_view text) { return {text.data(), text.size()}; }

// The first six fields have the layout of tvm-ffi's error cell.
struct Error final : Object {
  static int32_t type() { return 67; }

  ByteArray kind_view, message_view, backtrace_view;
  void (*update_backtrace)(void *self, const ByteArray *text, int32_t mode) = nullptr;
  Object *cause = nullptr;
  Object *extra_context = nullptr;

  opd_code code;
  std::string kind, message;
  bool located = false;  // the message already names the operator and the program that raised it

  Error(opd_code code, std::string kind, std::string message);
  ~Error();

  const std::string &backtrace() const;  // symbolises on first use
  void set_backtrace(std::string_view text, bool append);
  void set_cause(Ref<Error> error);

 private:
  std::vector<void *> frames_;
  mutable std::once_flag symbolised_;
  mutable std::string backtrace_;
};

// Returns `error` itself if this library made it. Otherwise returns a copy, because a foreign error has only the first
// fields.
Ref<Error> as_own(Error &error) noexcept;

const char *code_name(opd_code code);
const char *usual_kind(opd_code code);

// Never throws: if there is no memory, returns the preallocated OPD_OUT_OF_MEMORY error.
Ref<Error> make_error(opd_code code, std::string_view message, std::string_view kind = {}) noexcept;

class Exception final : public std::exception {
 public:
  explicit Exception(Ref<Error> error) : error_(std::move(error)) {}
  const char *what() const noexcept override { return error_->message.c_str(); }
  const Ref<Error> &error() const { return error_; }

 private:
  Ref<Error> error_;
};

[[noreturn, gnu::cold]] void throw_error(opd_code code, std::span<const TextPart> message, std::string_view kind = {});

template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail_with(opd_code code, Parts... parts) {
  const TextPart message[] = {parts...};
  throw_error(code, message);
}

template <class... Parts>
[[noreturn, gnu::always_inline]] inline void fail(opd_code code, const Parts &...parts) {
  fail_with(code, as_part(parts)...);
}

// Throws an error whose kind differs from the usual one of its code.
template <class... Parts>
[[noreturn]] void fail_as(const char *kind, opd_code code, const Parts &...parts) {
  const TextPart message[] = {as_part(parts)...};
  throw_error(code, message, kind);
}

template <class... Parts>
[[gnu::always_inline]] inline void require(bool condition, const Parts &...parts) {
  if (!condition) [[unlikely]]
    fail(OPD_INVALID_ARGUMENT, parts...);
}

// Returns the error for the current exception, whatever its type. Call it inside catch (...).
Ref<Error> current_error() noexcept;

// The error slot of the calling thread. If a packed function returns -1, its error is there for the caller.
void set_raised(Ref<Error> error) noexcept;  // foreign code may have made it
Ref<Error> take_raised() noexcept;           // never null: if the slot is empty, an error is made

// Turns C++ exceptions into C return values. Returns the result of `body` (0 if that is void). If `body` throws, stores
// the exception as the thread's raised error and returns -1.
template <class F>
int raising(F &&body) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(body())>) return body(), 0;
    else return body();
  } catch (const Exception &e) { set_raised(e.error()); } catch (...) {
    set_raised(current_error());
  }
  return -1;
}

}  // namespace opd
