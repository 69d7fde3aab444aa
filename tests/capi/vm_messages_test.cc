// What calls of a VM say when they are refused: whole sentences, with the parameter, what was expected and what was
// given.
#include "support/tensors.h"

using namespace opdyno_test;

namespace {

std::string told(opd_error *error, opd_code code) {
  if (!error) return "no error";
  const Error e(error);
  EXPECT_EQ(e.code(), code) << e.message();
  return e.message();
}

Vm two_results() { return vm_of(".func two(x, y) {\n  %t = call vm.builtin.make_tuple(%x, %y)\n  ret %t\n}\n"); }

struct Call {
  std::vector<opd_value> args;
  std::vector<const char *> names = {};
  std::vector<opd_tensor *> outputs = {};
};
std::string call(const Vm &vm, const char *function, const Call &given, opd_code code) {
  opd_call_options options;
  opd_call_options_init(&options);
  if (!given.names.empty()) options.names = given.names.data();
  options.outputs = given.outputs.data(), options.num_outputs = static_cast<int32_t>(given.outputs.size());
  Value result;
  return told(opd_vm_call(vm.get(), function, given.args.data(), static_cast<int32_t>(given.args.size()), &options,
                          result.out()),
              code);
}

TEST(VmMessages, NameTheParameterOfAWrongCall) {
  const Vm vm = two_results();
  const opd_value one = opd_int(1);
  const auto refused = [&](const Call &given) { return call(vm, "two", given, OPD_INVALID_ARGUMENT); };
  EXPECT_EQ(refused({{one}}), "two(x, y) takes 2 arguments, but was given 1");
  EXPECT_EQ(refused({{one, one, one}}), "two(x, y) takes 2 arguments, but was given 3");
  EXPECT_EQ(refused({{one, one}, {"x", "x"}}), "parameter x of two is given twice");
  EXPECT_EQ(refused({{one, one}, {nullptr, "x"}}), "parameter x of two is given twice");
  EXPECT_EQ(refused({{one}, {"y"}}), "parameter x of two is missing");
  EXPECT_EQ(refused({{one, one, one}, {nullptr, nullptr, nullptr}}), "two(x, y) takes 2 arguments, but was given 3");
  EXPECT_EQ(refused({{one, one}, {nullptr, "z"}}), "two has no parameter \"z\". Did you mean x, y?");
  EXPECT_EQ(call(vm, "two", {{one, one}, {"y", "x"}}, OPD_OK), "no error");
  EXPECT_EQ(call(vm, "two", {{one, one}, {nullptr, "y"}}, OPD_OK), "no error");
}

TEST(VmMessages, CountTheOutputsThatWereSupplied) {
  const Vm vm = two_results();
  const Tensor x({2}, "float32"), y({2}, "float32"), a({2}, "float32"), b({2}, "float32"), c({2}, "float32");
  const std::vector<opd_value> args{arg(x), arg(y)};
  const auto with = [&](std::vector<opd_tensor *> outputs, opd_code code = OPD_INVALID_ARGUMENT) {
    return call(vm, "two", {args, {}, std::move(outputs)}, code);
  };
  EXPECT_EQ(with({a.get(), b.get()}, OPD_OK), "no error");
  EXPECT_EQ(with({a.get()}), "two returned more than the 1 outputs supplied");
  EXPECT_EQ(with({a.get(), b.get(), c.get()}), "two returned 2 tensors, but 3 outputs were supplied");
  EXPECT_EQ(with({a.get(), nullptr}), "output 1 must not be NULL");
  EXPECT_EQ(call(vm, "two", {{arg(x), opd_int(1)}, {}, {a.get(), b.get()}}, OPD_INVALID_ARGUMENT),
            "result 1 of two must be a tensor, but is int");
}

TEST(VmMessages, NameTheBadOptionOfAVm) {
  const Module module = Executable::assemble(".func f(x) {\n  ret %x\n}\n").to_module();
  const auto made = [&](const std::function<void(opd_vm_options &)> &change, opd_code code) {
    opd_vm_options options;
    opd_vm_options_init(&options);
    change(options);
    Vm vm;
    return told(opd_vm_create(module.get(), &options, vm.out()), code);
  };
  const DLDevice cpu{kDLCPU, 0};
  for (const auto kind : {opd_allocator_kind(0), opd_allocator_kind(3)}) {
    const std::string message = made(
        [&](opd_vm_options &o) { o.devices = &cpu, o.num_devices = 1, o.allocators = &kind; }, OPD_INVALID_ARGUMENT);
    EXPECT_EQ(message, "allocator " + std::to_string(kind) + " does not exist; 1 is naive, 2 is pooled");
  }
  EXPECT_EQ(made([](opd_vm_options &o) { o.max_depth = 0; }, OPD_INVALID_ARGUMENT),
            "max_depth must be at least 1, but is 0");
  EXPECT_EQ(made([](opd_vm_options &o) { o.max_depth = 1; }, OPD_OK), "no error");
}

TEST(VmMessages, SayHowMuchOfTheMemoryIsInUse) {
  const Module module = Executable::assemble(R"(
.func f(n) {
  %s = call vm.builtin.alloc_storage(%vm, %n, 0, dtype(uint8), "global")
  ret %s
}
)")
                            .to_module();
  opd_vm_options options;
  opd_vm_options_init(&options);
  options.memory_limit_bytes = 1000;
  Vm vm;
  if (opd_error *error = opd_vm_create(module.get(), &options, vm.out())) { GTEST_SKIP() << Error(error).message(); }
  EXPECT_NE(vm.call("f", shape_of({1000})).type(), int{OPD_NONE});
  const Value size = shape_of({1001});
  const std::string message = call(vm, "f", {{size.view()}}, OPD_OUT_OF_MEMORY);
  EXPECT_NE(message.find("a storage of 1001 bytes would exceed the VM's memory limit: 0 of 1000 bytes are in use"),
            std::string::npos)
      << message;
}

TEST(VmMessages, NameTheMissingStepOfStatefulCalls) {
  const Vm vm = two_results();
  Value value;
  const int64_t path[] = {0, 0}, far[] = {2}, negative[] = {-1};
  EXPECT_EQ(told(opd_vm_get_outputs(vm.get(), "two", nullptr, 0, value.out()), OPD_FAILED_PRECONDITION),
            "two has no outputs: call set_input, then invoke_stateful, first");
  EXPECT_EQ(told(opd_vm_invoke_stateful(vm.get(), "two", nullptr), OPD_FAILED_PRECONDITION),
            "the inputs of two were not set: call set_input first, even for a function without parameters");
  const opd_value args[] = {opd_int(1), opd_int(2)};
  check(opd_vm_set_input(vm.get(), "two", args, 2, nullptr));
  EXPECT_EQ(call(vm, "two", {}, OPD_FAILED_PRECONDITION),
            "the inputs of two were set: run it by invoke_stateful, or pass arguments");
  EXPECT_EQ(call(vm, "two", {{args[0], args[1]}}, OPD_OK), "no error");
  check(opd_vm_invoke_stateful(vm.get(), "two", nullptr));
  EXPECT_EQ(told(opd_vm_get_outputs(vm.get(), "two", path, 2, value.out()), OPD_INVALID_ARGUMENT),
            "output of two: index 1 is for a tuple, but there is int");
  EXPECT_EQ(told(opd_vm_get_outputs(vm.get(), "two", far, 1, value.out()), OPD_OUT_OF_RANGE),
            "output of two: item 2 of a tuple of 2");
  EXPECT_EQ(told(opd_vm_get_outputs(vm.get(), "two", negative, 1, value.out()), OPD_OUT_OF_RANGE),
            "output of two: item -1 of a tuple of 2");
  check(opd_vm_get_outputs(vm.get(), "two", path, 1, value.out()));
  EXPECT_EQ(value.view().u.int64, 1);
}

}  // namespace

