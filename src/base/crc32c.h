// CRC-32C (Castagnoli; RFC 3720). Both ends of a connection use it to detect changed bytes. Processors have
// instructions for it; x86-64 has none for the CRC-32 of zip files.
#pragma once
#include <cstddef>
#include <cstdint>

namespace opd {

// Returns the checksum of earlier bytes followed by `data`. `before`: the checksum of the earlier bytes; 0: none.
// Signal handlers may call this.
uint32_t crc32c(uint32_t before, const void *data, size_t size) noexcept;
// Returns the same checksum without the processor's instructions.
uint32_t crc32c_portable(uint32_t before, const void *data, size_t size) noexcept;

}  // namespace opd
