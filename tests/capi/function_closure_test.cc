// Closures: functions that C can call by a pointer.
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <utility>

#include "support/function_test.h"
#include "support/sanitizers.h"

// As in src/capi/exclusive.h, which is for bindings.
extern "C" void opd_private_visit_exclusive(opd_packed_fn fn, void *const *roots, size_t num_roots,
                                            void (*visit)(void *user_data, void *context), void *context);

namespace opdyno_test {
namespace {

struct Closure {
  opd_closure *handle = nullptr;
  Function function;
  Closure(opd_packed_fn body, void *data, const char *signature) {
    EXPECT_OK(opd_function_create(body, data, nullptr, &function.handle));
    EXPECT_OK(opd_closure_create(function.handle, signature, &handle));
  }
  Closure(const Closure &) = delete;
  ~Closure() { opd_closure_release(handle); }
  template <class F>
  F *pointer() {
    return reinterpret_cast<F *>(opd_closure_pointer(handle));
  }
  Failure error() { return failure(opd_closure_take_error(handle)); }
};

opd_error *compare(void *calls, const opd_value *args, int32_t, opd_value *out) {
  ++*static_cast<int *>(calls);
  const int a = *static_cast<const int *>(args[0].u.pointer), b = *static_cast<const int *>(args[1].u.pointer);
  *out = opd_int((a > b) - (a < b));
  return nullptr;
}

TEST(AClosure, ComparesForQsort) {
  int calls = 0, data[] = {5, -3, 9, 0, 7, 7, -8};
  Closure closure(compare, &calls, "i32(ptr, ptr)");
  qsort(data, 7, sizeof(int), closure.pointer<int(const void *, const void *)>());
  EXPECT_EQ(std::vector<int>(data, data + 7), (std::vector<int>{-8, -3, 0, 5, 7, 7, 9}));
  EXPECT_GE(calls, 6);
  EXPECT_EQ(opd_closure_take_error(closure.handle), nullptr);
}

opd_error *echo(void *seen, const opd_value *args, int32_t num_args, opd_value *out) {
  for (int32_t i = 0; i < num_args; ++i) static_cast<std::vector<opd_value> *>(seen)->push_back(args[i]);
  return opd_value_retain(&args[num_args - 1], out);
}

TEST(AClosure, GivesEveryTypeToItsFunction) {
  std::vector<opd_value> seen;
  Closure closure(echo, &seen, "f64(bool, i8, i16, i32, i64, u8, u16, u32, u64, ptr, str, tensor, f32, f64)");
  DLTensor tensor{};
  const double result = closure.pointer<double(bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                                               uint64_t, void *, const char *, DLTensor *, float, double)>()(
      true, -128, -32768, INT32_MIN, INT64_MIN, 255, 65535, UINT32_MAX, INT64_MAX, nullptr, "text", &tensor, 0.5f,
      0.25);
  EXPECT_EQ(result, 0.25);
  ASSERT_EQ(seen.size(), 14u);
  const int64_t ints[] = {1, -128, -32768, INT32_MIN, INT64_MIN, 255, 65535, UINT32_MAX, INT64_MAX};
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(seen[i].type, i == 0 ? OPD_BOOL : OPD_INT);
    EXPECT_EQ(seen[i].u.int64, ints[i]);
  }
  EXPECT_EQ(seen[9].type, OPD_NONE);
  EXPECT_EQ(seen[10].type, OPD_CSTRING);
  EXPECT_EQ(seen[11].u.dltensor, &tensor);
  EXPECT_EQ(seen[12].u.float64, 0.5);
  EXPECT_EQ(closure.error().message, "");
}

template <class T>
void check_results(const char *signature, std::vector<T> values) {
  std::vector<opd_value> seen;
  Closure closure(echo, &seen, signature);
  for (const T value : values) EXPECT_EQ(closure.pointer<T(T)>()(value), value) << signature;
  EXPECT_EQ(closure.error().message, "") << signature;
}

TEST(AClosure, ReturnsEveryType) {
  check_results<bool>("bool(bool)", {true, false});
  check_results<int8_t>("i8(i8)", {-128, -1, 127});
  check_results<int16_t>("i16(i16)", {-32768, 32767});
  check_results<int32_t>("i32(i32)", {INT32_MIN, -1, INT32_MAX});
  check_results<int64_t>("i64(i64)", {INT64_MIN, INT64_MAX});
  check_results<uint8_t>("u8(u8)", {0, 255});
  check_results<uint16_t>("u16(u16)", {65535});
  check_results<uint32_t>("u32(u32)", {UINT32_MAX});
  check_results<uint64_t>("u64(u64)", {INT64_MAX});
  check_results<float>("f32(f32)", {-0.5f, 1e30f});
  check_results<double>("f64(f64)", {1e300});
  int x = 0;
  check_results<void *>("ptr(ptr)", {nullptr, &x});
}

struct Pair {
  int8_t small;
  double large;
};
TEST(AClosure, TakesAndGivesStructs) {
  Closure closure(
      [](void *, const opd_value *args, int32_t, opd_value *out) -> opd_error * {
        auto *given = reinterpret_cast<opd_array *>(args[0].u.object);
        opd_value fields[2];
        for (size_t i = 0; i < 2; ++i)
          if (opd_error *error = opd_array_get(given, 1 - i, &fields[i])) return error;
        std::swap(fields[0], fields[1]);  // plain numbers: nothing to release
        fields[0].u.int64 += 1;
        opd_array *array = nullptr;
        if (opd_error *error = opd_array_create(fields, 2, &array)) return error;
        *out = opd_value_of_object(array);
        return nullptr;
      },
      nullptr, "{i8, f64}({i8, f64})");
  const Pair result = closure.pointer<Pair(Pair)>()({41, 2.5});
  EXPECT_EQ(closure.error().message, "");
  EXPECT_EQ(result.small, 42);
  EXPECT_EQ(result.large, 2.5);
}

TEST(AClosure, ReturnsZeroAndKeepsTheFirstError) {
  Closure closure(
      [](void *, const opd_value *args, int32_t, opd_value *) {
        return opd_error_create(OPD_NOT_FOUND, "KeyError", args[0].u.int64 == 1 ? "first" : "second");
      },
      nullptr, "i32(i32)");
  EXPECT_EQ(closure.pointer<int(int)>()(1), 0);
  EXPECT_EQ(closure.pointer<int(int)>()(2), 0);
  const Failure told = closure.error();
  EXPECT_EQ(told.code, OPD_NOT_FOUND);
  EXPECT_EQ(told.kind, "KeyError");
  EXPECT_EQ(told.message, "first");
  EXPECT_EQ(opd_closure_take_error(closure.handle), nullptr);  // once
  EXPECT_EQ(closure.pointer<int(int)>()(2), 0);
  EXPECT_EQ(closure.error().message, "second");
}

TEST(AClosure, RefusesAResultThatDoesNotFit) {
  const auto large = [](void *, const opd_value *, int32_t, opd_value *out) -> opd_error * {
    return *out = opd_int(300), nullptr;
  };
  const auto text = [](void *, const opd_value *, int32_t, opd_value *out) {
    return opd_string_create("a long string", 13, out);
  };
  Closure narrow(large, nullptr, "u8()"), number(text, nullptr, "f64()"), pair(text, nullptr, "{i64, i64, i64}()"),
      nothing(text, nullptr, "void()");
  EXPECT_EQ(narrow.pointer<uint8_t()>()(), 0);
  EXPECT_EQ(narrow.error().message, "the result of the closure must fit u8, but is 300");
  EXPECT_EQ(number.pointer<double()>()(), 0.0);
  EXPECT_EQ(number.error().message, "the result of the closure must be f64, but is ffi.String");
  struct Three {
    int64_t a, b, c;
  };
  const Three three = pair.pointer<Three()>()();
  EXPECT_EQ(three.a | three.b | three.c, 0);
  EXPECT_EQ(pair.error().kind, "TypeError");
  nothing.pointer<void()>()();  // C asked for no result
  EXPECT_EQ(opd_closure_take_error(nothing.handle), nullptr);
}

TEST(AClosure, RefusesAnArgumentThatNoValueHolds) {
  int calls = 0;
  Closure closure(compare, &calls, "i32(u64, ptr)");
  EXPECT_EQ(closure.pointer<int(uint64_t, void *)>()(UINT64_MAX, nullptr), 0);
  EXPECT_EQ(closure.error().message,
            "args[0] of the closure is 18446744073709551615, which is more than an int value holds");
  EXPECT_EQ(calls, 0);
}

TEST(AClosure, IsCalledFromAnyThread) {
  std::atomic<int> calls{0};
  Closure closure(
      [](void *n, const opd_value *args, int32_t, opd_value *out) -> opd_error * {
        ++*static_cast<std::atomic<int> *>(n);
        if (args[0].u.int64 == 13) return opd_error_create(OPD_CALL_FAILED, nullptr, "thirteen");
        return *out = opd_int(args[0].u.int64 * 2), nullptr;
      },
      &calls, "i64(i64)");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(closure.pointer<int64_t(int64_t)>()(i), i == 13 ? 0 : 2 * i);
    });
  for (auto &thread : threads) thread.join();
  EXPECT_EQ(calls, 400);
  EXPECT_EQ(closure.error().message, "thirteen");
  EXPECT_EQ(opd_closure_take_error(closure.handle), nullptr);
}

