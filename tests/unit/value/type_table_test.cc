// The table of types: what is registered is kept as it was given, and what does not fit is refused.
#include "value/type_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/refusal.h"
#include "value/function.h"
#include "value/hash.h"

namespace opd {
namespace {

int32_t made(std::string_view key, int32_t parent = OPD_OBJECT, int32_t depth = 1, int32_t slots = 0,
             bool overflow = true, int32_t index = -1) {
  return get_or_make_type({key, index, depth, slots, overflow, parent});
}

TEST(Types, HaveIndicesInTheOrderInWhichTheyAreMade) {
  const int32_t first = made("table.First", OPD_OBJECT, 1, 2), second = made("table.Second");
  EXPECT_GE(first, 128);
  EXPECT_EQ(second, first + 3) << "two are kept for types derived from the first";
  const int32_t child = made("table.First.Child", first, 2, 1), other = made("table.First.Other", first, 2);
  EXPECT_EQ(child, first + 1) << "which takes both, with one for types derived from it";
  EXPECT_EQ(other, second + 1) << "there is no room among those that are kept, but the type may have others";
  EXPECT_EQ(made("table.First.Child.Child", child, 3), child + 1);
  EXPECT_EQ(register_type("table.Second"), second);
  EXPECT_EQ(made("table.Absent", -2), -2);
  EXPECT_EQ(find_type("table.Absent"), nullptr);
  ASSERT_NE(find_type("table.First.Child"), nullptr);
  EXPECT_EQ(find_type("table.First.Child")->index, child);
  EXPECT_EQ(find_type(child)->key_hash, stable_hash("table.First.Child"));
  const auto keys = type_keys();
  EXPECT_EQ(keys.front(), "None") << "by index";
  EXPECT_LT(std::find(keys.begin(), keys.end(), "table.First.Child"),
            std::find(keys.begin(), keys.end(), "table.Second"));
  EXPECT_NE(std::find(keys.begin(), keys.end(), "table.First.Other"), keys.end());
}

TEST(Types, AreRefusedIfTheyDoNotFit) {
  const int32_t closed = made("table.Closed", OPD_OBJECT, 1, 1, false);
  EXPECT_EQ(made("table.Closed.One", closed, 2), closed + 1);
  const auto told = [](opd_code code, auto... given) { return refusal(code, [&] { made(given...); }); };
  EXPECT_EQ(told(OPD_OUT_OF_RANGE, "table.Closed.Two", closed, 2),
            "type table.Closed has no room for a further type table.Closed.Two");
  EXPECT_EQ(told(OPD_INVALID_ARGUMENT, "table.Deep", OPD_OBJECT, 2),
            "type table.Deep of depth 2 with 0 child slots does not fit below its parent ffi.Object");
  EXPECT_EQ(told(OPD_INVALID_ARGUMENT, "table.Few", OPD_OBJECT, 1, -1),
            "type table.Few of depth 1 with -1 child slots does not fit below its parent ffi.Object");
  EXPECT_EQ(told(OPD_INVALID_ARGUMENT, "table.Many", OPD_OBJECT, 1, 1 << 20),
            "type table.Many of depth 1 with 1048576 child slots does not fit below its parent ffi.Object");
  EXPECT_EQ(told(OPD_INVALID_ARGUMENT, "table.Root", -1, 0), "type table.Root has neither an index nor a parent");
  EXPECT_EQ(told(OPD_INVALID_ARGUMENT, "table.Root", -1, 1),
            "type table.Root of depth 1 with 0 child slots does not fit below its parent (none)");
  EXPECT_EQ(told(OPD_INVALID_ARGUMENT, "table.Static", OPD_OBJECT, 1, 0, true, 128),
            "type table.Static asks for index 128, which is none of a static type");
  EXPECT_EQ(told(OPD_ALREADY_EXISTS, "table.Static", OPD_OBJECT, 1, 0, true, int{OPD_TENSOR}),
            "type table.Static asks for index 70, which ffi.Tensor has");
  EXPECT_EQ(made("table.Static", OPD_OBJECT, 1, 0, true, 127), 127);
  EXPECT_EQ(told(OPD_NOT_FOUND, "table.Orphan", 1 << 20, 1), "there is no type of index 1048576");
  EXPECT_STREQ(type_key(1 << 20), "unknown");
  EXPECT_EQ(find_type((1 << 20) - 1), nullptr);
}

TEST(Types, KeepRegisteredFieldsAndAttributes) {
  const int32_t type = made("table.Described");
  {  // all texts and values are copied
    const std::string name = "field", doc = "of a field", metadata = "{}";
    FieldInfo field;
    field.name = bytes_of(name), field.doc = bytes_of(doc), field.metadata = bytes_of(metadata);
    field.size = 8, field.alignment = 4, field.offset = 40, field.static_type = OPD_INT;
    field.default_value = opd_cstring("unused");
    add_field(type, field);
    FieldInfo with_default;
    with_default.name = bytes_of("other");
    with_default.flags = kFieldHasDefault;
    const std::string text = "a default that is kept as a copy";
    with_default.default_value = opd_cstring(text.c_str());
    add_field(type, with_default);
    EXPECT_EQ(refusal(OPD_ALREADY_EXISTS, [&] { add_field(type, field); }),
              "type table.Described has a field field already");
    MethodInfo method;
    method.name = bytes_of(name), method.doc = bytes_of(doc), method.metadata = bytes_of(metadata);
    method.flags = kFieldStaticMethod;
    method.method = opd_cstring(text.c_str());
    add_method(type, method);
    TypeMetadata about;
    about.doc = bytes_of(doc);
    about.total_size = 48, about.structural_kind = 3;
    set_metadata(type, about);
    EXPECT_EQ(refusal(OPD_ALREADY_EXISTS, [&] { set_metadata(type, about); }),
              "type table.Described was described before: its reflection is registered twice, or another type has the "
              "same key");
  }
  const TypeInfo &info = *find_type(type);
  ASSERT_EQ(info.num_fields, 2);
  const FieldInfo &field = info.fields[0];
  EXPECT_EQ(text_of(field.name), "field");
  EXPECT_EQ(text_of(field.doc), "of a field");
  EXPECT_EQ(text_of(field.metadata), "{}");
  EXPECT_EQ(field.size, 8);
  EXPECT_EQ(field.alignment, 4);
  EXPECT_EQ(field.offset, 40);
  EXPECT_EQ(field.static_type, OPD_INT);
  EXPECT_EQ(field.default_value.type, OPD_NONE) << "the flag says that there is none";
  EXPECT_EQ(text_of(info.fields[1].doc), "");
  EXPECT_EQ(as_text(info.fields[1].default_value, "it"), "a default that is kept as a copy");
  ASSERT_EQ(info.num_methods, 1);
  const MethodInfo &method = info.methods[0];
  EXPECT_EQ(text_of(method.name), "field");
  EXPECT_EQ(text_of(method.doc), "of a field");
  EXPECT_EQ(text_of(method.metadata), "{}");
  EXPECT_EQ(method.flags, kFieldStaticMethod);
  EXPECT_EQ(as_text(method.method, "it"), "a default that is kept as a copy");
  ASSERT_NE(info.metadata, nullptr);
  EXPECT_EQ(text_of(info.metadata->doc), "of a field");
  EXPECT_EQ(info.metadata->total_size, 48);
  EXPECT_EQ(info.metadata->structural_kind, 3);
  EXPECT_EQ(find_type(OPD_OBJECT)->metadata->total_size, 24) << "a header";
  for (const int32_t none : {-1, 1 << 20, type + 100000}) {
    EXPECT_EQ(refusal(OPD_NOT_FOUND, [&] { add_field(none, {}); }), concat("there is no type of index ", none));
    EXPECT_EQ(refusal(OPD_NOT_FOUND, [&] { add_method(none, {}); }), concat("there is no type of index ", none));
    EXPECT_EQ(refusal(OPD_NOT_FOUND, [&] { set_metadata(none, {}); }), concat("there is no type of index ", none));
    EXPECT_EQ(refusal(OPD_NOT_FOUND, [&] { set_attribute(none, "table.a", opd_int(1)); }),
              concat("there is no type of index ", none));
  }
}

TEST(Types, KeepTheSettersThatAreFunctions) {
  const int32_t type = made("table.Set");
  const auto setter = make_function([](Args) { return Value(); });
  const auto count = [&] { return static_cast<uint32_t>(setter->refs.load()); };
  FieldInfo field;
  field.name = bytes_of("plain");
  field.setter = static_cast<Object *>(setter.get());
  add_field(type, field);
  EXPECT_EQ(count(), 1u) << "without the flag, it is the address of code";
  field.name = bytes_of("function");
  field.flags = kFieldSetterIsFunction;
  add_field(type, field);
  EXPECT_EQ(count(), 2u);
  field.name = bytes_of("none");
  field.setter = nullptr;
  add_field(type, field);
  EXPECT_EQ(find_type(type)->num_fields, 3);
}

TEST(Attributes, HaveAColumnOfTheirNameWithAPlaceForEachType) {
  const int32_t one = made("table.One"), two = made("table.Two");
  EXPECT_EQ(attribute_column("table.attribute"), nullptr);
  set_attribute(OPD_NONE, "table.attribute", opd_int(7));
  const AttributeColumn *column = attribute_column("table.attribute");
  ASSERT_NE(column, nullptr);
  EXPECT_EQ(column->size, 0) << "only the column is made";
  set_attribute(one, "table.attribute", opd_int(7));
  EXPECT_EQ(attribute_column("table.attribute"), column) << "it stays where it is";
  EXPECT_EQ(column->begin, 0);
  EXPECT_EQ(column->size, one + 1);
  set_attribute(two, "table.attribute", opd_int(8));
  EXPECT_EQ(column->size, two + 1);
  EXPECT_EQ(column->data[one].u.int64, 7);
  EXPECT_EQ(column->data[two].u.int64, 8);
  EXPECT_EQ(column->data[one - 1].type, OPD_NONE);
  EXPECT_EQ(refusal(OPD_ALREADY_EXISTS, [&] { set_attribute(one, "table.attribute", opd_int(9)); }),
            "type attribute table.attribute of table.One is registered already; register a list or a dict once, and "
            "change what it holds");
  EXPECT_EQ(column->data[one].u.int64, 7);
  set_attribute(two - 1, "table.other", opd_none());
  set_attribute(two - 1, "table.other", opd_int(1));  // none may be replaced
  EXPECT_EQ(attribute_column("table.other")->data[two - 1].u.int64, 1);
}

// ---- functions of a type's own for keys of maps, as native code

struct Native final : Object {
  static int32_t type() { return register_type("table.Native"); }
  int64_t number = 0;
};

int64_t number_in(const View &v) { return as<Native>(v, "it").number; }

TEST(Hash, MayBeNativeCode) {
  const auto make = [](int64_t number) {
    auto native = make_object<Native>();
    native->number = number;
    return Value(native);
  };
  View (*hash)(const View &) noexcept = [](const View &v) noexcept { return opd_int(number_in(v) % 2); };
  View (*equal)(const View &, const View &) noexcept = [](const View &a, const View &b) noexcept {
    return opd_bool(number_in(a) == number_in(b));
  };
  View address = opd_none();
  address.type = OPD_POINTER;
  address.u.pointer = reinterpret_cast<void *>(hash);
  set_attribute(Native::type(), "__any_hash__", address);
  address.u.pointer = reinterpret_cast<void *>(equal);
  set_attribute(Native::type(), "__any_equal__", address);
  EXPECT_EQ(hash_key(make(1)), hash_key(make(3)));
  EXPECT_NE(hash_key(make(1)), hash_key(make(2)));
  EXPECT_TRUE(equal_keys(make(3), make(3)));
  EXPECT_FALSE(equal_keys(make(1), make(3)));
  View none = make(1).view();
  none.u.object = nullptr;
  EXPECT_FALSE(equal_keys(make(1), none));
  EXPECT_FALSE(equal_keys(none, make(1)));
}

TEST(Hash, MayFail) {
  struct Broken final : Object {
    static int32_t type() { return register_type("table.Broken"); }
  };
  const auto fails = [](Args) -> Value { fail_as("KeyError", OPD_CALL_FAILED, "no hash of this"); };
  const auto wrong = [](Args) { return Value("a text"); };
  const auto gives_error = [](Args) { return Value(make_error(OPD_CALL_FAILED, "given, not raised")); };
  set_attribute(Broken::type(), "__any_hash__", Value(make_function(fails)));
  set_attribute(Broken::type(), "__any_equal__", Value(make_function(wrong)));
  const Value one(make_object<Broken>()), two(make_object<Broken>());
  EXPECT_EQ(refusal(OPD_CALL_FAILED, [&] { hash_key(one); }), "no hash of this");
  EXPECT_EQ(refusal(OPD_INVALID_ARGUMENT, [&] { equal_keys(one, two); }),
            "the result of a type's own hash or equality must be int, but is ffi.SmallStr");
  EXPECT_TRUE(equal_keys(one, one)) << "without asking";
  struct Odd final : Object {
    static int32_t type() { return register_type("table.Odd"); }
  };
  set_attribute(Odd::type(), "__any_hash__", Value(make_function(gives_error)));
  set_attribute(Odd::type(), "__any_equal__", opd_int(5));
  const Value odd(make_object<Odd>()), other(make_object<Odd>());
  EXPECT_EQ(refusal(OPD_CALL_FAILED, [&] { hash_key(odd); }), "given, not raised");
  EXPECT_EQ(refusal(OPD_INVALID_ARGUMENT, [&] { equal_keys(odd, other); }),
            "a type's own hash or equality must be ffi.Function, but is int");
}

}  // namespace
}  // namespace opd
