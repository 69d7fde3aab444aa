// Closures, saved functions, stateful calls and instruments, through include/opdyno/vm.h.
#include <atomic>
#include <memory>
#include <thread>

#include "support/opdyno_test.h"

using namespace opdyno_test;

namespace {

const char *const kAddProgram = R"(
.func main(x, y) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call test.add(%x, %y, %t)
  ret %t
}
.func pair(x) {
  %inner = call vm.builtin.make_tuple(%x, 7)
  %outer = call vm.builtin.make_tuple(%inner, %x)
  ret %outer
}
.func nothing() {
  %n = call vm.builtin.null_value()
  ret %n
}
.func closure(y) {
  %c = call vm.builtin.make_closure(@main, %y)
  ret %c
}
.func twice(x, y) {
  %a = call main(%x, %y)
  %b = call main(%a, %y)
  ret %b
})";

std::atomic<int> additions{0};

Vm add_vm() {
  define("test.add", [](const opd_value *args, int32_t, opd_value *) {
    ++additions;
    for (int i = 0; i < 4; ++i) elements(args[2])[i] = elements(args[0])[i] + elements(args[1])[i];
  });
  return Vm(Executable::assemble(kAddProgram).to_module());
}

using Numbers = std::vector<float>;

opd_error *set_input(const Vm &vm, const char *name, const std::vector<opd_value> &args) {
  return opd_vm_set_input(vm.get(), name, args.data(), static_cast<int32_t>(args.size()), nullptr);
}
Value output(const Vm &vm, const char *name, const std::vector<int64_t> &path = {}) {
  Value value;
  check(opd_vm_get_outputs(vm.get(), name, path.data(), static_cast<int32_t>(path.size()), value.out()));
  return value;
}
opd_error *save(const Vm &vm, const char *name, const char *saved, const std::vector<opd_value> &args,
                bool include_return = true) {
  return opd_vm_save_function(vm.get(), name, saved, args.data(), static_cast<int32_t>(args.size()), nullptr,
                              include_return);
}
Function closure_of(const Value &value) {
  return Function(static_cast<opd_function *>(opd_object_retain(value.view().u.object)));
}

}  // namespace

// ---- closures

TEST(VmClosure, IsInvokedWithArguments) {
  const Vm vm = add_vm();
  const Function closure = closure_of(vm.call("closure", floats({10, 20, 30, 40})));
  const Tensor x = floats({1, 2, 3, 4});
  const opd_value argument = arg(x);
  Value result;
  check(opd_vm_invoke_closure(vm.get(), closure.get(), &argument, 1, nullptr, result.out()));
  EXPECT_EQ(to_floats(result), (Numbers{11, 22, 33, 44}));
  EXPECT_EQ(to_floats(closure(x)), (Numbers{11, 22, 33, 44}));
  DLTensor view = x.view();  // a borrowed view is taken as well
  const opd_value borrowed = opd_dltensor(&view);
  check(opd_vm_invoke_closure(vm.get(), closure.get(), &borrowed, 1, nullptr, result.out()));
  EXPECT_EQ(to_floats(result), (Numbers{11, 22, 33, 44}));
}

TEST(VmClosure, KeepsItsVm) {
  Function closure;
  {
    const Vm vm = add_vm();
    closure = closure_of(vm.call("closure", floats({10, 20, 30, 40})));
  }
  EXPECT_EQ(to_floats(closure(floats({1, 2, 3, 4}))), (Numbers{11, 22, 33, 44}));
}