TEST(AClosure, KeepsItsFunctionAlive) {
  Counter counter;
  opd_function *function = nullptr;
  opd_closure *closure = nullptr;
  EXPECT_OK(opd_function_create(add, &counter, end, &function));
  EXPECT_OK(opd_closure_create(function, "i64(i64, i64)", &closure));
  opd_function_release(function);
  EXPECT_EQ(counter.ended, 0);
  EXPECT_EQ(reinterpret_cast<int64_t (*)(int64_t, int64_t)>(opd_closure_pointer(closure))(20, 22), 42);
  opd_closure_release(closure);
  EXPECT_EQ(counter.ended, 1);
}

TEST(AClosure, CanBePassedToANativeFunction) {
  int calls = 0;
  Closure closure(compare, &calls, "i32(ptr, ptr)");
  Native<void(void *, size_t, size_t, int (*)(const void *, const void *))> sort(&qsort, "void(ptr, u64, u64, ptr)",
                                                                                 "qsort");
  int data[] = {3, 1, 2};
  EXPECT_EQ(
      sort.plain({opd_pointer(data), opd_int(3), opd_int(4), opd_pointer(opd_closure_pointer(closure.handle))}).type,
      OPD_NONE);
  EXPECT_EQ(data[0] * 100 + data[1] * 10 + data[2], 123);
}

