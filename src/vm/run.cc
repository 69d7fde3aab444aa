#include "vm/run.h"

#include "vm/residents.h"
#include "vm/vm.h"

namespace opd {

Run::Run(Vm &owner, const Program &p)
    : vm(&owner),
      pool(owner.devices(), owner.budget(), p.templates.size(), p.storage_kinds),
      known_shapes(pool, owner.is_compiled() ? p.constants : Args()) {
  program = &p;
  pool.when_short = [this] {
    drop_idle_residents();
    pool.trim();
    vm->trim();
  };
}

Run::~Run() { drop_idle_residents(); }

void Run::drop_idle_residents() {
  for (size_t i = 0; i < frames.size(); ++i)
    drop_residents(*this, *frames[i], i < depth ? frames[i]->function : nullptr);
}

uint64_t Run::idle_bytes(DLDevice device) const {
  uint64_t sum = pool.kept_bytes(device);
  for (const auto &frame : frames)
    for (const ResidentPlace &place : program->places) {
      if (!residents_ready(frame->cells.data(), place)) continue;  // a result that somebody holds lies in it
      const auto *storage = static_cast<VmStorage *>(object_of(frame->cells[place.cell]));
      if (same(storage->device, device)) sum += storage->size;
    }
  return sum;
}

Frame &Run::push() {
  if (depth < frames.size()) return *frames[depth++];
  auto frame = std::make_unique<Frame>();
  View unset = opd_none();
  unset.type = kUnset;
  frame->cells.reserve(program->num_cells());
  frame->cells.assign(program->num_registers, unset);
  frame->cells.push_back(opd_none());
  frame->cells.push_back(opd_pointer(this));
  frame->cells.insert(frame->cells.end(), program->constants.begin(), program->constants.end());
  for (const uint32_t index : program->function_values) frame->cells.push_back(vm->function_value(index));
  frame->cells.resize(program->num_cells(), unset);
  frame->scratch.resize(kInstrumentHead + program->max_args + 1);
  frames.push_back(std::move(frame));
  return *frames[depth++];
}

}  // namespace opd
