#include "module/toolchain/compiler.h"

#include <unistd.h>

#include <utility>

#include "base/cache_directory.h"
#include "base/file.h"
#include "base/log.h"
#include "module/toolchain/compiler_flags.h"

namespace opd {
namespace {

struct Request {
  const std::string &text, &path;
  Toolchain tools;
  std::vector<std::string> headers;  // flags for the directory of TVM's headers, if needed

  Request(const std::string &t, const std::string &p, const ModuleOptions &options, const BuildDirectory &build)
      : text(t), path(p), tools(options.compiler, options.c_flags, options.build_timeout) {
    if (includes_tvm_headers(text)) headers = write_tvm_headers(build);
  }
  std::string shown() const { return path.empty() ? "the C source" : path; }
  std::string directory() const {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  }
  std::vector<std::string> command(std::initializer_list<std::string> more) const {
    auto all = tools.command({"-iquote", directory()});
    all.insert(all.end(), headers.begin(), headers.end());
    all.insert(all.end(), more);
    return all;
  }
};

[[noreturn]] void fail_compilation(const Request &request, const BuildDirectory &build, const std::string &output) {
  fail(OPD_CALL_FAILED, "the C compiler ", request.tools.name(), " could not compile ", request.shown(), ":\n",
       shown_output(build.shown(output)));
}

// The cache key: a hash of everything that determines the result. The preprocessed text includes every header; the
// toolchain adds the rest. "" if other files may matter, because the assembler reads them or flags lead to them.
std::string key_of(const Request &request, const BuildDirectory &build) {
  ContentHash hash;
  hash.add("3").add(request.shown());
  const bool is_known = request.tools.add_to(hash, build);
  const auto text = preprocessed(request.tools, request.command({}), request.text, request.path, build);
  if (!text.first.succeeded) fail_compilation(request, build, text.first.output);
  return is_known && !may_read_files(text.second) ? hash.add(text.second).hex() : "";
}

CompiledLibrary compile(const Request &request, const BuildDirectory &build, const std::string &cache,
                        const std::string &key) {
  const std::string source = build.file("source.c"), library = build.file("library.so");
  auto command = request.command({"-shared", "-fPIC", "-x", "c", source, "-x", "none", "-o", library});
  request.tools.add_libraries(command);
  const auto result = request.tools.run(command, build);
  if (!result.succeeded || ::access(library.c_str(), R_OK)) fail_compilation(request, build, result.output);
  if (!result.output.empty())
    log_warning("the C compiler on ", request.shown(), ":\n", shown_output(build.shown(result.output)));
  return keep_sealed(library, cache, key);
}

}  // namespace

bool includes_tvm_headers(std::string_view source) {
  return source.find("#include \"tvm/") != std::string_view::npos ||
         source.find("#include <tvm/") != std::string_view::npos;
}

std::pair<ProcessResult, std::string> preprocessed(const Toolchain &tools, std::vector<std::string> command,
                                                   const std::string &text, const std::string &path,
                                                   const BuildDirectory &build) {
  std::string line = "#line 1 \"";
  for (const char c : path.empty() ? std::string("source.c") : path) {
    if (c == '"' || c == '\\') line += '\\';
    line += c;
  }
  const std::string source = build.file("source.c"), out = build.file("preprocessed");
  write_scratch_file(source, line + "\"\n" + text);
  command.insert(command.end(), {"-E", "-x", "c", source, "-o", out});
  auto result = tools.run(command, build);
  if (!result.succeeded) return {std::move(result), ""};
  std::string made = read_file(out);
  for (size_t at = 0; (at = made.find(build.path(), at)) != std::string::npos;) made.erase(at, build.path().size());
  return {std::move(result), std::move(made)};
}

CompiledLibrary compile_source(const std::string &text, const std::string &path, const ModuleOptions &options) {
  const std::string cache = cache_directory(options.cache_dir);
  const BuildDirectory build(cache);
  const Request request(text, path, options, build);
  const std::string key = key_of(request, build), kept_path = concat(cache, "/", key, ".so");
  if (auto kept = key.empty() ? std::nullopt : read_sealed(kept_path)) return {kept_path, std::move(*kept)};
  return compile(request, build, cache, key);
}

}  // namespace opd
