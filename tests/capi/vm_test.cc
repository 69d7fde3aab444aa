// Running programs through include/opdyno/vm.h. Kernels are packed functions of the test, so that every value is known.
#include <atomic>
#include <thread>

#include "support/add_one.h"

using namespace opdyno_test;

namespace {

// A chain of n kernels over two storages, as the compiler's memory planner lays them out.
std::string chain(int n) {
  std::string text =
      ".func main(x) {\n"
      "  %a = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), \"global\")\n"
      "  %b = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), \"global\")\n"
      "  %t0 = call vm.builtin.alloc_tensor(%a, 0, shape(4), dtype(float32))\n"
      "  call test.add_one(%x, %t0)\n";
  for (int i = 1; i < n; ++i) {
    const std::string now = "%t" + std::to_string(i % 2), before = "%t" + std::to_string((i + 1) % 2);
    text +=
        "  " + now + " = call vm.builtin.alloc_tensor(" + (i % 2 ? "%b" : "%a") + ", 0, shape(4), dtype(float32))\n";
    text += "  call test.add_one(" + before + ", " + now + ")\n  " + before + " = call vm.builtin.null_value()\n";
  }
  return text + "  ret %t" + std::to_string((n - 1) % 2) + "\n}\n";
}

}  // namespace

TEST(Vm, RunsAProgramOnATensor) {
  const Vm vm = make_vm(kAddOne);
  EXPECT_EQ(to_floats(vm.call("main", floats({1, 2, 3, 4}))), (std::vector<float>{2, 3, 4, 5}));
}

TEST(Vm, ListsItsFunctionsAndTheirParameters) {
  const Vm vm = make_vm(".func main(x, y) {\n  ret %x\n}\n.func other() {\n  ret %void\n}\n");
  Handle<opd_array> functions, params;
  check(opd_vm_list_functions(vm.get(), functions.out()));
  EXPECT_EQ(Value::retain(arg(functions)).to_string(), R"(["main", "other"])");
  check(opd_vm_list_params(vm.get(), "main", params.out()));
  EXPECT_EQ(Value::retain(arg(params)).to_string(), R"(["x", "y"])");
  expect_error(opd_vm_list_params(vm.get(), "absent", params.out()), OPD_NOT_FOUND, "absent");
}

TEST(Vm, ResultsStayValidAfterTheVmIsGone) {
  Value kept;
  {
    const Vm vm = make_vm(chain(3));
    kept = vm.call("main", floats({0, 0, 0, 0}));
    vm.call("main", floats({9, 9, 9, 9}));  // must not write over what was returned
  }
  EXPECT_EQ(to_floats(kept), (std::vector<float>{3, 3, 3, 3}));
}

TEST(Vm, ABoundFunctionKeepsTheVmAlive) {
  Function main;
  {
    const Vm vm = make_vm(chain(10));
    main = vm.function("main");
  }
  for (int i = 0; i < 5; ++i) EXPECT_EQ(to_floats(main(floats({0, 1, 2, 3}))), (std::vector<float>{10, 11, 12, 13}));
}

TEST(Vm, OneVmAnswersManyThreadsAtOnce) {
  const Vm vm = make_vm(chain(50));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const float x = static_cast<float>(1000 * t + i);
        wrong += to_floats(vm.call("main", floats({x, x, x, x}))) != std::vector<float>(4, x + 50);
      }
    });
  for (auto &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Vm, RecursionAndConditionsCountDown) {
  define("test.minus_one", [](const opd_value *args, int32_t, opd_value *out) { *out = opd_int(args[0].u.int64 - 1); });
  define("test.plus",
         [](const opd_value *args, int32_t, opd_value *out) { *out = opd_int(args[0].u.int64 + args[1].u.int64); });
  const Vm vm = make_vm(R"(
.func sum(n) {
  %c = call vm.builtin.read_if_cond(%n)
  if %c else zero
  %m = call test.minus_one(%n)
  %rest = call sum(%m)
  %r = call test.plus(%n, %rest)
  ret %r
zero:
  ret %n
})");
  EXPECT_EQ(vm.call("sum", 100).view().u.int64, 5050);
  expect_throws([&] { vm.call("sum", 5000); }, OPD_OUT_OF_RANGE, "nested more than 1000 deep, at function sum");
  EXPECT_EQ(vm.call("sum", 3).view().u.int64, 6) << "the VM must be usable after the error";
}

