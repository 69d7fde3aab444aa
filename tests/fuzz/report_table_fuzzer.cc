// Text tables of reports: they give an error with the line, or a report that can be written in every form.
#include <opdyno/opdyno.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  opd_report *report = nullptr;
  if (opd_error *error = opd_report_from_table(reinterpret_cast<const char *>(data), size, &report)) {
    if (report || !std::strstr(opd_error_message(error), "line")) std::abort();
    opd_error_release(error);
    return 0;
  }
  opd_buffer *json = nullptr, *text = nullptr;
  opd_report *again = nullptr;
  if (opd_report_write(report, OPD_REPORT_JSON, nullptr, &json) ||
      opd_report_from_json(opd_buffer_data(json), opd_buffer_size(json), &again))
    std::abort();
  opd_buffer_release(json);
  opd_report_release(again);
  for (const auto format : {OPD_REPORT_TABLE, OPD_REPORT_MARKDOWN, OPD_REPORT_HTML}) {
    opd_error_release(opd_report_write(report, format, nullptr, &text));  // may be refused as too large
    opd_buffer_release(text);
    text = nullptr;
  }
  ArrowArrayStream stream;
  if (opd_report_to_arrow(report, &stream)) std::abort();
  ArrowArray batch;
  if (stream.get_next(&stream, &batch)) std::abort();
  stream.release(&stream);
  batch.release(&batch);
  opd_report_release(report);
  return 0;
}
