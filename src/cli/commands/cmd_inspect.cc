// `opdyno inspect`: shows the content of a module, as a whole or in parts.
#include <algorithm>
#include <set>

#include "cli/commands/command.h"
#include "cli/load/program.h"
#include "cli/show/inspect.h"
#include "cli/support/file.h"

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

struct Finding {
  const char *state;  // "ok"; "open": something required is missing; "warning"; "damaged"
  std::string text;
};

// --verify: finds problems of a readable program that reading alone does not show. If the program was loaded whole,
// makes a VM of it.
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
    if (json_member(described, "program")) check_program(module, described);
    else check_functions(module, described);
    const std::vector<Module> imports = module.imports();
    size_t i = 0;
    for (const cJSON *imported : json_items(json_member(described, "imports")))
      if (i < imports.size()) visit(imports[i++], imported);
  }

  void add(const char *state, std::string text) { findings_.push_back({state, std::move(text)}); }

  void check_program(const Module &module, const cJSON *described) {
    const cJSON *program = json_member(described, "program");
    const std::vector<const cJSON *> functions = json_items(json_member(program, "functions"));
    int64_t instructions = 0;
    for (const cJSON *function : functions) instructions += json_number(function, "instructions");
    add("ok", cat("program: every index, range and jump of ", counted(std::ssize(functions), "function"), " with ",
                  counted(instructions, "instruction"), " is sound"));
    for (const cJSON *function : functions)
      for (const cJSON *read : json_items(json_member(function, "unproved_reads")))
        add("warning", cat("program: function ", json_string(function, "name"), ", instruction ", plain_text(read),
                           " may read a register that no path has written; opdyno checks it while running"));
    std::set<std::string> names;
    for (const cJSON *packed : json_items(json_member(program, "packed"))) names.insert(plain_text(packed));
    // The libraries call functions that a program otherwise calls itself.
    const auto is_compiled = [](const cJSON *function) { return json_string(function, "kind") == "compiled"; };
    if (std::ranges::any_of(functions, is_compiled)) add_called_names(described, names);
    const std::string needed = counted(static_cast<int64_t>(names.size()), "function");
    const std::string missing =
        loading_ == Loading::whole ? refusal_of([&] { Vm{module}; }) : missing_names(module, names);
    if (missing.empty()) add("ok", cat("program: ", needed, " that it calls outside itself, all are there"));
    else add("open", cat("program: of ", needed, " that it calls outside itself not all are there: ", missing));
  }

  static void add_called_names(const cJSON *described, std::set<std::string> &names) {
    for (const cJSON *called : json_items(json_member(described, "calls"))) names.insert(plain_text(called));
    for (const cJSON *imported : json_items(json_member(described, "imports"))) add_called_names(imported, names);
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
    const std::vector<const cJSON *> names = json_items(json_member(described, "functions"));
    if (!refused.empty()) add("open", cat(kind, ": ", refused));
    if (cJSON_IsFalse(json_member(described, "compiled")))
      return add("open",
                 cat(module_name(described),
                     " was not compiled, so only functions that its text names are known (--load compiles it)"));
    if (loading_ == Loading::inspect_only) {
      if (refused.empty())
        add("ok", cat(kind, ": ", counted(std::ssize(names), "function"), " by name (--load tries to get each)"));
      return;
    }
    bool is_whole = true;
    for (const cJSON *name : names) {
      const std::string refused = refusal_of([&] { module.function(plain_text(name).c_str(), false); });
      if (refused.empty()) continue;
      is_whole = false;
      add("open", cat(kind, ": ", refused));
    }
    if (is_whole) add("ok", cat(kind, ": ", counted(std::ssize(names), "function"), ", each can be had"));
  }

  const Program &program_;
  Loading loading_;
  std::vector<Finding> findings_;
};

// The assembly of the tree's program; "" if it has none.
std::string assembly_of(const Program &program) { return program.vm_module ? program.executable.disassemble() : ""; }

std::string findings_text(const std::vector<Finding> &findings) {
  std::string text;
  for (const Finding &finding : findings) text += cat(pad_right(finding.state, 9), printable(finding.text), "\n");
  return text;
}

std::string findings_json(const std::vector<Finding> &findings) {
  JsonWriter json;
  json.begin_array();
  for (const Finding &finding : findings)
    json.begin_object().key("state").string(finding.state).key("text").string(finding.text).end_object();
  return json.end_array().take();
}

Loading loading_of(const Args &args) { return args.has("load") ? Loading::whole : Loading::inspect_only; }

std::string inspection_json(const Program &program, const std::string &module, const Args &args) {
  const Json described = parse_json(module, "the module");
  std::string text = module;  // an object; further requested parts are added as members
  const auto add = [&](std::string_view name, std::string_view value) {
    text.back() = ',';
    text += cat("\"", name, "\":", value, "}");
  };
  if (args.has("disasm")) add("disassembly", JsonWriter().string(assembly_of(program)).take());
  if (args.has("verify"))
    add("verification", findings_json(Verification(program, loading_of(args)).run(described.get())));
  return text + "\n";
}

std::string inspection_text(const Program &program, const std::string &json, const Args &args) {
  const Json shown = parse_json(json, "the module");
  make_printable(shown.get());
  const cJSON *described = shown.get();
  std::vector<std::string> parts;
  const auto add = [&](const char *option, const auto &text) {
    if (args.has(option)) parts.push_back(text());
  };
  add("tree", [&] { return tree_text(described); });
  add("signatures", [&] { return signatures_text(described); });
  add("sizes", [&] { return sizes_text(described); });
  add("disasm", [&] {
    const std::string text = assembly_of(program);
    return text.empty() ? "there is no VM program in it\n" : text;
  });
  add("verify", [&] {  // looks functions up by their exact names
    return findings_text(Verification(program, loading_of(args)).run(parse_json(json, "the module").get()));
  });
  return parts.empty() ? overview_text(described) : join(parts, "\n");
}

Exit inspect(const Args &args) {
  const Program program = load_program(args.words()[0], args, loading_of(args));
  const std::string json = program.root.json();
  print(args.has("json") ? inspection_json(program, json, args) : inspection_text(program, json, args));
  return Exit::ok;
}

}  // namespace

Exit run_inspect(const Args &args) {
  if (!args.has("verify")) return inspect(args);
  try {
    return inspect(args);
  } catch (const Failure &failure) {
    if (failure.library_code() != OPD_BAD_FORMAT) throw;
    const std::vector<Finding> findings = {{"damaged", failure.what()}};
    print(args.has("json") ? cat("{\"verification\":", findings_json(findings), "}\n") : findings_text(findings));
    return Exit::mismatch;
  }
}

}  // namespace opd::cli
