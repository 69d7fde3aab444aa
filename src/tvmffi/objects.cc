// C functions for objects and values: reference counts, ownership, strings, dtypes.
#include "tvmffi/groups.h"
#include "tvmffi/raising.h"
#include "value/dtype.h"

namespace opd {
namespace {

extern "C" {

static int TVMFFIObjectIncRef(void *object) {
  return raising([&] {
    require(object, "TVMFFIObjectIncRef was given NULL");
    retain(static_cast<Object *>(object));
  });
}

static int TVMFFIObjectDecRef(void *object) {
  return raising([&] {
    require(object, "TVMFFIObjectDecRef was given NULL");
    release(static_cast<Object *>(object));
  });
}

static int TVMFFIAnyViewToOwnedAny(const View *view, View *out) {
  return raising([&] {
    require(view && out, "TVMFFIAnyViewToOwnedAny was given NULL");
    *out = Value(*view).detach();
  });
}

static int TVMFFIStringFromByteArray(const ByteArray *bytes, View *out) {
  return raising([&] {
    require(out, "TVMFFIStringFromByteArray was given no place for the string");
    *out = Value(text_of(bytes, "TVMFFIStringFromByteArray")).detach();
  });
}

static int TVMFFIBytesFromByteArray(const ByteArray *bytes, View *out) {
  return raising([&] {
    require(out, "TVMFFIBytesFromByteArray was given no place for the bytes");
    *out = make_bytes(text_of(bytes, "TVMFFIBytesFromByteArray")).detach();
  });
}

static int TVMFFIDataTypeFromString(const ByteArray *text, DLDataType *out) {
  return raising([&] {
    require(out, "TVMFFIDataTypeFromString was given no place for the dtype");
    *out = parse_dtype(text_of(text, "TVMFFIDataTypeFromString"));
  });
}

static int TVMFFIDataTypeToString(const DLDataType *dtype, View *out) {
  return raising([&] {
    require(dtype && out, "TVMFFIDataTypeToString was given NULL");
    *out = Value(dtype_name(*dtype)).detach();
  });
}

}  // extern "C"
}  // namespace

std::span<const ProvidedSymbol> object_symbols() {
  static const ProvidedSymbol symbols[] = {
      {"TVMFFIObjectIncRef", address_of(TVMFFIObjectIncRef)},
      {"TVMFFIObjectDecRef", address_of(TVMFFIObjectDecRef)},
      {"TVMFFIAnyViewToOwnedAny", address_of(TVMFFIAnyViewToOwnedAny)},
      {"TVMFFIStringFromByteArray", address_of(TVMFFIStringFromByteArray)},
      {"TVMFFIBytesFromByteArray", address_of(TVMFFIBytesFromByteArray)},
      {"TVMFFIDataTypeFromString", address_of(TVMFFIDataTypeFromString)},
      {"TVMFFIDataTypeToString", address_of(TVMFFIDataTypeToString)},
  };
  return symbols;
}

}  // namespace opd
