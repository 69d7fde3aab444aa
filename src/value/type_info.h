// Descriptions of object types for tvm-ffi's C++ and Python. The layouts equal those of its c_api.h.
#pragma once
#include "value/value.h"

namespace opd {

enum FieldFlag : int64_t {
  kFieldHasDefault = 1 << 1,
  kFieldStaticMethod = 1 << 2,
  kFieldDefaultFromFactory = 1 << 5,
  kFieldReprOff = 1 << 6,
  kFieldCompareOff = 1 << 7,
  kFieldHashOff = 1 << 8,
  kFieldInitOff = 1 << 9,
  kFieldKwOnly = 1 << 10,
  kFieldSetterIsFunction = 1 << 11,
};

using FieldGetter = int (*)(void *field, View *out);
using FieldSetter = int (*)(void *field, const View *value);

struct FieldInfo {
  ByteArray name, doc, metadata;
  int64_t flags = 0, size = 0, alignment = 0, offset = 0;
  FieldGetter getter = nullptr;
  void *setter = nullptr;  // a FieldSetter, or a Function if kFieldSetterIsFunction
  View default_value = opd_none();
  int32_t static_type = 0;
};

struct MethodInfo {
  ByteArray name, doc, metadata;
  int64_t flags = 0;
  View method = opd_none();
};

struct TypeMetadata {
  ByteArray doc;
  int (*creator)(void **out_object) = nullptr;
  int32_t total_size = 0;
  int32_t structural_kind = 0;
};

struct AttributeColumn {
  const View *data = nullptr;  // indexed by type index - begin
  int32_t size = 0;
  int32_t begin = 0;
};

struct TypeInfo {
  int32_t index = 0;
  int32_t depth = 0;
  ByteArray key;
  const TypeInfo **ancestors = nullptr;  // `depth` entries, the root first
  uint64_t key_hash = 0;
  int32_t num_fields = 0, num_methods = 0;
  const FieldInfo *fields = nullptr;
  const MethodInfo *methods = nullptr;
  const TypeMetadata *metadata = nullptr;
};

static_assert(sizeof(FieldInfo) == 120 && offsetof(FieldInfo, getter) == 80 && offsetof(FieldInfo, static_type) == 112);
static_assert(sizeof(MethodInfo) == 72 && sizeof(TypeMetadata) == 32 && sizeof(AttributeColumn) == 16);
static_assert(sizeof(TypeInfo) == 72 && offsetof(TypeInfo, ancestors) == 24 && offsetof(TypeInfo, fields) == 48);

inline bool is_instance(const TypeInfo &type, int32_t of) {
  if (type.index == of) return true;
  for (int32_t i = 0; i < type.depth; ++i)
    if (type.ancestors[i]->index == of) return true;
  return false;
}

}  // namespace opd
