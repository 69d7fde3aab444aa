// C functions for objects, their types, and errors.
#include <cstring>

#include "base/thread_state.h"
#include "tvmffi/groups.h"
#include "value/dtype.h"
#include "value/type_table.h"

namespace opd {
namespace {

// ---- objects and values: reference counts, ownership, strings, dtypes

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
    require(out, "TVMFFIStringFromByteArray: out must not be NULL");
    *out = Value(text_of(bytes, "TVMFFIStringFromByteArray")).detach();
  });
}

static int TVMFFIBytesFromByteArray(const ByteArray *bytes, View *out) {
  return raising([&] {
    require(out, "TVMFFIBytesFromByteArray: out must not be NULL");
    *out = make_bytes(text_of(bytes, "TVMFFIBytesFromByteArray")).detach();
  });
}

static int TVMFFIDataTypeFromString(const ByteArray *text, DLDataType *out) {
  return raising([&] {
    require(out, "TVMFFIDataTypeFromString: out must not be NULL");
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

// ---- integers of more than 64 bits: 64-bit words in two's complement, the lowest first, without redundant words

struct BigInt final : Object {  // the words follow inline
  static int32_t type() { return kBigInt; }
  size_t count = 0;
  int64_t *words() { return reinterpret_cast<int64_t *>(this + 1); }
};

int64_t word_at(const char *data, size_t i) {
  int64_t word;
  std::memcpy(&word, data + i * sizeof word, sizeof word);
  return word;
}

extern "C" {

static int TVMFFIBigIntFromByteArray(const ByteArray *bytes, View *out) {
  return raising([&] {
    require(out, "TVMFFIBigIntFromByteArray: out must not be NULL");
    const std::string_view text = text_of(bytes, "TVMFFIBigIntFromByteArray");
    require(text.size() % sizeof(int64_t) == 0, "BigInt content must contain whole 64-bit words, but has ", text.size(),
            " bytes");
    size_t count = text.size() / sizeof(int64_t);
    // The highest word is redundant if it only repeats the sign of the next lower one.
    while (count > 1 && word_at(text.data(), count - 1) == word_at(text.data(), count - 2) >> 63) --count;
    if (count <= 1) {
      *out = opd_int(count ? word_at(text.data(), 0) : 0);
      return;
    }
    auto number = make_object_sized<BigInt>(count * sizeof(int64_t));
    number->count = count;
    std::memcpy(number->words(), text.data(), count * sizeof(int64_t));
    *out = Value(std::move(number)).detach();
  });
}

static ByteArray TVMFFIBigIntGetContentByteArray(const View *value) {
  if (value && (value->type == OPD_INT || value->type == OPD_BOOL))
    return {reinterpret_cast<const char *>(&value->u.int64), sizeof(int64_t)};
  ByteArray content;
  raising([&] {
    require(value, "TVMFFIBigIntGetContentByteArray was given NULL");
    auto &number = as<BigInt>(*value, "the number");
    content = {reinterpret_cast<const char *>(number.words()), number.count * sizeof(int64_t)};
  });
  return content;
}

}  // extern "C"

// ---- object types and their registered fields, methods and attributes

extern "C" {

static int TVMFFITypeKeyToIndex(const ByteArray *key, int32_t *out_index) {
  return raising([&] {
    require(out_index, "TVMFFITypeKeyToIndex: out_tindex must not be NULL");
    const std::string_view name = text_of(key, "TVMFFITypeKeyToIndex");
    const TypeInfo *type = find_type(name);
    if (!type) fail_as("RuntimeError", OPD_NOT_FOUND, "Cannot find type `", name, "`");
    *out_index = type->index;
  });
}

// On errors, returns -1 with a raised error. tvm-ffi aborts the process.
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
    require(field, "TVMFFITypeRegisterField: info must not be NULL");
    add_field(type, *field);
  });
}

static int TVMFFITypeRegisterMethod(int32_t type, const MethodInfo *method) {
  return raising([&] {
    require(method, "TVMFFITypeRegisterMethod: info must not be NULL");
    add_method(type, *method);
  });
}

static int TVMFFITypeRegisterMetadata(int32_t type, const TypeMetadata *metadata) {
  return raising([&] {
    require(metadata, "TVMFFITypeRegisterMetadata: metadata must not be NULL");
    set_metadata(type, *metadata);
  });
}

static int TVMFFITypeRegisterAttr(int32_t type, const ByteArray *name, const View *value) {
  return raising([&] {
    require(value, "TVMFFITypeRegisterAttr: attr_value must not be NULL");
    set_attribute(type, text_of(name, "TVMFFITypeRegisterAttr"), *value);
  });
}

static const AttributeColumn *TVMFFIGetTypeAttrColumn(const ByteArray *name) {
  const AttributeColumn *column = nullptr;
  raising([&] { column = attribute_column(text_of(name, "TVMFFIGetTypeAttrColumn")); });
  return column;
}

}  // extern "C"

