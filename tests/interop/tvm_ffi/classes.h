// Classes as Python's front end registers them: fields at offsets, each with a getter and a setter.
#pragma once
#include <cstdlib>
#include <cstring>

#include "interop/tvm_ffi/globals.h"

extern "C" {
int32_t TVMFFITypeGetOrAllocIndex(const tvm_ffi_test::Text *key, int32_t index, int32_t depth, int32_t slots,
                                  int32_t overflow, int32_t parent);
int TVMFFITypeRegisterField(int32_t type, const tvm_ffi_test::Field *field);
int TVMFFITypeRegisterAttr(int32_t type, const tvm_ffi_test::Text *name, const opd_value *value);
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
}

namespace tvm_ffi_test {

enum Flag : int64_t {
  kHasDefault = 1 << 1,
  kDefaultFromFactory = 1 << 5,
  kReprOff = 1 << 6,
  kCompareOff = 1 << 7,
  kHashOff = 1 << 8,
  kInitOff = 1 << 9,
  kKeywordOnly = 1 << 10,
  kSetterIsFunction = 1 << 11
};

inline constexpr int32_t kAny = -1;

// What the front end does with a value before it is stored. Here a text "refused" is.
inline int convert(void *, const opd_value *value, opd_value *out) {
  const char *data = nullptr;
  size_t size = 0;
  opd_error *error = opd_string_get(value, &data, &size);
  const bool is_refused = !error && std::string_view(data, size) == "refused";
  opd_error_release(error);
  if (is_refused) return TVMFFIErrorSetRaisedFromCStr("ValueError", "the converter refuses it"), -1;
  return opd_value_retain(value, out) ? -1 : 0;
}

inline Getter getter(int32_t type) { return reinterpret_cast<Getter>(call("ffi.MakeFieldGetter", {type}).raw.u.int64); }
inline Value setter(int32_t type) {
  return call("ffi.MakeFieldSetter", {type, 0, static_cast<int64_t>(reinterpret_cast<intptr_t>(&convert))});
}

// A class with an object's header of 24 bytes and these fields: `number` without a default; `any` with one; `part`, an
// object, from a factory; `word`, of keywords only; `own`, which the constructor does not take.
inline constexpr int64_t kClassBytes = 24 + 8 + 16 + 8 + 16 + 8;

inline int32_t make_class(const char *key) {
  const Text text(key);
  const int32_t type = TVMFFITypeGetOrAllocIndex(&text, -1, 1, 0, 1, OPD_OBJECT);
  const auto add = [&](const char *name, int32_t kind, int64_t offset, int64_t size, int64_t flags, Value preset = {}) {
    Field field;
    const Value set = setter(kind);
    field.name = name;
    field.flags = flags | kSetterIsFunction;
    field.size = size, field.offset = offset;
    field.getter = getter(kind);
    field.setter = set.raw.u.object;
    field.default_value = preset.raw;
    field.static_type = kind;
    EXPECT_EQ(TVMFFITypeRegisterField(type, &field), 0);
  };
  add("any", kAny, 32, 16, kHasDefault, "preset");
  add("number", OPD_INT, 24, 8, 0);
  Value factory;
  opd_function *function = nullptr;
  opd_error *error = opd_function_get_global("ffi.List", &function);
  EXPECT_EQ(error, nullptr);
  factory.raw.type = OPD_FUNCTION, factory.raw.u.object = reinterpret_cast<opd_object *>(function);
  add("part", OPD_OBJECT, 48, 8, kHasDefault | kDefaultFromFactory, factory);
  add("word", kAny, 56, 16, kKeywordOnly);
  add("own", OPD_INT, 72, 8, kInitOff | kReprOff);
  call("ffi._PyClassRegisterTypeAttrColumns", {type, kClassBytes});
  EXPECT_EQ(last_error, "");
  return type;
}

}  // namespace tvm_ffi_test