TEST(Vm, CallsNestAsDeepAsTheOptionSays) {
  define("test.minus_one", [](const opd_value *args, int32_t, opd_value *out) { *out = opd_int(args[0].u.int64 - 1); });
  opd_vm_options options;
  opd_vm_options_init(&options);
  options.max_depth = 3;
  const Vm vm = make_vm(R"(
.func down(n) {
  %c = call vm.builtin.read_if_cond(%n)
  if %c else zero
  %m = call test.minus_one(%n)
  %r = call down(%m)
  ret %r
zero:
  ret %n
})",
                        &options);
  EXPECT_EQ(vm.call("down", 2).view().u.int64, 0) << "three calls";
  expect_throws([&] { vm.call("down", 3); }, OPD_OUT_OF_RANGE, "nested more than 3 deep");
}

// Each call of test.counted makes an object that counts its end.
TEST(Vm, EndsObjectsThatAProgramDropsOrWritesOver) {
  static int ended;
  define("test.counted", [](const opd_value *, int32_t, opd_value *out) {
    opd_function *made = nullptr;
    check(opd_function_create([](void *, const opd_value *, int32_t, opd_value *) -> opd_error * { return nullptr; },
                              &ended, [](void *count) { ++*static_cast<int *>(count); }, &made));
    *out = opd_value_of_object(made);
  });
  const Vm vm = make_vm(R"(
.func dropped() {
  call test.counted()
  ret %void
}
.func over(x) {
  %x = call test.counted()
  ret %void
})");
  ended = 0;
  vm.call("dropped");
  EXPECT_EQ(ended, 1) << "a result without a register";
  vm.call("over", 1);
  EXPECT_EQ(ended, 2) << "a parameter that the function wrote over";
}

TEST(Vm, AnAllocationThatFailedTakesNothingOfTheLimit) {
  opd_vm_options options;
  opd_vm_options_init(&options);
  options.memory_limit_bytes = uint64_t{3} << 49;
  const Vm vm = make_vm(R"(
.func main(n) {
  %h = call vm.builtin.alloc_shape_heap(%vm, 1)
  call vm.builtin.match_prim_value(%n, %h, 1, 0, "main")
  %shape = call vm.builtin.make_shape(%h, 1, 1, 0)
  %s = call vm.builtin.alloc_storage(%vm, %shape, 0, dtype(uint8), "global")
  ret %s
})",
                        &options);
  for (int i = 0; i < 2; ++i) {
    Value result;
    const opd_value args[] = {opd_int(int64_t{1} << 50)};  // twice as much would be more than the limit
    const Error error(opd_vm_call(vm.get(), "main", args, 1, nullptr, result.out()));
    EXPECT_EQ(error.code(), OPD_OUT_OF_MEMORY) << error.what();
    EXPECT_EQ(error.message().find("limit"), std::string::npos) << error.what();
  }
}

TEST(Vm, ALoopStopsAtTheDeadlineAndByTheToken) {
  define("test.nothing", [](const opd_value *, int32_t, opd_value *) {});
  const Vm vm = make_vm(
      ".func main() {\nagain:\n  call test.nothing()\n  goto again\n}\n.func tight() {\nagain:\n  goto again\n}");
  opd_call_options options;
  opd_call_options_init(&options);
  options.timeout_ns = 20'000'000;
  for (const char *name : {"main", "tight"})
    expect_error(opd_vm_call(vm.get(), name, nullptr, 0, &options, nullptr), OPD_DEADLINE_EXCEEDED, "deadline passed");
  Handle<opd_cancel_token> cancel;
  check(opd_cancel_token_create(cancel.out()));
  options.timeout_ns = 0;
  options.cancel = cancel.get();
  std::thread other([&] {
    while (!opd_cancel_token_current_operator(cancel.get())) std::this_thread::yield();
    EXPECT_STREQ(opd_cancel_token_current_operator(cancel.get()), "test.nothing");
    opd_cancel_token_cancel(cancel.get());
  });
  expect_error(opd_vm_call(vm.get(), "main", nullptr, 0, &options, nullptr), OPD_CANCELLED, "cancelled");
  other.join();
  expect_error(opd_vm_call(vm.get(), "main", nullptr, 0, &options, nullptr), OPD_CANCELLED);
}

