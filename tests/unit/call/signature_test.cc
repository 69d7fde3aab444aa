// The grammar of signatures, and what its parser says of mistakes.
#include "call/signature.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace opd {
namespace {

std::string written(const std::vector<CType> &types);

// As the grammar writes it.
std::string written(const CType &type) {
  return type.kind == CKind::kStruct ? "{" + written(type.fields) + "}" : kind_name(type.kind);
}
std::string written(const std::vector<CType> &types) {
  std::string out;
  for (const CType &type : types) out += (out.empty() ? "" : ", ") + written(type);
  return out;
}
std::string again(std::string_view text) {
  const Signature signature = parse_signature(text);
  return written(signature.result) + "(" + written(signature.arguments) + (signature.variadic ? ", ...)" : ")");
}

std::string complaint(std::string_view text) {
  try {
    return "no error, but " + again(text);
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_INVALID_ARGUMENT);
    return e.error()->message;
  }
}

TEST(ASignature, IsReadAndWrittenAgain) {
  for (const char *text :
       {"void()", "f64(f64, f64)", "i32(str, ...)", "{i32, i32}(i32, i32)", "u8({f32, {i8, ptr}}, tensor)",
        "bool(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, ptr, str, tensor)"})
    EXPECT_EQ(again(text), text);
}

TEST(ASignature, MayHaveSpaceAnywhere) {
  EXPECT_EQ(again("  f64 (\n f64 ,{ i32,i32 } , ... ) "), "f64(f64, {i32, i32}, ...)");
  EXPECT_EQ(again("i32(str,...)"), "i32(str, ...)");
}

TEST(ASignature, IsTakenApartIntoTypes) {
  const Signature parsed = parse_signature("void({u16, {f32}}, ...)");
  EXPECT_EQ(parsed.result.kind, CKind::kVoid);
  ASSERT_EQ(parsed.arguments.size(), 1u);
  EXPECT_TRUE(parsed.variadic);
  const CType &outer = parsed.arguments[0];
  ASSERT_EQ(outer.kind, CKind::kStruct);
  ASSERT_EQ(outer.fields.size(), 2u);
  EXPECT_EQ(outer.fields[0].kind, CKind::kU16);
  ASSERT_EQ(outer.fields[1].kind, CKind::kStruct);
  EXPECT_EQ(outer.fields[1].fields[0].kind, CKind::kF32);
  EXPECT_TRUE(contains(outer, CKind::kF32));
  EXPECT_FALSE(contains(outer, CKind::kStr));
}

TEST(AMistakeInASignature, IsReportedWithItsOffset) {
  EXPECT_EQ(complaint("f64(f64, f46)"),
            "the signature \"f64(f64, f46)\" must have an argument type at offset 9, but has \"f46)\". The types are "
            "void, bool, "
            "i8 to i64, u8 to u64, f32, f64, ptr, str, tensor and {type, …}.");
  EXPECT_EQ(complaint("f64(f64"), "the signature \"f64(f64\" must have ')' at offset 7, but ends there.");
  EXPECT_EQ(complaint(""), "the signature \"\" must have a result type at offset 0, but ends there.");
  EXPECT_EQ(complaint("f64"), "the signature \"f64\" must have '(' at offset 3, but ends there.");
  EXPECT_EQ(complaint("void() x"),
            "the signature \"void() x\" must have nothing after the closing parenthesis at offset 7, but has \"x\".");
  EXPECT_EQ(complaint("void(void)"),
            "the signature \"void(void)\" must have an argument type other than void at offset 5, but has \"void)\".");
  EXPECT_EQ(complaint("void(...)"),
            "the signature \"void(...)\" must have a type, since ... needs an argument before it at offset 5, but has "
            "\"...)\".");
  EXPECT_EQ(complaint("i32(str, ..., i32)"),
            "the signature \"i32(str, ..., i32)\" must have ')' at offset 12, but has \", i32)\".");
  EXPECT_EQ(complaint("{}()"), "the signature \"{}()\" must have a field type at offset 1, but has \"}()\".");
  EXPECT_EQ(complaint("{i32, void}()"),
            "the signature \"{i32, void}()\" must have a field type other than void at offset 6, but has \"void}()\".");
  EXPECT_EQ(complaint("{i32()"), "the signature \"{i32()\" must have '}' at offset 4, but has \"()\".");
  EXPECT_EQ(complaint("void(i32,)"),
            "the signature \"void(i32,)\" must have an argument type at offset 9, but has \")\".");
  EXPECT_NE(complaint("void(struct)").find("offset 5"), std::string::npos);
}

// Letters, digits and underscores make a word, which is not one of the types; anything else makes none.
TEST(AMistakeInASignature, MayBeAnUnknownType) {
  const std::string hint = " The types are void, bool, i8 to i64, u8 to u64, f32, f64, ptr, str, tensor and {type, …}.";
  for (const std::string word : {"a", "z", "A", "Z", "0", "9", "_", "I32", "i32_t", "struct", "i128"})
    EXPECT_EQ(
        complaint(word + "()"),
        "the signature \"" + word + "()\" must have a result type at offset 0, but has \"" + word + "()\"." + hint);
  for (const std::string other : {"@", "[", "`", "/", ":", "-", "*", "\n*"}) {
    const size_t place = other.size() - 1;
    EXPECT_EQ(complaint(other + "()"), "the signature \"" + other + "()\" must have a result type at offset " +
                                           std::to_string(place) + ", but has \"" + other.substr(place) + "()\".");
  }
  EXPECT_EQ(again("\t\n f64\t(\tf64\n,\ti8\t)\t"), "f64(f64, i8)");
}

TEST(ASignature, HasUpTo1024TypesAnd16StructsInOneAnother) {
  const auto nested = [](size_t depth) { return std::string(depth, '{') + "i32" + std::string(depth, '}') + "()"; };
  EXPECT_EQ(again(nested(16)), nested(16));
  EXPECT_NE(complaint(nested(17)).find("must have structs nested at most 16 deep at offset 17"), std::string::npos);
  const auto wide = [](int count) {
    std::string text = "void(i8";
    for (int i = 1; i < count; ++i) text += ", i8";
    return text + ")";
  };
  EXPECT_EQ(again(wide(1023)), wide(1023)) << "with the result, 1024";
  EXPECT_NE(complaint(wide(1024)).find("must have at most 1024 types at offset "), std::string::npos);
  // Of long signatures, 200 bytes are shown.
  const std::string spaces(194, ' ');
  EXPECT_EQ(complaint("void(" + spaces + "x"), "the signature \"void(" + spaces +
                                                   "x\" must have an argument type at offset 199, but has \"x\". The "
                                                   "types are void, bool, i8 to i64, u8 to u64, f32, f64, ptr, str, "
                                                   "tensor and {type, …}.");
  EXPECT_EQ(complaint("void(" + spaces + "xy").substr(0, 15 + 200 + 4), "the signature \"void(" + spaces + "x…\"");
}

TEST(AMistakeInASignature, MayBeTooManyOrTooDeeplyNestedTypes) {
  EXPECT_NE(complaint(std::string(100'000, '{')).find("structs nested at most 16 deep"), std::string::npos);
  std::string many = "void(i32";
  for (int i = 0; i < 2000; ++i) many += ", i32";
  const std::string message = complaint(many + ")");
  EXPECT_NE(message.find("at most 1024 types"), std::string::npos);
  EXPECT_LT(message.size(), 500u);  // the signature itself is cut
  EXPECT_EQ(complaint(std::string_view("f64(f64\0)", 9)).find("no error"), std::string::npos);
}

}  // namespace
}  // namespace opd
