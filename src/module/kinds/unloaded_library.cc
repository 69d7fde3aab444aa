#include "module/kinds/unloaded_library.h"

#include <algorithm>

#include "module/function_names.h"

namespace opd {

std::vector<std::string> UnloadedLibrary::list() {
  std::vector<std::string> names;
  for (const auto &function : facts_.functions)
    if (!is_special_name(function.name)) names.push_back(function.name);
  return names;
}

bool UnloadedLibrary::implements(std::string_view name) {
  const std::string with_prefix = concat(facts_.prefix, name);
  return std::any_of(facts_.functions.begin(), facts_.functions.end(),
                     [&](const auto &function) { return function.name == name || function.name == with_prefix; });
}

Ref<Function> UnloadedLibrary::find(std::string_view name) {
  if (implements(name)) fail_not_loaded(concat("function \"", name, "\""), file_);
  return nullptr;
}

void *UnloadedLibrary::symbol(const char *name) { fail_not_loaded(concat("C symbol \"", name, "\""), file_); }

void UnloadedLibrary::describe(JsonWriter &json) {
  json.key("tvm_release").value(facts_.release).key("loaded").value(false);
  if (!facts_.is_compiled) json.key("compiled").value(false);
  if (!facts_.not_loadable.empty()) json.key("not_loadable").value(facts_.not_loadable);
  facts_.sizes.describe(json);
  json.key("function_bytes").begin_object();
  for (const auto &function : facts_.functions)
    if (!is_special_name(function.name)) json.key(function.name).value(function.bytes);
  json.end_object();
  describe_called(json, {facts_.called.begin(), facts_.called.end()});
}

void fail_not_loaded(std::string_view what, const std::string &file) {
  fail(OPD_FAILED_PRECONDITION, what, " of ", file.empty() ? "a module" : file,
       " cannot be had: it was read for inspection only, and its code was not loaded; load it without inspect_only");
}

}  // namespace opd
