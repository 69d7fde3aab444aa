// JSON of reports: it gives an error, or a report whose JSON reads back to the same JSON and whose texts can be
// written.
#include <opdyno/opdyno.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  opd_report *report = nullptr, *again = nullptr;
  if (opd_error *error = opd_report_from_json(reinterpret_cast<const char *>(data), size, &report)) {
    if (report || !std::strstr(opd_error_message(error), "offset")) std::abort();
    opd_error_release(error);
    return 0;
  }
  opd_buffer *first = nullptr, *second = nullptr;
  if (opd_report_write(report, OPD_REPORT_JSON, nullptr, &first) ||
      opd_report_from_json(opd_buffer_data(first), opd_buffer_size(first), &again) ||
      opd_report_write(again, OPD_REPORT_JSON, nullptr, &second) || opd_buffer_size(first) != opd_buffer_size(second) ||
      std::memcmp(opd_buffer_data(first), opd_buffer_data(second), opd_buffer_size(first)) != 0)
    std::abort();
  opd_buffer_release(first);
  opd_buffer_release(second);
  for (int how = 0; how < 8; ++how) {
    opd_report_write_options options;
    opd_report_write_options_init(&options);
    options.sort = how & 1, options.aggregate = how >> 1 & 1, options.col_sums = how >> 2;
    opd_buffer *text = nullptr;
    opd_error_release(opd_report_write(report, OPD_REPORT_TABLE, &options, &text));  // may be refused as too large
    opd_buffer_release(text);
  }
  for (const auto format : {OPD_REPORT_MARKDOWN, OPD_REPORT_HTML}) {
    opd_buffer *text = nullptr;
    opd_error_release(opd_report_write(report, format, nullptr, &text));
    opd_buffer_release(text);
  }
  ArrowArrayStream stream;
  ArrowArray batch;
  if (opd_report_to_arrow(report, &stream) || stream.get_next(&stream, &batch)) std::abort();
  stream.release(&stream);
  batch.release(&batch);
  opd_buffer *csv = nullptr;
  opd_error_release(opd_report_write(report, OPD_REPORT_CSV, nullptr, &csv));
  opd_buffer_release(csv);
  opd_value value = opd_none();
  if (opd_report_call_count(report))
    opd_error_release(opd_report_get(report, OPD_REPORT_CALLS, 0, "Name", &value, nullptr));
  opd_value_release(&value);
  opd_report_release(report);
  opd_report_release(again);
  return 0;
}
