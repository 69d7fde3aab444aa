// Storages and tensors that a frame keeps in separate registers between calls, as the program's plans require.
#pragma once
#include "vm/run.h"

namespace opd {

// Whether a place can be reused: it was made, and none of its tensors has another owner.
inline bool is_ready(const View *registers, const StaticBuffer &place) {
  if (registers[place.reg].type == kUnset) return false;
  for (const auto &tensor : place.tensors)
    if (!object_of(registers[tensor.reg])->has_sole_owner()) return false;
  return true;
}

// Makes the objects of a place again. Old objects that are still referenced stay alive. Throws if memory is short.
void make_static_buffer(Run &run, View *registers, const StaticBuffer &place);

// Releases a frame's static buffers, except those of the function `running`.
void drop_static_buffers(Run &run, Frame &frame, const Program::Func *running);

}  // namespace opd
