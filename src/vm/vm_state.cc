#include "vm/vm_state.h"

namespace opd {

int32_t SavedFunction::type() {
  static const int32_t index = register_type("opdyno.vm.SavedFunction");
  return index;
}

void VmState::save(std::string name, Ref<SavedFunction> function) {
  std::scoped_lock lock(guard_);
  std::swap(saved_[std::move(name)], function);  // a replaced function ends after the lock is released
}

Ref<SavedFunction> VmState::saved(std::string_view name) const {
  std::scoped_lock lock(guard_);
  const auto found = saved_.find(name);
  return found == saved_.end() ? nullptr : found->second;
}

void VmState::set_input(uint32_t function, std::vector<Value> args) {
  Stateful fresh{std::move(args), {}, false};
  std::scoped_lock lock(guard_);
  std::swap(stateful_[function], fresh);
  any_stateful_.store(true, std::memory_order_release);
}

bool VmState::has_input(uint32_t function) const {
  if (!any_stateful_.load(std::memory_order_acquire)) [[likely]]
    return false;
  std::scoped_lock lock(guard_);
  return stateful_.contains(function);
}

std::vector<Value> VmState::input(uint32_t function) const {
  std::scoped_lock lock(guard_);
  return stateful_.at(function).args;
}

void VmState::set_output(uint32_t function, Value output) {
  std::scoped_lock lock(guard_);
  Stateful &state = stateful_.at(function);
  std::swap(state.output, output);
  state.ran = true;
}

bool VmState::output(uint32_t function, Value &out) const {
  std::scoped_lock lock(guard_);
  const auto found = stateful_.find(function);
  if (found == stateful_.end() || !found->second.ran) return false;
  out = found->second.output;
  return true;
}

void VmState::set_instrument(Ref<Function> instrument) {
  std::scoped_lock lock(guard_);
  any_instrument_.store(static_cast<bool>(instrument), std::memory_order_release);
  std::swap(instrument_, instrument);
}

Ref<Function> VmState::instrument() const {
  if (!any_instrument_.load(std::memory_order_acquire)) [[likely]]
    return nullptr;
  std::scoped_lock lock(guard_);
  return instrument_;
}

void VmState::set_keeper(Ref<CallKeeper> keeper, bool listens) {
  std::scoped_lock lock(guard_);
  keeper_listens_.store(keeper && listens, std::memory_order_release);
  std::swap(keeper_, keeper);
}

Ref<CallKeeper> VmState::keeper() const {
  std::scoped_lock lock(guard_);
  return keeper_;
}

void VmState::visit_kept(const std::function<void(const View &)> &visit) const {
  std::scoped_lock lock(guard_);
  if (instrument_) visit(view_of(instrument_.get()));
  for (const auto &[name, function] : saved_) visit(view_of(function.get()));
  for (const auto &[function, state] : stateful_) {
    for (const Value &arg : state.args) visit(arg);
    visit(state.output);
  }
}

}  // namespace opd