TEST(VmClosure, EndsWithTheTokenOfItsCall) {
  const Vm vm = add_vm();
  const Function closure = closure_of(vm.call("closure", floats({1, 1, 1, 1})));
  Handle<opd_cancel_token> cancel;
  check(opd_cancel_token_create(cancel.out()));
  opd_cancel_token_cancel(cancel.get());
  opd_call_options options;
  opd_call_options_init(&options);
  options.cancel = cancel.get();
  const Tensor x = floats({1, 2, 3, 4});
  const opd_value argument = arg(x);
  Value result;
  expect_error(opd_vm_invoke_closure(vm.get(), closure.get(), &argument, 1, &options, result.out()), OPD_CANCELLED);
  const Function host = make_function([](const opd_value *, int32_t, opd_value *out) { *out = opd_int(7); });
  expect_error(opd_vm_invoke_closure(vm.get(), host.get(), &argument, 1, &options, result.out()), OPD_CANCELLED,
               "before the closure");
  opd_cancel_token_reset(cancel.get());
  check(opd_vm_invoke_closure(vm.get(), host.get(), &argument, 1, &options, result.out()));
  EXPECT_EQ(result.view().u.int64, 7);
}

// ---- saved functions

TEST(VmSaved, IsCalledWithoutArguments) {
  const Vm vm = add_vm();
  const Tensor x = floats({1, 2, 3, 4}), y = floats({1, 1, 1, 1}), z = floats({2, 2, 2, 2});
  check(save(vm, "main", "sum", {arg(x), arg(y)}));
  EXPECT_TRUE(opd_vm_has_function(vm.get(), "sum"));
  EXPECT_EQ(to_floats(vm.call("sum")), (Numbers{2, 3, 4, 5}));
  const Function before = vm.function("sum");
  check(save(vm, "main", "sum", {arg(x), arg(z)}));  // a saved name may be used again
  EXPECT_EQ(to_floats(vm.call("sum")), (Numbers{3, 4, 5, 6}));
  EXPECT_EQ(to_floats(before()), (Numbers{2, 3, 4, 5})) << "who bound the old one keeps it";
  check(save(vm, "main", "quiet", {arg(x), arg(y)}, false));
  EXPECT_EQ(vm.call("quiet").view().type, OPD_NONE);
}

TEST(VmSaved, OneOfThousandsOfNamesIsFound) {
  constexpr int kFunctions = 2000;
  Handle<opd_executable_builder> builder;
  check(opd_executable_builder_create(builder.out()));
  const auto name_of = [](int i) { return "function_" + std::to_string(i); };
  for (int i = 0; i < kFunctions; ++i) {
    check(opd_executable_builder_begin_function(builder.get(), name_of(i).c_str(), 0, nullptr));
    const opd_operand number = opd_operand_immediate(i);
    check(emit(builder.get(), opd_instruction_call("vm.builtin.copy", &number, 1, 0)));
    check(emit(builder.get(), opd_instruction_ret(0)));
    check(opd_executable_builder_end_function(builder.get()));
  }
  Executable executable;
  check(opd_executable_builder_get(builder.get(), executable.out()));
  const Vm vm(executable.to_module());
  for (int i = 0; i < kFunctions; i += 2) check(save(vm, name_of(i).c_str(), ("saved_" + name_of(i)).c_str(), {}));
  for (int i = 0; i < kFunctions; ++i) {
    EXPECT_EQ(vm.call(name_of(i).c_str()).view().u.int64, i);
    const std::string saved = "saved_" + name_of(i);
    EXPECT_EQ(opd_vm_has_function(vm.get(), saved.c_str()), i % 2 == 0);
    if (i % 2 == 0) { EXPECT_EQ(vm.call(saved.c_str()).view().u.int64, i); }
  }
  expect_throws([&] { vm.call("function_2000"); }, OPD_NOT_FOUND, "function_200");
}

TEST(VmSaved, RefusesTheSameArgumentsAsTvm) {
  const Vm vm = add_vm();
  const Tensor x = floats({1, 2, 3, 4});
  expect_error(save(vm, "main", "pair", {arg(x), arg(x)}), OPD_ALREADY_EXISTS, "pair");
  expect_error(save(vm, "main", "sum", {arg(x)}), OPD_INVALID_ARGUMENT, "takes 2 arguments");
  expect_error(save(vm, "mian", "sum", {arg(x), arg(x)}), OPD_NOT_FOUND, "main");
  check(save(vm, "main", "sum", {arg(x), arg(x)}));
  expect_throws([&] { vm.call("sum", x); }, OPD_INVALID_ARGUMENT, "takes no arguments");
  EXPECT_FALSE(opd_vm_has_function(vm.get(), "nobody"));
}

