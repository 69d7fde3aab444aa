// Reduces a capture to one operator. Each call is written before it runs and replaces the one before it. So if a call
// ended the process, the file has that call.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "replay/capture_file.h"
#include "replay/captured_call.h"
#include "replay/operator_observer.h"

namespace opd {

class Minimiser {
 public:
  // Uses the given program; null: that of the capture.
  Minimiser(const std::string &path, const CapturedCall &capture, Module *program);

  void keep(const ObservedCall &call, const KeptCall &whole, Vm &vm);  // replaces the call before it
  const std::string &kept() const { return kept_; }
  // Writes how the last kept call ended; the file keeps this call.
  void finish(const Error &error);
  void finish(const KeptOperator &captured);
  void remove();  // removes the file

 private:
  std::string path_;
  CaptureFile file_;
  CaptureFile::Mark before_call_;
  std::vector<uint64_t> imports_;  // module numbers of the program's imports
  std::string kept_;
};

}  // namespace opd
