// Where the CPU's memory comes from: the system, or the embedder's hooks. Each block goes back where it came from.
// Cost: while no hooks were set, one relaxed load more than the system's allocator.
#pragma once
#include <cstddef>

namespace opd {

void *take_cpu_memory(size_t size, size_t alignment);  // null without memory
void give_cpu_memory(void *data, size_t size, size_t alignment) noexcept;
bool is_from_present_source(const void *data) noexcept;

}  // namespace opd
