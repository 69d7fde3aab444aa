// Captures of calls. Checksums would refuse nearly every random file, so the input are the contents of blocks: each
// with its kind in a byte and its size in two; what is cut there is the end. The modules are read, but not loaded:
// their code would be run.
#include <memory>

#include "replay/capture_file.h"
#include "replay/captured_call.h"

using namespace opd;

namespace {

std::string file_of(std::string_view input) {
  std::string file = capture_header();
  for (uint32_t number = 0; input.size() >= 3; ++number) {
    const auto kind = static_cast<BlockKind>(static_cast<uint8_t>(input[0]));
    const size_t size = static_cast<uint8_t>(input[1]) | static_cast<size_t>(static_cast<uint8_t>(input[2])) << 8;
    const std::string_view content = input.substr(3, size);
    const BlockHead head = head_of(kind, number, content);
    file.append(reinterpret_cast<const char *>(&head), sizeof head);
    file += content;
    input.remove_prefix(3 + content.size());
  }
  return file;
}

void use(const CapturedCall &capture) {
  ValueMaker maker;
  const auto make = [&maker](const KeptValue &value) {
    leaves_of(value, "arg");
    try {
      maker.make(value);
    } catch (const Exception &) {}  // it could not be kept, or its device is not here
  };
  for (const KeptValue &arg : capture.args) make(arg);
  for (const KeptHostCall &call : capture.host_calls) make(call.result);
  if (capture.end && !capture.end->error) leaves_of(capture.end->result, "out");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view input(reinterpret_cast<const char *>(data), size);
  for (const std::string &file : {file_of(input), std::string(input)}) {
    try {
      use(*CapturedCall::read(file, "the capture"));
    } catch (const Exception &) {}
  }
  return 0;
}
