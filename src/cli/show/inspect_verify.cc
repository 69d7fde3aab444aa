// `opdyno inspect --verify`: finds missing or doubtful parts of a loaded module.
#include <set>

#include "cli/show/inspect.h"

namespace opd::cli {

namespace {

// The library's error for `action`; "" if it succeeds.
template <class Action>
std::string refusal_of(Action action) {
  try {
    action();
    return "";
  } catch (const opdyno::Error &error) { return error.message(); }
}

class Verification {
 public:
  Verification(const Program &program, Loading loading) : program_(program), loading_(loading) {}

  std::vector<Finding> run(const cJSON *module) {
    visit(program_.root, module);
    return std::move(findings_);
  }

 private:
  // The handles and their description have the same order.
  void visit(const Module &module, const cJSON *described) {
    if (cJSON_IsFalse(json_member(described, "described"))) return;
    const cJSON *imported = nullptr;
    if (json_member(described, "program")) check_program(module, described);
    else check_functions(module, described);
    const std::vector<Module> imports = module.imports();
    size_t i = 0;
    cJSON_ArrayForEach(imported, json_member(described, "imports")) if (i < imports.size())
        visit(imports[i++], imported);
  }

  void add(const char *state, std::string text) { findings_.push_back({state, std::move(text)}); }

  void check_program(const Module &module, const cJSON *described) {
    const cJSON *program = json_member(described, "program");
    const cJSON *functions = json_member(program, "functions"), *packed = json_member(program, "packed");
    int64_t instructions = 0;
    const cJSON *function = nullptr, *read = nullptr;
    cJSON_ArrayForEach(function, functions) instructions += json_number(function, "instructions");
    add("ok", cat("program: every index, range and jump of ", counted(cJSON_GetArraySize(functions), "function"),
                  " with ", counted(instructions, "instruction"), " is sound"));
    cJSON_ArrayForEach(function, functions) cJSON_ArrayForEach(read, json_member(function, "unproved_reads"))
        add("warning", cat("program: function ", json_string(function, "name"), ", instruction ", plain_text(read),
                           " may read a register that no path has written; opdyno checks it while running"));
    std::set<std::string> names;
    cJSON_ArrayForEach(read, packed) names.insert(plain_text(read));
    bool is_compiled = false;  // then the libraries call functions that a program otherwise calls itself
    cJSON_ArrayForEach(function, functions) is_compiled |= json_string(function, "kind") == "compiled";
    if (is_compiled) add_called_names(described, names);
    const std::string needed = counted(static_cast<int64_t>(names.size()), "function");
    const std::string missing =
        loading_ == Loading::whole ? refusal_of([&] { Vm{module}; }) : missing_names(module, names);
    if (missing.empty()) add("ok", cat("program: ", needed, " that it calls outside itself, all are there"));
    else add("open", cat("program: of ", needed, " that it calls outside itself not all are there: ", missing));
  }

  static void add_called_names(const cJSON *described, std::set<std::string> &names) {
    const cJSON *item = nullptr;
    cJSON_ArrayForEach(item, json_member(described, "calls")) names.insert(plain_text(item));
    cJSON_ArrayForEach(item, json_member(described, "imports")) add_called_names(item, names);
  }

  // The names that neither the tree nor the registry has.
  static std::string missing_names(const Module &module, const std::set<std::string> &names) {
    std::vector<std::string> missing;
    for (const std::string &name : names)
      if (!module.implements(name.c_str()) && !refusal_of([&] { Function::global(name.c_str()); }).empty())
        missing.push_back(name);
    return join(missing, ", ");
  }

  void check_functions(const Module &module, const cJSON *described) {
    const std::string kind = json_string(described, "kind"), refused = json_string(described, "not_loadable");
    const cJSON *names = json_member(described, "functions"), *name = nullptr;
    if (!refused.empty()) add("open", cat(kind, ": ", refused));
    if (cJSON_IsFalse(json_member(described, "compiled")))
      return add("open",
                 cat(module_name(described),
                     " was not compiled, so only functions that its text names are known (--load compiles it)"));
    if (loading_ == Loading::inspect_only) {
      if (refused.empty())
        add("ok",
            cat(kind, ": ", counted(cJSON_GetArraySize(names), "function"), " by name (--load tries to get each)"));
      return;
    }
    bool is_whole = true;
    cJSON_ArrayForEach(name, names) {
      const std::string refused = refusal_of([&] { module.function(plain_text(name).c_str(), false); });
      if (refused.empty()) continue;
      is_whole = false;
      add("open", cat(kind, ": ", refused));
    }
    if (is_whole) add("ok", cat(kind, ": ", counted(cJSON_GetArraySize(names), "function"), ", each can be had"));
  }

  const Program &program_;
  Loading loading_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> verify(const Program &program, const cJSON *module, Loading loading) {
  return Verification(program, loading).run(module);
}

}  // namespace opd::cli
