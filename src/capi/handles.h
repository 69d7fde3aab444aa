// Helpers of the C API: convert between handles and objects, check arguments, and copy the caller's structs. Only this
// file turns exceptions into returned errors.
#pragma once
#include <opdyno/opdyno.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "capi/version.h"
#include "value/value.h"

namespace opd {

// A handle is the address of the object's header. T may start before its header, so the conversion goes through Object.
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
    else return wrap_error(body());  // frequent errors are returned without a throw
  } catch (const Exception &e) { return wrap_error(e.error()); } catch (...) {
    return wrap_error(current_error());
  }
}

// The object of an opd_buffer.
struct Buffer : Object {
  static int32_t type() { return OPD_OBJECT; }
  std::string text;
  explicit Buffer(std::string t) : text(std::move(t)) {}
};
inline void give_text(std::string text, opd_buffer **out) {
  *out = wrap<opd_buffer>(make_object<Buffer>(std::move(text)));
}

// Returns a new array that owns the values.
inline Ref<Array> wrap_values(const std::vector<Value> &values) { return Array::make(views_of(values)); }

// Returns a new array of strings. `names` is a range of anything that converts to text.
template <class Names>
opd_array *wrap_names(const Names &names) {
  std::vector<Value> values;
  for (const auto &name : names) values.emplace_back(std::string_view(name));
  return wrap<opd_array>(wrap_values(values));
}

// Returns "name" for "how.name".
inline std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// `names` is the text of the macro's arguments: "vm, how.name". The error names the first one that is NULL.
[[noreturn, gnu::cold]] inline void fail_null(std::string_view names, std::initializer_list<bool> given) {
  for (const bool *is_given = given.begin(); *is_given; ++is_given) names.remove_prefix(names.find(',') + 2);
  fail(OPD_INVALID_ARGUMENT, last_part(names.substr(0, names.find(','))), " must not be NULL");
}
template <class... Pointers>
[[gnu::always_inline]] inline void require_pointers(const char *names, Pointers... pointers) {
  if (!(... && (pointers != nullptr))) [[unlikely]]
    fail_null(names, {(pointers != nullptr)...});
}
template <class Item, class Count>
[[gnu::always_inline]] inline auto require_items(const char *name, Item *items, const char *count_name, Count count) {
  if (std::cmp_less(count, 0)) [[unlikely]]
    fail(OPD_INVALID_ARGUMENT, last_part(count_name), " must be >= 0, but is ", count);
  if (!items && count != 0) [[unlikely]]
    fail_null(name, {false});
  if constexpr (!std::is_void_v<Item>) return std::span(items, static_cast<size_t>(count));
}

// Refuses NULL for each argument or struct field. The error names the first one that is NULL.
#define OPD_REQUIRE(...) ::opd::require_pointers(#__VA_ARGS__, __VA_ARGS__)

// Returns the items of an array. Refuses a negative count, and NULL if the count is not 0.
#define OPD_REQUIRE_ITEMS(items, count) ::opd::require_items(#items, items, #count, count)

// Returns the objects of an array of handles. `Pointer` is a pointer or a Ref.
template <class Pointer, class Handle>
std::vector<Pointer> objects_of(std::span<Handle *const> handles, const char *name) {
  std::vector<Pointer> objects;
  for (Handle *const handle : handles) {
    require(handle, name, "[", objects.size(), "] must not be NULL");
    auto *const object = unwrap<std::remove_cvref_t<decltype(*std::declval<Pointer>())>>(handle);
    if constexpr (std::is_pointer_v<Pointer>) objects.push_back(object);
    else objects.push_back(Pointer::share(object));
  }
  return objects;
}

inline void require_index(int32_t index, size_t count, const char *of, const char *items) {
  if (index < 0 || static_cast<size_t>(index) >= count)
    fail(OPD_OUT_OF_RANGE, "index ", index, " of ", of, " of ", count, " ", items);
}

inline Args args_of(const opd_value *args, int32_t num_args) { return OPD_REQUIRE_ITEMS(args, num_args); }

// Returns a count as the C API's type. Containers have no more items (value.cc), and no memory holds more of the rest.
inline int32_t count_of_items(size_t count) { return static_cast<int32_t>(std::min<size_t>(count, INT32_MAX)); }

// The largest struct that a caller may pass. A larger struct_size is probably uninitialised memory.
constexpr uint32_t kMaxStructSize = 4096;

// Checks struct_size, the size of `Struct` in the caller's header.
template <class Struct>
void require_struct_size(uint32_t size, const char *remedy) {
  require(size >= sizeof(uint32_t) && size <= kMaxStructSize && size % alignof(Struct) == 0, "struct_size is ", size,
          "; ", remedy);
}

// Reads a caller's struct over `full`, which has the defaults. If the caller's header is older, the last fields are
// missing and keep their defaults. If it is newer, its additional fields must be 0.
template <class Struct>
void read_sized(const Struct &given, Struct &full, const char *remedy) {
  const uint32_t size = given.struct_size;
  require_struct_size<Struct>(size, remedy);
  const auto *bytes = reinterpret_cast<const unsigned char *>(&given);
  for (size_t i = sizeof(Struct); i < size; ++i)
    if (bytes[i])
      fail(OPD_UNSUPPORTED, "the struct uses a field at byte ", i, " that this version of opdyno (", kVersion,
           ") does not know");
  std::memcpy(&full, &given, std::min<size_t>(size, sizeof(Struct)));
  full.struct_size = sizeof(Struct);
}

// Reads a caller's options. NULL means defaults. `init` is the header's function for them.
template <class Options>
Options read_options(const Options *given, void (*init)(Options *)) {
  Options full;
  init(&full);
  if (given) read_sized(*given, full, "call the options' _init function first");
  return full;
}

// Reads a caller's table of functions. Functions that the caller's header lacks become NULL.
template <class Table>
Table read_table(const Table &given) {
  Table full{};
  read_sized(given, full, "set it to the size of the struct");
  return full;
}

// Checks the caller's struct for results before any results are computed.
template <class Stats>
void require_sized(const Stats &out) {
  require_struct_size<Stats>(out.struct_size, "set it to the size of the struct");
}

// Determines how many bytes of the caller's result struct are filled: as many as both headers have. Fields that only
// the caller's header has become 0.
template <class Stats>
void begin_sized(Stats *out) {
  require_sized(*out);
  const uint32_t size = out->struct_size, filled = std::min<uint32_t>(size, sizeof *out);
  std::memset(reinterpret_cast<char *>(out) + filled, 0, size - filled);
  out->struct_size = filled;
}

// Writes the results that the caller's header has.
template <class Stats>
void write_sized(Stats stats, Stats *out) {
  begin_sized(out);
  stats.struct_size = out->struct_size;
  std::memcpy(out, &stats, stats.struct_size);
}

}  // namespace opd
