#include "vm/static_buffers.h"

#include <algorithm>

namespace opd {
namespace {

void drop(Run &run, View &reg) {
  const View old = reg;
  reg.type = kUnset;
  if (is_object(old)) run.pool.drop(object_of(old));
}

void drop_place(Run &run, View *registers, const StaticBuffer &place) {
  for (const auto &tensor : place.tensors) drop(run, registers[tensor.reg]);
  drop(run, registers[place.reg]);
}

}  // namespace

void make_static_buffer(Run &run, View *registers, const StaticBuffer &place) {
  drop_place(run, registers, place);
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
}

void drop_static_buffers(Run &run, Frame &frame, const Program::Func *running) {
  const auto is_used = [&](uint32_t place) {
    return running && std::find(running->places.begin(), running->places.end(), place) != running->places.end();
  };
  for (uint32_t i = 0; i < run.program->places.size(); ++i)
    if (!is_used(i)) drop_place(run, frame.registers.data(), run.program->places[i]);
}

}  // namespace opd
