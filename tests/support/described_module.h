// What a module says of itself, and a module of given functions, within the library.
#pragma once
#include <map>

#include "base/json_writer.h"
#include "module/module.h"
#include "value/function.h"

namespace opd {

inline std::string json_of(Module &module) {
  JsonWriter json;
  json.begin_object();
  module.describe(json);
  json.end_object();
  return json.take();
}

struct Functions final : Module {
  std::map<std::string, Ref<Function>, std::less<>> all;
  const char *kind() const override { return "functions"; }
  Ref<Function> find(std::string_view name) override {
    const auto found = all.find(name);
    return found == all.end() ? nullptr : found->second;
  }
  std::vector<std::string> list() override { return {}; }
  int32_t properties() const override { return 0; }
  void gives(const std::string &name, Value value) {
    all[name] = make_function([value](Args) { return value; });
  }
};

}  // namespace opd