// ---- stateful calls

TEST(VmStateful, RunsOnItsInputs) {
  const Vm vm = add_vm();
  const Tensor x = floats({1, 2, 3, 4}), y = floats({1, 1, 1, 1});
  check(set_input(vm, "main", {arg(x), arg(y)}));
  check(opd_vm_invoke_stateful(vm.get(), "main", nullptr));
  EXPECT_EQ(to_floats(output(vm, "main")), (Numbers{2, 3, 4, 5}));
  x.data<float>()[0] = 100;  // the tensor itself was kept, not a copy
  check(opd_vm_invoke_stateful(vm.get(), "main", nullptr));
  EXPECT_EQ(to_floats(output(vm, "main"))[0], 101);
}

TEST(VmStateful, GivesItemsOfNestedTuples) {
  const Vm vm = add_vm();
  const Tensor x = floats({1, 2, 3, 4});
  check(set_input(vm, "pair", {arg(x)}));
  check(opd_vm_invoke_stateful(vm.get(), "pair", nullptr));
  EXPECT_EQ(output(vm, "pair", {0, 1}).view().u.int64, 7);
  EXPECT_EQ(to_floats(output(vm, "pair", {1})), (Numbers{1, 2, 3, 4}));
  const auto arity = [&](std::vector<int64_t> path) {
    int64_t found = 0;
    check(opd_vm_get_output_arity(vm.get(), "pair", path.data(), static_cast<int32_t>(path.size()), &found));
    return found;
  };
  EXPECT_EQ(arity({}), 2);
  EXPECT_EQ(arity({0}), 2);
  EXPECT_EQ(arity({1}), -1);
  Value value;
  const int64_t far[] = {0, 2}, deep[] = {1, 0};
  expect_error(opd_vm_get_outputs(vm.get(), "pair", far, 2, value.out()), OPD_OUT_OF_RANGE, "item 2 of a tuple of 2");
  expect_error(opd_vm_get_outputs(vm.get(), "pair", deep, 2, value.out()), OPD_INVALID_ARGUMENT, "tuple");
}

TEST(VmStateful, EveryMisuseIsAnError) {
  const Vm vm = add_vm();
  const Tensor x = floats({1, 2, 3, 4});
  Value value;
  expect_error(opd_vm_invoke_stateful(vm.get(), "main", nullptr), OPD_FAILED_PRECONDITION, "set_input");
  expect_error(opd_vm_invoke_stateful(vm.get(), "nothing", nullptr), OPD_FAILED_PRECONDITION, "set_input");
  expect_error(opd_vm_get_outputs(vm.get(), "main", nullptr, 0, value.out()), OPD_FAILED_PRECONDITION,
               "invoke_stateful");
  expect_error(set_input(vm, "main", {arg(x)}), OPD_INVALID_ARGUMENT, "takes 2 arguments");
  expect_error(set_input(vm, "nobody", {}), OPD_NOT_FOUND, "nobody");
  check(set_input(vm, "nothing", {}));
  check(opd_vm_invoke_stateful(vm.get(), "nothing", nullptr));
  EXPECT_EQ(output(vm, "nothing").view().type, OPD_NONE);
  const Function bound = vm.function("main");
  check(set_input(vm, "main", {arg(x), arg(x)}));
  expect_error(opd_vm_get_outputs(vm.get(), "main", nullptr, 0, value.out()), OPD_FAILED_PRECONDITION,
               "invoke_stateful");
  expect_throws([&] { vm.call("main"); }, OPD_FAILED_PRECONDITION, "invoke_stateful");
  expect_throws([&] { bound(); }, OPD_FAILED_PRECONDITION, "invoke_stateful");
  EXPECT_EQ(to_floats(vm.call("main", x, x)), (Numbers{2, 4, 6, 8})) << "as in TVM";
  EXPECT_EQ(to_floats(bound(x, x)), (Numbers{2, 4, 6, 8}));
  EXPECT_EQ(to_floats(vm.call("twice", x, x)), (Numbers{3, 6, 9, 12})) << "the program itself may call it";
}