TEST(VmMessages, SayWhyThereIsNoStorageOrTensor) {
  const Vm vm(Executable::assemble(R"(
.func storage(n, scope) {
  %s = call vm.builtin.alloc_storage(%vm, %n, 0, dtype(uint16), %scope)
  ret %s
}
.func elsewhere() {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 0, dtype(uint8), "texture")
  ret %s
}
.func tensor(dims) {
  %s = call vm.builtin.alloc_storage(%vm, shape(64), 0, dtype(uint8))
  %t = call vm.builtin.alloc_tensor(%s, 0, %dims, dtype(float32))
  ret %t
}
)")
                  .to_module());
  const auto refused = [&](const char *function, const std::vector<Value> &args, opd_code code) {
    std::vector<opd_value> views;
    for (const Value &arg : args) views.push_back(arg.view());
    const std::string message = call(vm, function, {views}, code);
    return message.substr(0, message.find(" (called by "));
  };
  const auto text = [](const char *letters) { return Value::retain(arg(letters)); };
  for (const char *scope : {"global", ""}) EXPECT_NO_THROW(vm.call("storage", shape_of({8}), scope));
  for (const auto &[function, args] :
       {std::pair<const char *, std::vector<Value>>{"storage", {shape_of({8}), text("texture")}}, {"elsewhere", {}}})
    EXPECT_EQ(refused(function, args, OPD_UNSUPPORTED),
              "vm.builtin.alloc_storage: memory scope \"texture\" is not offered by cpu:0; \"global\" is");
  for (const int64_t size : {int64_t{-1}, int64_t{1} << 62, INT64_MAX})
    EXPECT_EQ(refused("storage", {shape_of({size}), text("global")}, OPD_INVALID_ARGUMENT),
              "vm.builtin.alloc_storage: a storage of [" + std::to_string(size) +
                  "] elements of uint16 is too large or negative");
  const std::string most = refused("storage", {shape_of({int64_t{1} << 58}), text("global")}, OPD_OUT_OF_MEMORY);
  EXPECT_NE(most.find("a storage of 576460752303423488 bytes would exceed the VM's memory limit"), std::string::npos)
      << most;
  EXPECT_EQ(refused("tensor", {shape_of({4, -1})}, OPD_INVALID_ARGUMENT),
            "vm.builtin.alloc_tensor: the shape [4, -1] has a negative or too large size");
  EXPECT_EQ(refused("tensor", {shape_of({17})}, OPD_INVALID_ARGUMENT),
            "vm.builtin.alloc_tensor: a tensor of 68 bytes at offset 0 does not fit a storage of 64 bytes");
  EXPECT_EQ(Tensor::of(vm.call("tensor", shape_of({16}))).size(), 16);
  const Value storage = vm.call("storage", shape_of({64}), "global");
  expect_throws(
      [&] {
        Function::global("vm.builtin.alloc_tensor")(storage, 0, shape_of({4}), DLDataType{kDLFloat, 32, 1});
      },
      OPD_INVALID_ARGUMENT, "vm.builtin.alloc_tensor: tensors of a storage can be made inside a run only");
}
