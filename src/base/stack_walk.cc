#include "base/stack_walk.h"

#include <link.h>
#include <unwind.h>

namespace opd {
namespace {

struct Code {
  uint64_t begin = 0, end = 0;
  bool contains(uint64_t address) const { return address >= begin && address < end; }
};

// Finds the shared library that contains this function. If it is linked into a program, there is no such library.
Code own_library() {
  struct Search {
    bool is_program = true;  // the first object is the program
    Code found;
  } search;
  const auto visit = [](dl_phdr_info *object, size_t, void *given) {
    auto &state = *static_cast<Search *>(given);
    const auto own = reinterpret_cast<uint64_t>(&own_library);
    for (uint16_t i = 0; i < object->dlpi_phnum; ++i) {
      const auto &segment = object->dlpi_phdr[i];
      const uint64_t begin = object->dlpi_addr + segment.p_vaddr;
      if (segment.p_type == PT_LOAD && Code{begin, begin + segment.p_memsz}.contains(own) && !state.is_program)
        state.found = {begin, begin + segment.p_memsz};
    }
    state.is_program = false;
    return 0;
  };
  ::dl_iterate_phdr(visit, &search);
  return search.found;
}
const Code own_code = own_library();

struct Walk {
  uint64_t *addresses;
  size_t most, count = 0;
  uintptr_t limit;
};

_Unwind_Reason_Code visit_frame(_Unwind_Context *frame, void *given) {
  Walk &walk = *static_cast<Walk *>(given);
  // The unwinder returns the end of the called function's frame. So this step decides whether the limit lay in the
  // previous step's frame. The start of a frame is not enough, because arguments in memory make a frame longer during
  // some calls.
  if (_Unwind_GetCFA(frame) > walk.limit) {
    if (walk.count > 0) --walk.count;
    return _URC_END_OF_STACK;
  }
  if (walk.count == walk.most) return _URC_END_OF_STACK;
  const uint64_t address = _Unwind_GetIP(frame);
  if (!address) return _URC_END_OF_STACK;
  if (walk.count > 0 || !own_code.contains(address)) walk.addresses[walk.count++] = address;
  return _URC_NO_REASON;
}

}  // namespace

size_t walk_stack(uint64_t *addresses, size_t most, uintptr_t limit) noexcept {
  Walk walk{addresses, most, 0, limit};
  _Unwind_Backtrace(&visit_frame, &walk);
  return walk.count;
}

}  // namespace opd
