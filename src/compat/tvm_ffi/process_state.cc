// Connects base/ and value/ to the state of libopdyno through its C functions, because this library has no state of its
// own.

#include "compat/tvm_ffi/c_api.h"
#include "compat/tvm_ffi/define.h"

namespace opd {
namespace {

void check(int status) {
  if (status) throw Exception(take_raised());
}

}  // namespace

void set_raised(Ref<Error> error) noexcept { TVMFFIErrorSetRaised(static_cast<Object *>(error.get())); }

Ref<Error> take_raised() noexcept {
  void *raised = nullptr;
  TVMFFIErrorMoveFromRaised(&raised);
  const auto error = Ref<Error>::take(static_cast<Error *>(static_cast<Object *>(raised)));
  return error ? as_own(*error) : make_error(OPD_CALL_FAILED, "the function failed without saying why");
}

void register_function(std::string name, Ref<Function> function, bool override_existing, std::string metadata) {
  MethodInfo method;
  method.name = bytes_of(name);
  method.metadata = bytes_of(metadata);
  method.flags = kFieldStaticMethod;
  method.method = view_of(function.get());
  check(TVMFFIFunctionSetGlobalFromMethodInfo(&method, override_existing));
}

const TypeInfo *find_type(int32_t index) noexcept {
  static const auto find = reinterpret_cast<const TypeInfo *(*)(int32_t)>(opd_private_tvmffi_symbol("find_type"));
  return find(index);
}

int32_t get_or_make_type(const NewType &type) {
  const ByteArray key = bytes_of(type.key);
  const int32_t index =
      TVMFFITypeGetOrAllocIndex(&key, type.static_index, type.depth, type.child_slots, type.may_overflow, type.parent);
  if (index == -1) throw Exception(take_raised());
  return index;
}

int32_t register_type(std::string_view key) { return get_or_make_type({key}); }

const char *type_key(int32_t index) {
  const TypeInfo *type = find_type(index);
  return type ? type->key.data : "unknown";
}

void add_field(int32_t type, const FieldInfo &field) { check(TVMFFITypeRegisterField(type, &field)); }
void add_method(int32_t type, const MethodInfo &method) { check(TVMFFITypeRegisterMethod(type, &method)); }
void set_metadata(int32_t type, const TypeMetadata &data) { check(TVMFFITypeRegisterMetadata(type, &data)); }
void set_attribute(int32_t type, std::string_view name, const View &value) {
  const ByteArray bytes = bytes_of(name);
  check(TVMFFITypeRegisterAttr(type, &bytes, &value));
}
const AttributeColumn *attribute_column(std::string_view name) noexcept {
  const ByteArray bytes = bytes_of(name);
  return static_cast<const AttributeColumn *>(TVMFFIGetTypeAttrColumn(&bytes));
}

namespace {

// Runs before the initialisers of code that is linked to this library.
const bool defined = [] {
  // another copy of this library has defined it
  if (get_or_make_type({.key = "ffi.reflection.AccessPath", .parent = -2}) >= 0) return true;
  for (const auto group :
       {define_values, define_creation, define_containers, define_repr, define_comparisons, define_deep_copy,
        define_graphs, define_conversions, define_python_classes, define_access_paths, define_enums})
    group();
  return true;
}();

}  // namespace
}  // namespace opd
