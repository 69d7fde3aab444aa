#include "module/toolchain/compiler.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/cache_directory.h"
#include "base/file.h"
#include "base/log.h"
#include "module/c_source_text.h"
#include "module/elf/elf_machine.h"
#include "module/elf/object_file.h"

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

// ---- links

namespace {

bool is_source(const LinkInput &input) { return input.name.ends_with(".c"); }
bool is_archive(const LinkInput &input) { return input.name.ends_with(".a"); }

// Accepts only ELF objects for this machine. Linkers read a text file as a script, which may name any file.
void check_object(const LinkInput &input, const std::string &shown) {
  Elf64_Ehdr header;
  if (input.content.size() < sizeof header || !input.content.starts_with(ELFMAG))
    fail(OPD_BAD_FORMAT, shown, " is not an object file: it does not start with the bytes 7f 45 4c 46 (at offset 0)");
  std::memcpy(&header, input.content.data(), sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != kMachine)
    fail(OPD_UNSUPPORTED, shown, " is an object file for ", machine_name(header.e_machine), "; this machine is ",
         machine_name(kMachine));
  if (header.e_type != ET_REL)
    fail(OPD_BAD_FORMAT, shown, " is an ELF file of type ", header.e_type, " (at offset 16), not an object file, type ",
         ET_REL);
}

// A name for messages and command lines. It has no characters that a shell, a tool or a terminal would interpret.
std::string plain_name(std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  std::string out(name.substr(0, 64));
  for (char &c : out)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_')) c = '_';
  return out;
}

std::string_view suffix_of(const LinkInput &input) { return is_source(input) ? ".c" : is_archive(input) ? ".a" : ".o"; }

bool any_includes_tvm_headers(const std::vector<LinkInput> &inputs) {
  return std::ranges::any_of(
      inputs, [](const LinkInput &input) { return is_source(input) && includes_tvm_headers(input.content); });
}

[[noreturn]] void fail_link(const Toolchain &tools, const std::string &origin, const BuildDirectory &build,
                            const std::string &output) {
  fail(OPD_CALL_FAILED, tools.name(), " could not link ", origin, ":\n", shown_output(build.shown(output)));
}

// The cache key. "" if unknown files may affect the result. Source inputs are preprocessed, because they may include
// files.
std::string key_of(const std::vector<LinkInput> &inputs, const Toolchain &tools, const std::string &origin,
                   const BuildDirectory &build) {
  ContentHash hash;
  hash.add("link 2");
  bool is_known = tools.add_to(hash, build);
  std::vector<std::string> command = tools.command({});
  if (any_includes_tvm_headers(inputs))
    for (auto &flag : write_tvm_headers(build)) command.push_back(std::move(flag));
  for (const auto &input : inputs) {
    hash.add(suffix_of(input)).add(input.content);
    if (!is_source(input)) continue;
    const auto [result, text] = preprocessed(tools, command, input.content, input.name, build);
    if (!result.succeeded) fail_link(tools, origin, build, result.output);
    hash.add(text);
    if (may_read_files(text)) is_known = false;
  }
  return is_known ? hash.hex() : "";
}

}  // namespace

void check_link_inputs(const std::vector<LinkInput> &inputs, const std::string &origin) {
  require(!inputs.empty(), origin, " has no object files to link");
  for (const auto &input : inputs) {
    const std::string shown = input.name == origin ? origin : concat(origin, ": ", input.name);
    if (is_source(input)) continue;
    if (!is_archive(input)) check_object(input, shown);
    else if (!input.content.starts_with(kArchiveStart))
      fail(OPD_BAD_FORMAT, shown, " is not an archive of object files (at offset 0)");
  }
}

std::vector<std::string> write_link_inputs(const std::vector<LinkInput> &inputs, const BuildDirectory &build) {
  std::vector<std::string> words;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string name = plain_name(inputs[i].name);
    if (!name.ends_with(suffix_of(inputs[i]))) name += suffix_of(inputs[i]);
    const std::string file = build.file(concat(i, "-", name));
    write_scratch_file(file, inputs[i].content);
    if (is_archive(inputs[i])) words.insert(words.end(), {"-Wl,--whole-archive", file, "-Wl,--no-whole-archive"});
    else words.push_back(file);
  }
  if (any_includes_tvm_headers(inputs))
    for (auto &flag : write_tvm_headers(build)) words.push_back(std::move(flag));
  return words;
}

CompiledLibrary link_objects(const std::vector<LinkInput> &inputs, const std::string &origin,
                             const ModuleOptions &options) {
  check_link_inputs(inputs, origin);
  const Toolchain tools(options.compiler, options.c_flags, options.build_timeout);
  const std::string cache = cache_directory(options.cache_dir);
  const BuildDirectory build(cache);
  const std::string key = key_of(inputs, tools, origin, build), kept_path = concat(cache, "/", key, ".so");
  if (auto kept = key.empty() ? std::nullopt : read_sealed(kept_path)) return {kept_path, std::move(*kept)};

  const std::string library = build.file("library.so");
  auto command = tools.command({"-shared", "-fPIC", "-o", library});
  for (auto &word : write_link_inputs(inputs, build)) command.push_back(std::move(word));
  tools.add_libraries(command);
  const auto result = tools.run(command, build);
  if (!result.succeeded || ::access(library.c_str(), R_OK)) fail_link(tools, origin, build, result.output);
  if (!result.output.empty())
    log_warning(tools.name(), " on ", origin, ":\n", shown_output(build.shown(result.output)));
  return keep_sealed(library, cache, key);
}

}  // namespace opd
