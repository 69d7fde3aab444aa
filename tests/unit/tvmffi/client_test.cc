// TVM's C functions that a foreign client of the process needs: types, objects of its own, what it wants used.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "support/tvmffi_symbol.h"
#include "value/function.h"
#include "value/tensor.h"
#include "value/type_table.h"

namespace opd {
namespace {

std::string raised_by_client() {
  const auto error = take_raised();
  return concat(error->kind, ": ", error->message);
}

int32_t make_type(std::string_view key, int32_t parent, int32_t depth, int32_t slots = 0, bool overflow = true,
                  int32_t index = -1) {
  const ByteArray name = bytes_of(key);
  return symbol<int32_t(const ByteArray *, int32_t, int32_t, int32_t, int32_t, int32_t)>("TVMFFITypeGetOrAllocIndex")(
      &name, index, depth, slots, overflow, parent);
}

TEST(TvmTypes, KeepTheIndicesOfDerivedTypesTogether) {
  const int32_t base = make_type("test.Base", OPD_OBJECT, 1, 2, false);
  ASSERT_GE(base, 128);
  EXPECT_EQ(make_type("test.Base", OPD_OBJECT, 1, 2, false), base);  // known
  const int32_t child = make_type("test.Child", base, 2), other = make_type("test.Other", base, 2);
  EXPECT_EQ(child, base + 1);
  EXPECT_EQ(other, base + 2);
  EXPECT_EQ(make_type("test.Third", base, 2), -1);  // two slots were reserved, and no more may follow
  EXPECT_NE(raised_by_client().find("no room"), std::string::npos);
  const auto *info = symbol<const TypeInfo *(int32_t)>("TVMFFIGetTypeInfo")(child);
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(text_of(info->key), "test.Child");
  ASSERT_EQ(info->depth, 2);
  EXPECT_EQ(info->ancestors[0]->index, OPD_OBJECT);
  EXPECT_EQ(info->ancestors[1]->index, base);
  EXPECT_TRUE(is_instance(*info, base));
  EXPECT_FALSE(is_instance(*info, other));
}

TEST(TvmTypes, RefuseBadDepthsParentsAndIndices) {
  EXPECT_EQ(make_type("test.Deep", OPD_OBJECT, 5), -1);
  EXPECT_NE(raised_by_client().find("test.Deep of depth 5"), std::string::npos);
  EXPECT_EQ(make_type("test.Orphan", 1 << 29, 1), -1);
  EXPECT_NE(raised_by_client().find("no type of index"), std::string::npos);
  EXPECT_EQ(make_type("test.Taken", OPD_OBJECT, 1, 0, true, OPD_TENSOR), -1);
  EXPECT_NE(raised_by_client().find("ffi.Tensor has"), std::string::npos);
  EXPECT_EQ(make_type("test.Absent", -2, 1), -2);  // only asked for
  EXPECT_EQ(symbol<const TypeInfo *(int32_t)>("TVMFFIGetTypeInfo")(-7), nullptr);
  raised_by_client();
  const ByteArray absent = bytes_of("test.Absent");
  int32_t index = 0;
  EXPECT_EQ(symbol<int(const ByteArray *, int32_t *)>("TVMFFITypeKeyToIndex")(&absent, &index), -1);
  EXPECT_EQ(raised_by_client(), "RuntimeError: Cannot find type `test.Absent`");
}

TEST(TvmTypes, KeepFieldsMethodsAndAttributes) {
  const int32_t type = make_type("test.Described", OPD_OBJECT, 1);
  auto *add = symbol<int(int32_t, const FieldInfo *)>("TVMFFITypeRegisterField");
  {
    const std::string name = "a field";  // copied
    FieldInfo field;
    field.name = bytes_of(name);
    field.offset = 24;
    field.flags = kFieldHasDefault;
    field.default_value = opd_cstring("kept");
    EXPECT_EQ(add(type, &field), 0);
    EXPECT_EQ(add(type, &field), -1);
    EXPECT_NE(raised_by_client().find("has a field a field already"), std::string::npos);
    EXPECT_EQ(add(1 << 29, &field), -1);
    EXPECT_EQ(add(type, nullptr), -1);
    raised_by_client();
  }
  const TypeInfo *info = find_type(type);
  ASSERT_EQ(info->num_fields, 1);
  EXPECT_EQ(text_of(info->fields[0].name), "a field");
  EXPECT_EQ(as_text(info->fields[0].default_value, "it"), "kept");
  auto *add_method = symbol<int(int32_t, const MethodInfo *)>("TVMFFITypeRegisterMethod");
  for (const std::string method_name : {"first", "second"}) {  // copied
    MethodInfo method;
    method.name = bytes_of(method_name);
    method.flags = 4;
    method.method = opd_int(method_name == "first" ? 1 : 2);
    EXPECT_EQ(add_method(type, &method), 0);
  }
  EXPECT_EQ(add_method(type, nullptr), -1);
  raised_by_client();
  ASSERT_EQ(info->num_methods, 2);
  EXPECT_EQ(text_of(info->methods[0].name), "first");
  EXPECT_EQ(text_of(info->methods[1].name), "second");
  EXPECT_EQ(info->methods[1].method.u.int64, 2);
  EXPECT_EQ(info->methods[1].flags, 4);
  TypeMetadata metadata;
  metadata.total_size = 32;
  auto *describe = symbol<int(int32_t, const TypeMetadata *)>("TVMFFITypeRegisterMetadata");
  EXPECT_EQ(describe(type, &metadata), 0);
  EXPECT_EQ(describe(type, &metadata), -1);
  EXPECT_NE(raised_by_client().find("described before"), std::string::npos);
  EXPECT_EQ(info->metadata->total_size, 32);

  const ByteArray name = bytes_of("test.attribute");
  auto *column = symbol<const AttributeColumn *(const ByteArray *)>("TVMFFIGetTypeAttrColumn");
  EXPECT_EQ(column(&name), nullptr);
  auto *set = symbol<int(int32_t, const ByteArray *, const View *)>("TVMFFITypeRegisterAttr");
  const View value = opd_int(7);
  EXPECT_EQ(set(type, &name, &value), 0);
  EXPECT_EQ(set(type, &name, &value), -1);
  EXPECT_NE(raised_by_client().find("registered already"), std::string::npos);
  const AttributeColumn *found = column(&name);
  ASSERT_NE(found, nullptr);
  ASSERT_GT(found->size, type - found->begin);
  EXPECT_EQ(found->data[type - found->begin].u.int64, 7);
}

TEST(TvmClient, KeepsOpaqueObjectsAndEndsThem) {
  auto *create = symbol<int(void *, int32_t, void (*)(void *), void **)>("TVMFFIObjectCreateOpaque");
  int ended = 0;
  void *object = nullptr;
  ASSERT_EQ(create(
                &ended, kOpaqueObject, [](void *handle) { ++*static_cast<int *>(handle); }, &object),
            0);
  EXPECT_EQ(*reinterpret_cast<void **>(static_cast<char *>(object) + 24), &ended);  // tvm-ffi's cell
  symbol<int(void *)>("TVMFFIObjectDecRef")(object);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(create(nullptr, OPD_TENSOR, nullptr, &object), -1);
  EXPECT_NE(raised_by_client().find("ffi.OpaquePyObject, not ffi.Tensor"), std::string::npos);
}

TEST(TvmClient, SetsStreamsForEachThread) {
  auto *set = symbol<int(int32_t, int32_t, void *, void **)>("TVMFFIEnvSetStream");
  auto *get = symbol<void *(int32_t, int32_t)>("TVMFFIEnvGetStream");
  int one = 0, two = 0;
  void *before = &one;
  EXPECT_EQ(set(kDLCUDA, 1, &one, &before), 0);
  EXPECT_EQ(before, nullptr);
  EXPECT_EQ(set(kDLCUDA, 1, &two, &before), 0);
  EXPECT_EQ(before, &one);
  EXPECT_EQ(get(kDLCUDA, 1), &two);
  EXPECT_EQ(get(kDLCUDA, 0), nullptr);
  std::thread([&] { EXPECT_EQ(get(kDLCUDA, 1), nullptr); }).join();
  EXPECT_EQ(set(kDLCUDA, 1, nullptr, nullptr), 0);
  EXPECT_EQ(set(-1, 0, &one, nullptr), -1);
  raised_by_client();
}

TEST(TvmClient, MakesNumbersOfManyWordsAsShortAsTheyCanBe) {
  auto *make = symbol<int(const ByteArray *, View *)>("TVMFFIBigIntFromByteArray");
  auto *content = symbol<ByteArray(const View *)>("TVMFFIBigIntGetContentByteArray");
  const auto number = [&](std::initializer_list<int64_t> words) {
    const ByteArray bytes = {reinterpret_cast<const char *>(words.begin()), words.size() * sizeof(int64_t)};
    View out = opd_none();
    EXPECT_EQ(make(&bytes, &out), 0);
    return Value::take(out);
  };
  EXPECT_EQ(number({-5, -1, -1}).view().u.int64, -5);  // the higher words only repeat the sign
  EXPECT_EQ(number({}).view().u.int64, 0);
  const Value two_to_64 = number({0, 1, 0});
  ASSERT_EQ(two_to_64.type(), kBigInt);
  EXPECT_EQ(content(&two_to_64.view()).size, 2 * sizeof(int64_t));
  EXPECT_EQ(number({-1, 0}).type(), kBigInt);  // 2⁶⁴ - 1 needs the word that says that it is not negative
  EXPECT_EQ(content(&number({7}).view()).size, sizeof(int64_t));
  const auto words = [&](const Value &value) {
    const ByteArray bytes = content(&value.view());
    std::vector<int64_t> out(bytes.size / sizeof(int64_t));
    std::memcpy(out.data(), bytes.data, bytes.size);
    return out;
  };
  EXPECT_EQ(words(number({5, 6, 7})), (std::vector<int64_t>{5, 6, 7}));
  EXPECT_EQ(words(number({5, 6, 0})), (std::vector<int64_t>{5, 6}));
  EXPECT_EQ(words(number({5, -6, -1})), (std::vector<int64_t>{5, -6}));
  EXPECT_EQ(words(number({5, 6, -1})), (std::vector<int64_t>{5, 6, -1})) << "the sign is not that of the word below";
  EXPECT_EQ(words(Value(-7)), std::vector<int64_t>{-7});
  EXPECT_EQ(words(Value(true)), std::vector<int64_t>{1});
  EXPECT_EQ(content(&Value("text").view()).size, 0u);
  EXPECT_EQ(raised_by_client(), "TypeError: the number must be ffi.BigInt, but is ffi.SmallStr");
  const ByteArray odd = bytes_of("123");
  View out = opd_none();
  EXPECT_EQ(make(&odd, &out), -1);
  EXPECT_NE(raised_by_client().find("whole 64-bit words"), std::string::npos);
}

TEST(TvmClient, OwnsObjectsThatAreMovedToIt) {
  Object *own = Shape::make({}).detach();
  View view = opd_none();
  view.type = kRvalueReference;
  view.u.pointer = &own;
  View out = opd_none();
  ASSERT_EQ(symbol<int(const View *, View *)>("TVMFFIAnyViewToOwnedAny")(&view, &out), 0);
  EXPECT_EQ(own, nullptr);
  const Value moved = Value::take(out);
  EXPECT_EQ(moved.type(), OPD_SHAPE);
  EXPECT_TRUE(object_of(moved)->has_sole_owner());
}

TEST(TvmClient, AllocatesTensorsWithTheFrontEndsAllocator) {
  using Maker = int (*)(DLTensor *, DLManagedTensorVersioned **, void *, void (*)(void *, const char *, const char *));
  auto *use = symbol<int(Maker, int, Maker *)>("TVMFFIEnvSetDLPackManagedTensorAllocator");
  auto *allocate = symbol<int(DLTensor *, void **)>("TVMFFIEnvTensorAlloc");
  int64_t dims[] = {4};
  DLTensor prototype{nullptr, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, dims, nullptr, 0};
  void *made = nullptr;
  use(
      [](DLTensor *, DLManagedTensorVersioned **, void *context, void (*fail)(void *, const char *, const char *)) {
        fail(context, "MemoryError", "none left");
        return -1;
      },
      0, nullptr);
  EXPECT_EQ(allocate(&prototype, &made), -1);
  EXPECT_EQ(raised_by_client(), "MemoryError: none left");
  use(nullptr, 0, nullptr);
  ASSERT_EQ(allocate(&prototype, &made), 0);  // ours
  const auto tensor = Ref<Tensor>::take(static_cast<Tensor *>(static_cast<Object *>(made)));
  DLTensor half = tensor->dl;
  dims[0] = 2;
  half.shape = dims;
  ASSERT_EQ(symbol<int(void *, const DLTensor *, void **)>("TVMFFITensorCreateUnsafeView")(tensor.get(), &half, &made),
            0);
  const auto view = Ref<Tensor>::take(static_cast<Tensor *>(static_cast<Object *>(made)));
  EXPECT_EQ(view->dl.data, tensor->dl.data);
  EXPECT_EQ(concat(describe(view->dl)), "float32[2] on cpu:0");
}

// A client has its own name for the struct. In C that is no difference, but it is one to clang's sanitizer.
#ifdef __clang__
__attribute__((no_sanitize("function")))
#endif
void allocate_with_what_frees_them() {
  struct Allocator {
    void *(*allocate)(size_t, size_t, int32_t, void *);
    void *context;
  };
  auto *get = symbol<Allocator *()>("TVMFFIGetCustomAllocator");
  auto *set = symbol<int(Allocator *)>("TVMFFISetCustomAllocator");
  Allocator *const usual = get();
  void *body = usual->allocate(40, 8, OPD_OBJECT, usual->context);
  ASSERT_NE(body, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(body) % 8, 0u);
  static_cast<void (**)(void *)>(body)[-1](body);
  EXPECT_EQ(usual->allocate(40, 32, OPD_OBJECT, usual->context), nullptr);
  EXPECT_EQ(raised_by_client(), "ValueError: objects aligned to 32 bytes cannot be allocated");
  body = usual->allocate(40, 16, OPD_OBJECT, usual->context);
  ASSERT_NE(body, nullptr);
  static_cast<void (**)(void *)>(body)[-1](body);
  Allocator other = *usual;
  EXPECT_EQ(set(&other), 0);
  EXPECT_EQ(get(), &other);
  EXPECT_EQ(set(nullptr), 0);
  EXPECT_EQ(get(), usual);
  Allocator empty{nullptr, nullptr};
  EXPECT_EQ(set(&empty), -1);
  EXPECT_EQ(raised_by_client(), "ValueError: TVMFFISetCustomAllocator was given an allocator without a function");
}

TEST(TvmClient, AllocatesObjectsWithTheirDeleters) { allocate_with_what_frees_them(); }

TEST(TvmClient, RegistersFunctionsWithTheirMetadata) {
  const Value function(make_function([](Args) { return Value(1); }));
  MethodInfo method;
  method.name = bytes_of("test.described");
  method.metadata = bytes_of("{}");
  method.method = function;
  auto *add = symbol<int(const MethodInfo *, int)>("TVMFFIFunctionSetGlobalFromMethodInfo");
  EXPECT_EQ(add(&method, 0), 0);
  EXPECT_EQ(function_metadata("test.described"), "{}");
  EXPECT_EQ(add(&method, 0), -1);
  EXPECT_NE(raised_by_client().find("exists already"), std::string::npos);
  method.method = opd_int(1);
  EXPECT_EQ(add(&method, 1), -1);
  EXPECT_NE(raised_by_client().find("must be ffi.Function"), std::string::npos);
  remove_function("test.described");
}

}  // namespace
}  // namespace opd
