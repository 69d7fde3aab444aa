#include "module/export/exporter.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "base/log.h"
#include "module/elf/elf_append.h"
#include "module/export/export_layout.h"
#include "module/image/artifact.h"
#include "module/tar_file.h"
#include "module/toolchain/toolchain.h"

namespace opd {
namespace {

constexpr size_t kLargeBytes = size_t{1} << 30;  // larger data goes to .lrodata, because code must reach its other data

std::string temporary_directory() {
  const char *directory = std::getenv("TMPDIR");
  return directory && *directory ? directory : "/tmp";
}

// Quotes a path for an assembly string inside a C string.
std::string quoted_twice(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (c == '"' || c == '\\') out += "\\\\\\";
    out += c;
  }
  return out;
}

struct EmbeddedFile {
  const char *stem, *section;
  std::string_view symbol;
  const std::string &content;
};
std::vector<EmbeddedFile> embedded_files(const ExportLayout &plan) {
  std::vector<EmbeddedFile> files;
  if (!plan.embedded.empty()) files.push_back({"devc", ".rodata,\\\"a\\\"", kBlobSymbol, plan.embedded});
  if (!plan.own.empty()) files.push_back({"opdyno", ".opdyno,\\\"a\\\"", kOwnBlobSymbol, plan.own});
  return files;
}

// The assembler includes the bytes. Compiling them as a C array would take a hundred times their size.
std::string source_with(const EmbeddedFile &what, const std::string &file) {
  const char *section = what.section;
#if defined(__x86_64__)
  if (what.content.size() > kLargeBytes) section = ".lrodata,\\\"al\\\"";
#endif
  const std::string_view symbol = what.symbol;
  return concat("__asm__(\".section ", section, ",%progbits\\n\"\n        \".globl ", symbol, "\\n.type ", symbol,
                ", %object\\n\"\n        \".size ", symbol, ", ", what.content.size(), "\\n.balign 64\\n", symbol,
                ":\\n\"\n", "        \".incbin \\\"", quoted_twice(file), "\\\"\\n.previous\\n\");\n");
}

class Exporter {
 public:
  Exporter(const std::string &path, const ExportOptions &options)
      : path_(path),
        tools_(options.compiler, options.c_flags),
        build_(options.workspace.empty() ? temporary_directory() : options.workspace, !options.workspace.empty()) {}

  void write_library(const ExportLayout &plan) {
    const std::string library = build_.file("library.so");
    auto command = tools_.command({"-shared", "-fPIC", "-o", library});
    for (auto &word : write_link_inputs(plan.inputs, build_)) command.push_back(std::move(word));
    for (const auto &file : embedded_files(plan)) command.push_back(write_embedded(file));
    tools_.add_libraries(command);
    run(command, library);
    replace_file(path_, read_file(library));
  }

  // Compiles sources to objects, so that linking the archive needs no headers.
  void write_archive(const ExportLayout &plan) {
    std::vector<TarEntry> entries;
    for (const auto &input : plan.inputs) {
      if (!input.name.ends_with(".c")) {
        entries.push_back({input.name, input.content});
        continue;
      }
      const std::string stem = input.name.substr(0, input.name.size() - 2);
      entries.push_back({stem + ".o", compiled(write_link_inputs({input}, build_), stem)});
    }
    for (const auto &file : embedded_files(plan))
      entries.push_back({concat(file.stem, ".o"), compiled({write_embedded(file)}, file.stem)});
    replace_file(path_, write_tar(entries));
  }

 private:
  std::string write_embedded(const EmbeddedFile &what) const {
    const std::string bytes = build_.file(concat(what.stem, ".bin")), source = build_.file(concat(what.stem, ".c"));
    write_scratch_file(bytes, what.content);
    write_scratch_file(source, source_with(what, bytes));
    return source;
  }

  std::string compiled(const std::vector<std::string> &words, const std::string &stem) const {
    const std::string object = build_.file(stem + ".o");
    auto command = tools_.command({"-fPIC", "-c", "-o", object});
    command.insert(command.end(), words.begin(), words.end());
    run(command, object);
    return read_file(object);
  }

  void run(const std::vector<std::string> &command, const std::string &made) const {
    const auto result = tools_.run(command, build_);
    if (!result.succeeded || ::access(made.c_str(), R_OK))
      fail(OPD_CALL_FAILED, tools_.name(), " could not make ", path_, ":\n", shown_output(build_.shown(result.output)));
    if (!result.output.empty())
      log_warning(tools_.name(), " for ", path_, ":\n", shown_output(build_.shown(result.output)));
  }

  const std::string &path_;
  Toolchain tools_;
  BuildDirectory build_;
};

// Makes the names unique, because they identify the files of an archive.
void make_names_differ(std::vector<LinkInput> &inputs) {
  std::vector<std::string> taken{"devc", "opdyno"};  // names from embedded_files()
  for (auto &input : inputs) {
    const size_t dot = std::min(input.name.rfind('.'), input.name.size());
    const std::string stem = input.name.substr(0, dot), suffix = input.name.substr(dot);
    std::string object = stem;
    for (size_t i = 2; std::find(taken.begin(), taken.end(), object) != taken.end(); ++i) object = concat(stem, "-", i);
    taken.push_back(object);
    input.name = object + suffix;
  }
}

void write_kept_library(const ExportLayout &plan, const std::string &path, bool is_archive) {
  if (is_archive)
    fail(OPD_UNSUPPORTED, "cannot export to ", path, ": the tree's code is a shared library already, which an archive ",
         "of objects cannot hold; export it to a .so");
  std::vector<AddedData> added;
  for (const auto &file : embedded_files(plan)) added.push_back({file.symbol, file.content});
  if (added.empty()) return replace_file(path, plan.library);
  replace_file(path, with_data(ElfFile(as_bytes(plan.library), path), added));
}

}  // namespace

void export_module(Module &root, const std::string &path, const ExportOptions &options) {
  const bool is_archive = path.ends_with(".tar");
  require(is_archive || path.ends_with(".so"), "cannot export to ", path,
          ": a module is exported as a shared library (.so) or as an archive of objects (.tar)");
  ExportLayout plan = plan_export(root, !options.addons.empty(), path.substr(0, path.rfind('/') + 1));  // npos + 1 is 0
  for (const auto &addon : options.addons) {
    LinkInput input{addon.substr(addon.rfind('/') + 1), read_file(addon)};
    if (!input.name.ends_with(".c")) check_link_inputs({input}, addon);
    plan.inputs.push_back(std::move(input));
  }
  if (!plan.inputs.empty()) check_link_inputs(plan.inputs, "the module");
  if (!plan.library.empty()) return write_kept_library(plan, path, is_archive);
  make_names_differ(plan.inputs);
  Exporter exporter(path, options);
  if (is_archive) exporter.write_archive(plan);
  else exporter.write_library(plan);
}

}  // namespace opd
