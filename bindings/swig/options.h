// The fields of the options by their names, for bindings that read options from a map of their language. Numbers of
// items are no fields: they follow from the lists.
#pragma once
#include <opdyno/opdyno.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <forward_list>
#include <tuple>
#include <vector>

namespace opdrules {

struct Field {
  const char *name;
  char kind;  // i: int32, l: int64, L: uint64, f: double, s: text, d: device, h: handle; S, D, H, I, N: texts, devices,
              // handles, int32s, int64s
  size_t place;
  const char *handle = nullptr;  // class of h and H
  int count_place = -1;          // of lists: where their number goes
  const char *like = nullptr;    // of lists without: the list that has as many items, "args" are those of the call
};
using Fields = std::vector<Field>;

inline const Field *find(const Fields &fields, const char *name) {
  for (const Field &field : fields)
    if (std::strcmp(field.name, name) == 0) return &field;
  return nullptr;
}

template <class T>
void store(void *options, size_t place, const T &value) {
  std::memcpy(static_cast<char *>(options) + place, &value, sizeof value);
}

// The lists that options point to; they live as long as this.
class Lists {
 public:
  template <class T>
  std::vector<T> &make(size_t size) {
    return std::get<std::forward_list<std::vector<T>>>(all_).emplace_front(size);
  }
  template <class T>
  static void store(void *options, const Field &field, const std::vector<T> &list) {
    opdrules::store(options, field.place, list.empty() ? nullptr : list.data());
    if (field.count_place >= 0)
      opdrules::store(options, static_cast<size_t>(field.count_place), static_cast<int32_t>(list.size()));
  }

