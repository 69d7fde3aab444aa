#include "cli/support/file_kind.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/support/text.h"

namespace opd::cli {

namespace {

constexpr std::string_view modules = "run bench profile inspect export compare ab dis serve ";

struct FileKind {
  std::string_view name;      // "a recorded call"
  std::string_view takers;    // the commands that take it, each with a space behind it
  std::string_view use = {};  // what to do with it, with % for the path
};

std::string first_bytes(const std::string &path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};  // reading a pipe would wait
  std::string bytes(4096, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

FileKind kind_of_json(std::string_view bytes) {
  if (bytes.starts_with("{\"calls\"")) return {"a profile's report", "report diff ", "opdyno report %"};
  if (bytes.find("\"traceEvents\"") != std::string_view::npos)
    return {"a trace for viewers", "", "open it in https://ui.perfetto.dev"};
  if (bytes.find("\"$schema\":\"https://www.speedscope.app") != std::string_view::npos)
    return {"a profile for speedscope", "", "open it in https://www.speedscope.app"};
  if (bytes.starts_with("{\"function\"") && bytes.find("\"median_us\"") != std::string_view::npos)
    return {"a result of opdyno bench", "bench ", "opdyno bench MOD --compare %"};
  return {};
}

// A protobuf message of ONNX begins with its version (field 1), and the names of its producer, domain or graph follow.
bool is_onnx(const std::string &path, std::string_view bytes) {
  if (lower_case(path).ends_with(".onnx")) return true;
  constexpr std::string_view next_fields = "\x12\x1a\x22\x3a\x42";
  return bytes.size() > 3 && bytes[0] == 8 && bytes[1] > 0 && bytes[1] < 32 &&
         next_fields.find(bytes[2]) != std::string_view::npos;
}

FileKind kind_of(const std::string &path) {
  const std::string content = first_bytes(path);
  const std::string_view bytes = content;
  if (bytes.empty()) return {};
  if (bytes.starts_with("opdynoE1"))
    return {"a recording of a process", "trace diff ", "opdyno trace table %, or opdyno trace view %"};
  if (bytes.starts_with("opdynoR1")) return {"a recorded call", "replay ", "opdyno replay %"};
  if (bytes.starts_with("\x7F\x45LF") || bytes.substr(1, 3) == "\x15\x14\x42")  // also a VM executable
    return {"a module", modules, "opdyno inspect %"};
  if (bytes[0] == '{' || bytes[0] == '[') return kind_of_json(bytes);
  if (bytes.starts_with("<!DOCTYPE html") || bytes.starts_with("<svg"))
    return {"a page for a browser", "", "open it there"};
  if (bytes.substr(1, 5) == "NUMPY" || bytes.starts_with("PK\3\4"))
    return {"a file of arrays", "info ", "opdyno info %, or as parameters with --params %"};
  if (const std::string_view line = bytes.substr(0, bytes.find('\n'));
      line.find(",Duration (us)") != std::string_view::npos)
    return {"a report as CSV", "report diff ", "opdyno report %"};
  if (is_onnx(path, bytes))
    return {"a model for ONNX", "", "compile it with TVM first: tvm.relax.frontend.onnx.from_onnx()"};
  return {};
}

}  // namespace

std::string other_use_of(const std::string &path, std::string_view command) {
  const FileKind kind = kind_of(path);
  if (kind.name.empty() || kind.takers.find(cat(command, " ")) != std::string_view::npos) return {};
  std::string use;
  for (const char c : kind.use) c == '%' ? use += path : use += c;
  return cat(path, " is ", kind.name, ": ", use, "\n");
}

}  // namespace opd::cli
