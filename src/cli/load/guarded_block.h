// A copy of bytes between pages without access, and a handler for the signal that touching them raises.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace opd::cli {

// Guards are whole pages, but the copy may have any size. So on one side it is as near to the guard as the alignment
// allows, on the other up to a page away. The bytes between copy and guards are filled with one value, so that writes
// to them can be detected afterwards.
class GuardedBlock {
 public:
  enum class Side { end, begin };  // the side of the copy that is next to the guard

  // `alignment` is a power of two up to the size of a page. The addresses of copy and content are equal modulo
  // `alignment`. Throws std::bad_alloc.
  GuardedBlock(std::span<const std::byte> content, size_t alignment, Side side, std::byte fill);
  ~GuardedBlock();
  GuardedBlock(GuardedBlock &&from) noexcept;
  GuardedBlock &operator=(GuardedBlock &&) = delete;

  std::byte *data() const { return data_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // The position of the overwritten bytes nearest to the copy: 0 is the first byte after it, -1 the last one before it.
  std::optional<ptrdiff_t> written_outside() const;
  // The position of an address within the guards, counted as in written_outside().
  std::optional<ptrdiff_t> outside(uintptr_t address) const;

 private:
  std::byte *mapping_ = nullptr, *body_ = nullptr, *data_ = nullptr;
  size_t mapped_ = 0, body_size_ = 0, size_ = 0;
  std::byte fill_;
};

// Watches a call: a segmentation fault ends the process with a message that names the call. If the address is in the
// guards of a block, the message names the block, too. `names`: names of the blocks. All arguments must outlive the
// watch. Watches nest.
class FaultWatch {
 public:
  FaultWatch(const std::string &call, std::span<const GuardedBlock> blocks, std::span<const std::string> names);
  ~FaultWatch();
  FaultWatch(const FaultWatch &) = delete;
  FaultWatch &operator=(const FaultWatch &) = delete;

  const char *const call;
  const std::span<const GuardedBlock> blocks;
  const std::span<const std::string> names;

 private:
  const FaultWatch *const outer_;
};

}  // namespace opd::cli
