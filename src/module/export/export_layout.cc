#include "module/export/export_layout.h"

#include <algorithm>
#include <functional>
#include <map>

#include "module/blob_reader.h"
#include "module/image/artifact.h"
#include "module/library_facts.h"

namespace opd {
namespace {

constexpr size_t kLibrary = SIZE_MAX;  // in place of a module's number

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
    if (!always && std::none_of(nodes_.begin(), nodes_.end(), [](const auto &node) { return is_own_kind(*node); }))
      return {};
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
    std::reverse(open.begin(), open.end());  // a stack: the last one is the next
    while (!open.empty()) {
      const size_t next = open.back();
      open.pop_back();
      if (!whole && is_ours(next)) {
        const auto more = direct_imports_of(next);
        open.insert(open.end(), more.rbegin(), more.rend());
      } else if (next != number && std::find(all.begin(), all.end(), next) == all.end()) {
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
    else std::for_each(linked_.begin(), linked_.end(), [&](const Ref<Module> &module) { take(*module); });
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
    std::reverse(order.begin(), order.end());
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

}  // namespace

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

}  // namespace opd
