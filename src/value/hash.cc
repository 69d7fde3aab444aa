#include "value/hash.h"

#include <cstring>

#include "value/function.h"
#include "value/type_table.h"

namespace opd {
namespace {

uint64_t combine(uint64_t key, uint64_t value) { return key ^ (value + 0x9e3779b9 + (key << 6) + (key >> 2)); }

// Returns OPD_STRING or OPD_BYTES for all kinds of text or bytes, else the type itself.
int32_t kind_of(const View &v) {
  if (is_text(v)) return OPD_STRING;
  return is_bytes(v) ? int32_t{OPD_BYTES} : v.type;
}

// Returns a type's own function: a function object, or the address of native code.
const View *own_function(const AttributeColumn *column, const View &v) {
  if (!column || !is_object(v) || !v.u.object) return nullptr;
  if (v.type < column->begin || v.type - column->begin >= column->size) return nullptr;
  const View &function = column->data[v.type - column->begin];
  return function.type == OPD_NONE ? nullptr : &function;
}

template <class... Operands>
int64_t call_own(const View &function, const Operands &...operands) {
  Value result;
  if (function.type == OPD_POINTER) {
    result = Value::take(reinterpret_cast<View (*)(const Operands &...) noexcept>(function.u.pointer)(operands...));
  } else {
    const View args[] = {operands...};
    result = call(as<Function>(function, "a type's own hash or equality"), args);
  }
  if (const auto *error = try_as<Error>(result)) throw Exception(as_own(const_cast<Error &>(*error)));
  return as_int(result, "the result of a type's own hash or equality");
}

}  // namespace

uint64_t stable_hash(std::string_view bytes) {
  constexpr uint64_t kFactor = 1099511628211u, kModulus = 2147483647u;
  uint64_t hash = 0;
  for (; !bytes.empty(); bytes.remove_prefix(std::min<size_t>(8, bytes.size()))) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), std::min<size_t>(8, bytes.size()));
    hash = (hash * kFactor + word) % kModulus;
  }
  return hash;
}

uint64_t hash_key(const View &key) {
  static const AttributeColumn *const own = attribute_column("__any_hash__");
  const int32_t kind = kind_of(key);
  if (kind == OPD_STRING || kind == OPD_BYTES)
    return combine(static_cast<uint64_t>(kind), stable_hash(as_text(key, "a key")));
  if (const View *function = own_function(own, key))
    return combine(static_cast<uint64_t>(kind), static_cast<uint64_t>(call_own(*function, key)));
  return combine(static_cast<uint64_t>(kind), static_cast<uint64_t>(key.u.int64));
}

bool equal_keys(const View &a, const View &b) {
  static const AttributeColumn *const own = attribute_column("__any_equal__");
  const int32_t kind = kind_of(a);
  if (kind != kind_of(b)) return false;
  if (kind == OPD_STRING || kind == OPD_BYTES) return as_text(a, "a key") == as_text(b, "a key");
  if (a.u.int64 == b.u.int64) return true;
  const View *function = own_function(own, a);
  return function && b.u.object && call_own(*function, a, b) != 0;
}

}  // namespace opd
