#include "program/executable.h"

#include <algorithm>

namespace opd {

Ref<Executable> Executable::copy() const {
  auto copy = make_object<Executable>();
  copy->functions = functions;
  copy->constants = constants;
  copy->scopes = scopes;
  copy->offsets = offsets;
  copy->words = words;
  return copy;
}

const FunctionInfo *Executable::find(std::string_view name) const {
  for (const auto &function : functions)
    if (function.kind != FunctionKind::kPacked && function.name == name) return &function;
  return nullptr;
}

const FunctionInfo &Executable::get(std::string_view name) const {
  if (const auto *function = find(name)) return *function;
  fail_missing(name);
}

void Executable::fail_missing(std::string_view name) const {
  const auto names = program_functions();
  const std::string first = joined(std::span(names).first(std::min<size_t>(names.size(), 20)));
  fail(OPD_NOT_FOUND, "the program has no function \"", name, "\".", suggestion(name, names),
       " It has: ", first.empty() ? "none" : first, ".");
}

std::vector<std::string> Executable::program_functions() const {
  std::vector<std::string> names;
  for (const auto &function : functions)
    if (function.kind != FunctionKind::kPacked) names.push_back(function.name);
  return names;
}

std::vector<const FunctionInfo *> Executable::bytecode_by_start() const {
  std::vector<const FunctionInfo *> found;
  for (const auto &function : functions)
    if (function.kind == FunctionKind::kBytecode) found.push_back(&function);
  std::ranges::stable_sort(found, {}, &FunctionInfo::start);
  return found;
}

}  // namespace opd
