// Recorded calls that are given a KV state: the builtins that use it are operators, and what they leave there counts.
#include <opdyno/replay.h>

#include "support/c_artifact.h"
#include "support/recorded_calls.h"
#include "support/tensors.h"

using namespace opdyno_test;

namespace {

// A state of one layer with four numbers for each sequence. `set` is the expression of the number that state_set stores
// for the given one.
std::string kernels_of_state(const std::string &set) {
  return kArtifactHead + R"(
#include <string.h>
typedef struct { float *data; int32_t device[2]; int32_t ndim; uint32_t dtype; int64_t *shape, *strides; uint64_t offset; } Tensor;
static Tensor *tensor(const Any *v) { return v->type == 7 ? v->u.p : (Tensor *)((char *)v->u.p + 24); }
static int at(const Any *v) { return *(int *)((char *)tensor(v)->data + tensor(v)->offset); }
static float *place(const Any *args, int more) {
  const int64_t *shape = tensor(args)->shape;
  return tensor(args)->data + (at(args + 1) * shape[1] + (at(args + 2) + more) % shape[1]) * 4;
}
int __tvm_ffi_state_get(void *self, const Any *args, int32_t n, Any *result) {
  memcpy(tensor(args + 3)->data, place(args, 0), 16);
  return 0;
}
int __tvm_ffi_state_set(void *self, const Any *args, int32_t n, Any *result) {
  for (int i = 0; i < 4; ++i) { float given = tensor(args + 3)->data[i]; place(args, 1)[i] = )" +
         set + R"(; }
  return 0;
}
)";
}

const std::string kProgram =
    ".func create(zero) {\n"
    "  %gets = call vm.builtin.make_tuple(@state_get)\n  %sets = call vm.builtin.make_tuple(@state_set)\n"
    "  %initial = call vm.builtin.make_tuple(%zero)\n"
    "  %state = call vm.builtin.rnn_state_create(1, 2, 2, %gets, %sets, %initial)\n  ret %state\n}\n"
    ".func main(state, x) {\n"
    "  call vm.builtin.rnn_state_set(%state, 0, 0, %x)\n  call vm.builtin.rnn_state_get(%state, 0, 0, %x)\n"
    "  ret %x\n}\n";

Module program_that_sets(const std::string &name, const std::string &set) {
  const Module program = Executable::assemble(kProgram).to_module();
  program.add_import(Module::load(build_library(name, kernels_of_state(set))));
  return program;
}

Value state_of(const Vm &vm) {
  const Value state = vm.call("create", floats({0, 0, 0, 0}));
  const Value one = shape_of({1}), id = shape_of({7});
  Function::global("vm.builtin.kv_state_add_sequence")(state, int64_t{7});
  Function::global("vm.builtin.kv_state_begin_forward")(state, id, one);
  return state;
}

}  // namespace

TEST(ReplayStates, ABuiltinThatLeavesAnotherStateIsNamed) {
  const Vm vm(program_that_sets("sets_given", "given"));
  auto record_options = opdyno::defaults(opd_record_options_init);
  record_options.with_operators = 1;
  const Value state = state_of(vm);
  const auto path = record(vm, {state.view(), arg(floats({1, 2, 3, 4}))}, &record_options);
  EXPECT_TRUE(is_same(opdyno::replay(path)));

  const Module wrong = program_that_sets("sets_more", "given + (i == 2)");
  const std::string small = recording_path(".small");
  auto options = opdyno::defaults(opd_replay_options_init);
  options.module = wrong.get();
  options.minimise = small.c_str();
  const auto replayed = opdyno::replay(path, &options);
  const std::string named = "the first operator that differs is vm.builtin.rnn_state_set, number 1 of the call";
  EXPECT_NE(verdict(replayed).find(named), std::string::npos) << verdict(replayed);
  EXPECT_EQ(entry(replayed.report, "Minimised"), "vm.builtin.rnn_state_set");

  const auto alone = opdyno::replay(small);  // with the wrong kernel, which is in the file
  EXPECT_NE(verdict(alone).find(named), std::string::npos) << verdict(alone);
  options.minimise = nullptr;
  const Module right = program_that_sets("sets_given_too", "given");
  options.module = right.get();
  const auto mended = opdyno::replay(path, &options);
  EXPECT_TRUE(is_same(mended)) << verdict(mended);
}
