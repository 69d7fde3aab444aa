// Exports a module tree as one file that opdyno and TVM can load: a shared library, or an archive of objects that is
// linked later.
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/environment.h"
#include "base/file.h"
#include "base/log.h"
#include "module/blob_reader.h"
#include "module/elf/elf_append.h"
#include "module/image/artifact.h"
#include "module/library_facts.h"
#include "module/loader.h"
#include "module/tar_file.h"
#include "module/toolchain/compiler.h"

namespace opd {
namespace {

// ---- the parts of an exported module tree: files to compile and link, and bytes to embed

struct ExportLayout {
  std::vector<LinkInput> inputs;
  std::string library;   // bytes of a finished library; if not empty, there are no inputs
  std::string embedded;  // the content of __tvm_ffi__library_bin; "" if the tree is only code
  std::string own;       // content of __opdyno_library_bin; "" without opdyno's own modules
};

constexpr size_t kLibrary = SIZE_MAX;  // node number of the linked library; nodes of modules count from 0

// The tree as it will be stored. Each module occurs once. All code that is linked is one node, the library.
class Tree {
 public:
  Tree(Module &root, bool with_more_code) {
    add(Ref<Module>::share(&root));
    root_imports_more_code_ = with_more_code && linked_.empty();
    if (kept_ && (with_more_code || !linked_.empty()))
      fail_linked(*kept_, linked_.empty() ? "addons" : shown(*linked_.front()));
  }

  const std::vector<Ref<Module>> &linked() const { return linked_; }
  Module *kept() const { return kept_; }

  // The tree for TVM. It does not support opdyno's own modules, so they are replaced by their imports. "" if the tree
  // is only code, unless `always`.
  std::string store_for_tvm(bool always) {
    auto roots = is_ours(root_) ? imports_of(root_, false) : std::vector<size_t>{root_};
    if (roots.size() > 1)
      fail(
          OPD_UNSUPPORTED, "a module of kind ", nodes_[root_]->kind(), " that imports ", roots.size(),
          " others cannot be the root of what is exported, since TVM reads that without it: let one of them import it");
    if (roots.empty()) roots.push_back(kLibrary);
    if (!always && roots[0] == kLibrary && imports_of(kLibrary, false).empty()) return {};
    const auto order = order_from(roots[0], false);
    for (const size_t number : order) places_.emplace(number, places_.size());
    return store(order, false, [&](ByteWriter &out, size_t number) {
      out.write_string(nodes_[number]->kind());
      out.write_string(nodes_[number]->serialize());
    });
  }

  // The tree for opdyno, stored beside TVM's. "" if it has none of opdyno's own modules, unless `always`.
  std::string store_own(const std::string &directory, bool always) {
    if (!always && std::ranges::none_of(nodes_, [](const auto &node) { return is_own_kind(*node); })) return {};
    return store(order_from(root_, true), true, [&](ByteWriter &out, size_t number) {
      if (is_ours(number)) {
        out.write_string(nodes_[number]->kind());
        out.write_string(nodes_[number]->serialize_beside(directory));
      } else {
        out.write_string(kTvmEntry);
        out.write<uint64_t>(sizeof(uint64_t));
        out.write<uint64_t>(places_.at(number));
      }
    });
  }

 private:
  static bool is_own_kind(const Module &module) { return std::string_view(module.kind()).starts_with(kOwnKindPrefix); }
  bool is_ours(size_t number) const { return number != kLibrary && is_own_kind(*nodes_[number]); }

  // Numbers each module once. It is not recursive, because trees may be deep.
  void add(const Ref<Module> &root) {
    std::vector<Ref<Module>> open{root};
    while (!open.empty()) {
      const Ref<Module> module = std::move(open.back());
      open.pop_back();
      if (numbers_.contains(module.get())) continue;
      numbers_[module.get()] = number(module);
      for (const auto &import : module->imports()) open.push_back(import);
    }
    root_ = numbers_.at(root.get());
  }

  size_t number(const Ref<Module> &module) {
    if (module->properties() & OPD_MODULE_COMPILATION_EXPORTABLE) {
      linked_.push_back(module);
      return kLibrary;
    }
    if (module->is_linked_library()) {
      if (kept_) fail_linked(*module, shown(*kept_));
      kept_ = module.get();
      return kLibrary;
    }
    if (!(module->properties() & OPD_MODULE_SERIALIZABLE))
      fail(OPD_UNSUPPORTED, shown(*module), " cannot be exported: it is part of the program; export it where it was ",
           "compiled");
    nodes_.push_back(module);
    return nodes_.size() - 1;
  }

  static std::string shown(const Module &module) {
    return concat("a module of kind ", module.kind(), module.file().empty() ? "" : " from ", module.file());
  }
  [[noreturn]] static void fail_linked(const Module &library, const std::string &other) {
    fail(OPD_UNSUPPORTED, shown(library), " cannot be exported together with ", other,
         ": it is linked already, and what it was linked from is not kept; add its object files as static libraries ",
         "instead");
  }