// The thread that watches deadlines may be late, and the call may be short.
TEST(Vm, ACallWhoseDeadlineIsOverDoesNotBegin) {
  static int calls = 0;
  define("test.count_call", [](const opd_value *, int32_t, opd_value *) { ++calls; });
  const Vm vm = make_vm(".func main() {\n  %r = call test.count_call()\n  ret %r\n}");
  opd_call_options options;
  opd_call_options_init(&options);
  options.timeout_ns = 1;
  for (int i = 0; i < 200; ++i)
    expect_error(opd_vm_call(vm.get(), "main", nullptr, 0, &options, nullptr), OPD_DEADLINE_EXCEEDED);
  EXPECT_EQ(calls, 0);
}

TEST(Vm, CallsWithoutATokenUseTheThreadsToken) {
  Handle<opd_cancel_token> cancel, own;
  check(opd_cancel_token_create(cancel.out()));
  check(opd_cancel_token_create(own.out()));
  check(opd_cancel_token_set_default(cancel.get()));
  define("test.refused", [&](const opd_value *, int32_t, opd_value *) {
    expect_error(opd_cancel_token_set_default(nullptr), OPD_FAILED_PRECONDITION, "inside of a call");
  });
  const Vm vm =
      make_vm(".func main() {\n  call test.refused()\n  ret %void\n}\n.func loop() {\nagain:\n  goto again\n}");
  vm.call("main");
  std::thread other([&] {
    vm.call("main");
    opd_cancel_token_cancel(cancel.get());
    vm.call("main");  // this thread has no token
  });
  Handle<opd_function> bound;
  check(opd_vm_get_function(vm.get(), "loop", bound.out()));
  expect_error(opd_function_call(bound.get(), nullptr, 0, nullptr), OPD_CANCELLED);
  other.join();
  expect_error(opd_vm_call(vm.get(), "loop", nullptr, 0, nullptr, nullptr), OPD_CANCELLED);
  opd_call_options options;
  opd_call_options_init(&options);
  options.cancel = own.get();
  opd_cancel_token_reset(cancel.get());
  check(opd_vm_call(vm.get(), "main", nullptr, 0, &options, nullptr));
  check(opd_cancel_token_set_default(nullptr));
  vm.call("main");
}

TEST(Vm, ACallWithItsOwnTokenIsAlsoCancelledByTheThreadsToken) {
  static opd_vm *inner;
  static opd_cancel_token *to_cancel, *of_inner;
  Handle<opd_cancel_token> of_thread, own;
  check(opd_cancel_token_create(of_thread.out()));
  check(opd_cancel_token_create(own.out()));
  define("test.cancel", [](const opd_value *, int32_t, opd_value *) { opd_cancel_token_cancel(to_cancel); });
  define("test.inner", [](const opd_value *, int32_t, opd_value *) {
    opd_call_options within;
    opd_call_options_init(&within);
    within.cancel = of_inner;
    check(opd_vm_call(inner, "loop", nullptr, 0, &within, nullptr));
  });
  const Vm vm = make_vm(
      ".func loop() {\nagain:\n  call test.cancel()\n  goto again\n}\n"
      ".func outer() {\n  call test.inner()\n  ret %void\n}");
  inner = vm.get();
  opd_call_options options;
  opd_call_options_init(&options);
  options.cancel = own.get();
  check(opd_cancel_token_set_default(of_thread.get()));
  for (opd_cancel_token *token : {of_thread.get(), own.get()})
    for (opd_cancel_token *within : {static_cast<opd_cancel_token *>(nullptr), own.get()})
      for (const char *function : {"loop", "outer"}) {
        to_cancel = token, of_inner = within;
        expect_error(opd_vm_call(vm.get(), function, nullptr, 0, &options, nullptr), OPD_CANCELLED);
        opd_cancel_token_reset(token);
      }
  check(opd_cancel_token_set_default(nullptr));
}

