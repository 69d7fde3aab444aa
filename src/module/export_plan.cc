#include "module/export_plan.h"

#include <algorithm>
#include <map>

#include "module/blob_reader.h"

namespace opd {
namespace {

constexpr size_t kLibrary = SIZE_MAX;  // in place of a module's number

// The tree as it will be stored: each module once, what is linked in one.
class Tree {
 public:
  Tree(Module &root, bool with_more_code) {
    add(Ref<Module>::share(&root));
    root_imports_more_code_ = with_more_code && linked_.empty();
  }

  const std::vector<Ref<Module>> &linked() const { return linked_; }
  bool is_library_alone() const { return nodes_.empty(); }

  std::string store() {
    order_from(number_of_root_);
    std::reverse(order_.begin(), order_.end());  // importers first: the root is entry 0
    std::map<size_t, uint64_t> places;
    for (const size_t number : order_) places.emplace(number, places.size());
    std::vector<uint64_t> starts{0}, children;
    ByteWriter entries;
    for (const size_t number : order_) {
      for (const size_t import : imports_of(number)) children.push_back(places.at(import));
      starts.push_back(children.size());
      entries.write_string(number == kLibrary ? kLibraryEntry : nodes_[number]->kind());
      if (number != kLibrary) entries.write_string(nodes_[number]->serialize());
    }
    ByteWriter blob;
    for (const auto *numbers : {&starts, &children}) {
      blob.write<uint64_t>(numbers->size());
      for (const uint64_t number : *numbers) blob.write(number);
    }
    const std::string rest = entries.take();
    blob.write_bytes(rest.data(), rest.size());
    ByteWriter whole;
    whole.write_string(blob.take());
    return whole.take();
  }

 private:
  // Each module once. No recursion: trees may be deep.
  void add(const Ref<Module> &root) {
    std::vector<Ref<Module>> open{root};
    while (!open.empty()) {
      const Ref<Module> module = std::move(open.back());
      open.pop_back();
      if (numbers_.contains(module.get())) continue;
      numbers_[module.get()] = number(module);
      for (const auto &import : module->imports()) open.push_back(import);
    }
    number_of_root_ = numbers_.at(root.get());
  }

  size_t number(const Ref<Module> &module) {
    if (module->properties() & OPD_MODULE_COMPILATION_EXPORTABLE) {
      linked_.push_back(module);
      return kLibrary;
    }
    if (!(module->properties() & OPD_MODULE_SERIALIZABLE)) {
      const std::string file = module->file();
      fail(
          OPD_UNSUPPORTED, "a module of kind ", module->kind(), file.empty() ? "" : concat(" from ", file),
          " cannot be exported: it is linked already, and what it was linked from is not kept; add its object files as "
          "static libraries instead");
    }
    nodes_.push_back(module);
    return nodes_.size() - 1;
  }

  std::vector<size_t> imports_of(size_t number) const {
    std::vector<size_t> all;
    const auto take = [&](const Module &module) {
      for (const auto &import : module.imports()) {
        const size_t other = numbers_.at(import.get());
        if (other != number && std::find(all.begin(), all.end(), other) == all.end()) all.push_back(other);
      }
    };
    if (number == number_of_root_ && root_imports_more_code_) all.push_back(kLibrary);
    if (number != kLibrary) take(*nodes_[number]);
    else std::for_each(linked_.begin(), linked_.end(), [&](const Ref<Module> &module) { take(*module); });
    return all;
  }

  // Depth first; a module follows all that it imports.
  void order_from(size_t root) {
    struct Open {
      size_t number;
      std::vector<size_t> left;
    };
    std::map<size_t, bool> done;  // false: still open
    std::vector<Open> open;
    const auto enter = [&](size_t number) {
      done[number] = false;
      auto imports = imports_of(number);
      open.push_back({number, std::move(imports)});
    };
    enter(root);
    while (!open.empty()) {
      if (open.back().left.empty()) {
        done[open.back().number] = true;
        order_.push_back(open.back().number);
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
  }

  std::vector<Ref<Module>> nodes_, linked_;
  std::map<const Module *, size_t> numbers_;
  std::vector<size_t> order_;
  size_t number_of_root_ = 0;
  bool root_imports_more_code_ = false;
};

}  // namespace

ExportPlan plan_export(Module &root, bool with_more_code) {
  Tree tree(root, with_more_code);
  ExportPlan plan;
  for (const auto &module : tree.linked()) {
    const std::string format = module->save_formats().at(0);
    plan.inputs.push_back({concat("lib", plan.inputs.size(), ".", format), module->save(format)});
  }
  if (!tree.is_library_alone()) plan.embedded = tree.store();
  return plan;
}

}  // namespace opd
