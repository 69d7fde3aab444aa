// A kernel that is known to touch fresh pages and to add to a counter on every thread of the pool, and the counters
// that are to see it.
#pragma once
#include "support/c_artifact.h"
#include "support/collector_test.h"
#include "support/sanitizers.h"

namespace opdyno_test {

struct Work {  // what the kernel and the test share
  int64_t pages, tasks;
  long long *counter;
};

// Each task touches `pages` fresh pages, adds as many to the counter, and waits until all have, so that no thread does
// the work of two.
inline const std::string kKernels = kArtifactHead + R"(
#include <sys/mman.h>
typedef struct { void *sync; int32_t num_task; } Group;
typedef int (*Task)(int, Group *, void *);
SLOT(int, TVMBackendParallelLaunch, Task, void *, int)
SLOT(int, TVMBackendParallelBarrier, int, Group *)
typedef struct { int64_t pages, tasks; long long *counter; } Work;
static int touch(int id, Group *group, void *data) {
  Work *work = data;
  const long size = work->pages * 4096;
  if (size) {
    volatile char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise((void *)memory, size, MADV_NOHUGEPAGE);
    for (long i = 0; i < work->pages; ++i) memory[i * 4096] = 1;
    munmap((void *)memory, size);
  }
  if (work->counter) __atomic_add_fetch(work->counter, work->pages, __ATOMIC_RELAXED);
  return group && group->num_task > 1 ? __TVMBackendParallelBarrier(id, group) : 0;
}
int __tvm_ffi_work(void *self, const Any *args, int32_t num_args, Any *ret) {
  return __TVMBackendParallelLaunch(touch, args[1].u.p, ((Work *)args[1].u.p)->tasks);
}
int __tvm_ffi_work_here(void *self, const Any *args, int32_t num_args, Any *ret) {
  return touch(0, 0, args[1].u.p);
}
int __tvm_ffi___vmtir__main(void *self, const Any *args, int32_t num_args, Any *ret) {
  Any *registers = args[1].u.p, ignored = {0};
  return __tvm_ffi_work(0, registers, 2, &ignored) || __tvm_ffi_work_here(0, registers, 2, &ignored);
}
)";

inline Vm vm_of(const Executable &executable) {
  static const Module kernels = Module::load(build_library("counted_work", kKernels));
  const Module module = executable.to_module();
  module.add_import(kernels);
  return Vm(module);
}

inline Vm bytecode() {
  return vm_of(
      Executable::assemble(".func main(x, p) {\n  call work(%x, %p)\n  call work_here(%x, %p)\n  ret %void\n}\n"));
}

// One function of kind 2 (compiled) with two parameters; no constants, no instructions: docs/executable.md.
inline Vm compiled() {
  std::string bytes;
  const auto put = [&](auto number) { bytes.append(reinterpret_cast<const char *>(&number), sizeof number); };
  const auto text = [&](const std::string &s) { put(uint64_t{s.size()}), bytes += s; };
  put(uint64_t{0xD225DE2F4214151E}), text("0.14"), put(uint64_t{1});
  put(int32_t{2}), text("main"), put(int64_t{0}), put(int64_t{0}), put(int64_t{2}), put(int64_t{3}), put(uint64_t{2}),
      text("x"), text("p");
  for (int section = 0; section < 4; ++section) put(uint64_t{0});
  return vm_of(Executable::load(bytes));
}

// A sanitizer touches pages of its own meanwhile: some, and ThreadSanitizer up to one for each.
inline int64_t most_pages(int64_t pages) {
  if (has_thread_sanitizer()) return 2 * pages + 64;
  return has_address_sanitizer() ? pages + 16 : pages;
}
inline void expect_pages(int64_t counted, int64_t pages) {
  EXPECT_GE(counted, pages);
  EXPECT_LE(counted, most_pages(pages));
}

constexpr int kThreads = 3;
struct Threads {
  Threads() { check(opd_threads_set_count(kThreads)); }
  ~Threads() { check(opd_threads_set_count(0)); }
};

inline opd_error *make(opd_collector_kind kind, const std::vector<const char *> &events, Collector &out,
                       bool per_thread = false, bool best_effort = false) {
  opd_counter_options options;
  opd_counter_options_init(&options);
  options.per_thread = per_thread;
  options.best_effort = best_effort;
  options.events = events.data();
  options.num_events = static_cast<int32_t>(events.size());
  return opd_collector_create_builtin(kind, &options, out.out());
}

inline std::string refusal(opd_error *error) { return error ? Error(error).message() : ""; }

}  // namespace opdyno_test
