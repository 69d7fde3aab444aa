// The first use of the library in a process, while from some allocation on all others fail, also those of the releases.
// What is made at first use may be missing then: nothing may crash.
#include <sys/wait.h>
#include <unistd.h>

#include "alloc/failing_allocator.h"
#include "support/c_artifact.h"
#include "support/opdyno_test.h"
#include "support/paths.h"

using namespace opdyno_test;

namespace {

void use(const char *library) {
  opd_module *module = nullptr;
  opd_vm *vm = nullptr;
  opd_report *report = nullptr;
  opd_log_set_callback([](void *, opd_log_level, const char *) {}, nullptr, nullptr);
  opd_error *errors[4] = {opd_module_load(library, nullptr, &module)};
  if (module) errors[1] = opd_vm_create(module, nullptr, &vm);
  if (vm) errors[2] = opd_vm_profile_start(vm, nullptr);
  if (vm && !errors[2]) errors[3] = opd_vm_profile_stop(vm, &report, nullptr);
  opd_report_release(report);
  opd_vm_release(vm);
  opd_module_release(module);
  for (opd_error *error : errors) opd_error_release(error);
}

// In a child, for which everything is the first use. Returns the number of allocations, or -1 if it did not end well.
int allocations_until(const char *library, size_t first) {
  int ends[2];
  if (pipe(ends)) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    start_counting(first, true);
    use(library);
    const auto count = static_cast<int>(stop_counting());
    _exit(write(ends[1], &count, sizeof count) == sizeof count ? 0 : 1);
  }
  close(ends[1]);
  int count = -1;
  if (read(ends[0], &count, sizeof count) != sizeof count) count = -1;
  close(ends[0]);
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0 ? count : -1;
}

TEST(FirstUse, WithoutMemoryNeverEndsTheProcess) {
  const std::string library = interop_data("/0.27/tuples.so");
  const int usual = allocations_until(library.c_str(), 0);
  ASSERT_GT(usual, 100);
  for (int first = 1; first <= usual; ++first)
    EXPECT_GE(allocations_until(library.c_str(), static_cast<size_t>(first)), 0)
        << "allocation " << first << " of " << usual;
}

}  // namespace
