// The memory of events. A chunk is 64 KiB, aligned to its size. Words grow from its front and hold the variable part of
// events. The events, 64 bytes each, grow from its end, so the owner need not guess the two shares. The words of an
// event are in its own chunk, so a chunk can be read, kept or dropped alone.
#pragma once
#include <atomic>
#include <memory>

#include "trace/model/event.h"

namespace opd {

class Chunk {
 public:
  static constexpr size_t kBytes = size_t{1} << 16;

  // Reuses a released chunk, or allocates one. `tail_words`: room for one large payload after the first 64 KiB, at
  // index kTail. Memory is zeroed when allocated: a page fault costs as much as thirty events.
  static std::shared_ptr<Chunk> make(uint64_t first, size_t tail_words = 0);
  // reserve() allocates until this many released chunks exist; trim() frees those above the usual number.
  static void reserve(size_t chunks);
  static void trim() noexcept;

  static constexpr size_t kTail = kBytes / sizeof(int64_t);
  static const Chunk &of(const Event &event) {
    return *reinterpret_cast<const Chunk *>(reinterpret_cast<uintptr_t>(&event) & ~(kBytes - 1));
  }

  int64_t *words() { return reinterpret_cast<int64_t *>(this); }
  const int64_t *words() const { return reinterpret_cast<const int64_t *>(this); }
  // Words begin where they do in a file's block, after its header (event_block.h).
  static constexpr size_t first_word() { return 78; }
  Event *event(size_t i) { return reinterpret_cast<Event *>(reinterpret_cast<char *>(this) + kBytes) - 1 - i; }
  const Event *event(size_t i) const { return const_cast<Chunk *>(this)->event(i); }
  static uint64_t number_of(const Event &event) {  // number of the event on its track
    const Chunk &chunk = of(event);
    return chunk.first + static_cast<uint64_t>(chunk.event(0) - &event);
  }

  // Returns the whole pages between the words below `top` and the events below `count` to the system. Others may read
  // the chunk meanwhile. Without this, a program that starts a thread for each task would keep 64 KiB for a few events
  // of each thread.
  void release_free_pages(uint32_t top, uint32_t count) noexcept;

  uint64_t first = 0;              // number of its first event on the track
  std::atomic<uint32_t> count{0};  // published events: those below it are complete, with their words
  size_t tail_words = 0;
};

}  // namespace opd
