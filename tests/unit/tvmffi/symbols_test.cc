// TVM's C functions as artifacts reach them: by their names in the table.
#include <gtest/gtest.h>

#include <thread>

#include "base/thread_state.h"
#include "device/cpu/thread_pool.h"
#include "support/tvmffi_symbol.h"
#include "value/function.h"
#include "value/tensor.h"

namespace opd {
namespace {

ByteArray text(std::string_view t) { return {t.data(), t.size()}; }

TEST(TvmSymbols, CoverEverySlotAndDirectReferenceOfTvmsCode) {
  for (const char *name :
       {"TVMFFIFunctionCall", "TVMFFIErrorSetRaisedFromCStr", "TVMFFIEnvModLookupFromImports", "TVMFFIHandleInitOnce",
        "TVMBackendGetFuncFromEnv", "TVMBackendAllocWorkspace", "TVMBackendFreeWorkspace", "TVMBackendParallelLaunch",
        "TVMBackendParallelBarrier", "TVMFFIErrorSetRaisedFromCStrParts", "TVMBackendAnyListSetPackedArg",
        "TVMBackendAnyListMoveFromPackedReturn", "TVMBackendAnyListResetItem", "TVMFFIEnvModRegisterSystemLibSymbol"})
    EXPECT_NE(symbol<void()>(name), nullptr);
  EXPECT_EQ(provided_symbol("TVMFFINothing"), nullptr);
}

TEST(TvmSymbols, RaiseErrorsWithTheirKindAndJoinedParts) {
  const char *parts[] = {"a", nullptr, "b"};
  symbol<void(const char *, const char **, int32_t)>("TVMFFIErrorSetRaisedFromCStrParts")("ValueError", parts, 3);
  EXPECT_EQ(raised(), "ValueError: ab");
  EXPECT_EQ(raised(), "");  // it was moved out
  symbol<void(const char *, const char *)>("TVMFFIErrorSetRaisedFromCStr")("TypeError", "x");
  symbol<void(const char *, const char *)>("TVMFFIErrorSetRaisedFromCStr")(nullptr, nullptr);
  EXPECT_EQ(raised(), "RuntimeError: ");  // the last one counts
  symbol<void(const char *, const char **, int32_t)>("TVMFFIErrorSetRaisedFromCStrParts")("E", nullptr, 5);
  EXPECT_EQ(take_raised()->code, OPD_CALL_FAILED);
}

TEST(TvmSymbols, KeepErrorsOfEachThreadApart) {
  symbol<void(const char *, const char *)>("TVMFFIErrorSetRaisedFromCStr")("TypeError", "mine");
  std::thread([] { EXPECT_EQ(raised(), ""); }).join();
  EXPECT_EQ(raised(), "TypeError: mine");
}

TEST(TvmSymbols, MakeAndRaiseErrorObjects) {
  const ByteArray kind = text("KeyError"), message = text("gone"), none = text("");
  void *error = nullptr;
  ASSERT_EQ(symbol<int(const ByteArray *, const ByteArray *, const ByteArray *, void **)>("TVMFFIErrorCreate")(
                &kind, &message, &none, &error),
            0);
  symbol<void(void *)>("TVMFFIErrorSetRaised")(error);
  EXPECT_EQ(symbol<int(void *)>("TVMFFIObjectDecRef")(error), 0);  // the slot has a reference of its own
  EXPECT_EQ(raised(), "KeyError: gone");
  symbol<void(void *)>("TVMFFIErrorSetRaised")(nullptr);
  EXPECT_EQ(raised(), "TypeError: TVMFFIErrorSetRaised was given NULL, not ffi.Error");
}

TEST(TvmSymbols, FormatALineOfABacktrace) {
  const auto line = [](const char *file, int number, const char *function) {
    return text_of(
        *symbol<const ByteArray *(const char *, int, const char *, int)>("TVMFFIBacktrace")(file, number, function, 0));
  };
  EXPECT_EQ(line("a.cc", 7, "f"), "  File \"a.cc\", line 7, in f\n");
  EXPECT_EQ(line("a longer/path.cc", 12, "g"), "  File \"a longer/path.cc\", line 12, in g\n");
  EXPECT_EQ(line(nullptr, 7, "f"), "");
  EXPECT_EQ(line("a.cc", 7, nullptr), "");
}

// As tvm-ffi's C++ does on the way of an error through its functions.
TEST(TvmSymbols, LetForeignCodeChangeTheBacktraceOfAnError) {
  const auto error = make_object<Error>(OPD_NOT_FOUND, "KeyError", "gone");
  const ByteArray one = text("one\n"), two = text("two\n");
  const auto update = [&](const ByteArray *line, int32_t mode) {
    error->update_backtrace(static_cast<Object *>(error.get()), line, mode);
    EXPECT_EQ(error->backtrace(), text_of(error->backtrace_view));
    return error->backtrace();
  };
  const std::string before = error->backtrace();
  EXPECT_EQ(update(&one, 1), before + "one\n");
  EXPECT_EQ(update(&two, 1), before + "one\ntwo\n");
  EXPECT_EQ(update(nullptr, 1), before + "one\ntwo\n");
  EXPECT_EQ(update(&two, 0), "two\n");
  EXPECT_EQ(update(&one, 1), "two\none\n");
}

TEST(TvmSymbols, TakeOverErrorsThatOthersMade) {
  struct Foreign : Object {  // tvm-ffi's cell, made by C++ that was compiled with its headers
    ByteArray kind, message, backtrace;
    void (*update)(void *, const ByteArray *, int32_t) = nullptr;
    void *cause = nullptr, *context = nullptr;
    static int32_t type() { return 67; }
  };
  auto foreign = make_object<Foreign>();
  foreign->kind = text("IndexError");
  foreign->message = text("theirs");
  auto *raise = symbol<void(void *)>("TVMFFIErrorSetRaised");
  raise(static_cast<Object *>(foreign.get()));
  void *moved = nullptr;
  symbol<void(void **)>("TVMFFIErrorMoveFromRaised")(&moved);
  EXPECT_EQ(moved, foreign.get());  // between foreign code it stays the same object
  foreign->cause = static_cast<Object *>(make_object<Foreign>().detach());
  foreign->backtrace = text("a line\n");
  raise(moved);
  symbol<int(void *)>("TVMFFIObjectDecRef")(moved);
  const auto own = take_raised();  // for us it becomes one of ours
  EXPECT_EQ(own->kind + ": " + own->message, "IndexError: theirs");
  EXPECT_EQ(own->backtrace(), "a line\n");
  ASSERT_NE(own->cause, nullptr);
  EXPECT_EQ(static_cast<Error *>(own->cause)->kind, "RuntimeError");
  release(static_cast<Object *>(std::exchange(foreign->cause, nullptr)));
}

TEST(TvmSymbols, CallFunctionsAndRefuseOtherObjects) {
  auto *call_function = symbol<int(void *, View *, int32_t, View *)>("TVMFFIFunctionCall");
  const auto add = make_function([](Args args) { return Value(args[0].u.int64 + args[1].u.int64); });
  View args[] = {opd_int(2), opd_int(3)}, result = opd_none();
  EXPECT_EQ(call_function(add.get(), args, 2, &result), 0);
  EXPECT_EQ(result.u.int64, 5);
  EXPECT_EQ(call_function(nullptr, args, 2, &result), -1);
  EXPECT_EQ(raised(), "TypeError: TVMFFIFunctionCall was given NULL, not ffi.Function");
  const auto shape = Shape::make({});
  EXPECT_EQ(call_function(shape.get(), args, 2, &result), -1);
  EXPECT_EQ(raised(), "TypeError: TVMFFIFunctionCall was given ffi.Shape, not ffi.Function");
  EXPECT_EQ(call_function(add.get(), args, -1, &result), -1);
  EXPECT_EQ(call_function(add.get(), nullptr, 1, &result), -1);
  EXPECT_NE(raised(), "");
}

TEST(TvmSymbols, MakeFunctionsThatEndTheirState) {
  struct State {
    int calls = 0, ended = 0;
  } state;
  void *function = nullptr;
  const SafeCall body = [](void *self, const View *, int32_t, View *result) {
    *result = opd_int(++static_cast<State *>(self)->calls);
    return 0;
  };
  auto *create = symbol<int(void *, SafeCall, void (*)(void *), void **)>("TVMFFIFunctionCreate");
  ASSERT_EQ(create(
                &state, body, [](void *self) { ++static_cast<State *>(self)->ended; }, &function),
            0);
  {
    const auto owned = Ref<Function>::take(static_cast<Function *>(static_cast<Object *>(function)));
    EXPECT_EQ(call(*owned, {}).view().u.int64, 1);
    EXPECT_EQ(state.ended, 0);
  }
  EXPECT_EQ(state.ended, 1);
  EXPECT_EQ(create(&state, nullptr, nullptr, &function), -1);
  EXPECT_NE(raised(), "");
}

template <class Result, class Given>
void expect_no_place(const char *name, Given given) {
  EXPECT_EQ((symbol<int(Given, Result *)>(name)(given, nullptr)), -1) << name;
  EXPECT_NE(raised().find(std::string(name) + ": out"), std::string::npos) << name;
}

TEST(TvmSymbols, RefuseToWriteToNull) {
  const ByteArray given = text("int8");
  expect_no_place<void *>("TVMFFIFunctionGetGlobal", &given);
  expect_no_place<int32_t>("TVMFFITypeKeyToIndex", &given);
  for (const char *name : {"TVMFFIStringFromByteArray", "TVMFFIBytesFromByteArray", "TVMFFIBigIntFromByteArray"})
    expect_no_place<View>(name, &given);
  expect_no_place<DLDataType>("TVMFFIDataTypeFromString", &given);
  void *const no_tensor = nullptr;
  expect_no_place<DLManagedTensor *>("TVMFFITensorToDLPack", no_tensor);
  expect_no_place<DLManagedTensorVersioned *>("TVMFFITensorToDLPackVersioned", no_tensor);
  auto *make_opaque = symbol<int(void *, int32_t, void (*)(void *), void **)>("TVMFFIObjectCreateOpaque");
  EXPECT_EQ(make_opaque(nullptr, 74, nullptr, nullptr), -1);
  EXPECT_NE(raised().find("out must not be NULL"), std::string::npos);
  auto *make_error = symbol<int(const ByteArray *, const ByteArray *, const ByteArray *, void *, void *, void **)>(
      "TVMFFIErrorCreateWithCauseAndExtraContext");
  EXPECT_EQ(make_error(&given, &given, &given, nullptr, nullptr, nullptr), -1);
  EXPECT_NE(raised().find("out must not be NULL"), std::string::npos);
}

TEST(TvmSymbols, ReachTheGlobalRegistry) {
  const ByteArray name = text("symbols_test.one");
  void *found = &found;
  auto *get = symbol<int(const ByteArray *, void **)>("TVMFFIFunctionGetGlobal");
  auto *set = symbol<int(const ByteArray *, void *, int)>("TVMFFIFunctionSetGlobal");
  EXPECT_EQ(get(&name, &found), 0);
  EXPECT_EQ(found, nullptr);  // absent is no error
  const auto one = make_function([](Args) { return Value(1); });
  EXPECT_EQ(set(&name, one.get(), 0), 0);
  EXPECT_EQ(set(&name, one.get(), 0), -1);
  EXPECT_NE(raised().find("exists already"), std::string::npos);
  EXPECT_EQ(set(&name, one.get(), 1), 0);
  EXPECT_EQ(get(&name, &found), 0);
  EXPECT_EQ(found, one.get());
  EXPECT_EQ(symbol<int(void *)>("TVMFFIObjectDecRef")(found), 0);
  remove_function("symbols_test.one");
  EXPECT_EQ(get(nullptr, &found), -1);
  raised();
}

TEST(TvmSymbols, InitialiseAHandleOnceAndNeverWithNull) {
  auto *init = symbol<int(void **, int (*)(void **))>("TVMFFIHandleInitOnce");
  static int made;
  void *handle = nullptr;
  EXPECT_EQ(init(&handle, [](void **out) { return *out = nullptr, 0; }), -1);
  EXPECT_EQ(raised(), "RuntimeError: a library's initialiser of a handle returned NULL");
  EXPECT_EQ(init(&handle, [](void **) { return -1; }), -1);
  EXPECT_EQ(raised(), "");  // the initialiser's own business
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] { EXPECT_EQ(init(&handle, [](void **out) { return *out = &made, ++made, 0; }), 0); });
  for (auto &thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(handle, &made);
  EXPECT_EQ(symbol<int(void **, int (*)(void *))>("TVMFFIHandleDeinitOnce")(&handle, [](void *) { return --made, 0; }),
            0);
  EXPECT_EQ(made, 0);
  EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(init(nullptr, nullptr), -1);
  raised();
}

TEST(TvmSymbols, RefuseAContextThatIsNoLibrary) {
  auto *look_up = symbol<int(void *, const char *, void **)>("TVMFFIEnvModLookupFromImports");
  void *found = nullptr;
  const auto shape = Shape::make({});
  EXPECT_EQ(look_up(nullptr, "f", &found), -1);
  EXPECT_NE(raised().find("context"), std::string::npos);
  EXPECT_EQ(look_up(shape.get(), "f", &found), -1);
  EXPECT_NE(raised().find("context"), std::string::npos);
  EXPECT_EQ(look_up(shape.get(), nullptr, &found), -1);
  EXPECT_NE(raised().find("without a name"), std::string::npos);
}

TEST(TvmSymbols, MoveValuesInListsWithTheirReferences) {
  auto *set_arg = symbol<int(void *, int32_t, View *, int32_t)>("TVMBackendAnyListSetPackedArg");
  auto *move = symbol<int(void *, int32_t, View *, int32_t)>("TVMBackendAnyListMoveFromPackedReturn");
  auto *reset = symbol<int(void *, int32_t)>("TVMBackendAnyListResetItem");
  const auto shape = Shape::make({});
  Value list[2] = {Value(shape), Value(7)};
  View args[2] = {opd_none(), opd_none()};
  EXPECT_EQ(set_arg(list, 0, args, 1), 0);
  EXPECT_EQ(args[1].type, OPD_SHAPE);
  EXPECT_EQ(static_cast<uint32_t>(shape->refs.load()), 2u);  // the argument is borrowed
  args[0] = Value(shape).detach();
  EXPECT_EQ(move(list, 1, args, 0), 0);
  EXPECT_EQ(args[0].type, OPD_NONE);
  EXPECT_EQ(static_cast<uint32_t>(shape->refs.load()), 3u);
  EXPECT_EQ(reset(list, 0), 0);
  EXPECT_EQ(reset(list, 1), 0);
  EXPECT_EQ(static_cast<uint32_t>(shape->refs.load()), 1u);
  EXPECT_EQ(list[1].type(), OPD_NONE);
  EXPECT_EQ(set_arg(list, -1, args, 0), -1);
  EXPECT_EQ(set_arg(nullptr, 0, args, 0), -1);
  EXPECT_EQ(move(list, 0, nullptr, 0), -1);
  EXPECT_EQ(reset(list, -5), -1);
  EXPECT_NE(raised().find("item -5"), std::string::npos);
}

TEST(TvmSymbols, MakeStringsAndDtypes) {
  View out = opd_none();
  const ByteArray longer = text("long enough for the heap"), dtype = text("float32x4"), odd = text("flaot"),
                  broken = {nullptr, 3};
  EXPECT_EQ(symbol<int(const ByteArray *, View *)>("TVMFFIStringFromByteArray")(&longer, &out), 0);
  EXPECT_EQ(as_text(Value::take(out), "it"), "long enough for the heap");
  EXPECT_EQ(symbol<int(const ByteArray *, View *)>("TVMFFIBytesFromByteArray")(&longer, &out), 0);
  EXPECT_EQ(Value::take(out).type(), OPD_BYTES);
  DLDataType type{};
  EXPECT_EQ(symbol<int(const ByteArray *, DLDataType *)>("TVMFFIDataTypeFromString")(&dtype, &type), 0);
  EXPECT_TRUE(same(type, DLDataType{kDLFloat, 32, 4}));
  EXPECT_EQ(symbol<int(const DLDataType *, View *)>("TVMFFIDataTypeToString")(&type, &out), 0);
  EXPECT_EQ(as_text(Value::take(out), "it"), "float32x4");
  EXPECT_EQ(symbol<int(const ByteArray *, DLDataType *)>("TVMFFIDataTypeFromString")(&odd, &type), -1);
  EXPECT_NE(raised().find("flaot"), std::string::npos);
  EXPECT_EQ(symbol<int(const ByteArray *, View *)>("TVMFFIStringFromByteArray")(&broken, &out), -1);
  const View view = opd_cstring("abc");
  EXPECT_EQ(symbol<int(const View *, View *)>("TVMFFIAnyViewToOwnedAny")(&view, &out), 0);
  EXPECT_EQ(Value::take(out).type(), OPD_SMALL_STRING);
  EXPECT_EQ(symbol<int(void *)>("TVMFFIObjectIncRef")(nullptr), -1);
  raised();
}

TEST(TvmSymbols, PassTensorsThroughDLPack) {
  int64_t dims[] = {2, 3};
  DLTensor prototype{nullptr, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, dims, nullptr, 0};
  void *made = nullptr, *back = nullptr;
  ASSERT_EQ(symbol<int(DLTensor *, void **)>("TVMFFIEnvTensorAlloc")(&prototype, &made), 0);
  DLManagedTensor *managed = nullptr;
  ASSERT_EQ(symbol<int(void *, DLManagedTensor **)>("TVMFFITensorToDLPack")(made, &managed), 0);
  auto *from = symbol<int(DLManagedTensor *, int32_t, int32_t, void **)>("TVMFFITensorFromDLPack");
  EXPECT_EQ(from(managed, 1 << 30, 1, &back), -1);
  EXPECT_NE(raised().find("not aligned"), std::string::npos);
  ASSERT_EQ(from(managed, 64, 1, &back), 0);
  const auto *a = static_cast<Tensor *>(static_cast<Object *>(made)),
             *b = static_cast<Tensor *>(static_cast<Object *>(back));
  EXPECT_EQ(a->dl.data, b->dl.data);
  EXPECT_EQ(concat(describe(b->dl)), "float32[2, 3] on cpu:0");
  for (void *tensor : {made, back}) EXPECT_EQ(symbol<int(void *)>("TVMFFIObjectDecRef")(tensor), 0);
  EXPECT_EQ(symbol<int(void *, DLManagedTensor **)>("TVMFFITensorToDLPack")(nullptr, &managed), -1);
  EXPECT_EQ(symbol<int(DLTensor *, void **)>("TVMFFIEnvTensorAlloc")(nullptr, &made), -1);
  raised();
}

TEST(TvmSymbols, GiveScratchMemoryAndThreads) {
  auto *allocate = symbol<void *(int, int, uint64_t, int, int)>("TVMBackendAllocWorkspace");
  auto *free_block = symbol<int(int, int, void *)>("TVMBackendFreeWorkspace");
  void *block = allocate(1, 0, 100, 2, 32);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
  EXPECT_EQ(free_block(1, 0, block), 0);
  EXPECT_EQ(allocate(1, 0, UINT64_MAX / 2, 2, 32), nullptr);
  EXPECT_EQ(raised().find("MemoryError"), 0u);
  int local = 0;
  EXPECT_EQ(free_block(1, 0, &local), -1);
  EXPECT_NE(raised().find("did not allocate"), std::string::npos);

  auto *launch = symbol<int(ParallelTask, void *, int)>("TVMBackendParallelLaunch");
  std::atomic<int> sum{0};
  const ParallelTask task = [](int id, ParallelGroup *, void *data) {
    return *static_cast<std::atomic<int> *>(data) += id + 1, 0;
  };
  EXPECT_EQ(launch(task, &sum, 3), 0);
  EXPECT_EQ(sum, 6);
  EXPECT_EQ(launch(nullptr, &sum, 3), -1);
  EXPECT_EQ(launch(task, &sum, -2), -1);
  EXPECT_EQ(symbol<int(int, ParallelGroup *)>("TVMBackendParallelBarrier")(0, nullptr), -1);
  EXPECT_NE(raised().find("barrier"), std::string::npos);
}

}  // namespace
}  // namespace opd
