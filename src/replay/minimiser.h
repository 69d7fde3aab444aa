// Cuts a capture down to one operator. Each call is written, in the place of the one before it, before it runs. So
// the file has the call that ended the process, if one did.
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
  // The program is that of the capture, or the given one if it is not null.
  Minimiser(const std::string &path, const CapturedCall &capture, Module *program);

  void keep(const ObservedCall &call, const KeptCall &whole, Vm &vm);  // in the place of the one before it
  const std::string &kept() const { return kept_; }
  // Writes how the call that was kept last ended; it stays the one.
  void finish(const Error &error);
  void finish(const KeptOperator &captured);
  void remove();  // the file

 private:
  std::string path_;
  CaptureFile file_;
  CaptureFile::Mark before_call_;
  std::vector<uint64_t> imports_;  // of the program
  std::string kept_;
};

}  // namespace opd
