// Storages and tensors that a frame keeps in cells of its own between calls, as the program's plans ask for them.
#pragma once
#include "vm/run.h"

namespace opd {

// Whether a place can be used again: it was made, and nobody kept one of its tensors.
inline bool residents_ready(const View *cells, const ResidentPlace &place) {
  if (cells[place.cell].type == kUnset) return false;
  for (const auto &tensor : place.tensors)
    if (!object_of(cells[tensor.cell])->has_sole_owner()) return false;
  return true;
}

// Makes the objects of a place anew; those that somebody kept are theirs from then on. Throws when memory is short.
void make_residents(Run &run, View *cells, const ResidentPlace &place);

// Gives up a frame's residents, but not those that the function uses which it runs.
void drop_residents(Run &run, Frame &frame, const Program::Func *running);

}  // namespace opd