TEST(Vm, ACallFromWithinARunEndsWithTheOuterDeadline) {
  static Vm inner;
  define("test.nothing", [](const opd_value *, int32_t, opd_value *) {});
  inner = make_vm(".func loop() {\nagain:\n  call test.nothing()\n  goto again\n}");
  define("test.call_inner", [](const opd_value *, int32_t, opd_value *) { inner.call("loop"); });
  const Vm outer = make_vm(".func main() {\n  call test.call_inner()\n  ret %void\n}");
  opd_call_options options;
  opd_call_options_init(&options);
  options.timeout_ns = 20'000'000;
  expect_error(opd_vm_call(outer.get(), "main", nullptr, 0, &options, nullptr), OPD_DEADLINE_EXCEEDED);
  inner = Vm();
}

TEST(Vm, TuplesArriveNestedAsTheProgramReturnsThem) {
  const Vm vm = make_vm(R"(
.func main(x, y) {
  %inner = call vm.builtin.make_tuple(%y, 7)
  %outer = call vm.builtin.make_tuple(%x, %inner, "text", shape(2, 3))
  ret %outer
})");
  const Value result = vm.call("main", floats({1}), floats({2}));
  EXPECT_EQ(result.to_string(), R"([Tensor(float32[1], cpu:0), [Tensor(float32[1], cpu:0), 7], "text", [2, 3]])");
}

TEST(Vm, ATensorThatEscapesIntoATupleKeepsItsMemory) {
  const Vm vm = make_vm(R"(
.func main(x) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call test.add_one(%x, %t)
  %pair = call vm.builtin.make_tuple(%t, %t)
  %t = call vm.builtin.null_value()
  %s = call vm.builtin.null_value()
  %s2 = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %t2 = call vm.builtin.alloc_tensor(%s2, 0, shape(4), dtype(float32))
  call test.add_one(%t2, %t2)
  %first = call vm.builtin.tuple_getitem(%pair, 0)
  ret %first
})");
  std::vector<Value> kept;
  for (int i = 0; i < 3; ++i) kept.push_back(vm.call("main", floats({float(i), 0, 0, 0})));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(to_floats(kept[i]), (std::vector<float>{i + 1.f, 1, 1, 1}));
}

TEST(Vm, SymbolicSizesAreMatchedAndMade) {
  const Vm vm = make_vm(R"(
.func main(x, y) {
  %heap = call vm.builtin.alloc_shape_heap(%vm, 2)
  call vm.builtin.match_shape(%x, %heap, 2, 1, 0, 1, 1, "x")
  call vm.builtin.match_shape(%y, %heap, 2, 3, 1, 3, 0, "y must be the transposed shape of x")
  %s = call vm.builtin.make_shape(%heap, 3, 1, 1, 0, 5, 1, 0)
  ret %s
})");
  EXPECT_EQ(vm.call("main", floats(std::vector<float>(6), {2, 3}), floats(std::vector<float>(6), {3, 2})).to_string(),
            "[3, 5, 2]");
  expect_throws(
      [&] {
        vm.call("main", floats(std::vector<float>(6), {2, 3}), floats(std::vector<float>(6), {2, 3}));
      },
      OPD_INVALID_ARGUMENT, "y must be the transposed shape of x: expected dimension 0 to be 3, but it is 2");
}

TEST(Vm, ClosuresBindTrailingArguments) {
  define("test.show", [](const opd_value *args, int32_t n, opd_value *out) {
    opd_array *array;
    check(opd_array_create(args, static_cast<size_t>(n), &array));
    *out = opd_value_of_object(array);
  });
  const Vm vm = make_vm(R"(
.func pair(a, b) {
  %r = call test.show(%a, %b)
  ret %r
}
.func main() {
  %f = call vm.builtin.make_closure(@pair, 20)
  %r = call vm.builtin.invoke_closure(%vm, %f, 10)
  ret %r
}
.func make() {
  %f = call vm.builtin.make_closure(@pair, 2)
  ret %f
})");
  EXPECT_EQ(vm.call("main").to_string(), "[10, 20]");
  const Value closure = vm.call("make");
  ASSERT_EQ(closure.type(), OPD_FUNCTION);
  const Function function(static_cast<opd_function *>(opd_object_retain(closure.view().u.object)));
  EXPECT_EQ(function(1).to_string(), "[1, 2]");
}