 private:
  template <class T>
  using Of = std::forward_list<std::vector<T>>;
  std::tuple<Of<const char *>, Of<DLDevice>, Of<void *>, Of<int32_t>, Of<int64_t>> all_;
};

#define OPDRULES_FIELD(KIND, NAME, ...) \
  Field { #NAME, KIND, offsetof(Type, NAME), ##__VA_ARGS__ }
#define OPDRULES_LIST(KIND, NAME, HANDLE) OPDRULES_FIELD(KIND, NAME, HANDLE, offsetof(Type, num_##NAME))
#define OPDRULES_LIST_LIKE(KIND, NAME, LIKE) OPDRULES_FIELD(KIND, NAME, nullptr, -1, LIKE)
#define OPDRULES_FIELDS(STRUCT, ...)               \
  inline const Fields &fields_of(const STRUCT *) { \
    using Type = STRUCT;                           \
    static const Fields fields = {__VA_ARGS__};    \
    return fields;                                 \
  }
OPDRULES_FIELDS(opd_module_options, OPDRULES_FIELD('i', copy), OPDRULES_FIELD('s', format),
                OPDRULES_FIELD('s', compiler), OPDRULES_FIELD('s', c_flags), OPDRULES_FIELD('s', cache_dir),
                OPDRULES_FIELD('i', inspect_only), OPDRULES_FIELD('i', build_timeout_ms))
OPDRULES_FIELDS(opd_export_options, OPDRULES_LIST('S', addons, nullptr), OPDRULES_FIELD('s', compiler),
                OPDRULES_FIELD('s', c_flags), OPDRULES_FIELD('s', workspace_dir))
OPDRULES_FIELDS(opd_params_options, OPDRULES_FIELD('i', copy), OPDRULES_FIELD('i', prefetch),
                OPDRULES_FIELD('i', verify_checksums))
OPDRULES_FIELDS(opd_vm_options, OPDRULES_LIST('D', devices, nullptr), OPDRULES_LIST_LIKE('I', allocators, "devices"),
                OPDRULES_FIELD('L', memory_limit_bytes), OPDRULES_FIELD('i', max_depth))
OPDRULES_FIELDS(opd_call_options, OPDRULES_LIST_LIKE('S', names, "args"), OPDRULES_FIELD('l', timeout_ns),
                OPDRULES_FIELD('h', cancel, "Cancel"), OPDRULES_LIST('H', outputs, "Tensor"),
                OPDRULES_FIELD('h', param_module, "Module"))
OPDRULES_FIELDS(opd_profile_options, OPDRULES_FIELD('i', warmup), OPDRULES_FIELD('i', repeat),
                OPDRULES_FIELD('L', max_records), OPDRULES_FIELD('i', builtins), OPDRULES_FIELD('i', details),
                OPDRULES_FIELD('L', sample_interval), OPDRULES_FIELD('i', turn),
                OPDRULES_LIST('H', collectors, "Collector"))
OPDRULES_FIELDS(opd_profiler_options, OPDRULES_FIELD('i', all_calls), OPDRULES_FIELD('L', max_events),
                OPDRULES_FIELD('L', wait), OPDRULES_FIELD('L', warmup), OPDRULES_FIELD('L', active),
                OPDRULES_FIELD('L', repeat), OPDRULES_FIELD('L', skip_first), OPDRULES_FIELD('i', skip_first_wait),
                OPDRULES_FIELD('i', profile_memory), OPDRULES_FIELD('i', with_stack),
                OPDRULES_FIELD('i', parallel_tasks), OPDRULES_FIELD('i', buffer), OPDRULES_FIELD('i', keep_in_file),
                OPDRULES_FIELD('L', max_bytes), OPDRULES_FIELD('s', file), OPDRULES_FIELD('L', last_ns),
                OPDRULES_FIELD('L', flush_interval_ns))
OPDRULES_FIELDS(opd_profiler_dump_options, OPDRULES_FIELD('i', format), OPDRULES_FIELD('s', path),
                OPDRULES_FIELD('i', signal), OPDRULES_FIELD('i', on_error), OPDRULES_FIELD('L', slow_ns),
                OPDRULES_FIELD('L', min_interval_ns), OPDRULES_FIELD('L', max_dumps))
OPDRULES_FIELDS(opd_trace_write_options, OPDRULES_FIELD('i', per_event), OPDRULES_FIELD('s', metric),
                OPDRULES_FIELD('s', metadata), OPDRULES_FIELD('i', group_by_input_shape),
                OPDRULES_FIELD('i', with_flops), OPDRULES_FIELD('s', sort_by), OPDRULES_FIELD('i', row_limit),
                OPDRULES_FIELD('i', top_level_events_only), OPDRULES_FIELD('i', max_name_column_width),
                OPDRULES_FIELD('i', max_shapes_column_width), OPDRULES_FIELD('s', header),
                OPDRULES_FIELD('s', time_unit), OPDRULES_FIELD('s', device), OPDRULES_FIELD('i', group_by_stack_n),
                OPDRULES_FIELD('i', max_src_column_width), OPDRULES_FIELD('h', before, "Trace"))
OPDRULES_FIELDS(opd_trace_merge_options, OPDRULES_LIST('S', labels, nullptr), OPDRULES_LIST('N', offsets_ns, nullptr),
                OPDRULES_LIST('N', clock_errors_ns, nullptr))
OPDRULES_FIELDS(opd_report_write_options, OPDRULES_FIELD('i', sort), OPDRULES_FIELD('i', aggregate),
                OPDRULES_FIELD('i', col_sums), OPDRULES_FIELD('i', width), OPDRULES_FIELD('i', max_rows),
                OPDRULES_FIELD('i', colored))
OPDRULES_FIELDS(opd_evaluator_options, OPDRULES_FIELD('d', device), OPDRULES_FIELD('l', number),
                OPDRULES_FIELD('l', repeat), OPDRULES_FIELD('l', min_repeat_ms),
                OPDRULES_FIELD('l', limit_zero_time_iterations), OPDRULES_FIELD('l', cooldown_interval_ms),
                OPDRULES_FIELD('l', repeats_to_cooldown), OPDRULES_FIELD('l', cache_flush_bytes),
                OPDRULES_FIELD('h', preprocess, "Function"), OPDRULES_FIELD('l', warmup),
                OPDRULES_FIELD('l', steady_ms), OPDRULES_FIELD('l', concurrency))
OPDRULES_FIELDS(opd_diff_options, OPDRULES_FIELD('f', min_effect), OPDRULES_FIELD('f', level),
                OPDRULES_FIELD('f', confidence), OPDRULES_FIELD('s', metric), OPDRULES_FIELD('f', min_share),
                OPDRULES_FIELD('f', fail_above), OPDRULES_FIELD('i', is_paired))
OPDRULES_FIELDS(opd_counter_options, OPDRULES_FIELD('i', per_thread), OPDRULES_FIELD('i', best_effort),
                OPDRULES_LIST('S', events, nullptr), OPDRULES_LIST_LIKE('D', devices, "events"))
#undef OPDRULES_FIELDS
#undef OPDRULES_LIST_LIKE
#undef OPDRULES_LIST
#undef OPDRULES_FIELD

}  // namespace opdrules
