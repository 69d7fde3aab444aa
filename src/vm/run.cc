#include "vm/run.h"

#include <algorithm>

#include "vm/vm.h"

namespace opd {
namespace {

void drop(Run &run, View &reg) {
  const View old = reg;
  reg.type = kUnset;
  if (is_object(old)) run.pool.drop(object_of(old));
}

uint64_t bytes_of(const Run &run, const StaticBuffer &place) {
  return run.program->storage_kinds[place.size_class].bytes;
}

void drop_place(Run &run, View *registers, const StaticBuffer &place) {
  if (registers[place.reg].type != kUnset) {
    run.static_bytes -= bytes_of(run, place);
    run.pool.count_use(bytes_of(run, place));
  }
  for (const auto &tensor : place.tensors) drop(run, registers[tensor.reg]);
  drop(run, registers[place.reg]);
}

// Releases a frame's static buffers, except those of the function `running`.
void drop_static_buffers(Run &run, Frame &frame, const Program::Func *running) {
  const auto is_used = [&](uint32_t place) { return running && std::ranges::binary_search(running->places, place); };
  for (uint32_t i = 0; i < run.program->places.size(); ++i)
    if (!is_used(i)) drop_place(run, frame.registers.data(), run.program->places[i]);
}

}  // namespace

void make_static_buffer(Run &run, View *registers, const StaticBuffer &place) {
  drop_place(run, registers, place);
  run.make_room_for_static_buffer(bytes_of(run, place));
  VmStorage *const storage = run.pool.storage(static_cast<uint32_t>(place.size_class));
  // The storage's register is set last: while it is unset, the place counts as not made.
  struct Undo {
    RunPool &pool;
    VmStorage *storage;
    ~Undo() {
      if (storage) pool.drop(storage);
    }
  } undo{run.pool, storage};
  for (const auto &tensor : place.tensors)
    registers[tensor.reg] = view_of(run.pool.tensor(*tensor.shape, storage, tensor.offset));
  undo.storage = nullptr;
  registers[place.reg] = view_of(storage);
  run.static_bytes += bytes_of(run, place);
  run.pool.end_use(bytes_of(run, place));
}

Run::Run(Vm &owner, const Program &p)
    : vm(&owner),
      pool(owner.devices(), owner.budget(), p.templates.size(), p.storage_kinds),
      known_shapes(pool, owner.is_compiled() ? p.constants : Args()) {
  program = &p;
  pool.when_short = [this] {
    drop_idle_static_buffers();
    pool.trim();
    vm->drop_idle_runs();
  };
}

Run::~Run() { drop_idle_static_buffers(); }

void Run::drop_idle_static_buffers() {
  for (size_t i = 0; i < frames.size(); ++i)
    drop_static_buffers(*this, *frames[i], i < depth ? frames[i]->function : nullptr);
}

// A program of many functions would keep the buffers of all of them. Two functions that are called in turn keep theirs.
void Run::make_room_for_static_buffer(uint64_t bytes) {
  if (depth == 0) return;
  largest_static_bytes = std::max(largest_static_bytes, frames[depth - 1]->function->static_bytes);
  if (static_bytes + bytes <= std::max(2 * largest_static_bytes, RunPool::kKeptFloor)) return;
  drop_idle_static_buffers();
  // The rest belongs to running functions. If they call themselves, only twice as much is a reason to look again.
  largest_static_bytes = std::max(largest_static_bytes, static_bytes);
}

uint64_t Run::idle_bytes(DLDevice device) const {
  uint64_t sum = pool.kept_bytes(device) + graphs.kept_bytes(device);
  for (const auto &frame : frames)
    for (const StaticBuffer &place : program->places) {
      if (!is_ready(frame->registers.data(), place)) continue;  // the storage holds a result that is still in use
      const auto *storage = static_cast<VmStorage *>(object_of(frame->registers[place.reg]));
      if (same(storage->device, device)) sum += storage->bytes();
    }
  return sum;
}

void Run::observe_calls() noexcept {
  if (!vm->is_compiled()) return;
  // The flag is set before the hooks. A hook that saw no flag would leave its call unobserved.
  attentive.store(true, std::memory_order_relaxed);
  std::scoped_lock lock(hooks_guard_);
  if (!hooks_) hooks_.emplace(vm->libraries());
}

void Run::record_bindings() noexcept {
  pool.set_records_bindings(true);
  attentive.store(true, std::memory_order_relaxed);  // otherwise end_call() would not see it
}

void Run::end_call() noexcept {
  // No lock is needed: the token and the deadline have already released the run.
  stop.store(CancelReason::kNone, std::memory_order_relaxed);
  current.store(nullptr, std::memory_order_relaxed);
  pool.end_call();
  if (!attentive.load(std::memory_order_relaxed)) [[likely]]
    return;
  attentive.store(false, std::memory_order_relaxed);
  pool.set_records_bindings(false);
  hooks_.reset();
}

const char *Run::running_kernel() const noexcept {
  const Instr *const instr = current.load(std::memory_order_relaxed);
  return instr ? program->callee_name(program->pc_of(instr)).c_str() : nullptr;
}

Frame &Run::push() {
  if (depth < frames.size()) return *frames[depth++];
  auto frame = std::make_unique<Frame>();
  View unset = opd_none();
  unset.type = kUnset;
  frame->registers.reserve(program->frame_size());
  frame->registers.assign(program->num_registers, unset);
  frame->registers.push_back(opd_none());
  frame->registers.push_back(opd_pointer(this));
  frame->registers.insert(frame->registers.end(), program->constants.begin(), program->constants.end());
  for (const uint32_t index : program->function_values) frame->registers.push_back(vm->function_value(index));
  frame->registers.resize(program->frame_size(), unset);
  frame->scratch.resize(kInstrumentHead + program->max_args + 1);
  frames.push_back(std::move(frame));
  return *frames[depth++];
}

}  // namespace opd
