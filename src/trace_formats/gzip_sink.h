// Compresses with gzip and passes the result to another sink.
#pragma once
#include <memory>

#include "base/byte_sink.h"

namespace opd {

class GzipSink final : public ByteSink {
 public:
  explicit GzipSink(ByteSink &out);
  ~GzipSink();
  void finish();  // call it after the last byte

 private:
  struct State;
  void put(const void *data, size_t size) override;
  void run(const void *data, size_t size, int flush);

  ByteSink &out_;
  const std::unique_ptr<State> state_;
};

}  // namespace opd
