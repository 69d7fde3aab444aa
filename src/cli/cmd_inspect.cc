// `opdyno inspect`: what a module holds, with its imports as a tree.
#include "command.h"
#include "file.h"
#include "json.h"
#include "program.h"

namespace opd::cli {

namespace {

// "float32[n, 784]", "int64", "[2, 3]" — as much as the program checks.
std::string type_text(const cJSON *described) {
  std::string text = json_string(described, "dtype");
  const cJSON *shape = json_member(described, "shape"), *size = nullptr;
  if (!cJSON_IsArray(shape)) return text;
  std::vector<std::string> sizes;
  cJSON_ArrayForEach(size, shape) {
    if (cJSON_IsNumber(size)) sizes.push_back(cat(static_cast<int64_t>(size->valuedouble)));
    else sizes.emplace_back(cJSON_IsString(size) ? size->valuestring : "?");
  }
  return cat(text, "[", join(sizes, ", "), "]");
}

// A number, text or list of plain ones on one line; other things as JSON.
std::string plain_text(const cJSON *item) {
  if (cJSON_IsString(item)) return item->valuestring;
  if (cJSON_IsArray(item)) {
    std::vector<std::string> parts;
    const cJSON *part = nullptr;
    cJSON_ArrayForEach(part, item) parts.push_back(plain_text(part));
    return parts.empty() ? "none" : join(parts, ", ");
  }
  const std::unique_ptr<char, Release<cJSON_free>> json(cJSON_PrintUnformatted(item));
  return json ? json.get() : "";
}

std::string function_text(const cJSON *function) {
  std::vector<std::string> params;
  const cJSON *param = nullptr;
  cJSON_ArrayForEach(param, json_member(function, "params")) {
    const std::string type = type_text(param), kind = json_string(param, "kind");
    const std::string known = type.empty() && kind != "any" ? kind : type;
    params.push_back(known.empty() ? json_string(param, "name") : cat(json_string(param, "name"), ": ", known));
  }
  std::string text = cat(json_string(function, "name"), "(", join(params, ", "), ")");
  for (const std::string_view noun : {"instruction", "register"})
    if (const cJSON *number = json_member(function, cat(noun, "s").c_str()); cJSON_IsNumber(number))
      text += cat(noun == "instruction" ? "  " : ", ", counted(static_cast<int64_t>(number->valuedouble), noun));
  return text;
}

class TreePrinter {
 public:
  std::string print(const cJSON *module) {
    print_module(module, "");
    return std::move(out_);
  }

 private:
  void line(const std::string &indent, std::string_view label, std::string_view text) {
    out_ += cat(indent, label, ": ", text, "\n");
  }

  void print_module(const cJSON *module, const std::string &indent) {
    out_ += cat(indent, json_string(module, "kind"), "\n");
    const cJSON *member = nullptr;
    for (member = module ? module->child : nullptr; member; member = member->next) {
      const std::string_view name = member->string;
      if (name == "kind" || name == "imports" || name == "program") continue;
      if (name == "functions" && json_member(module, "program")) continue;  // the program says more about them
      if (cJSON_IsNull(member) || (cJSON_IsString(member) && !*member->valuestring)) continue;
      line(indent + "  ", name, plain_text(member));
    }
    if (const cJSON *program = json_member(module, "program")) print_program(program, indent + "  ");
    cJSON_ArrayForEach(member, json_member(module, "imports")) {
      out_ += cat(indent, "  imports:\n");
      print_module(member, indent + "    ");
    }
  }

  void print_program(const cJSON *program, const std::string &indent) {
    out_ += cat(indent, "functions:\n");
    const cJSON *item = nullptr;
    cJSON_ArrayForEach(item, json_member(program, "functions")) out_ += cat(indent, "  ", function_text(item), "\n");
    print_needs(json_member(program, "packed"), indent);
    print_constants(json_member(program, "constants"), indent);
  }

  void print_needs(const cJSON *packed, const std::string &indent) {
    constexpr std::string_view prefix = "vm.builtin.";
    std::vector<std::string> kernels, builtins;
    const cJSON *item = nullptr;
    cJSON_ArrayForEach(item, packed) {
      const std::string name = plain_text(item);
      name.starts_with(prefix) ? builtins.push_back(name.substr(prefix.size())) : kernels.push_back(name);
    }
    if (!kernels.empty()) line(indent, "needs", join(kernels, ", "));
    if (!builtins.empty()) line(indent, "builtins", join(builtins, ", "));
  }

  void print_constants(const cJSON *constants, const std::string &indent) {
    if (cJSON_GetArraySize(constants) == 0) return;
    out_ += cat(indent, "constants:\n");
    int64_t index = 0;
    const cJSON *constant = nullptr;
    cJSON_ArrayForEach(constant, constants) out_ +=
        cat(indent, "  ", index++, ": ", json_string(constant, "kind"), " ", json_string(constant, "value"), "\n");
  }

  std::string out_;
};

}  // namespace

Exit run_inspect(const Args &args) {
  const Program program = load_program(args.words()[0], args);
  Buffer json;
  check(opd_module_to_json(program.root.get(), json.out()), Exit::failed);
  if (args.has("json")) print(cat(bytes_of(json), "\n"));
  else print(TreePrinter().print(parse_json(json, "the module").get()));
  return Exit::ok;
}

}  // namespace opd::cli
