// What tvm-ffi's own types tell of themselves: fields, methods, kinds. The numbers and texts are those of its headers
// and of its schema of types.
#include "interop/tvm_ffi/classes.h"

using namespace tvm_ffi_test;

namespace {

struct Metadata {  // TVMFFITypeMetadata
  Text doc;
  int (*creator)(void **out);
  int32_t total_size, structural_kind;
};
std::string view(const Text &text) { return {text.data ? text.data : "", text.size}; }
std::string quoted(std::string schema) {
  for (size_t at = 0; (at = schema.find('"', at)) != std::string::npos; at += 2) schema.insert(at, "\\");
  return "{\"type_schema\":\"" + schema + "\"}";
}

TEST(DescribedTypes, HaveTheirKindAndMayBeMade) {
  struct Case {
    const char *key;
    int32_t structural_kind;  // 0: unsupported, 4: constant tree, 5: unique instance
    bool is_made, is_final;
  };
  for (const auto &[key, structural_kind, is_made, is_final] : {Case{"ffi.reflection.AccessStep", 4, false, true},
                                                                {"ffi.reflection.AccessPath", 4, false, true},
                                                                {"ffi.EnumState", 0, true, true},
                                                                {"ffi.Enum", 5, true, false},
                                                                {"ffi.IntEnum", 5, true, true},
                                                                {"ffi.StrEnum", 5, true, true}}) {
    const Type *type = type_of(key);
    ASSERT_TRUE(type && type->metadata) << key;
    const auto &metadata = *static_cast<const Metadata *>(type->metadata);
    EXPECT_EQ(metadata.structural_kind, structural_kind) << key;
    EXPECT_EQ(metadata.creator != nullptr, is_made) << key;
    EXPECT_GT(metadata.total_size, 24) << key;
    const opd_value *final = attribute_of(key, "__ffi_type_final__");
    ASSERT_TRUE(final) << key;
    EXPECT_EQ(final->type, OPD_BOOL) << key;
    EXPECT_EQ(final->u.int64 != 0, is_final) << key;
  }
  EXPECT_EQ(type_of("ffi.VisitInterrupt")->index, 77);
  for (const char *key : {"ffi.StructuralKey", "ffi.StructuralVisitor", "ffi.StructuralMutator"})
    EXPECT_GE(type_of(key)->index, 128) << key;
  // C++ asks for these columns once, and keeps what it gets.
  for (const char *name : {"__ffi_new__", "__ffi_init__", "__ffi_shallow_copy__", "__ffi_hash__", "__ffi_eq__",
                           "__ffi_compare__", "__ffi_convert__", "__ffi_repr__", "__data_to_json__",
                           "__data_from_json__", "__ffi_enum__", "__any_hash__", "__any_equal__"}) {
    const Text text(name);
    EXPECT_NE(TVMFFIGetTypeAttrColumn(&text), nullptr) << name;
  }
}

TEST(DescribedTypes, HaveFieldsOfTheirTypes) {
  constexpr int64_t kNoInit = 1 << 9;
  constexpr int32_t kAnyType = -1;
  const std::string any = R"({"type":"Any"})", integer = R"({"type":"int"})", string = R"({"type":"ffi.String"})",
                    dict = R"({"type":"ffi.Dict","args":[{"type":"Any"},{"type":"Any"}]})";
  struct Case {
    const char *key, *field;
    int64_t size, flags;
    int32_t static_type;
    std::string schema;
  };
  for (const auto &[key, name, size, flags, static_type, schema] :
       {Case{"ffi.reflection.AccessStep", "kind", 4, 0, OPD_INT, integer},
        {"ffi.reflection.AccessStep", "key", 16, 0, kAnyType, any},
        {"ffi.reflection.AccessPath", "parent", 8, 0, OPD_OBJECT,
         R"({"type":"Optional","args":[{"type":"ffi.Object"}]})"},
        {"ffi.reflection.AccessPath", "step", 8, 0, OPD_OBJECT,
         R"({"type":"Optional","args":[{"type":"ffi.reflection.AccessStep"}]})"},
        {"ffi.reflection.AccessPath", "depth", 4, 0, OPD_INT, integer},
        {"ffi.EnumState", "entries", 8, kNoInit, OPD_OBJECT, R"({"type":"ffi.List","args":[{"type":"ffi.Object"}]})"},
        {"ffi.EnumState", "indexes", 8, kNoInit, OPD_OBJECT, dict},
        {"ffi.EnumState", "attrs", 8, kNoInit, OPD_OBJECT, dict},
        {"ffi.Enum", "_int_index", 8, 0, OPD_INT, integer},
        {"ffi.Enum", "_str_index", 16, 0, kAnyType, string},
        {"ffi.IntEnum", "value", 8, kNoInit, OPD_INT, integer},
        {"ffi.StrEnum", "value", 16, kNoInit, kAnyType, string}}) {
    const Field *field = field_of(type_of(key)->index, name);
    ASSERT_TRUE(field) << key;
    EXPECT_EQ(field->size, size) << name;
    EXPECT_EQ(field->alignment, size < 8 ? size : 8) << name;
    EXPECT_EQ(field->flags, flags) << name;
    EXPECT_EQ(field->static_type, static_type) << name;
    EXPECT_GE(field->offset, 24) << name;
    EXPECT_EQ(view(field->metadata), quoted(schema)) << name;
  }
  const auto offset = [](const char *key, const char *name) { return field_of(type_of(key)->index, name)->offset; };
  EXPECT_EQ(offset("ffi.IntEnum", "value"), offset("ffi.Enum", "_int_index"));
  EXPECT_EQ(offset("ffi.StrEnum", "value"), offset("ffi.Enum", "_str_index"));
}

TEST(DescribedTypes, HaveMethodsWithTheirSignatures) {
  constexpr int64_t kStatic = 1 << 2;
  const std::string path = R"({"type":"ffi.reflection.AccessPath"})", step = R"({"type":"ffi.reflection.AccessStep"})";
  const auto signature = [](const std::string &result, const std::string &params) {
    return quoted(R"({"type":"ffi.Function","named_args":{"return":[)" + result + R"(],"params":[)" + params + "]}}");
  };
  const std::string string = path + R"(,{"type":"ffi.String"})", integer = path + R"(,{"type":"int"})",
                    any = path + R"(,{"type":"Any"})", flag = R"({"type":"bool"})";
  struct Case {
    const char *name;
    int64_t flags;
    std::string metadata;
  };
  const Case cases[] = {
      {"_root", kStatic, signature(path, "")},
      {"_extend", 0, signature(path, path + "," + step)},
      {"_attr", 0, signature(path, string)},
      {"_array_item", 0, signature(path, integer)},
      {"_map_item", 0, signature(path, any)},
      {"_attr_missing", 0, signature(path, string)},
      {"_array_item_missing", 0, signature(path, integer)},
      {"_map_item_missing", 0, signature(path, any)},
      {"_is_prefix_of", 0, signature(flag, path + "," + path)},
      {"_to_steps", 0, signature(R"({"type":"ffi.Array","args":[{"type":"ffi.reflection.AccessStep"}]})", path)},
      {"_path_equal", 0, signature(flag, path + "," + path)}};
  const Type *type = type_of("ffi.reflection.AccessPath");
  ASSERT_EQ(type->num_methods, static_cast<int32_t>(std::size(cases)));
  for (int32_t i = 0; i < type->num_methods; ++i) {
    EXPECT_EQ(view(type->methods[i].name), cases[i].name);
    EXPECT_EQ(type->methods[i].flags, cases[i].flags) << cases[i].name;
    EXPECT_EQ(view(type->methods[i].metadata), cases[i].metadata) << cases[i].name;
    EXPECT_EQ(type->methods[i].method.type, OPD_FUNCTION) << cases[i].name;
  }
  const Type *state = type_of("ffi.EnumState");
  ASSERT_EQ(state->num_methods, 1);
  EXPECT_EQ(view(state->methods[0].metadata), signature(R"({"type":"ffi.Object"})", ""));
  EXPECT_EQ(state->methods[0].flags, kStatic);
  EXPECT_EQ(repr(invoke(state->methods[0].method, {})), "ffi.EnumState(entries=[], indexes={}, attrs={})");
  invoke(state->methods[0].method, {1});
  EXPECT_EQ(last_error, "TypeError: __ffi_init__ takes 0 arguments, but was given 1");
}

// ---- enums

Value enum_of(const char *key, const Value &value) {
  return std::string(key) == "ffi.Enum"
             ? call("ffi.MakeObjectFromPackedArgs", {key, "_int_index", 3, "_str_index", "three"})
             : call("ffi.MakeObjectFromPackedArgs", {key, "_int_index", 3, "_str_index", "three", "value", value});
}

TEST(Enums, AreKeptInGraphsByTheirNumberOrTheirName) {
  const auto graph = [](const char *key, const std::string &data) {
    return R"({"root_index":0,"nodes":[{"type":")" + std::string(key) + R"(","data":)" + data + "}]}";
  };
  EXPECT_EQ(graph_of(enum_of("ffi.Enum", {})), graph("ffi.Enum", "\"three\""));
  EXPECT_EQ(graph_of(enum_of("ffi.StrEnum", "three")), graph("ffi.StrEnum", "\"three\""));
  EXPECT_EQ(graph_of(enum_of("ffi.IntEnum", 3)), graph("ffi.IntEnum", "3"));
  // The items are in the type's state.
  const Text key("test.Colour");
  const int32_t type = TVMFFITypeGetOrAllocIndex(&key, -1, 2, 0, 1, type_of("ffi.Enum")->index);
  ASSERT_GE(type, 128);
  const Value red = enum_of("ffi.Enum", {});
  const Value state =
      call("ffi.MakeObjectFromPackedArgs", {"ffi.EnumState", "entries", call("ffi.List", {red}), "indexes",
                                            call("ffi.Dict", {"red", red, 7, red}), "attrs", call("ffi.Dict", {})});
  ASSERT_EQ(last_error, "");
  const Text column("__ffi_enum__");
  ASSERT_EQ(TVMFFITypeRegisterAttr(type, &column, &state.raw), 0);
  for (const char *data : {"\"red\"", "7"}) {
    const Value back = call("ffi.FromJSONGraphString", {graph("test.Colour", data).c_str()});
    EXPECT_EQ(last_error, "");
    EXPECT_EQ(back.raw.u.object, red.raw.u.object) << "the item itself";
  }
  call("ffi.FromJSONGraphString", {graph("test.Colour", "\"blue\"").c_str()});
  EXPECT_EQ(last_error, "RuntimeError: enum `test.Colour` has no member \"blue\"");
}

TEST(Enums, AreNotCopied) {
  const Value item = enum_of("ffi.IntEnum", 3), copy = call("ffi.DeepCopy", {call("ffi.List", {item})});
  EXPECT_EQ(call("ffi.ListGetItem", {copy, 0}).raw.u.object, item.raw.u.object);
  EXPECT_EQ(repr(item), "ffi.IntEnum.three");
}

}  // namespace
