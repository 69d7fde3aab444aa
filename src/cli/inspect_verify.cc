// `opdyno inspect --verify`: is anything missing or doubtful in what could be loaded?
#include "inspect.h"

namespace opd::cli {

namespace {

// What an error says, or "" for none. Ends it.
std::string message_of(opd_error *error) {
  const std::unique_ptr<opd_error, Release<opd_error_release>> owned(error);
  return error ? opd_error_message(error) : "";
}

class Verification {
 public:
  explicit Verification(const Program &program) : program_(program) {}

  std::vector<Finding> run(const cJSON *module) {
    visit(program_.root, module);
    return std::move(findings_);
  }

 private:
  // The handles and their description have the same order.
  void visit(const Module &module, const cJSON *described) {
    if (cJSON_IsFalse(json_member(described, "described"))) return;
    const cJSON *program = json_member(described, "program"), *imported = nullptr;
    if (program) check_program(module, program);
    else check_functions(module, described);
    const std::vector<Module> imports = imports_of(module);
    size_t i = 0;
    cJSON_ArrayForEach(imported, json_member(described, "imports")) if (i < imports.size())
        visit(imports[i++], imported);
  }

  void add(const char *state, std::string text) { findings_.push_back({state, std::move(text)}); }

  void check_program(const Module &module, const cJSON *program) {
    const cJSON *functions = json_member(program, "functions"), *packed = json_member(program, "packed");
    int64_t instructions = 0;
    const cJSON *function = nullptr, *read = nullptr;
    cJSON_ArrayForEach(function, functions) instructions += json_number(function, "instructions");
    add("ok", cat("program: every index, range and jump of ", counted(cJSON_GetArraySize(functions), "function"),
                  " with ", counted(instructions, "instruction"), " is sound"));
    cJSON_ArrayForEach(function, functions) cJSON_ArrayForEach(read, json_member(function, "unproved_reads"))
        add("warning", cat("program: function ", json_string(function, "name"), ", instruction ", plain_text(read),
                           " may read a register that no path has written; opdyno checks it while running"));
    Vm vm;
    const std::string missing = message_of(opd_vm_create(module.get(), nullptr, vm.out()));
    const std::string needed = counted(cJSON_GetArraySize(packed), "function");
    if (missing.empty()) add("ok", cat("program: ", needed, " that it calls outside itself, all are there"));
    else add("open", cat("program: of ", needed, " that it calls outside itself not all are there: ", missing));
  }

  void check_functions(const Module &module, const cJSON *described) {
    const std::string kind = json_string(described, "kind");
    const cJSON *names = json_member(described, "functions"), *name = nullptr;
    bool is_whole = true;
    cJSON_ArrayForEach(name, names) {
      Function function;
      const std::string refused =
          message_of(opd_module_get_function(module.get(), plain_text(name).c_str(), 0, function.out()));
      if (refused.empty()) continue;
      is_whole = false;
      add("open", cat(kind, ": ", refused));
    }
    if (is_whole) add("ok", cat(kind, ": ", counted(cJSON_GetArraySize(names), "function"), ", each can be had"));
  }

  const Program &program_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> verify(const Program &program, const cJSON *module) { return Verification(program).run(module); }

}  // namespace opd::cli
