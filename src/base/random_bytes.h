// Random bytes of the system.
#pragma once
#include <cstddef>

namespace opd {

// Bytes that nobody can guess. Waits until the system has them, soon after the machine was started. Throws OPD_IO.
void draw_secret_bytes(void *to, size_t size);
// Bytes for numbers that must differ from others, in this process and elsewhere. Does not wait: if the system has no
// random ones, they come from the clock.
void draw_unique_bytes(void *to, size_t size) noexcept;

template <class T>
T draw_unique() noexcept {
  T made;
  draw_unique_bytes(&made, sizeof made);
  return made;
}

}  // namespace opd
