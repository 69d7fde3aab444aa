#include "module/compiler.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include "base/file.h"
#include "base/log.h"
#include "module/cache_folder.h"
#include "module/child_process.h"
#include "module/content_hash.h"
#include "module/elf_machine.h"

namespace opd {
namespace {

constexpr size_t kMaxShownOutput = 4096;
constexpr char kSealMark[9] = "opdyno01";  // ends a cached library, before the hash of what precedes it
constexpr size_t kSealBytes = 16;

std::vector<std::string> words_of(const std::string &text) {
  std::vector<std::string> words;
  for (size_t at = 0; (at = text.find_first_not_of(" \t", at)) != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

// A folder that goes away with what is in it.
struct BuildFolder {
  std::string path;
  explicit BuildFolder(const std::string &cache) : path(cache + "/build-XXXXXX") {
    if (!::mkdtemp(path.data())) fail_errno("cannot make a folder in", cache, errno);
  }
  ~BuildFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  BuildFolder(const BuildFolder &) = delete;
  BuildFolder &operator=(const BuildFolder &) = delete;
  std::string file(const char *name) const { return path + "/" + name; }
};

struct Request {
  const std::string &text, &path;
  std::vector<std::string> compiler, flags, libraries;  // what names libraries must follow the source

  Request(const std::string &t, const std::string &p, const ModuleOptions &options) : text(t), path(p) {
    const char *cc = std::getenv("CC");
    const std::string command = !options.compiler.empty() ? options.compiler : cc && *cc ? cc : "cc";
    compiler = ::access(command.c_str(), X_OK) == 0 ? std::vector{command} : words_of(command);
    require(!compiler.empty(), "the C compiler's name is empty");
    for (auto &word : words_of(options.c_flags.empty() ? "-O2" : options.c_flags)) {
      const bool is_library =
          word.starts_with("-l") || word.starts_with("-Wl,") || (word[0] != '-' && word.find('.') != std::string::npos);
      (is_library ? libraries : flags).push_back(std::move(word));
    }
  }
  std::string shown() const { return path.empty() ? "the C source" : path; }
  std::string folder() const {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  }
  std::vector<std::string> command(std::initializer_list<std::string> more) const {
    std::vector<std::string> all = compiler;
    all.insert(all.end(), flags.begin(), flags.end());
    all.insert(all.end(), more);
    return all;
  }
};

// What the compiler says it is. Asked once per process and state of its file.
std::string identity_of(const std::vector<std::string> &compiler, const BuildFolder &build) {
  static std::mutex guard;
  static auto *known = new std::map<std::vector<std::string>, std::string>;
  {
    std::scoped_lock lock(guard);
    if (const auto found = known->find(compiler); found != known->end()) return found->second;
  }
  auto command = compiler;
  command.push_back("--version");
  std::string text;
  try {
    text = run_program(command, build.file("version")).output;
  } catch (const Exception &e) {
    if (e.error()->code != OPD_NOT_FOUND) throw;
    fail(OPD_NOT_FOUND, "there is no C compiler \"", compiler[0], "\"; install one, or set CC or the option compiler");
  }
  std::scoped_lock lock(guard);
  return known->emplace(compiler, text).first->second;
}

// What -march=native means here: the lines of /proc/cpuinfo that say so. Its size reads as 0, so it is read until it
// ends.
std::string processor() {
  std::string all, out;
  const int fd = ::open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
  char chunk[4096];
  for (ssize_t n; fd >= 0 && all.size() < 65536 && (n = ::read(fd, chunk, sizeof chunk)) > 0;)
    all.append(chunk, static_cast<size_t>(n));
  if (fd >= 0) ::close(fd);
  for (const char *field : {"model name", "flags", "Features", "CPU part"})
    if (const size_t at = all.find(field); at != std::string::npos) out += all.substr(at, all.find('\n', at) - at);
  return out;
}

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
  if (std::any_of(request.flags.begin(), request.flags.end(), leads_elsewhere)) return true;
  for (size_t at = 0; (at = request.text.find("include", at)) != std::string::npos; at += 7)
    if (const size_t next = request.text.find_first_not_of(" \t", at + 7);
        next != std::string::npos && request.text[next] != '<')
      return true;
  return false;
}

[[noreturn]] void fail_compilation(const Request &request, const std::string &output) {
  const bool cut = output.size() > kMaxShownOutput;
  fail(OPD_CALL_FAILED, "the C compiler ", request.compiler[0], " could not compile ", request.shown(), ":\n",
       std::string_view(output).substr(0, kMaxShownOutput), cut ? "\n(more left out)" : "");
}

std::string key_of(const Request &request, const BuildFolder &build) {
  ContentHash hash;
  hash.add("1").add(machine_name(kMachine)).add(identity_of(request.compiler, build)).add(request.shown());
  for (const auto *words : {&request.compiler, &request.flags, &request.libraries})
    for (const auto &word : *words) {
      hash.add(word);
      if (word.find("native") != std::string::npos) hash.add(processor());
    }
  for (const char *name : {"CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"})
    if (const char *value = std::getenv(name)) hash.add(name).add(value);
  if (!includes_others(request)) return hash.add(request.text).hex();
  const std::string source = build.file("source.c"), log = build.file("log"), out = build.file("preprocessed");
  write_source(request, source);
  const auto result =
      run_program(request.command({"-iquote", request.folder(), "-E", "-x", "c", source, "-o", out}), log);
  if (!result.succeeded) fail_compilation(request, result.output);
  std::string text = read_file(out);
  for (size_t at = 0; (at = text.find(build.path, at)) != std::string::npos;) text.erase(at, build.path.size());
  return hash.add(text).hex();
}

uint64_t hash_of(std::string_view content) { return ContentHash().add(content).low(); }

// The library without its seal; nothing if it is absent or not as it was written.
std::optional<std::string> read_sealed(const std::string &path) {
  if (::access(path.c_str(), R_OK)) return std::nullopt;
  std::string content = read_file(path);
  if (content.size() < kSealBytes || content.compare(content.size() - kSealBytes, 8, kSealMark)) return std::nullopt;
  uint64_t expected;
  std::memcpy(&expected, content.data() + content.size() - 8, 8);
  content.resize(content.size() - kSealBytes);
  if (hash_of(content) != expected) return std::nullopt;
  return content;
}

std::string compile(const Request &request, const BuildFolder &build, const std::string &target) {
  const std::string source = build.file("source.c"), library = build.file("library.so");
  write_source(request, source);
  auto command = request.command(
      {"-iquote", request.folder(), "-shared", "-fPIC", "-x", "c", source, "-x", "none", "-o", library});
  command.insert(command.end(), request.libraries.begin(), request.libraries.end());
  const auto result = run_program(command, build.file("log"));
  if (!result.succeeded || ::access(library.c_str(), R_OK)) fail_compilation(request, result.output);
  if (!result.output.empty())
    log_warning("the C compiler on ", request.shown(), ":\n",
                std::string_view(result.output).substr(0, kMaxShownOutput));
  std::string content = read_file(library);
  ByteWriter seal;
  seal.write_bytes(kSealMark, 8);
  seal.write(hash_of(content));
  const int fd = ::open(library.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const std::string bytes = seal.take();
  const bool sealed = fd >= 0 && ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
                      ::fchmod(fd, 0700) == 0;
  if (fd >= 0) ::close(fd);
  if (!sealed || ::rename(library.c_str(), target.c_str()))
    fail_errno("cannot keep the compiled library as", target, errno);
  return content;
}

}  // namespace

CompiledLibrary compile_source(const std::string &text, const std::string &path, const ModuleOptions &options) {
  const Request request(text, path, options);
  const std::string cache = cache_folder(options.cache_dir);
  const BuildFolder build(cache);
  const std::string target = concat(cache, "/", key_of(request, build), ".so");
  if (auto kept = read_sealed(target)) return {target, std::move(*kept)};
  return {target, compile(request, build, target)};
}

}  // namespace opd
