// Source of CPU memory: the system, or the embedder's hooks. Each block is returned to the source that allocated it.
// Cost: if no hooks were ever set, one relaxed load in addition to the system's allocator.
#pragma once
#include <cstddef>

namespace opd {

void *take_cpu_memory(size_t size, size_t alignment);  // null if memory is short
void give_cpu_memory(void *data, size_t size, size_t alignment) noexcept;
bool is_from_present_source(const void *data) noexcept;

}  // namespace opd
