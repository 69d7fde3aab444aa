#include "device/address_ranges.h"

#include <sys/mman.h>
#include <unistd.h>

#include "value/value.h"

namespace opd {
namespace {

size_t whole_pages(size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

namespace detail {

void *reserve_addresses(size_t bytes) noexcept {
  void *const range =
      ::mmap(nullptr, whole_pages(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return range == MAP_FAILED ? nullptr : range;
}

void release_addresses(void *begin, size_t bytes) noexcept { ::munmap(begin, whole_pages(bytes)); }

void fail_without_buffer(const char *kind, int32_t device, const void *address, size_t bytes) {
  fail(OPD_INVALID_ARGUMENT, "the ", bytes, " bytes at address ", reinterpret_cast<uintptr_t>(address),
       " are not of a tensor of ", kind, ":", device);
}

}  // namespace detail

void check_part_begin(const char *kind, int32_t device, const std::string &kernel, size_t argument, size_t offset,
                      size_t alignment) {
  if (offset % alignment) [[unlikely]]
    fail(OPD_INVALID_ARGUMENT, "argument ", argument, " of kernel ", kernel, " begins ", offset,
         " bytes into its buffer; ", kind, ":", device, " can begin at multiples of ", alignment, " only");
}

}  // namespace opd
