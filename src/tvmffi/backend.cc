// Services for running kernels: scratch memory and threads.
#include <algorithm>

#include "device/cpu/thread_pool.h"
#include "device/memory/workspace.h"
#include "tvmffi/groups.h"
#include "tvmffi/raising.h"

namespace opd {
namespace {

DLDevice device_of(int type, int id) { return {static_cast<DLDeviceType>(type), id}; }

extern "C" {

// The last two arguments are a dtype, as an alignment hint. opdyno's alignment suffices for every dtype.
static void *TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t bytes, int, int) {
  void *data = nullptr;
  raising([&] {
    data = allocate_workspace(device_of(device_type, device_id), std::max<uint64_t>(bytes, 1));
    if (!data)
      fail(OPD_OUT_OF_MEMORY, "there is no memory for a kernel's workspace of ", bytes, " bytes on device ",
           device_type, ":", device_id);
  });
  return data;
}

static int TVMBackendFreeWorkspace(int device_type, int device_id, void *data) {
  return raising([&] {
    require(free_workspace_block(device_of(device_type, device_id), data),
            "a kernel freed a workspace that it did not allocate on this thread");
  });
}

static int TVMBackendParallelLaunch(ParallelTask task, void *data, int num_task) {
  if (task && num_task >= 0) [[likely]]
    return parallel_launch(task, data, num_task);
  return raising([&] {
    fail(OPD_INVALID_ARGUMENT, "a kernel launched ", num_task, " parallel tasks", task ? "" : " without a function");
  });
}

static int TVMBackendParallelBarrier(int task_id, ParallelGroup *group) {
  if (group && task_id >= 0 && task_id < group->num_task) [[likely]]
    return parallel_barrier(task_id, group);
  return raising(
      [&] { fail(OPD_INVALID_ARGUMENT, "task ", task_id, " of a kernel met a barrier outside its parallel region"); });
}

}  // extern "C"
}  // namespace

std::span<const ProvidedSymbol> backend_symbols() {
  static const ProvidedSymbol symbols[] = {
      {"TVMBackendAllocWorkspace", address_of(TVMBackendAllocWorkspace)},
      {"TVMBackendFreeWorkspace", address_of(TVMBackendFreeWorkspace)},
      {"TVMBackendParallelLaunch", address_of(TVMBackendParallelLaunch)},
      {"TVMBackendParallelBarrier", address_of(TVMBackendParallelBarrier)},
  };
  return symbols;
}

}  // namespace opd