// ---- misuse

TEST(Vm, UnknownNamesListCloseOnes) {
  const Vm vm = make_vm(kAddOne);
  expect_throws([&] { vm.call("mian"); }, OPD_NOT_FOUND, "Did you mean main?");
  expect_throws([] { make_vm(".func main() {\n  call test.absent_one()\n  call test.absent_two()\n  ret %void\n}"); },
                OPD_NOT_FOUND, "test.absent_one, test.absent_two");
}

TEST(Vm, AnOperatorsErrorKeepsItsKindAndNamesTheOperator) {
  define("test.fails", [](const opd_value *, int32_t, opd_value *) {
    throw Error(opd_error_create(OPD_CALL_FAILED, "KeyError", "no such key"));
  });
  const Vm vm = make_vm(".func main() {\n  call test.fails()\n  ret %void\n}");
  opd_error *error = opd_vm_call(vm.get(), "main", nullptr, 0, nullptr, nullptr);
  ASSERT_NE(error, nullptr);
  EXPECT_STREQ(opd_error_kind(error), "KeyError");
  EXPECT_STREQ(opd_error_message(error), "test.fails: no such key (called by main, instruction 0)");
  ASSERT_NE(opd_error_cause(error), nullptr);
  EXPECT_STREQ(opd_error_message(opd_error_cause(error)), "no such key");
  opd_error_release(error);
}

TEST(Vm, StoragesAboveTheLimitAreRefusedBeforeTheyAreTouched) {
  opd_vm_options options;
  opd_vm_options_init(&options);
  options.memory_limit_bytes = 1000;
  const char *text =
      ".func main() {\n  %s = call vm.builtin.alloc_storage(%vm, shape(1125899906842624), 0, dtype(uint8), "
      "\"global\")\n  ret %s\n}\n"
      ".func fits() {\n  %s = call vm.builtin.alloc_storage(%vm, shape(1000), 0, dtype(uint8), \"global\")\n  ret "
      "%void\n}";
  const Vm vm = make_vm(text, &options);
  expect_throws([&] { vm.call("main"); }, OPD_OUT_OF_MEMORY, "1125899906842624 bytes");
  for (int i = 0; i < 10; ++i) vm.call("fits");
  const Vm unlimited = make_vm(text);
  expect_throws([&] { unlimited.call("main"); }, OPD_OUT_OF_MEMORY, "memory limit");
}

TEST(Vm, ATensorLargerThanItsStorageIsRefused) {
  for (const char *shape : {"shape(5)", "shape(-1)", "shape(4611686018427387904, 4)"}) {
    const Vm vm = make_vm(
        std::string(
            ".func main() {\n  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), \"global\")\n"
            "  %t = call vm.builtin.alloc_tensor(%s, 0, ") +
        shape + ", dtype(float32))\n  ret %t\n}");
    expect_throws([&] { vm.call("main"); }, OPD_INVALID_ARGUMENT);
  }
}

TEST(Vm, ATensorAtAnOffsetThatKernelsCannotReadIsRefused) {
  for (const char *rank : {"shape(4)", "%shape"}) {  // known when the program is decoded, and only when it runs
    const Vm vm =
        make_vm(std::string(".func main(shape) {\n"
                            "  %s = call vm.builtin.alloc_storage(%vm, shape(128), 0, dtype(uint8), \"global\")\n"
                            "  %t = call vm.builtin.alloc_tensor(%s, 64, ") +
                rank + ", dtype(float32))\n  %u = call vm.builtin.alloc_tensor(%s, 8, " + rank +
                ", dtype(float32))\n  ret %u\n}");
    Handle<opd_shape> shape;
    const int64_t four = 4;
    check(opd_shape_create(&four, 1, shape.out()));
    expect_throws([&] { vm.call("main", arg(shape)); }, OPD_INVALID_ARGUMENT, "offset 8 is not a multiple of 64");
  }
}

