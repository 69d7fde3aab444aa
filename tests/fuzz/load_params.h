// What the fuzzers of parameter files share: bytes give an error, or parameters that survive being saved and read
// again.
#pragma once
#include <opdyno/opdyno.h>

#include <cstdlib>
#include <cstring>

// Looks at every tensor. Damage in compressed elements shows only then.
inline void read_params(opd_params *params) {
  for (int32_t i = 0; i < opd_params_count(params); ++i) {
    opd_tensor_info info{};
    info.struct_size = sizeof info;
    if (opd_params_get_info(params, i, &info) || !info.shape || info.ndim < 0) std::abort();
    opd_tensor *tensor = nullptr;
    const char *name = opd_params_name(params, i);
    if (opd_error *error = opd_params_get(params, name, &tensor)) {  // nor can a name with a NUL byte be asked for
      opd_error_release(error);
      continue;
    }
    const volatile char *bytes = static_cast<const char *>(opd_tensor_view(tensor)->data);
    const size_t count = opd_tensor_bytes(tensor);
    char sum = 0;
    for (size_t at = 0; at < count; at += 64) sum = static_cast<char>(sum + bytes[at]);
    opd_tensor_release(tensor);
  }
  opd_params_stats stats{sizeof stats, 0, 0, 0, 0};
  if (opd_params_get_stats(params, &stats) || stats.viewed_bytes > stats.total_bytes) std::abort();
}

inline void load_params(const uint8_t *data, size_t size) {
  opd_params *params = nullptr, *views = nullptr;
  opd_error *error = opd_params_load_bytes(data, size, &params);
  opd_error *late = opd_params_open_bytes(const_cast<uint8_t *>(data), size, nullptr, nullptr, nullptr, &views);
  if (late && !error) std::abort();  // what can be copied can be opened
  opd_error_release(late);
  if (views) read_params(views);
  opd_params_release(views);
  if (error) {
    if (params || !*opd_error_message(error)) std::abort();
    return opd_error_release(error);
  }
  read_params(params);
  opd_buffer *saved = nullptr, *again = nullptr;
  opd_params *reread = nullptr;
  if (opd_params_save_bytes(params, &saved) ||
      opd_params_load_bytes(opd_buffer_data(saved), opd_buffer_size(saved), &reread) ||
      opd_params_save_bytes(reread, &again) || opd_buffer_size(saved) != opd_buffer_size(again) ||
      std::memcmp(opd_buffer_data(saved), opd_buffer_data(again), opd_buffer_size(saved)) != 0)
    std::abort();
  opd_buffer_release(saved);
  opd_buffer_release(again);
  opd_params_release(params);
  opd_params_release(reread);
}