TEST(VmStateful, IsProfiledWithoutArguments) {
  const Vm vm = add_vm();
  const Tensor x = floats({1, 2, 3, 4});
  Report report;
  check(set_input(vm, "main", {arg(x), arg(x)}));
  check(opd_vm_profile(vm.get(), "main", nullptr, 0, nullptr, nullptr, report.out(), nullptr));
  EXPECT_EQ(opd_report_call_count(report.get()), 1 + 2);  // and (dispatch), (profiler)
  EXPECT_EQ(to_floats(output(vm, "main")), (Numbers{2, 4, 6, 8}));
}

// ---- instruments

namespace {

struct Seen {
  std::string name;
  bool before;
  int result_type;
  int num_args;
  bool operator==(const Seen &) const = default;
};
std::ostream &operator<<(std::ostream &out, const Seen &s) {
  return out << (s.before ? "before " : "after ") << s.name << " -> " << s.result_type << ", " << s.num_args
             << " arguments";
}

std::vector<Seen> watch(const Vm &vm, const std::function<void()> &body) {
  std::vector<Seen> seen;
  const Function instrument = make_function([&](const opd_value *args, int32_t num_args, opd_value *) {
    EXPECT_EQ(args[0].type, OPD_FUNCTION);
    seen.push_back({args[1].u.cstring, args[2].u.int64 != 0, args[3].type, num_args - 4});
  });
  check(opd_vm_set_instrument(vm.get(), instrument.get()));
  body();
  check(opd_vm_set_instrument(vm.get(), nullptr));
  return seen;
}

}  // namespace

TEST(VmInstrument, SeesEveryCallBeforeAndAfter) {
  const Vm vm = add_vm();
  const Tensor x = floats({1, 2, 3, 4});
  const auto seen = watch(vm, [&] { EXPECT_EQ(to_floats(vm.call("main", x, x)), (Numbers{2, 4, 6, 8})); });
  const int storage = seen.at(1).result_type;
  EXPECT_GE(storage, 128) << "a dynamic type";
  const std::vector<Seen> expected{{"vm.builtin.alloc_storage", true, OPD_NONE, 5},
                                   {"vm.builtin.alloc_storage", false, storage, 5},
                                   {"vm.builtin.alloc_tensor", true, OPD_NONE, 4},
                                   {"vm.builtin.alloc_tensor", false, OPD_TENSOR, 4},
                                   {"test.add", true, OPD_NONE, 3},
                                   {"test.add", false, OPD_NONE, 3}};
  EXPECT_EQ(seen, expected);
  EXPECT_TRUE(watch(vm, [] {}).empty());
}

TEST(VmInstrument, SeesCallsOfProgramFunctionsAroundTheirs) {
  const Vm vm = add_vm();
  const Tensor x = floats({1, 2, 3, 4});
  const auto seen = watch(vm, [&] { vm.call("twice", x, x); });
  ASSERT_EQ(seen.size(), 2u * (2 + 6));
  EXPECT_EQ(seen.front(), (Seen{"main", true, OPD_NONE, 2}));
  EXPECT_EQ(seen[7], (Seen{"main", false, OPD_TENSOR, 2}));
}

