#include "trace_formats/trace_file.h"

#include "trace_formats/gzip_sink.h"

namespace opd {

void save_trace_file(const std::string &path, opd_trace_format form, const std::function<void(ByteSink &)> &write) {
  FileSink file(path);
  if (path.ends_with(".gz") && form != OPD_TRACE_PPROF) {
    GzipSink packed(file);
    write(packed);
    packed.finish();
  } else {
    write(file);
  }
  file.commit();
}

}  // namespace opd
