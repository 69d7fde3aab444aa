#include "trace_formats/trace_file.h"

#include <zlib.h>

#include "base/error.h"

namespace opd {

struct GzipSink::State {
  z_stream stream{};
  char packed[size_t{1} << 16];
};

GzipSink::GzipSink(ByteSink &out) : out_(out), state_(std::make_unique<State>()) {
  // The text of traces is repetitive: higher levels take several times as long for a slightly smaller file.
  constexpr int kLevel = 1, kGzip = 16, kMemoryLevel = 9;
  if (deflateInit2(&state_->stream, kLevel, Z_DEFLATED, kGzip + MAX_WBITS, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
}

GzipSink::~GzipSink() { deflateEnd(&state_->stream); }

void GzipSink::put(const void *data, size_t size) { run(data, size, Z_NO_FLUSH); }
void GzipSink::finish() { run(nullptr, 0, Z_FINISH); }

void GzipSink::run(const void *data, size_t size, int flush) {
  z_stream &stream = state_->stream;
  stream.next_in = static_cast<Bytef *>(const_cast<void *>(data));
  constexpr size_t kMost = size_t{1} << 30;  // zlib counts in 32 bits
  do {
    const size_t part = std::min(size, kMost);
    stream.avail_in = static_cast<uInt>(part);
    size -= part;
    do {
      stream.next_out = reinterpret_cast<Bytef *>(state_->packed);
      stream.avail_out = sizeof state_->packed;
      deflate(&stream, size ? Z_NO_FLUSH : flush);
      out_.write(state_->packed, sizeof state_->packed - stream.avail_out);
    } while (stream.avail_out == 0);
  } while (size);
}

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
