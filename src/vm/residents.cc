#include "vm/residents.h"

#include <algorithm>

namespace opd {
namespace {

void drop(Run &run, View &cell) {
  const View old = cell;
  cell.type = kUnset;
  if (is_object(old)) run.pool.drop(object_of(old));
}

void drop_place(Run &run, View *cells, const ResidentPlace &place) {
  for (const auto &tensor : place.tensors) drop(run, cells[tensor.cell]);
  drop(run, cells[place.cell]);
}

}  // namespace

void make_residents(Run &run, View *cells, const ResidentPlace &place) {
  drop_place(run, cells, place);
  VmStorage *const storage = run.pool.storage(static_cast<uint32_t>(place.size_class));
  // The storage's cell comes last: as long as it is unset, the place counts as not made.
  struct Undo {
    RunPool &pool;
    VmStorage *storage;
    ~Undo() {
      if (storage) pool.drop(storage);
    }
  } undo{run.pool, storage};
  for (const auto &tensor : place.tensors)
    cells[tensor.cell] = view_of(run.pool.tensor(*tensor.shape, storage, tensor.offset));
  undo.storage = nullptr;
  cells[place.cell] = view_of(storage);
}

void drop_residents(Run &run, Frame &frame, const Program::Func *running) {
  const auto is_used = [&](uint32_t place) {
    return running && std::find(running->places.begin(), running->places.end(), place) != running->places.end();
  };
  for (uint32_t i = 0; i < run.program->places.size(); ++i)
    if (!is_used(i)) drop_place(run, frame.cells.data(), run.program->places[i]);
}

}  // namespace opd
