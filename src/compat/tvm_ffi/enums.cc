// Registers base classes of Python's object enums, and types that Python names but this library does not use.
#include "compat/tvm_ffi/describe.h"
#include "compat/tvm_ffi/list.h"

namespace opd {
namespace {

constexpr const char *kStringSchema = R"({"type":"ffi.String"})";
constexpr const char *kDictSchema = R"({"type":"ffi.Dict","args":[{"type":"Any"},{"type":"Any"}]})";

struct EnumState final : Object {
  static int32_t type() { return registered_type<"ffi.EnumState">(); }
  Ref<List> entries = List::make({});
  Ref<Dict> indexes = make_object<Dict>(), attributes = make_object<Dict>();
};

struct Enum : Object {
  static int32_t type() { return registered_type<"ffi.Enum">(); }
  int64_t number = 0;
  Value name{""};
};

template <class T>
int create(void **out) {
  *out = static_cast<Object *>(make_object<T>().detach());
  return 0;
}

template <Literal kKey>
struct EnumOf final : Enum {
  static int32_t type() {
    static const int32_t index = get_or_make_type({.key = kKey.text, .depth = 2, .parent = Enum::type()});
    return index;
  }
};
using IntEnum = EnumOf<"ffi.IntEnum">;
using StrEnum = EnumOf<"ffi.StrEnum">;

}  // namespace

void define_enums() {
  static const TypeDescription<EnumState> state(kUnsupported, create<EnumState>);
  state.field<&EnumState::entries>("entries", R"({"type":"ffi.List","args":[{"type":"ffi.Object"}]})", kFieldInitOff)
      .template field<&EnumState::indexes>("indexes", kDictSchema, kFieldInitOff)
      .template field<&EnumState::attributes>("attrs", kDictSchema, kFieldInitOff);
  state.method(
      "__ffi_init__", {"ffi.Object"}, [](Args) { return Value(make_object<EnumState>()); }, kFieldStaticMethod);
  state.attribute("__ffi_init__", 0, [](Args) { return Value(make_object<EnumState>()); });
  static const TypeDescription<Enum> base(kUnique, create<Enum>);
  base.field<&Enum::number>("_int_index").template field<&Enum::name>("_str_index", kStringSchema);
  static const TypeDescription<IntEnum> numbers(kUnique, create<IntEnum>);
  numbers.field<&IntEnum::number>("value", nullptr, kFieldInitOff);
  static const TypeDescription<StrEnum> names(kUnique, create<StrEnum>);
  names.field<&StrEnum::name>("value", kStringSchema, kFieldInitOff);
  set_attribute(OPD_NONE, "__ffi_enum__", opd_none());  // only makes the column

  get_or_make_type({.key = "ffi.VisitInterrupt", .static_index = 77});
  for (const char *key : {"ffi.StructuralKey", "ffi.StructuralVisitor", "ffi.StructuralMutator"}) register_type(key);
}

}  // namespace opd
