// Scratch memory of kernels: last in, first out, cached per thread. Implements the contract of
// TVMBackendAllocWorkspace.
#pragma once
#include <opdyno/dlpack.h>

#include <cstddef>
#include <cstdint>

namespace opd {

void *allocate_workspace(DLDevice device, size_t bytes) noexcept;  // 64-byte aligned; null if memory is short
bool free_workspace_block(DLDevice device, void *data) noexcept;   // false if it is not a block of this thread

// Frees the calling thread's idle blocks. After DeviceMemory::trim(), other threads free theirs at their next use.
void trim_workspace() noexcept;

}  // namespace opd
