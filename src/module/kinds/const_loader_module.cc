// A module with constants that are stored apart from the code of other modules. A function that needs constants gets
// them before its first use.
#include <map>
#include <mutex>

#include "base/fork_mutex.h"
#include "module/blob_reader.h"
#include "module/kernel_args.h"
#include "params/tensor_bytes.h"
#include "value/map.h"

namespace opd {
namespace {

using Names = std::vector<std::string>;

// Calls an initialiser with an array. It uses the raw code, because a KernelFunction refuses arrays: most compiled
// functions would read an array as a tensor.
Value call_initializer(Function &init, const std::vector<Value> &constants) {
  const Value array{Array::make(views_of(constants))};
  const KernelFunction *kernel = as_kernel(init);
  if (!kernel) return call(init, Args(&array.view(), 1));
  View result = opd_none();
  if (kernel->raw(nullptr, &array.view(), 1, &result)) throw Exception(take_raised());
  return Value::take(result);
}

class ConstLoaderModule final : public Module {
 public:
  ConstLoaderModule(std::string bytes, const std::string &name) : bytes_(std::move(bytes)) { read(name); }

  const char *kind() const override { return "const_loader"; }
  int32_t properties() const override { return OPD_MODULE_SERIALIZABLE; }
  std::string serialize() override { return bytes_; }
  Names list() override { return {std::string(kGetAll)}; }
  void describe(JsonWriter &json) override {
    json.key("constants").value(constants_.size()).key("initializes").begin_array();
    for (const auto &[symbol, needs] : needs_) json.value(symbol);
    json.end_array();
  }

  // Finds only functions that must be initialised first. For all others, the caller searches the imports.
  Ref<Function> find(std::string_view name) override {
    if (name == kGetAll)
      return make_function([self = Ref<ConstLoaderModule>::share(this)](Args) { return self->all(); });
    const auto found = needs_.find(name);
    if (found == needs_.end()) return nullptr;
    initialize(found->first, found->second);
    for (const auto &import : imports())
      if (auto function = import->find(name)) return function;
    return nullptr;
  }

 private:
  struct Needs {
    Names constants;
    bool met = false;  // guarded by initializer_mutex()
  };

  static constexpr std::string_view kGetAll = "get_const_var_tensor";

  static Names read_names(ByteReader &in, const char *what) {
    Names names;
    for (auto left = in.read_count(8, what); left > 0; --left) names.emplace_back(in.read_string(what));
    return names;
  }

  void read(const std::string &name) {
    const std::string what = name + ": embedded constants";
    ByteReader in(as_bytes(bytes_), what.c_str());
    const Names names = read_names(in, "names of constants");
    if (in.read<uint64_t>("the number of tensors") != names.size())
      in.bad("the number of tensors", concat("is not that of their names, ", names.size()));
    for (const auto &constant : names)
      if (!constants_.try_emplace(constant, Value(read_tensor(in))).second)
        in.bad("the names of constants", "hold one twice");
    const Names symbols = read_names(in, "names of functions");
    if (in.read<uint64_t>("the number of lists") != symbols.size())
      in.bad("the number of lists", concat("is not that of their functions, ", symbols.size()));
    for (const auto &symbol : symbols) {
      Names needed = read_names(in, "constants of a function");
      for (const auto &constant : needed)
        if (!constants_.contains(constant)) in.bad("constants of a function", "name one that is not there");
      needs_.emplace(symbol, Needs{std::move(needed)});
    }
    if (!in.at_end()) in.bad("the end", concat("is followed by ", in.remaining(), " bytes"));
  }

  Value all() const {
    std::vector<View> items;
    std::vector<Value> names;
    for (const auto &[name, tensor] : constants_) names.emplace_back(std::string_view(name));
    size_t i = 0;
    for (const auto &[name, tensor] : constants_) items.insert(items.end(), {names[i++].view(), tensor.view()});
    return Value(Map::make(items));
  }

  void initialize(const std::string &symbol, Needs &needs) {
    std::scoped_lock lock(initializer_mutex());
    if (needs.met) return;
    Ref<Function> init;
    for (const auto &import : imports())
      if (!init) init = import->find("__init_" + symbol);
    if (init) {
      std::vector<Value> tensors;
      for (const auto &constant : needs.constants) tensors.push_back(constants_.at(constant));
      const Value status = call_initializer(*init, tensors);
      if (status.view().type == OPD_INT && status.view().u.int64 != 0)
        fail(OPD_CALL_FAILED, "__init_", symbol, ", which takes the constants of ", symbol, ", returned ",
             status.view().u.int64);
    }
    needs.met = true;
  }

  std::string bytes_;
  std::map<std::string, Value, std::less<>> constants_;
  std::map<std::string, Needs, std::less<>> needs_;  // keys are function names
};

Ref<Module> read_const_loader(const EmbeddedBytes &given) {
  return make_object<ConstLoaderModule>(std::string(as_text(given.bytes)), given.name);
}

}  // namespace

void register_const_loader_kind() { register_module_kind("const_loader", read_const_loader); }

}  // namespace opd
