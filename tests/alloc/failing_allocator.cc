#include "alloc/failing_allocator.h"

#include <atomic>
#include <cerrno>
#include <cstdint>

// The allocator of the GNU C library under its own names. What this program defines below is used by all libraries in
// the process, the C++ library's operator new included.
extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *data, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *data);
}

namespace opdyno_test {
namespace {

std::atomic<bool> counting{false};
std::atomic<size_t> count{0};
std::atomic<ptrdiff_t> live{0};
size_t fails_first = 0;
bool fails_all = false;

bool fails() {
  if (!counting.load(std::memory_order_acquire)) return false;
  const size_t number = count.fetch_add(1, std::memory_order_relaxed) + 1;
  if (fails_first == 0 || number < fails_first || (number > fails_first && !fails_all)) return false;
  errno = ENOMEM;
  return true;
}

void *counted(void *data) {
  if (data) live.fetch_add(1, std::memory_order_relaxed);
  return data;
}

}  // namespace

void start_counting(size_t first, bool all) {
  count = 0, fails_first = first, fails_all = all;
  counting.store(true, std::memory_order_release);
}

size_t stop_counting() {
  counting = false;
  return count;
}

ptrdiff_t live_blocks() { return live; }

}  // namespace opdyno_test

using opdyno_test::counted;
using opdyno_test::fails;

extern "C" {
void *malloc(size_t size) { return fails() ? nullptr : counted(__libc_malloc(size)); }
void *calloc(size_t number, size_t size) { return fails() ? nullptr : counted(__libc_calloc(number, size)); }
void *memalign(size_t alignment, size_t size) { return fails() ? nullptr : counted(__libc_memalign(alignment, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
  void *data = memalign(alignment, size);
  if (data) *out = data;
  return data ? 0 : ENOMEM;
}
void free(void *data) {
  if (data) opdyno_test::live.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(data);
}
void *realloc(void *data, size_t size) {
  if (!data) return malloc(size);
  if (fails()) return nullptr;
  void *moved = __libc_realloc(data, size);
  if (!moved && size == 0) opdyno_test::live.fetch_sub(1, std::memory_order_relaxed);
  return moved;
}
}