TEST(VmInstrument, MaySkipACall) {
  const Vm vm = add_vm();
  int after = 0;
  const Function instrument = make_function([&](const opd_value *args, int32_t, opd_value *out) {
    const bool is_add = std::string(args[1].u.cstring) == "test.add";
    if (is_add && !args[2].u.int64) ++after;
    if (is_add) *out = opd_int(OPD_INSTRUMENT_SKIP_RUN);
  });
  const Tensor x = floats({1, 2, 3, 4});
  check(opd_vm_set_instrument(vm.get(), instrument.get()));
  additions = 0;
  vm.call("main", x, x);
  EXPECT_EQ(additions, 0);
  EXPECT_EQ(after, 0) << "not asked after a call that was skipped";
}

TEST(VmInstrument, AnErrorOfItsOwnEndsTheCall) {
  const Vm vm = add_vm();
  const Tensor x = floats({1, 2, 3, 4});
  for (const bool before : {true, false}) {
    const Function instrument = make_function([&](const opd_value *args, int32_t, opd_value *) {
      if ((args[2].u.int64 != 0) == before && std::string(args[1].u.cstring) == "vm.builtin.alloc_tensor")
        throw std::runtime_error("seen enough");
    });
    check(opd_vm_set_instrument(vm.get(), instrument.get()));
    expect_throws([&] { vm.call("main", x, x); }, OPD_CALL_FAILED, "seen enough");
    check(opd_vm_set_instrument(vm.get(), nullptr));
    EXPECT_EQ(to_floats(vm.call("main", x, x)), (Numbers{2, 4, 6, 8}));
  }
}

TEST(VmInstrument, DoesNotSeeItsOwnCalls) {
  const Vm vm = add_vm();
  const Tensor x = floats({1, 2, 3, 4});
  int seen = 0;
  const Function instrument = make_function([&](const opd_value *, int32_t, opd_value *) {
    ++seen;
    EXPECT_EQ(to_floats(vm.call("main", x, x)), (Numbers{2, 4, 6, 8}));
  });
  check(opd_vm_set_instrument(vm.get(), instrument.get()));
  vm.call("main", x, x);
  EXPECT_EQ(seen, 6);
  check(opd_vm_set_instrument(vm.get(), nullptr));  // it refers to the VM
}

TEST(VmInstrument, IsSwappedWhileThreadsCall) {
  const Vm vm = add_vm();
  const Tensor x = floats({1, 2, 3, 4});
  const Function instrument = make_function([](const opd_value *, int32_t, opd_value *) {});
  std::atomic<bool> done{false};
  std::thread caller([&] {
    while (!done) EXPECT_EQ(to_floats(vm.call("main", x, x)), (Numbers{2, 4, 6, 8}));
  });
  for (int i = 0; i < 200; ++i) check(opd_vm_set_instrument(vm.get(), i % 2 ? nullptr : instrument.get()));
  done = true;
  caller.join();
}