  // The imports in order, without repetition. Unless `whole`, opdyno's own modules are replaced by their imports.
  std::vector<size_t> imports_of(size_t number, bool whole) const {
    std::vector<size_t> all, open = direct_imports_of(number);
    std::ranges::reverse(open);  // a stack: the last one is the next
    while (!open.empty()) {
      const size_t next = open.back();
      open.pop_back();
      if (!whole && is_ours(next)) {
        const auto more = direct_imports_of(next);
        open.insert(open.end(), more.rbegin(), more.rend());
      } else if (next != number && std::ranges::find(all, next) == all.end()) {
        all.push_back(next);
      }
    }
    return all;
  }

  std::vector<size_t> direct_imports_of(size_t number) const {
    std::vector<size_t> all;
    const auto take = [&](const Module &module) {
      for (const auto &import : module.imports()) all.push_back(numbers_.at(import.get()));
    };
    if (number == root_ && root_imports_more_code_) all.push_back(kLibrary);
    if (number != kLibrary) take(*nodes_[number]);
    else std::ranges::for_each(linked_, [&](const Ref<Module> &module) { take(*module); });
    if (number == kLibrary && kept_) take(*kept_);
    return all;
  }

  // Topological order, root first: the reverse of the order in which a depth-first walk leaves the modules.
  std::vector<size_t> order_from(size_t root, bool whole) const {
    struct Open {
      size_t number;
      std::vector<size_t> left;
    };
    std::map<size_t, bool> done;  // false while the module is open
    std::vector<Open> open;
    std::vector<size_t> order;
    const auto enter = [&](size_t number) {
      done[number] = false;
      auto imports = imports_of(number, whole);
      open.push_back({number, std::move(imports)});
    };
    enter(root);
    while (!open.empty()) {
      if (open.back().left.empty()) {
        done[open.back().number] = true;
        order.push_back(open.back().number);
        open.pop_back();
        continue;
      }
      const size_t next = open.back().left.back();
      open.back().left.pop_back();
      if (const auto found = done.find(next); found == done.end()) enter(next);
      else if (!found->second)
        fail(OPD_UNSUPPORTED, "a module of kind ", nodes_[next == kLibrary ? open.back().number : next]->kind(),
             " lies between modules of code that become one library, which would import itself");
    }
    std::ranges::reverse(order);
    return order;
  }

  using WriteEntry = std::function<void(ByteWriter &out, size_t number)>;
  std::string store(const std::vector<size_t> &order, bool whole, const WriteEntry &write_entry) const {
    std::map<size_t, uint64_t> places;
    for (const size_t number : order) places.emplace(number, places.size());
    std::vector<uint64_t> starts{0}, children;
    ByteWriter entries;
    for (const size_t number : order) {
      for (const size_t import : imports_of(number, whole)) children.push_back(places.at(import));
      starts.push_back(children.size());
      if (number == kLibrary) entries.write_string(kLibraryEntry);
      else write_entry(entries, number);
    }
    ByteWriter blob;
    for (const auto *numbers : {&starts, &children}) {
      blob.write<uint64_t>(numbers->size());
      for (const uint64_t number : *numbers) blob.write(number);
    }
    const std::string rest = entries.take();
    blob.write_bytes(rest.data(), rest.size());
    ByteWriter framed;
    framed.write_string(blob.take());
    return framed.take();
  }

  std::vector<Ref<Module>> nodes_, linked_;
  Module *kept_ = nullptr;
  std::map<const Module *, size_t> numbers_;
  std::map<size_t, uint64_t> places_;  // positions in TVM's tree
  size_t root_ = 0;
  bool root_imports_more_code_ = false;
};

// All modules with code are linked into one library module. If `with_more_code`, that module exists even if the tree
// has no code, as an import of the root. If the only code is a library that was loaded from a file, that library is not
// changed. `directory` is where the exported file will be. Throws OPD_UNSUPPORTED for a module that can be neither
// linked nor embedded, or that lies between modules that become the library.
ExportLayout plan_export(Module &root, bool with_more_code, const std::string &directory) {
  Tree tree(root, with_more_code);
  ExportLayout plan;
  for (const auto &module : tree.linked()) {
    const std::string format = module->save_formats().at(0);
    plan.inputs.push_back({concat("lib", plan.inputs.size(), ".", format), module->save(format)});
  }
  bool has_tvms = false, has_own = false;  // the library contains older trees, which are replaced
  if (const Module *library = tree.kept()) {
    plan.library = library->library_bytes();
    const ElfFile file(as_bytes(plan.library), library->file());
    has_tvms = embedded_in(file, kBlobSymbol).data();
    has_own = embedded_in(file, kOwnBlobSymbol).data();
  }
  plan.embedded = tree.store_for_tvm(has_tvms);
  plan.own = tree.store_own(directory, has_own);
  return plan;
}

// ---- writing the parts

constexpr size_t kLargeBytes = size_t{1} << 30;  // larger data goes to .lrodata, because code must reach its other data

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
    for (size_t i = 2; std::ranges::find(taken, object) != taken.end(); ++i) object = concat(stem, "-", i);
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
