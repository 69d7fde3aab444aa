// Random bytes from the system.
#pragma once
#include <cstddef>

namespace opd {

// Draws bytes that nobody can guess. Waits until the system has them, which is soon after boot. Throws OPD_IO.
void draw_secret_bytes(void *to, size_t size);
// Draws bytes for numbers that must differ from all others, in this process and elsewhere. Does not wait: if the system
// has no random bytes, they come from the clock.
void draw_unique_bytes(void *to, size_t size) noexcept;

template <class T>
T draw_unique() noexcept {
  T made;
  draw_unique_bytes(&made, sizeof made);
  return made;
}

}  // namespace opd
