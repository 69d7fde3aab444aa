// The client of the socket of a process that runs with OPDYNO_CONTROL (docs/tracing.md).
#pragma once
#include <string>

#include "cli/support/file.h"
#include "cli/support/json.h"

namespace opd::cli {

class ControlClient {
 public:
  // Fails with Exit::failed if no process listens there.
  explicit ControlClient(const std::string &path);
  int fd() const { return socket_.get(); }
  void send(std::string line);
  // The next line of the process, with texts that are safe for the terminal; null at its end. Fails with Exit::failed
  // if the process reports an error, or if the line is not an answer.
  Json receive();
  std::string receive_bytes(size_t count);

  // Reads the first answer: "python3 (process 1234)". The request begins then.
  std::string receive_begin();

 private:
  bool fill();  // false: the process sends no more

  const std::string path_;
  Descriptor socket_;
  std::string received_;
};

}  // namespace opd::cli
