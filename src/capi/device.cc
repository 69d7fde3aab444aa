// Implements include/opdyno/device.h and device_plugin.h.
#include "device/device.h"

#include "capi/handles.h"
#include "device/backends.h"
#include "device/cpu/thread_pool.h"
#include "device/memory/allocator.h"
#include "module/image/library_image.h"
#include "value/dtype.h"
#include "vm/vm.h"

using namespace opd;

opd_error *opd_device_from_string(const char *text, DLDevice *out_device) {
  return guard([&] {
    OPD_REQUIRE(text, out_device);
    *out_device = parse_device(text);
  });
}

opd_error *opd_device_get_attr(DLDevice device, opd_device_attr attr, opd_value *out_value) {
  return guard([&] {
    OPD_REQUIRE(out_value);
    *out_value = device_attr(device, attr).detach();
  });
}

opd_error *opd_device_sync(DLDevice device) {
  return guard([&] { wait_for_device(device); });
}

opd_error *opd_stream_create(DLDevice device, void **out_stream) {
  return guard([&] {
    OPD_REQUIRE(out_stream);
    *out_stream = make_stream(device);
  });
}

opd_error *opd_stream_free(DLDevice device, void *stream) {
  return guard([&] { end_stream(device, stream); });
}

opd_error *opd_stream_set(DLDevice device, void *stream, void **out_before) {
  return guard([&] {
    OPD_REQUIRE(out_before);
    check_stream(device, stream);
    *out_before = set_current_stream(device, stream);
  });
}

opd_error *opd_stream_sync(DLDevice device, void *stream) {
  return guard([&] {
    check_stream(device, stream);
    wait_for_stream(device, stream);
  });
}

opd_error *opd_device_register(const char *kind, const opd_device_table *table, int32_t *out_type) {
  return guard([&] {
    OPD_REQUIRE(kind, table, out_type);
    *out_type = register_plugin(kind, read_table(*table));
  });
}

opd_error *opd_memory_get_stats(DLDevice device, opd_memory_stats *out_stats) {
  return guard([&] {
    OPD_REQUIRE(out_stats);
    opd_memory_stats stats = memory_stats(device);
    stats.idle_bytes = Vm::idle_bytes(device);
    write_sized(stats, out_stats);
  });
}

opd_error *opd_memory_reset_peak(DLDevice device) {
  return guard([&] { reset_memory_peak(device); });
}

opd_error *opd_memory_trim(DLDevice device) {
  return guard([&] {
    trim_memory(device);
    if (same(device, kHost)) drop_kept_images();
  });
}

opd_error *opd_memory_set_hooks(const opd_memory_hooks *hooks) {
  return guard([&] {
    if (!hooks) return set_memory_hooks(nullptr);
    const opd_memory_hooks full = read_table(*hooks);
    set_memory_hooks(&full);
  });
}

int32_t opd_threads_count(void) { return thread_count(); }

opd_error *opd_threads_set_count(int32_t count) {
  return guard([&] { set_thread_count(count); });
}
