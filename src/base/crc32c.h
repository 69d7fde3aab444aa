// CRC-32C (Castagnoli; RFC 3720), by which both ends of a connection notice bytes that changed on their way. Processors
// have instructions for this one; x86-64 has none for the CRC-32 of zip files.
#pragma once
#include <cstddef>
#include <cstdint>

namespace opd {

// The checksum of some bytes and of these behind them. `before`: the former's; 0: there are none. Handlers of signals
// may call it.
uint32_t crc32c(uint32_t before, const void *data, size_t size) noexcept;
// The same without the processor's instructions.
uint32_t crc32c_portable(uint32_t before, const void *data, size_t size) noexcept;

}  // namespace opd