TEST(AClosure, IsRefusedForUnsupportedSignatures) {
  Function function;
  opd_closure *none = nullptr;
  EXPECT_OK(opd_function_create(echo, nullptr, nullptr, &function.handle));
  for (const char *signature :
       {"i32(str, ...)", "str(i32)", "tensor()", "{i32, str}()", "void({i32, tensor})", "i32(", "i33()"})
    EXPECT_EQ(failure(opd_closure_create(function.handle, signature, &none)).code, OPD_INVALID_ARGUMENT) << signature;
  const std::string owner = "nothing would own a str or tensor in its result; use ptr";
  for (const auto &[signature, why] :
       {std::pair<std::string, std::string>{"i32(str, ...)", "its number of arguments must be fixed"},
        {"str(i32)", owner},
        {"tensor()", owner},
        {"{i32, str}()", owner},
        {"void({i32, tensor})", "a tensor in a struct cannot be passed on; use ptr"}})
    EXPECT_EQ(failure(opd_closure_create(function.handle, signature.c_str(), &none)).message,
              "the signature \"" + signature + "\" cannot be one of a closure: " + why);
  EXPECT_EQ(failure(opd_closure_create(nullptr, "void()", &none)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(opd_closure_create(function.handle, nullptr, &none)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(opd_closure_create(function.handle, "void()", nullptr)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(opd_closure_pointer(nullptr), nullptr);
  EXPECT_EQ(opd_closure_take_error(nullptr), nullptr);
  opd_closure_release(nullptr);
}

TEST(AClosure, IsUnsupportedWithoutExecutableMemory) {
  if (has_sanitizer()) GTEST_SKIP() << "sanitizers need mappings of their own";
  Function function;
  EXPECT_OK(opd_function_create(echo, nullptr, nullptr, &function.handle));
  const pid_t child = fork();
  if (child == 0) {
    // No further mappings, but a heap with room: then libffi's memory is what runs out.
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_MMAP_MAX, 0);
    std::free(std::malloc(64 << 20));
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_AS, &none);
    opd_error *error = nullptr;
    for (int i = 0; i < 20'000 && !error; ++i) {
      opd_closure *closure = nullptr;
      error = opd_closure_create(function.handle, "void()", &closure);
    }
    _exit(opd_error_code(error));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), OPD_UNSUPPORTED);
}

// The data of the callbacks that nothing but the root keeps.
std::vector<void *> exclusive_of(void *root) {
  std::vector<void *> found;
  void *const roots[] = {root, nullptr};
  opd_private_visit_exclusive(
      compare, roots, 2,
      [](void *data, void *context) { static_cast<std::vector<void *> *>(context)->push_back(data); }, &found);
  return found;
}

opd_vm *vm_of_identity() {
  const std::string program = ".func main(x) {\n  ret %x\n}";
  opd_executable *executable = nullptr;
  opd_module *module = nullptr;
  opd_vm *vm = nullptr;
  EXPECT_OK(opd_executable_assemble(program.data(), program.size(), &executable));
  EXPECT_OK(opd_executable_to_module(executable, &module));
  EXPECT_OK(opd_vm_create(module, nullptr, &vm));
  opd_module_release(module);
  opd_executable_release(executable);
  return vm;
}

// What bindings use so that their garbage collector finds cycles.
TEST(ExclusiveReferences, IncludeObjectsOwnedOnlyByTheRoots) {
  int first = 0, second = 0;
  Function alone, shared;
  EXPECT_OK(opd_function_create(compare, &first, nullptr, &alone.handle));
  EXPECT_OK(opd_function_create(compare, &second, nullptr, &shared.handle));
  opd_value items[] = {opd_value_of_object(alone.handle), opd_value_of_object(shared.handle), opd_int(1)};
  opd_array *array = nullptr;
  EXPECT_OK(opd_array_create(items, 3, &array));
  opd_function_release(std::exchange(alone.handle, nullptr));  // now the array alone keeps it
  EXPECT_EQ(exclusive_of(array), std::vector<void *>{&first});
  opd_array_release(array);
}

TEST(ExclusiveReferences, GoThroughSavedCallsOfAVm) {
  opd_vm *const vm = vm_of_identity();
  int kept = 0;
  Function callback, saved;
  EXPECT_OK(opd_function_create(compare, &kept, nullptr, &callback.handle));
  const opd_value argument = opd_value_of_object(callback.handle);
  EXPECT_OK(opd_vm_save_function(vm, "main", "saved", &argument, 1, nullptr, 1));
  EXPECT_OK(opd_vm_get_function(vm, "saved", &saved.handle));
  opd_function_release(std::exchange(callback.handle, nullptr));
  opd_vm_release(vm);
  EXPECT_EQ(exclusive_of(saved.handle), std::vector<void *>{&kept})
      << "the saved call keeps the VM and the arguments, which the VM keeps, too";
}

TEST(ExclusiveReferences, GoThroughInputsOutputsAndTheInstrumentOfAVm) {
  opd_vm *const vm = vm_of_identity();
  int kept = 0, instrument = 0;
  Function callback, observer;
  EXPECT_OK(opd_function_create(compare, &kept, nullptr, &callback.handle));
  EXPECT_OK(opd_function_create(compare, &instrument, nullptr, &observer.handle));
  const auto found = [vm] { return exclusive_of(vm); };
  const opd_value argument = opd_value_of_object(callback.handle);
  EXPECT_OK(opd_vm_set_input(vm, "main", &argument, 1, nullptr));
  EXPECT_EQ(found(), std::vector<void *>()) << "the test keeps it, too";
  opd_function_release(std::exchange(callback.handle, nullptr));
  EXPECT_EQ(found(), std::vector<void *>{&kept}) << "an input";
  EXPECT_OK(opd_vm_invoke_stateful(vm, "main", nullptr));
  EXPECT_EQ(found(), std::vector<void *>{&kept}) << "the input and the output, which are one";
  EXPECT_OK(opd_vm_set_instrument(vm, observer.handle));
  EXPECT_EQ(found(), std::vector<void *>{&kept});
  opd_function_release(std::exchange(observer.handle, nullptr));
  EXPECT_EQ(found().size(), 2u) << "and the instrument";
  opd_vm_release(vm);
}

TEST(ExclusiveReferences, ExcludeObjectsWithOtherOwners) {
  int kept = 0;
  Function callback;
  EXPECT_OK(opd_function_create(compare, &kept, nullptr, &callback.handle));
  opd_value item = opd_value_of_object(callback.handle);
  opd_array *inner = nullptr, *outer = nullptr;
  EXPECT_OK(opd_array_create(&item, 1, &inner));
  item = opd_value_of_object(inner);
  EXPECT_OK(opd_array_create(&item, 1, &outer));
  opd_function_release(std::exchange(callback.handle, nullptr));
  const auto count = [outer] { return exclusive_of(outer).size(); };
  EXPECT_EQ(count(), 0u) << "the test keeps the inner array, which keeps the callback";
  opd_array_release(inner);
  EXPECT_EQ(count(), 1u);
  opd_array_retain(outer);
  EXPECT_EQ(count(), 0u) << "also over two steps";
  opd_array_release(outer);
  opd_array_release(outer);
}

// A callback of the body that is sought. Only its container will keep it, once the handle is released.
opd_value callback(int &data) {
  opd_function *made = nullptr;
  EXPECT_OK(opd_function_create(compare, &data, nullptr, &made));
  return opd_value_of_object(made);
}
std::vector<void *> sorted(std::vector<void *> found) {
  std::sort(found.begin(), found.end());
  return found;
}

TEST(ExclusiveReferences, GoThroughKeysAndValuesOfMaps) {
  int data[3] = {};
  opd_value pairs[] = {callback(data[0]), callback(data[1]), opd_int(7), callback(data[2])};
  opd_map *map = nullptr;
  EXPECT_OK(opd_map_create(pairs, 2, &map));
  for (const int i : {0, 1, 3}) opd_value_release(&pairs[i]);
  EXPECT_EQ(sorted(exclusive_of(map)), (std::vector<void *>{&data[0], &data[1], &data[2]}));
  opd_map_release(map);
}

TEST(ExclusiveReferences, GoThroughClosuresOfPrograms) {
  int data[3] = {};
  Function make_closure;
  EXPECT_OK(opd_function_get_global("vm.builtin.make_closure", &make_closure.handle));
  opd_value args[] = {callback(data[0]), callback(data[1]), opd_int(7), callback(data[2])}, made = opd_none();
  EXPECT_OK(opd_function_call(make_closure.handle, args, 4, &made));
  ASSERT_EQ(made.type, OPD_FUNCTION);
  EXPECT_EQ(exclusive_of(made.u.object), std::vector<void *>()) << "the test keeps all of them";
  opd_value_release(&args[0]);
  EXPECT_EQ(exclusive_of(made.u.object), std::vector<void *>{&data[0]}) << "the function";
  for (const int i : {1, 3}) opd_value_release(&args[i]);
  EXPECT_EQ(sorted(exclusive_of(made.u.object)), (std::vector<void *>{&data[0], &data[1], &data[2]}))
      << "and what it captured";
  opd_value_release(&made);
}

TEST(ExclusiveReferences, GoThroughEvaluators) {
  int data[2] = {};
  opd_value measured = callback(data[0]), preprocess = callback(data[1]);
  opd_evaluator_options options;
  opd_evaluator_options_init(&options);
  options.preprocess = reinterpret_cast<opd_function *>(preprocess.u.object);
  opd_evaluator *evaluator = nullptr;
  EXPECT_OK(opd_evaluator_create(reinterpret_cast<opd_function *>(measured.u.object), &options, &evaluator));
  opd_value_release(&measured), opd_value_release(&preprocess);
  EXPECT_EQ(sorted(exclusive_of(evaluator)), (std::vector<void *>{&data[0], &data[1]}));
  opd_evaluator_release(evaluator);
}

TEST(ExclusiveReferences, AreListedOnceIfTheyAreHeldTwice) {
  int data = 0, other = 0;
  opd_value item = callback(data);
  const opd_packed_fn another = [](void *, const opd_value *, int32_t, opd_value *) -> opd_error * { return nullptr; };
  Function of_another;
  EXPECT_OK(opd_function_create(another, &other, nullptr, &of_another.handle));
  const opd_value items[] = {item, item, opd_value_of_object(of_another.handle), item};
  opd_array *array = nullptr;
  EXPECT_OK(opd_array_create(items, 4, &array));
  opd_function_release(std::exchange(of_another.handle, nullptr));
  EXPECT_EQ(exclusive_of(array), std::vector<void *>());
  opd_value_release(&item);
  EXPECT_EQ(exclusive_of(array), std::vector<void *>{&data}) << "once, and not those of another body";
  opd_array_release(array);
}

TEST(ExclusiveReferences, GoAroundCycles) {
  opd_vm *const vm = vm_of_identity();
  int data = 0;
  opd_value items[] = {opd_value_of_object(vm), callback(data)};
  opd_array *array = nullptr;
  EXPECT_OK(opd_array_create(items, 2, &array));
  opd_value_release(&items[1]);
  const opd_value input = opd_value_of_object(array), none = opd_none();
  EXPECT_OK(opd_vm_set_input(vm, "main", &input, 1, nullptr));  // the VM holds the array, which holds the VM
  EXPECT_EQ(exclusive_of(vm), std::vector<void *>()) << "the test keeps the array";
  opd_array_release(array);
  EXPECT_EQ(exclusive_of(vm), std::vector<void *>{&data});
  opd_vm_retain(vm);
  EXPECT_EQ(exclusive_of(vm), std::vector<void *>()) << "somebody else keeps the VM";
  opd_vm_release(vm);
  EXPECT_OK(opd_vm_set_input(vm, "main", &none, 1, nullptr));
  opd_vm_release(vm);
}

}  // namespace
}  // namespace opdyno_test