// Allocations and constants are folded into the program's instructions, but an instrument is shown them as calls.
TEST(VmInstrument, SeesTheArgumentsOfEveryCall) {
  const Vm vm(Executable::assemble(R"(
.func other() {
  ret %void
}
.func main(x, y) {
  %s = call vm.builtin.alloc_storage(%vm, shape(32), 0, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  %n = call vm.builtin.null_value()
  %p = call vm.builtin.make_tuple(%n, %x, -5, "text", @other, %void)
  %x = call vm.builtin.null_value()
  call other()
  ret %p
}
)")
                  .to_module());
  const auto text = [](const opd_value &value) {
    if (value.type == OPD_POINTER || value.type == OPD_FUNCTION || value.type >= 128)
      return std::string(opd_type_key(value.type));
    return Value::retain(value).to_string();
  };
  std::vector<std::string> seen;
  const Function instrument = make_function([&](const opd_value *args, int32_t num_args, opd_value *) {
    std::string line = std::string(args[1].u.cstring) + (args[2].u.int64 ? "(" : " -> " + text(args[3]) + " (");
    for (int32_t i = 4; i < num_args; ++i) line += (i > 4 ? ", " : "") + text(args[i]);
    seen.push_back(line + ")");
  });
  check(opd_vm_set_instrument(vm.get(), instrument.get()));
  vm.call("main", 7, 8);
  check(opd_vm_set_instrument(vm.get(), nullptr));
  const std::string storage = opd_type_key(OPD_POINTER) + std::string(", [32], 0, uint8, \"global\""),
                    tensor = "opdyno.vm.Storage, 0, [4], float32",
                    items = "None, 7, -5, \"text\", " + std::string(opd_type_key(OPD_FUNCTION)) + ", None";
  EXPECT_EQ(
      seen,
      (std::vector<std::string>{
          "vm.builtin.alloc_storage(" + storage + ")",
          "vm.builtin.alloc_storage -> opdyno.vm.Storage (" + storage + ")", "vm.builtin.alloc_tensor(" + tensor + ")",
          "vm.builtin.alloc_tensor -> Tensor(float32[4], cpu:0) (" + tensor + ")", "vm.builtin.null_value()",
          "vm.builtin.null_value -> None ()", "vm.builtin.make_tuple(" + items + ")",
          "vm.builtin.make_tuple -> [None, 7, -5, \"text\", <ffi.Function>, None] (" + items + ")",
          "vm.builtin.null_value()", "vm.builtin.null_value -> None ()", "other()", "other -> None ()"}));
}

TEST(VmInstrument, MaySkipAllocationsAndFunctionsOfTheProgram) {
  const Vm vm = add_vm();
  const Tensor x = floats({1, 2, 3, 4});
  std::string skipped;
  std::vector<std::string> after;
  const Function instrument = make_function([&](const opd_value *args, int32_t, opd_value *out) {
    if (!args[2].u.int64) after.push_back(args[1].u.cstring);
    if (skipped == args[1].u.cstring) *out = opd_int(OPD_INSTRUMENT_SKIP_RUN);
  });
  check(opd_vm_set_instrument(vm.get(), instrument.get()));
  skipped = "main";
  EXPECT_EQ(vm.call("twice", x, x).type(), int{OPD_NONE});
  EXPECT_EQ(after, std::vector<std::string>{});
  skipped = "vm.builtin.null_value";
  EXPECT_EQ(vm.call("nothing").type(), int{OPD_NONE});
  EXPECT_EQ(after, std::vector<std::string>{});
  skipped = "vm.builtin.alloc_storage";
  expect_throws([&] { vm.call("main", x, x); }, OPD_INVALID_ARGUMENT,
                "vm.builtin.alloc_tensor: storage must be a storage, but is None (called by main, instruction 1)");
  check(opd_vm_set_instrument(vm.get(), nullptr));
  EXPECT_EQ(to_floats(vm.call("main", x, x)), (Numbers{2, 4, 6, 8}));
}

TEST(VmInstrument, KeepsNoReferenceToResults) {
  std::weak_ptr<int> kept;
  define("test.make", [&](const opd_value *, int32_t, opd_value *out) {
    const auto held = std::make_shared<int>(5);
    kept = held;
    const Function made =
        make_function([held](const opd_value *, int32_t, opd_value *result) { *result = opd_int(*held); });
    *out = arg(made);
    static_cast<void>(opd_object_retain(out->u.object));
  });
  const Vm vm(Executable::assemble(".func main() {\n  %f = call test.make()\n  ret %f\n}\n").to_module());
  const Function instrument = make_function([](const opd_value *, int32_t, opd_value *) {});
  check(opd_vm_set_instrument(vm.get(), instrument.get()));
  {
    const Value made = vm.call("main");
    ASSERT_FALSE(kept.expired());
    EXPECT_EQ(closure_of(made)().view().u.int64, 5);
  }
  EXPECT_TRUE(kept.expired()) << "nobody holds it any more";
  check(opd_vm_set_instrument(vm.get(), nullptr));
}