TEST(Vm, TuplesAndClosuresNestDeeperThanTheStack) {
  // A million of them: each would take a few frames to end within the one around it.
  int left = 0;
  define("test.countdown", [&](const opd_value *, int32_t, opd_value *out) { *out = opd_int(--left > 0); });
  const Vm vm = make_vm(R"(
.func nest(x) {
again:
  %x = call vm.builtin.make_tuple(%x)
  %go = call test.countdown()
  if %go else done
  goto again
done:
  ret %x
}
.func wrap(x) {
  %f = call vm.builtin.make_closure(@given, %x)
again:
  %f = call vm.builtin.make_closure(%f)
  %go = call test.countdown()
  if %go else done
  goto again
done:
  %y = call vm.builtin.invoke_closure(%vm, %f)
  ret %y
}
.func capture(x) {
again:
  %x = call vm.builtin.make_closure(@given, %x)
  %go = call test.countdown()
  if %go else done
  goto again
done:
  ret %x
}
.func given(x) {
  ret %x
})");
  for (const char *function : {"nest", "wrap", "capture"}) {
    left = 1'000'000;
    const Value result = vm.call(function, 7);
    if (function == std::string("wrap")) { EXPECT_EQ(result.view().u.int64, 7); }
    if (function == std::string("nest")) { EXPECT_EQ(result.type(), OPD_ARRAY); }
    EXPECT_LT(result.to_string().size(), 1000u);
    EXPECT_EQ(left, 0);
  }
  left = 1000;
  const opd_value seven = opd_int(7);
  const Tensor output = floats({0});
  opd_tensor *const outputs[] = {output.get()};
  opd_call_options options;
  opd_call_options_init(&options);
  options.outputs = outputs;
  options.num_outputs = 1;
  expect_error(opd_vm_call(vm.get(), "nest", &seven, 1, &options, nullptr), OPD_INVALID_ARGUMENT, "nested more than");
}

TEST(Vm, TuplesThatShareTheirItemsAreShownInBoundedText) {
  std::string body = ".func main(x) {\n";
  for (int i = 0; i < 30; ++i) body += "  %x = call vm.builtin.make_tuple(%x, %x)\n";  // 2^30 leaves
  const Vm vm = make_vm(body + "  ret %x\n}");
  EXPECT_LT(vm.call("main", 7).to_string().size(), size_t{4} << 20);
}

TEST(Vm, AnUnprovedReadIsCheckedWhileRunning) {
  const Vm vm = make_vm(R"(
.func main(c) {
  if %c else skip
  %x = call vm.builtin.copy(5)
skip:
  %r = call vm.builtin.copy(%x)
  ret %r
}
.func returns(c) {
  if %c else skip
  %x = call vm.builtin.copy(5)
skip:
  ret %x
})");
  EXPECT_EQ(vm.call("main", 1).view().u.int64, 5);
  expect_throws([&] { vm.call("main", 0); }, OPD_BAD_FORMAT,
                "register %1 is read before it is written in main, instruction 2, a call of vm.builtin.copy");
  EXPECT_EQ(vm.call("returns", 1).view().u.int64, 5);
  expect_throws([&] { vm.call("returns", 0); }, OPD_BAD_FORMAT,
                "register %1 is read before it is written in returns, instruction 2");
}

TEST(Vm, OptionsOfNewerHeadersAreRefusedIfTheySayMore) {
  struct {
    opd_vm_options known;
    uint64_t newer;
  } options{};
  opd_vm_options_init(&options.known);
  options.known.struct_size = sizeof options;
  const Module module = Executable::assemble(".func main() {\n  ret %void\n}").to_module();
  Vm vm;
  check(opd_vm_create(module.get(), &options.known, vm.out()));
  options.newer = 1;
  expect_error(opd_vm_create(module.get(), &options.known, vm.out()), OPD_UNSUPPORTED, "does not know");
  options.known.struct_size = 0;
  expect_error(opd_vm_create(module.get(), &options.known, vm.out()), OPD_INVALID_ARGUMENT, "_init");
}

