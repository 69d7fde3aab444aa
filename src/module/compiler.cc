#include "module/compiler.h"

#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "base/log.h"
#include "module/cache_folder.h"
#include "module/toolchain.h"

namespace opd {
namespace {

struct Request {
  const std::string &text, &path;
  Toolchain tools;
  std::vector<std::string> headers;  // flags, for what TVM generated

  Request(const std::string &t, const std::string &p, const ModuleOptions &options, const BuildFolder &build)
      : text(t), path(p), tools(options.compiler, options.c_flags) {
    if (includes_tvm_headers(text)) headers = write_tvm_headers(build);
  }
  std::string shown() const { return path.empty() ? "the C source" : path; }
  std::string folder() const {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  }
  std::vector<std::string> command(std::initializer_list<std::string> more) const {
    auto all = tools.command({"-iquote", folder()});
    all.insert(all.end(), headers.begin(), headers.end());
    all.insert(all.end(), more);
    return all;
  }
};

void write_source(const Request &request, const std::string &file) {
  std::string text = "#line 1 \"";
  for (const char c : request.path.empty() ? std::string("source.c") : request.path) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  replace_file(file, text + "\"\n" + request.text);
}

// The source's text stands for what is compiled unless it takes in files that may change by themselves.
bool includes_others(const Request &request) {
  const auto leads_elsewhere = [](const std::string &flag) { return flag.starts_with("-I") || flag.starts_with("-i"); };
  const auto &flags = request.tools.flags();
  if (std::any_of(flags.begin(), flags.end(), leads_elsewhere)) return true;
  for (size_t at = 0; (at = request.text.find("include", at)) != std::string::npos; at += 7)
    if (const size_t next = request.text.find_first_not_of(" \t", at + 7);
        next != std::string::npos && request.text[next] != '<')
      return true;
  return false;
}

[[noreturn]] void fail_compilation(const Request &request, const BuildFolder &build, const std::string &output) {
  fail(OPD_CALL_FAILED, "the C compiler ", request.tools.name(), " could not compile ", request.shown(), ":\n",
       shown_output(build.shown(output)));
}

std::string key_of(const Request &request, const BuildFolder &build) {
  ContentHash hash;
  hash.add("2");
  request.tools.add_to(hash, build);
  hash.add(request.shown());
  if (!includes_others(request)) return hash.add(request.text).hex();
  const std::string source = build.file("source.c"), out = build.file("preprocessed");
  write_source(request, source);
  const auto result = run_compiler(request.command({"-E", "-x", "c", source, "-o", out}), build);
  if (!result.succeeded) fail_compilation(request, build, result.output);
  std::string text = read_file(out);
  for (size_t at = 0; (at = text.find(build.path(), at)) != std::string::npos;) text.erase(at, build.path().size());
  return hash.add(text).hex();
}

std::string compile(const Request &request, const BuildFolder &build, const std::string &target) {
  const std::string source = build.file("source.c"), library = build.file("library.so");
  write_source(request, source);
  auto command = request.command({"-shared", "-fPIC", "-x", "c", source, "-x", "none", "-o", library});
  request.tools.add_libraries(command);
  const auto result = run_compiler(command, build);
  if (!result.succeeded || ::access(library.c_str(), R_OK)) fail_compilation(request, build, result.output);
  if (!result.output.empty())
    log_warning("the C compiler on ", request.shown(), ":\n", shown_output(build.shown(result.output)));
  return keep_sealed(library, target);
}

}  // namespace

bool includes_tvm_headers(std::string_view source) {
  return source.find("#include \"tvm/") != std::string_view::npos ||
         source.find("#include <tvm/") != std::string_view::npos;
}

CompiledLibrary compile_source(const std::string &text, const std::string &path, const ModuleOptions &options) {
  const std::string cache = cache_folder(options.cache_dir);
  const BuildFolder build(cache);
  const Request request(text, path, options, build);
  const std::string target = concat(cache, "/", key_of(request, build), ".so");
  if (auto kept = read_sealed(target)) return {target, std::move(*kept)};
  return {target, compile(request, build, target)};
}

}  // namespace opd
