// C functions for object types and their registered fields, methods and attributes.
#include "tvmffi/groups.h"
#include "tvmffi/raising.h"
#include "value/type_table.h"

namespace opd {
namespace {

extern "C" {

static int TVMFFITypeKeyToIndex(const ByteArray *key, int32_t *out_index) {
  return raising([&] {
    require(out_index, "TVMFFITypeKeyToIndex was given no place for the index");
    const std::string_view name = text_of(key, "TVMFFITypeKeyToIndex");
    const TypeInfo *type = find_type(name);
    if (!type) fail_as("RuntimeError", OPD_NOT_FOUND, "Cannot find type `", name, "`");
    *out_index = type->index;
  });
}

// On errors, returns -1 with a raised error. tvm-ffi ends the process.
static int32_t TVMFFITypeGetOrAllocIndex(const ByteArray *key, int32_t static_index, int32_t depth, int32_t child_slots,
                                         int32_t may_overflow, int32_t parent) {
  int32_t index = -1;
  raising([&] {
    index = get_or_make_type(
        {text_of(key, "TVMFFITypeGetOrAllocIndex"), static_index, depth, child_slots, may_overflow != 0, parent});
  });
  return index;
}

static const TypeInfo *TVMFFIGetTypeInfo(int32_t index) {
  const TypeInfo *type = find_type(index);
  if (!type) [[unlikely]]
    raising([&] { fail_as("RuntimeError", OPD_NOT_FOUND, "there is no type of index ", index); });
  return type;
}

static int TVMFFITypeRegisterField(int32_t type, const FieldInfo *field) {
  return raising([&] {
    require(field, "TVMFFITypeRegisterField was given no field");
    add_field(type, *field);
  });
}

static int TVMFFITypeRegisterMethod(int32_t type, const MethodInfo *method) {
  return raising([&] {
    require(method, "TVMFFITypeRegisterMethod was given no method");
    add_method(type, *method);
  });
}

static int TVMFFITypeRegisterMetadata(int32_t type, const TypeMetadata *metadata) {
  return raising([&] {
    require(metadata, "TVMFFITypeRegisterMetadata was given no metadata");
    set_metadata(type, *metadata);
  });
}

static int TVMFFITypeRegisterAttr(int32_t type, const ByteArray *name, const View *value) {
  return raising([&] {
    require(value, "TVMFFITypeRegisterAttr was given no value");
    set_attribute(type, text_of(name, "TVMFFITypeRegisterAttr"), *value);
  });
}

static const AttributeColumn *TVMFFIGetTypeAttrColumn(const ByteArray *name) {
  const AttributeColumn *column = nullptr;
  raising([&] { column = attribute_column(text_of(name, "TVMFFIGetTypeAttrColumn")); });
  return column;
}

}  // extern "C"
}  // namespace

std::span<const ProvidedSymbol> type_symbols() {
  static const ProvidedSymbol symbols[] = {
      {"TVMFFITypeKeyToIndex", address_of(TVMFFITypeKeyToIndex)},
      {"TVMFFITypeGetOrAllocIndex", address_of(TVMFFITypeGetOrAllocIndex)},
      {"TVMFFIGetTypeInfo", address_of(TVMFFIGetTypeInfo)},
      {"TVMFFITypeRegisterField", address_of(TVMFFITypeRegisterField)},
      {"TVMFFITypeRegisterMethod", address_of(TVMFFITypeRegisterMethod)},
      {"TVMFFITypeRegisterMetadata", address_of(TVMFFITypeRegisterMetadata)},
      {"TVMFFITypeRegisterAttr", address_of(TVMFFITypeRegisterAttr)},
      {"TVMFFIGetTypeAttrColumn", address_of(TVMFFIGetTypeAttrColumn)},
  };
  return symbols;
}

}  // namespace opd
