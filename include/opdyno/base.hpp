/** @file base.hpp  Handles that release themselves, errors as exceptions, texts, the log. */
#ifndef OPDYNO_BASE_HPP_
#define OPDYNO_BASE_HPP_

#include <opdyno/base.h>

#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace opdyno {

/** Owns one reference to a C handle. A copy adds a reference; a move does not. */
template <class T>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T *owned) : handle_(owned) {}
  Handle(const Handle &other) noexcept : handle_(static_cast<T *>(opd_object_retain(other.handle_))) {}
  Handle(Handle &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle &operator=(Handle other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() { opd_object_release(handle_); }

  T *get() const { return handle_; }
  T **out() {
    opd_object_release(std::exchange(handle_, nullptr));
    return &handle_;
  } /**< For out_ parameters. */
  explicit operator bool() const { return handle_ != nullptr; }
  int32_t type() const { return opd_object_type(handle_); } /**< An opd_type, or a kind made at run time. */

 private:
  T *handle_ = nullptr;
};

/** The opd_error of a C function as an exception. */
class Error : public std::runtime_error {
 public:
  explicit Error(opd_error *owned)
      : std::runtime_error(std::string(opd_error_kind(owned)) + ": " + opd_error_message(owned)), error_(owned) {}

  opd_code code() const { return opd_error_code(get()); }
  const char *code_name() const { return opd_code_name(code()); }
  std::string kind() const { return opd_error_kind(get()); }           /**< "TypeError", "ValueError" … */
  std::string message() const { return opd_error_message(get()); }     /**< Without the kind. */
  std::string backtrace() const { return opd_error_backtrace(get()); } /**< "" unless a backtrace was taken. */
  /** The error that led to this one. */
  std::optional<Error> cause() const {
    const opd_error *cause = opd_error_cause(get());
    return cause ? std::optional<Error>(Error(opd_error_retain(cause))) : std::nullopt;
  }
  const opd_error *get() const { return error_.get(); }

 private:
  Handle<opd_error> error_;
};

/** Throws Error unless @p error is NULL. Takes ownership of it. */
inline void check(opd_error *error) {
  if (error) throw Error(error);
}

/** Converts the number of items of a container, or an index, to the type of the C functions. */
inline int32_t count_of(size_t count) {
  if (count > INT32_MAX) throw std::length_error("more than 2^31 - 1 items");
  return static_cast<int32_t>(count);
}

/** Calls @p body in a callback of C. An exception of @p body becomes the error to return; NULL if there is none. */
template <class Body>
opd_error *guarded(Body body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const Error &e) { return opd_error_retain(e.get()); } catch (const std::bad_alloc &) {
    return opd_error_create(OPD_OUT_OF_MEMORY, nullptr, "out of memory");
  } catch (const std::exception &e) {
    return opd_error_create(OPD_CALL_FAILED, "RuntimeError", e.what());
  } catch (...) { return opd_error_create(OPD_CALL_FAILED, "RuntimeError", "an exception that is no std::exception"); }
}

/** Returns the handle of type @p H that a C function gives as its last parameter: `made<Tensor>(opd_tensor_reshape, …)`. */
template <class H, class F, class... Args>
H made(F function, Args... args) {
  H handle;
  check(function(args..., handle.out()));
  return handle;
}
/** Returns the bytes of a buffer, and releases it. */
inline std::string take(opd_buffer *owned) {
  const Handle<opd_buffer> buffer(owned);
  return {opd_buffer_data(owned), opd_buffer_size(owned)};
}
/** Calls a C function whose last parameter is an opd_buffer **, and returns its text. */
template <class F, class... Args>
std::string text_of(F function, Args... args) {
  opd_buffer *buffer = nullptr;
  check(function(args..., &buffer));
  return take(buffer);
}

/** Returns options with their defaults, written by an _init function: `defaults(opd_vm_options_init)`. */
template <class Options>
Options defaults(void (*init)(Options *)) {
  Options options;
  init(&options);
  return options;
}
/** Returns a struct of results for the library to fill. */
template <class Result>
Result sized() {
  Result result{};
  result.struct_size = static_cast<uint32_t>(sizeof result);
  return result;
}

/** Deletes a copy of a C++ object that C code holds as user_data. */
template <class T>
void delete_as(void *user_data) {
  delete static_cast<T *>(user_data);
}

/** Calls @p callable with (opd_log_level, const char *message) for each warning, on any thread, by several at the
 * same time. It must not throw. */
template <class F>
void set_log(F callable) {
  auto *kept = new F(std::move(callable));
  opd_log_set_callback(
      [](void *data, opd_log_level level, const char *message) { (*static_cast<F *>(data))(level, message); }, kept,
      delete_as<F>);
}
inline void end_log() { opd_log_set_callback(nullptr, nullptr, nullptr); }

/** Writes a file as a whole: its readers see the old content or the new one. See opd_file_write(). */
inline void write_file(const std::string &path, std::string_view bytes) {
  check(opd_file_write(path.c_str(), bytes.data(), bytes.size()));
}

inline const char *version() { return opd_version(); }
/** Returns the name of a code, such as "OPD_NOT_FOUND". */
inline const char *code_name(opd_code code) { return opd_code_name(code); }
inline std::string build_info() { return text_of(opd_build_info); } /**< JSON. */

}  // namespace opdyno
#endif
