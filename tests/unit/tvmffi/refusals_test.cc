// TVM's C functions refuse what they cannot use: they return -1 and raise an error that says so.
#include <gtest/gtest.h>

#include "device/cpu/thread_pool.h"
#include "support/tvmffi_symbol.h"
#include "value/function.h"
#include "value/tensor.h"
#include "value/type_table.h"

namespace opd {
namespace {

// What a call with these arguments raises.
template <class... Args>
std::string told(const char *name, Args... args) {
  const int status = symbol<int(Args...)>(name)(args...);
  const std::string error = raised();
  EXPECT_EQ(status, error.empty() ? 0 : -1) << name;
  return error;
}

using Text = const ByteArray *;
using Place = void **;

TEST(TvmFunctions, RefuseNullWhereTheyNeedAnAddress) {
  const ByteArray text = bytes_of("text"), broken = {nullptr, 1};
  const Text given = &text, none = nullptr;
  void *made = nullptr;
  View value = opd_none();
  const View *const no_value = nullptr;
  EXPECT_EQ(told<void *>("TVMFFIObjectIncRef", nullptr), "ValueError: TVMFFIObjectIncRef was given NULL");
  EXPECT_EQ(told<void *>("TVMFFIObjectDecRef", nullptr), "ValueError: TVMFFIObjectDecRef was given NULL");
  const std::string to_owned = "ValueError: TVMFFIAnyViewToOwnedAny was given NULL";
  EXPECT_EQ((told<const View *, View *>("TVMFFIAnyViewToOwnedAny", nullptr, &value)), to_owned);
  EXPECT_EQ((told<const View *, View *>("TVMFFIAnyViewToOwnedAny", &value, nullptr)), to_owned);
  EXPECT_EQ((told<Text, View *>("TVMFFIStringFromByteArray", given, nullptr)),
            "ValueError: TVMFFIStringFromByteArray: out must not be NULL");
  EXPECT_EQ((told<Text, View *>("TVMFFIBytesFromByteArray", given, nullptr)),
            "ValueError: TVMFFIBytesFromByteArray: out must not be NULL");
  EXPECT_EQ((told<Text, DLDataType *>("TVMFFIDataTypeFromString", given, nullptr)),
            "ValueError: TVMFFIDataTypeFromString: out must not be NULL");
  const DLDataType dtype = {kDLInt, 8, 1};
  const std::string to_text = "ValueError: TVMFFIDataTypeToString was given NULL";
  EXPECT_EQ((told<const DLDataType *, View *>("TVMFFIDataTypeToString", nullptr, &value)), to_text);
  EXPECT_EQ((told<const DLDataType *, View *>("TVMFFIDataTypeToString", &dtype, nullptr)), to_text);
  EXPECT_EQ((told<Text, View *>("TVMFFIBigIntFromByteArray", given, nullptr)),
            "ValueError: TVMFFIBigIntFromByteArray: out must not be NULL");
  EXPECT_EQ(symbol<ByteArray(const View *)>("TVMFFIBigIntGetContentByteArray")(no_value).size, 0u);
  EXPECT_EQ(raised(), "ValueError: TVMFFIBigIntGetContentByteArray was given NULL");
  EXPECT_EQ((told<Text, int32_t *>("TVMFFITypeKeyToIndex", given, nullptr)),
            "ValueError: TVMFFITypeKeyToIndex: out_tindex must not be NULL");
  EXPECT_EQ((told<int32_t, const FieldInfo *>("TVMFFITypeRegisterField", OPD_OBJECT, nullptr)),
            "ValueError: TVMFFITypeRegisterField: info must not be NULL");
  EXPECT_EQ((told<int32_t, const MethodInfo *>("TVMFFITypeRegisterMethod", OPD_OBJECT, nullptr)),
            "ValueError: TVMFFITypeRegisterMethod: info must not be NULL");
  EXPECT_EQ((told<int32_t, const TypeMetadata *>("TVMFFITypeRegisterMetadata", OPD_OBJECT, nullptr)),
            "ValueError: TVMFFITypeRegisterMetadata: metadata must not be NULL");
  EXPECT_EQ((told<int32_t, Text, const View *>("TVMFFITypeRegisterAttr", OPD_OBJECT, given, nullptr)),
            "ValueError: TVMFFITypeRegisterAttr: attr_value must not be NULL");
  EXPECT_EQ(symbol<const TypeInfo *(int32_t)>("TVMFFIGetTypeInfo")(1 << 28), nullptr);
  EXPECT_EQ(raised(), "RuntimeError: there is no type of index 268435456");
  EXPECT_EQ(symbol<const AttributeColumn *(Text)>("TVMFFIGetTypeAttrColumn")(none), nullptr);
  EXPECT_NE(raised(), "");
  EXPECT_EQ((told<Text, Place>("TVMFFIFunctionGetGlobal", given, nullptr)),
            "ValueError: TVMFFIFunctionGetGlobal: out must not be NULL");
  EXPECT_EQ((told<const MethodInfo *, int>("TVMFFIFunctionSetGlobalFromMethodInfo", nullptr, 0)),
            "ValueError: TVMFFIFunctionSetGlobalFromMethodInfo: method_info must not be NULL");
  const SafeCall call = [](void *, const View *, int32_t, View *) { return 0; };
  using End = void (*)(void *);
  const std::string create = "ValueError: TVMFFIFunctionCreate: safe_call and out must not be NULL";
  EXPECT_EQ((told<void *, SafeCall, End, Place>("TVMFFIFunctionCreate", nullptr, nullptr, nullptr, &made)), create);
  EXPECT_EQ((told<void *, SafeCall, End, Place>("TVMFFIFunctionCreate", nullptr, call, nullptr, nullptr)), create);
  EXPECT_EQ((told<void *, int32_t, End, Place>("TVMFFIObjectCreateOpaque", nullptr, kOpaqueObject, nullptr, nullptr)),
            "ValueError: TVMFFIObjectCreateOpaque: out must not be NULL");
  EXPECT_EQ(
      (told<void *, int32_t, End, Place>("TVMFFIObjectCreateOpaque", nullptr, int32_t{OPD_TENSOR}, nullptr, &made)),
      "RuntimeError: an opaque object must be of type ffi.OpaquePyObject, not ffi.Tensor");
  EXPECT_EQ((told<Text, Text, Text, Place>("TVMFFIErrorCreate", given, given, none, nullptr)),
            "ValueError: TVMFFIErrorCreate: out must not be NULL");
  for (const Text missing : {none, &broken}) {
    EXPECT_NE((told<Text, View *>("TVMFFIStringFromByteArray", missing, &value)), "");
    EXPECT_NE((told<Text, Text, Text, Place>("TVMFFIErrorCreate", missing, given, none, &made)), "");
    EXPECT_NE((told<Text, Text, Text, Place>("TVMFFIErrorCreate", given, missing, none, &made)), "");
  }
  const std::string look_up = "ValueError: a library looked up a function without a name, or without a place for it";
  const auto shape = Shape::make({});
  for (const char *name : {"TVMFFIEnvModLookupFromImports", "TVMBackendGetFuncFromEnv"}) {
    EXPECT_EQ((told<void *, const char *, Place>(name, shape.get(), nullptr, &made)), look_up);
    EXPECT_EQ((told<void *, const char *, Place>(name, shape.get(), "f", nullptr)), look_up);
  }
  using Begin = int (*)(void **);
  using Finish = int (*)(void *);
  EXPECT_EQ((told<Place, Begin>("TVMFFIHandleInitOnce", &made, nullptr)),
            "ValueError: TVMFFIHandleInitOnce was given NULL");
  EXPECT_EQ((told<Place, Begin>("TVMFFIHandleInitOnce", nullptr, [](void **) { return 0; })),
            "ValueError: TVMFFIHandleInitOnce was given NULL");
  EXPECT_EQ((told<Place, Finish>("TVMFFIHandleDeinitOnce", &made, nullptr)),
            "ValueError: TVMFFIHandleDeinitOnce was given NULL");
  EXPECT_EQ((told<Place, Finish>("TVMFFIHandleDeinitOnce", nullptr, [](void *) { return 0; })),
            "ValueError: TVMFFIHandleDeinitOnce was given NULL");
  EXPECT_EQ((told<Place, Finish>("TVMFFIHandleDeinitOnce", &made, [](void *) { return -1; })), "")
      << "there is nothing to end";
}

TEST(TvmFunctions, RefuseTensorsThatDoNotMeetTheRequirements) {
  alignas(64) float data[8] = {};
  int64_t dims[] = {2, 2}, strides[] = {1, 2};
  DLManagedTensor managed{{data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, dims, strides, 0}, nullptr, nullptr};
  void *made = nullptr;
  const auto take = [&](DLManagedTensor *given, int32_t alignment, int32_t contiguous, void **out) {
    return told<DLManagedTensor *, int32_t, int32_t, void **>("TVMFFITensorFromDLPack", given, alignment, contiguous,
                                                              out);
  };
  const std::string null = "ValueError: a DLPack tensor to take over, or the place for the result, is NULL";
  EXPECT_EQ(take(nullptr, 0, 0, &made), null);
  EXPECT_EQ(take(&managed, 0, 0, nullptr), null);
  EXPECT_EQ(take(&managed, 0, 1, &made), "ValueError: a DLPack tensor is strided where a contiguous one is needed");
  managed.dl_tensor.byte_offset = 4;
  EXPECT_EQ(take(&managed, 8, 0, &made), "ValueError: a DLPack tensor is not aligned to 8 bytes");
  EXPECT_EQ(take(&managed, 4, 0, &made), "");
  const auto tensor = Ref<Tensor>::take(static_cast<Tensor *>(static_cast<Object *>(made)));
  EXPECT_EQ(tensor->dl.byte_offset, 4u);
  EXPECT_EQ((told<void *, DLManagedTensor **>("TVMFFITensorToDLPack", static_cast<Object *>(tensor.get()), nullptr)),
            "ValueError: TVMFFITensorToDLPack: out must not be NULL");
  EXPECT_EQ((told<void *, DLManagedTensorVersioned **>("TVMFFITensorToDLPackVersioned",
                                                       static_cast<Object *>(tensor.get()), nullptr)),
            "ValueError: TVMFFITensorToDLPackVersioned: out must not be NULL");
  // A view is exactly as it is described.
  const auto view = [&](const DLTensor *prototype, void **out) {
    return told<void *, const DLTensor *, void **>("TVMFFITensorCreateUnsafeView", static_cast<Object *>(tensor.get()),
                                                   prototype, out);
  };
  const std::string no_prototype =
      "ValueError: TVMFFITensorCreateUnsafeView: out and prototype must not be NULL, and prototype must have a shape";
  DLTensor wanted = tensor->dl;
  EXPECT_EQ(view(nullptr, &made), no_prototype);
  EXPECT_EQ(view(&wanted, nullptr), no_prototype);
  wanted.byte_offset = 8;
  EXPECT_EQ(view(&wanted, &made), "");
  const auto strided = Ref<Tensor>::take(static_cast<Tensor *>(static_cast<Object *>(made)));
  EXPECT_EQ(strided->dl.byte_offset, 8u);
  EXPECT_EQ(strided->dl.strides[0], 1);
  EXPECT_EQ(strided->dl.strides[1], 2);
  wanted.strides = nullptr;
  EXPECT_EQ(view(&wanted, &made), "");
  const auto compact = Ref<Tensor>::take(static_cast<Tensor *>(static_cast<Object *>(made)));
  EXPECT_EQ(compact->dl.strides[0], 2);
  EXPECT_EQ(compact->dl.strides[1], 1);
  wanted.ndim = -1;
  EXPECT_EQ(view(&wanted, &made), no_prototype);
  wanted.ndim = 2, wanted.shape = nullptr;
  EXPECT_EQ(view(&wanted, &made), no_prototype);
}

TEST(TvmFunctions, AllocateTensorsWithTheSetAllocator) {
  using Fail = void (*)(void *, const char *, const char *);
  using Maker = int (*)(DLTensor *, DLManagedTensorVersioned **, void *, Fail);
  auto *use = symbol<int(Maker, int, Maker *)>("TVMFFIEnvSetDLPackManagedTensorAllocator");
  auto *now = symbol<Maker()>("TVMFFIEnvGetDLPackManagedTensorAllocator");
  int64_t dims[] = {2};
  DLTensor prototype{nullptr, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, dims, nullptr, 0};
  void *made = nullptr;
  const auto allocated = [&] { return told<DLTensor *, void **>("TVMFFIEnvTensorAlloc", &prototype, &made); };
  const Maker gives_none = [](DLTensor *, DLManagedTensorVersioned **, void *, Fail) { return 0; };
  const Maker says_nothing = [](DLTensor *, DLManagedTensorVersioned **, void *context, Fail fail) {
    fail(context, nullptr, nullptr);
    return -1;
  };
  Maker before = gives_none;
  EXPECT_EQ(now(), nullptr);
  EXPECT_EQ(use(gives_none, 0, &before), 0);
  EXPECT_EQ(before, nullptr);
  EXPECT_EQ(now(), gives_none);
  EXPECT_EQ(allocated(), "RuntimeError: TVMFFIEnvTensorAlloc: the allocator returned no tensor");
  EXPECT_EQ(use(says_nothing, 0, &before), 0);
  EXPECT_EQ(before, gives_none);
  EXPECT_EQ(allocated(), "RuntimeError: ");
  EXPECT_EQ(use(nullptr, 0, nullptr), 0);
  EXPECT_EQ(now(), nullptr);
  // For all threads that have none of their own.
  EXPECT_EQ(use(gives_none, 1, nullptr), 0);
  EXPECT_EQ(use(nullptr, 0, nullptr), 0);
  EXPECT_EQ(now(), gives_none);
  EXPECT_EQ(use(nullptr, 1, nullptr), 0);
  EXPECT_EQ(now(), nullptr);
}

TEST(TvmFunctions, MakeErrorsWithAllTheirParts) {
  auto *make = symbol<int(Text, Text, Text, void *, void *, void **)>("TVMFFIErrorCreateWithCauseAndExtraContext");
  const ByteArray kind = bytes_of("KeyError"), message = bytes_of("gone"), trace = bytes_of("a line\n"),
                  empty = bytes_of("");
  const auto cause = make_error(OPD_IO, "the cause");
  const auto context = Shape::make({});
  void *made = nullptr;
  ASSERT_EQ(
      make(&kind, &message, &trace, static_cast<Object *>(cause.get()), static_cast<Object *>(context.get()), &made),
      0);
  {
    const auto error = Ref<Error>::take(static_cast<Error *>(static_cast<Object *>(made)));
    EXPECT_EQ(error->code, OPD_CALL_FAILED);
    EXPECT_EQ(error->kind, "KeyError");
    EXPECT_EQ(error->message, "gone");
    EXPECT_EQ(error->backtrace(), "a line\n");
    EXPECT_EQ(error->cause, cause.get());
    EXPECT_EQ(error->extra_context, context.get());
    EXPECT_EQ(static_cast<uint32_t>(context->refs.load()), 2u);
    EXPECT_EQ(static_cast<uint32_t>(cause->refs.load()), 2u);
  }
  EXPECT_EQ(static_cast<uint32_t>(context->refs.load()), 1u);
  EXPECT_EQ(static_cast<uint32_t>(cause->refs.load()), 1u);
  ASSERT_EQ(make(&empty, &message, nullptr, nullptr, nullptr, &made), 0);
  const auto plain = Ref<Error>::take(static_cast<Error *>(static_cast<Object *>(made)));
  EXPECT_EQ(plain->kind, "RuntimeError") << "without a kind";
  EXPECT_EQ(plain->backtrace(), "");
  EXPECT_EQ(plain->cause, nullptr);
  EXPECT_EQ(make(&kind, &message, nullptr, static_cast<Object *>(context.get()), nullptr, &made), -1);
  EXPECT_EQ(raised(), "TypeError: TVMFFIErrorCreate was given ffi.Shape, not ffi.Error");
}

TEST(TvmFunctions, SayWhichItemAListLacks) {
  const auto refused = [](const char *name, int32_t index, const std::string &argument) {
    return "IndexError: " + concat(name, " was given item ", index, " of a list that has no such, or argument ") +
           argument;
  };
  const auto shape = Shape::make({});
  const auto count = [&] { return static_cast<uint32_t>(shape->refs.load()); };
  Value list[1] = {Value(7)};
  View args[1] = {opd_int(3)};
  const auto set = [&](void *items, int32_t index, View *given, int32_t place) {
    return told<void *, int32_t, View *, int32_t>("TVMBackendAnyListSetPackedArg", items, index, given, place);
  };
  const auto move = [&](void *items, int32_t index, View *given, int32_t place) {
    return told<void *, int32_t, View *, int32_t>("TVMBackendAnyListMoveFromPackedReturn", items, index, given, place);
  };
  EXPECT_EQ(set(list, -1, args, 0), refused("TVMBackendAnyListSetPackedArg", -1, "0"));
  EXPECT_EQ(args[0].type, OPD_NONE) << "the call is made in any case";
  EXPECT_EQ(set(list, 0, args, -1), refused("TVMBackendAnyListSetPackedArg", 0, "-1"));
  EXPECT_EQ(set(nullptr, 2, args, 0), refused("TVMBackendAnyListSetPackedArg", 2, "0"));
  EXPECT_EQ(set(list, 0, nullptr, 0), refused("TVMBackendAnyListSetPackedArg", 0, "0 of none"));
  args[0] = Value(shape).detach();
  EXPECT_EQ(count(), 2u);
  EXPECT_EQ(move(list, -2, args, 0), refused("TVMBackendAnyListMoveFromPackedReturn", -2, "0"));
  EXPECT_EQ(args[0].type, OPD_NONE);
  EXPECT_EQ(count(), 1u) << "nobody else would end it";
  EXPECT_EQ(move(list, 0, nullptr, 0), refused("TVMBackendAnyListMoveFromPackedReturn", 0, "0 of none"));
  EXPECT_EQ(move(list, 0, args, -3), refused("TVMBackendAnyListMoveFromPackedReturn", 0, "-3"));
  EXPECT_EQ((told<void *, int32_t>("TVMBackendAnyListResetItem", list, -5)),
            refused("TVMBackendAnyListResetItem", -5, "0"));
  EXPECT_EQ((told<void *, int32_t>("TVMBackendAnyListResetItem", nullptr, 5)),
            refused("TVMBackendAnyListResetItem", 5, "0 of none"));
  EXPECT_EQ(list[0].view().u.int64, 7);
}

TEST(TvmFunctions, RefuseBadRequestsOfKernels) {
  auto *free_block = symbol<int(int, int, void *)>("TVMBackendFreeWorkspace");
  int local = 0;
  EXPECT_EQ(free_block(1, 0, &local), -1);
  EXPECT_EQ(raised(), "ValueError: a kernel freed a workspace that it did not allocate on this thread");
  auto *allocate = symbol<void *(int, int, uint64_t, int, int)>("TVMBackendAllocWorkspace");
  void *const nothing = allocate(1, 0, 0, 2, 32);
  EXPECT_NE(nothing, nullptr) << "0 bytes have an address, too";
  EXPECT_EQ(free_block(1, 0, nothing), 0);
  const ParallelTask task = [](int, ParallelGroup *, void *) { return 0; };
  EXPECT_EQ((told<ParallelTask, void *, int>("TVMBackendParallelLaunch", task, nullptr, -2)),
            "ValueError: a kernel launched -2 parallel tasks");
  EXPECT_EQ((told<ParallelTask, void *, int>("TVMBackendParallelLaunch", nullptr, nullptr, 3)),
            "ValueError: a kernel launched 3 parallel tasks without a function");
  EXPECT_EQ((told<ParallelTask, void *, int>("TVMBackendParallelLaunch", task, nullptr, 0)), "");
  const std::string outside = " of a kernel met a barrier outside its parallel region";
  EXPECT_EQ((told<int, ParallelGroup *>("TVMBackendParallelBarrier", 0, nullptr)), "ValueError: task 0" + outside);
  struct Told {
    std::string before, at;
  } of_task;
  const ParallelTask meets = [](int id, ParallelGroup *group, void *data) {
    if (id != 0) return 0;
    auto &out = *static_cast<Told *>(data);
    out.before = told<int, ParallelGroup *>("TVMBackendParallelBarrier", -1, group);
    out.at = told<int, ParallelGroup *>("TVMBackendParallelBarrier", 1, group);
    return 0;
  };
  EXPECT_EQ((told<ParallelTask, void *, int>("TVMBackendParallelLaunch", meets, &of_task, 1)), "");
  EXPECT_EQ(of_task.before, "ValueError: task -1" + outside);
  EXPECT_EQ(of_task.at, "ValueError: task 1" + outside) << "there is task 0 only";
}

TEST(TvmFunctions, AreCalledWithTheirArguments) {
  const auto function = make_function([](Args args) { return Value(static_cast<int64_t>(args.size())); });
  auto *const object = static_cast<Object *>(function.get());
  View args[] = {opd_int(1)}, result = opd_none();
  const auto call = [&](View *given, int32_t count, View *out) {
    return told<void *, View *, int32_t, View *>("TVMFFIFunctionCall", object, given, count, out);
  };
  EXPECT_EQ(call(nullptr, 0, &result), "") << "no arguments need no place";
  EXPECT_EQ(result.u.int64, 0);
  EXPECT_EQ(call(args, 1, &result), "");
  EXPECT_EQ(result.u.int64, 1);
  EXPECT_EQ(call(args, -1, &result), "ValueError: TVMFFIFunctionCall was given -1 arguments");
  EXPECT_EQ(call(nullptr, 1, &result), "ValueError: TVMFFIFunctionCall was given 1 arguments at NULL");
  EXPECT_EQ(call(args, 1, nullptr), "ValueError: TVMFFIFunctionCall was given 1 arguments and no place for the result");
}

}  // namespace
}  // namespace opd
