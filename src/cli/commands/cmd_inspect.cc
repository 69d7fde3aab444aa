// `opdyno inspect`: shows the content of a module, as a whole or in parts.
#include "cli/commands/command.h"
#include "cli/show/inspect.h"
#include "cli/support/file.h"

namespace opd::cli {

namespace {

// The assembly of the tree's program; "" if it has none.
std::string assembly_of(const Program &program) {
  if (!program.vm_module) return "";
  return program.executable.disassemble();
}

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
  if (args.has("verify")) add("verification", findings_json(verify(program, described.get(), loading_of(args))));
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
    return findings_text(verify(program, parse_json(json, "the module").get(), loading_of(args)));
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
