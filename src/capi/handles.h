// From handles to objects and back, and the only place where exceptions become returned errors.
#pragma once
#include <opdyno/opdyno.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "value/value.h"

namespace opd {

// A handle is the address of the object's header. T may start before its header, so the way goes through Object.
template <class T, class Handle>
T *unwrap(Handle *handle) {
  return static_cast<T *>(reinterpret_cast<Object *>(const_cast<std::remove_const_t<Handle> *>(handle)));
}
template <class Handle, class T>
Handle *wrap(Ref<T> object) {
  return reinterpret_cast<Handle *>(static_cast<Object *>(object.detach()));
}
inline void release_handle(void *handle) {
  if (handle) release(static_cast<Object *>(handle));
}

inline opd_error *wrap_error(Ref<Error> error) noexcept {
  return reinterpret_cast<opd_error *>(static_cast<Object *>(error.detach()));
}

template <class F>
opd_error *guard(F &&body) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(body())>) return body(), nullptr;
    else return wrap_error(body());  // an error that is met often, without a throw
  } catch (const Exception &e) { return wrap_error(e.error()); } catch (...) {
    return wrap_error(current_error());
  }
}

// The object behind opd_buffer.
struct Buffer : Object {
  static int32_t type() { return OPD_OBJECT; }
  std::string text;
  explicit Buffer(std::string t) : text(std::move(t)) {}
};
inline void give_text(std::string text, opd_buffer **out) {
  *out = wrap<opd_buffer>(make_object<Buffer>(std::move(text)));
}

// A new array of strings. `names` is a range of anything that reads as text.
template <class Names>
opd_array *wrap_names(const Names &names) {
  std::vector<Value> values;
  for (const auto &name : names) values.emplace_back(std::string_view(name));
  return wrap<opd_array>(Array::make({values.empty() ? nullptr : &values.front().view(), values.size()}));
}

// The objects behind an array of handles.
template <class T, class Handle>
std::vector<Ref<T>> share_all(Handle *const *handles, int32_t count, const char *what) {
  require(count >= 0 && (handles || count == 0), what, " must not be NULL and their number not negative");
  std::vector<Ref<T>> objects;
  for (int32_t i = 0; i < count; ++i) {
    require(handles[i], what, " must not be NULL, but number ", i, " is");
    objects.push_back(Ref<T>::share(unwrap<T>(handles[i])));
  }
  return objects;
}

inline Args args_of(const opd_value *args, int32_t num_args) {
  require(num_args >= 0 && (args || num_args == 0), "args must not be NULL and num_args not negative");
  return {args, static_cast<size_t>(num_args)};
}

// Options as the caller's headers knew them: what they leave out keeps its default, what we do not know must be 0.
template <class Options>
Options read_sized(const Options *given, void (*init)(Options *)) {
  Options full;
  init(&full);
  if (!given) return full;
  const uint32_t size = given->struct_size;
  require(size >= sizeof(uint32_t) && size <= 4096, "struct_size is ", size,
          "; call the options' _init function first");
  const auto *bytes = reinterpret_cast<const unsigned char *>(given);
  for (size_t i = sizeof(Options); i < size; ++i)
    if (bytes[i])
      fail(OPD_UNSUPPORTED, "the options use a field at byte ", i, " that this version of opdyno does not know");
  std::memcpy(&full, given, std::min<size_t>(size, sizeof(Options)));
  full.struct_size = sizeof(Options);
  return full;
}

// Statistics, as far as the caller's headers know them.
template <class Stats>
void give_sized(Stats stats, Stats *out) {
  const uint32_t size = out->struct_size;
  require(size >= sizeof(uint32_t), "struct_size is ", size, "; set it to the size of the struct");
  stats.struct_size = size;
  std::memcpy(out, &stats, std::min<size_t>(size, sizeof stats));
}

}  // namespace opd