TEST(Vm, AllocatorsGiveTheSameAnswersAndTrimFreesIdleMemory) {
  opd_memory_stats before{}, held{}, after{};
  before.struct_size = held.struct_size = after.struct_size = sizeof before;
  check(opd_memory_get_stats({kDLCPU, 0}, &before));
  for (const auto kind : {OPD_ALLOCATOR_NAIVE, OPD_ALLOCATOR_POOLED}) {
    opd_vm_options options;
    opd_vm_options_init(&options);
    options.allocators = &kind;
    const Vm vm = make_vm(chain(20), &options);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(to_floats(vm.call("main", floats({0, 1, 2, 3}))), (std::vector<float>{20, 21, 22, 23}));
    check(opd_memory_get_stats({kDLCPU, 0}, &held));
    if (kind == OPD_ALLOCATOR_POOLED) { EXPECT_GT(held.live_bytes, before.live_bytes); }
    check(opd_vm_trim(vm.get()));
    check(opd_memory_get_stats({kDLCPU, 0}, &after));
    EXPECT_EQ(after.live_bytes, before.live_bytes);
  }
}

TEST(Vm, NumbersOfAProgramArriveAsTheyAre) {
  const Vm vm = make_vm(
      ".func main() {\n  %r = call vm.builtin.make_tuple(0, 1, 255, 256, 257, -1, -256, 1099511627776, 255, 256, -1)\n"
      "  ret %r\n}\n");
  EXPECT_EQ(vm.call("main").to_string(), "[0, 1, 255, 256, 257, -1, -256, 1099511627776, 255, 256, -1]");
}

TEST(Vm, CallsThroughForeignFunctionsNestTwoHundredDeep) {
  static Vm vm;
  define("test.again", [](const opd_value *args, int32_t, opd_value *) {
    if (args[0].u.int64 > 0) vm.call("main", args[0].u.int64 - 1);
  });
  vm = make_vm(".func main(n) {\n  call test.again(%n)\n  ret %void\n}\n");
  for (int round = 0; round < 2; ++round) {
    EXPECT_NO_THROW(vm.call("main", 200));
    try {
      vm.call("main", 201);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error &e) {
      EXPECT_EQ(e.code(), OPD_OUT_OF_RANGE);
      EXPECT_EQ(e.kind(), "RecursionError");
      EXPECT_NE(e.message().find("functions of programs call each other through foreign functions more than 200 deep"),
                std::string::npos)
          << e.message();
    }
  }
  vm = Vm();
}

TEST(Vm, ACallFromWithinARunEndsWithItsOwnEarlierDeadline) {
  static Vm inner;
  static opd_code ended;
  define("test.nothing", [](const opd_value *, int32_t, opd_value *) {});
  inner = make_vm(".func loop() {\nagain:\n  call test.nothing()\n  goto again\n}");
  define("test.call_inner", [](const opd_value *, int32_t, opd_value *) {
    opd_call_options options;
    opd_call_options_init(&options);
    options.timeout_ns = 10'000'000;
    opd_error *const error = opd_vm_call(inner.get(), "loop", nullptr, 0, &options, nullptr);
    ended = opd_error_code(error);
    opd_error_release(error);
  });
  const Vm outer = make_vm(
      ".func main() {\n  call test.call_inner()\n  call test.nothing()\n  %r = call vm.builtin.make_tuple(7)\n  ret "
      "%r\n}");
  for (const int64_t timeout : {int64_t{0}, int64_t{60'000'000'000}}) {
    opd_call_options options;
    opd_call_options_init(&options);
    options.timeout_ns = timeout;
    ended = OPD_OK;
    Value result;
    check(opd_vm_call(outer.get(), "main", nullptr, 0, &options, result.out()));
    EXPECT_EQ(ended, OPD_DEADLINE_EXCEEDED);
    EXPECT_EQ(result.to_string(), "[7]") << "the outer call goes on";
  }
  inner = Vm();
}

TEST(Vm, TheTokenOfAThreadIsNotChangedInsideOfACall) {
  define("test.set_token", [](const opd_value *, int32_t, opd_value *) {
    CancelToken token;
    check(opd_cancel_token_create(token.out()));
    check(opd_cancel_token_set_default(token.get()));
  });
  const Vm vm = make_vm(".func main() {\n  call test.set_token()\n  ret %void\n}");
  expect_throws([&] { vm.call("main"); }, OPD_FAILED_PRECONDITION,
                "the thread's cancel token cannot be changed inside of a call, which uses it");
}
