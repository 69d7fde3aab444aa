// Builtins for the sequences of a KV state of any kind. Hosts call them between the calls of the program.
#include "vm/builtins/builtins.h"
#include "vm/kv/kv_state.h"

namespace opd {
namespace {

template <class F>
Value use_state(Args args, const F &body) {
  KvState &state = as_kv_state(args[0], "state");
  const KvUse alone(state);
  body(state);
  return {};
}

Value clear(Args args) {
  check_count(args, 1, 1, "(state)");
  return use_state(args, [](KvState &state) { state.clear(); });
}

Value add_sequence(Args args) {
  check_count(args, 2, 2, "(state, seq_id)");
  return use_state(args, [&](KvState &state) { state.add_sequence(as_int(args[1], "seq_id")); });
}

Value remove_sequence(Args args) {
  check_count(args, 2, 2, "(state, seq_id)");
  return use_state(args, [&](KvState &state) { state.remove_sequence(as_int(args[1], "seq_id")); });
}

Value fork_sequence(Args args) {
  check_count(args, 3, 4, "(state, parent_seq_id, child_seq_id [, fork_pos])");
  const int64_t position = args.size() == 4 ? as_int(args[3], "fork_pos") : -1;
  return use_state(args, [&](KvState &state) {
    state.fork_sequence(as_int(args[1], "parent_seq_id"), as_int(args[2], "child_seq_id"), position);
  });
}

Value popn(Args args) {
  check_count(args, 3, 3, "(state, seq_id, n)");
  return use_state(args, [&](KvState &state) { state.pop(as_int(args[1], "seq_id"), as_int(args[2], "n")); });
}

Value begin_forward(Args args) {
  check_count(args, 3, 4, "(state, seq_ids, append_lengths [, token_tree_parent])");
  const Integers ids(args[1], "seq_ids"), counts(args[2], "append_lengths");
  std::optional<Integers> parents;
  if (args.size() == 4 && args[3].type != OPD_NONE) parents.emplace(args[3], "token_tree_parent");
  require_batch(ids.view(), counts.view(), "append_lengths", 1);
  return use_state(args, [&](KvState &state) {
    state.begin_forward(ids.view(), counts.view(), parents ? std::optional(parents->view()) : std::nullopt);
  });
}

Value end_forward(Args args) {
  check_count(args, 1, 1, "(state)");
  return use_state(args, [](KvState &state) { state.end_forward(); });
}

constexpr Builtin kKvStateBuiltins[] = {
    builtin<"vm.builtin.kv_state_clear", clear>(),
    builtin<"vm.builtin.kv_state_add_sequence", add_sequence>(),
    builtin<"vm.builtin.kv_state_remove_sequence", remove_sequence>(),
    builtin<"vm.builtin.kv_state_fork_sequence", fork_sequence>(),
    builtin<"vm.builtin.kv_state_popn", popn>(),
    builtin<"vm.builtin.kv_state_begin_forward", begin_forward>(),
    builtin<"vm.builtin.kv_state_end_forward", end_forward>(),
};

}  // namespace

std::span<const Builtin> kv_state_builtins() { return kKvStateBuiltins; }

}  // namespace opd
