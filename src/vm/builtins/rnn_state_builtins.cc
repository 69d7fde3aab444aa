// Builtins that make and use the states of recurrent networks.
#include "vm/builtins/builtins.h"
#include "vm/kv/rnn_state.h"
#include "vm/vm.h"

namespace opd {
namespace {

constexpr int64_t kMostLayers = 4096;  // each layer costs memory, even with small states

int64_t size_of(const View &v, const char *what, int64_t most = kMostKvSize - 1) {
  const int64_t size = as_int(v, what);
  if (size < 1 || size > most) fail(OPD_OUT_OF_RANGE, what, " must be from 1 to ", most, ", but is ", size);
  return size;
}

Value create_state(Args args) {
  check_count(args, 6, 6, "(num_layers, max_batch_size, max_history, f_gets, f_sets, init_layer_value)");
  const auto &gets = as<Array>(args[3], "f_gets"), &sets = as<Array>(args[4], "f_sets"),
             &initial = as<Array>(args[5], "init_layer_value");
  require(gets.size() >= 1 && gets.size() == sets.size() && gets.size() == initial.size(),
          "f_gets, f_sets and init_layer_value must be of one length, at least 1, but are of ", gets.size(), ", ",
          sets.size(), " and ", initial.size());
  std::vector<RnnState::Kind> kinds;
  for (size_t i = 0; i < gets.size(); ++i) {
    auto &value = as<Tensor>(initial.items()[i], "an item of init_layer_value");
    require(is_contiguous(value.dl), "an item of init_layer_value must be compact, but is ", describe(value.dl));
    require(kinds.empty() || same(value.dl.device, kinds[0].initial->dl.device),
            "the items of init_layer_value must lie on one device, but are ",
            describe(kinds.empty() ? value.dl : kinds[0].initial->dl), " and ", describe(value.dl));
    kinds.push_back({lasting_function(as<Function>(gets.items()[i], "an item of f_gets")),
                     lasting_function(as<Function>(sets.items()[i], "an item of f_sets")), Ref<Tensor>::share(&value)});
  }
  return make_object<RnnState>(size_of(args[0], "num_layers", kMostLayers), size_of(args[1], "max_batch_size"),
                               size_of(args[2], "max_history"), std::move(kinds));
}

RnnState &state_of(const View &v) { return as<RnnState>(v, "state"); }

Value get(Args args) {
  check_count(args, 4, 4, "(state, layer_id, state_id, output)");
  RnnState &state = state_of(args[0]);
  writable_dltensor(args[3], "the output");
  const KvUse alone(state);
  state.get(as_int(args[1], "layer_id"), as_int(args[2], "state_id"), args[3]);
  return {};
}

Value set(Args args) {
  check_count(args, 4, 4, "(state, layer_id, state_id, data)");
  RnnState &state = state_of(args[0]);
  as_dltensor(args[3], "data");
  const KvUse alone(state);
  state.set(as_int(args[1], "layer_id"), as_int(args[2], "state_id"), args[3]);
  return Value(args[0]);
}

Value debug_get(Args args) {
  check_count(args, 4, 4, "(state, layer_id, state_id, seq_id)");
  RnnState &state = state_of(args[0]);
  const KvUse alone(state);
  return state.debug_get(as_int(args[1], "layer_id"), as_int(args[2], "state_id"), as_int(args[3], "seq_id"));
}

constexpr Builtin kRnnStateBuiltins[] = {
    builtin<"vm.builtin.rnn_state_create", create_state>(),
    builtin<"vm.builtin.rnn_state_get", get>(),
    builtin<"vm.builtin.rnn_state_set", set>(),
    builtin<"vm.builtin.rnn_state_debug_get", debug_get>(),
};

}  // namespace

std::span<const Builtin> rnn_state_builtins() { return kRnnStateBuiltins; }

}  // namespace opd