// ---- errors, which go to the calling thread's error slot

// Makes an error that compiled code raises. Its kind and message stay unchanged.
Ref<Error> raised_error(const char *kind, std::string_view message) {
  return make_error(OPD_CALL_FAILED, message, kind && *kind ? kind : "RuntimeError");
}

extern "C" {

static void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) {
  set_raised(raised_error(kind, message ? message : ""));
}

static void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int32_t num_parts) {
  raising([&] {
    std::string message;
    for (int32_t i = 0; parts && i < num_parts; ++i)
      if (parts[i]) message += parts[i];
    set_raised(raised_error(kind, message));
  });
}

static void TVMFFIErrorSetRaised(void *error) {
  raising([&] { set_raised(Ref<Error>::share(&object_at<Error>(error, "TVMFFIErrorSetRaised"))); });
}

static void TVMFFIErrorMoveFromRaised(void **out_error) {
  if (out_error) *out_error = std::exchange(thread_state().raised, nullptr);
}

static int TVMFFIErrorCreateWithCauseAndExtraContext(const ByteArray *kind, const ByteArray *message,
                                                     const ByteArray *backtrace, void *cause, void *extra_context,
                                                     void **out_error) {
  return raising([&] {
    constexpr const char *function = "TVMFFIErrorCreate";
    require(out_error, function, ": out must not be NULL");
    const std::string name(text_of(kind, function));
    auto error = raised_error(name.c_str(), text_of(message, function));
    if (backtrace && backtrace->size) error->set_backtrace(text_of(backtrace, function), false);
    if (cause) error->set_cause(Ref<Error>::share(&object_at<Error>(cause, function)));
    error->extra_context = static_cast<Object *>(extra_context);
    if (extra_context) retain(error->extra_context);
    *out_error = static_cast<Object *>(error.detach());
  });
}

static int TVMFFIErrorCreate(const ByteArray *kind, const ByteArray *message, const ByteArray *backtrace,
                             void **out_error) {
  return TVMFFIErrorCreateWithCauseAndExtraContext(kind, message, backtrace, nullptr, nullptr, out_error);
}

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wexit-time-destructors"  // they are destroyed when their thread ends
#endif

// Formats a backtrace line for a place in foreign C++. The line is valid until the thread's next call.
static const ByteArray *TVMFFIBacktrace(const char *file, int line, const char *function, int) {
  static thread_local std::string text;
  static thread_local ByteArray bytes;
  raising([&] {
    text.clear();
    if (file && function) text = concat("  File \"", file, "\", line ", line, ", in ", function, "\n");
  });
  bytes = bytes_of(text);
  return &bytes;
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
      {"TVMFFIBigIntFromByteArray", address_of(TVMFFIBigIntFromByteArray)},
      {"TVMFFIBigIntGetContentByteArray", address_of(TVMFFIBigIntGetContentByteArray)},
      {"TVMFFITypeKeyToIndex", address_of(TVMFFITypeKeyToIndex)},
      {"TVMFFITypeGetOrAllocIndex", address_of(TVMFFITypeGetOrAllocIndex)},
      {"TVMFFIGetTypeInfo", address_of(TVMFFIGetTypeInfo)},
      {"TVMFFITypeRegisterField", address_of(TVMFFITypeRegisterField)},
      {"TVMFFITypeRegisterMethod", address_of(TVMFFITypeRegisterMethod)},
      {"TVMFFITypeRegisterMetadata", address_of(TVMFFITypeRegisterMetadata)},
      {"TVMFFITypeRegisterAttr", address_of(TVMFFITypeRegisterAttr)},
      {"TVMFFIGetTypeAttrColumn", address_of(TVMFFIGetTypeAttrColumn)},
      {"TVMFFIErrorSetRaisedFromCStr", address_of(TVMFFIErrorSetRaisedFromCStr)},
      {"TVMFFIErrorSetRaisedFromCStrParts", address_of(TVMFFIErrorSetRaisedFromCStrParts)},
      {"TVMFFIErrorSetRaised", address_of(TVMFFIErrorSetRaised)},
      {"TVMFFIErrorMoveFromRaised", address_of(TVMFFIErrorMoveFromRaised)},
      {"TVMFFIErrorCreate", address_of(TVMFFIErrorCreate)},
      {"TVMFFIErrorCreateWithCauseAndExtraContext", address_of(TVMFFIErrorCreateWithCauseAndExtraContext)},
      {"TVMFFIBacktrace", address_of(TVMFFIBacktrace)},
  };
  return symbols;
}

}  // namespace opd
