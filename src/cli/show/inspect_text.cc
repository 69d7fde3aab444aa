// The texts of `opdyno inspect`.
#include <algorithm>

#include "cli/load/program.h"
#include "cli/show/inspect.h"

namespace opd::cli {

namespace {

constexpr std::string_view no_functions_note =
    "no symbol of this library starts with __tvm_ffi_, so it offers nothing by TVM's conventions; a plain C function "
    "of it is called by its signature (opd_module_native_function(), in Python Module.native_function())";

// "float32[n, 784]", "int", "(float32[4], int)" — "" if nothing is known.
std::string type_text(const cJSON *type) {
  const std::string kind = json_string(type, "kind");
  const cJSON *items = json_member(type, "items"), *shape = json_member(type, "shape");
  std::vector<std::string> parts;
  if (cJSON_IsArray(items)) {
    for (const cJSON *part : json_items(items)) {
      const std::string item = type_text(part);
      parts.push_back(item.empty() ? "any" : item);
    }
    return cat("(", join(parts, ", "), parts.size() == 1 ? ",)" : ")");
  }
  std::string text = json_string(type, "dtype");
  if (text.empty() && kind == "shape" && cJSON_IsArray(shape)) text = "shape";
  if (cJSON_IsArray(shape)) {
    for (const cJSON *part : json_items(shape)) parts.push_back(cJSON_IsNull(part) ? "?" : plain_text(part));
    return cat(text, "[", join(parts, ", "), "]");
  }
  if (text.empty() && kind != "any") text = kind;
  const std::string symbol = json_string(type, "symbol");  // name of the size, for a number
  return symbol.empty() ? text : cat(text, " ", symbol);
}

// Calls `visit(module)` for the module and its imports; a repeated module is only named.
template <class Visit>
void each_module(const cJSON *module, const Visit &visit) {
  visit(module);
  for (const cJSON *imported : json_items(json_member(module, "imports"))) each_module(imported, visit);
}

bool is_named_only(const cJSON *module) { return cJSON_IsFalse(json_member(module, "described")); }

// "2 functions, made by TVM 0.26 or newer"
std::string summary(const cJSON *module) {
  if (is_named_only(module)) return "see above";
  std::string text = counted(cJSON_GetArraySize(json_member(module, "functions")), "function");
  if (const cJSON *program = json_member(module, "program"))
    text += cat(", ", counted(cJSON_GetArraySize(json_member(program, "constants")), "constant"), ", needs ",
                counted(cJSON_GetArraySize(json_member(program, "packed")), "function"));
  if (const std::string release = json_string(module, "tvm_release"); !release.empty())
    text += cat(", made by TVM ", release);
  if (cJSON_IsFalse(json_member(module, "supported"))) text += ", no back end for it in this build";
  return text;
}

void append_tree(std::string &out, const cJSON *module, const std::string &before, const std::string &indent) {
  out += cat(before, module_name(module), ": ", summary(module), "\n");
  for (const cJSON *imported : json_items(json_member(module, "imports"))) {
    const bool is_last = !imported->next;
    append_tree(out, imported, indent + (is_last ? "└─ " : "├─ "), indent + (is_last ? "   " : "│  "));
  }
}

class Overview {
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
    for (const cJSON *member : json_items(module)) {
      const std::string_view name = member->string;
      if (name == "kind" || name == "imports" || name == "program") continue;
      if (name.ends_with("_bytes") && name != "size_bytes") continue;       // --sizes shows them
      if (name == "functions" && json_member(module, "program")) continue;  // print_program() shows more
      if (name == "loaded" || name == "compiled") continue;                 // effects of inspect itself
      if (cJSON_IsNull(member) || (cJSON_IsString(member) && !*member->valuestring)) continue;
      line(indent + "  ", name, plain_text(member));
    }
    if (const cJSON *program = json_member(module, "program")) print_program(program, indent + "  ");
    print_advice(module, indent + "  ");
    for (const cJSON *imported : json_items(json_member(module, "imports"))) {
      out_ += cat(indent, "  imports:\n");
      print_module(imported, indent + "    ");
    }
  }

  // Advice if functions are missing from the list.
  void print_advice(const cJSON *module, const std::string &indent) {
    if (cJSON_IsFalse(json_member(module, "compiled")))
      out_ += cat(indent, "not compiled: the functions are those that the text names; --load compiles it\n");
    else if (json_string(module, "kind") == "library" && cJSON_GetArraySize(json_member(module, "functions")) == 0 &&
             json_number(module, "embedded_bytes") == 0)
      out_ += cat(indent, "note: ", no_functions_note, "\n");
  }

  void print_program(const cJSON *program, const std::string &indent) {
    out_ += cat(indent, "functions:\n");
    for (const cJSON *item : json_items(json_member(program, "functions"))) {
      out_ += cat(indent, "  ", signature_text(item), "  ", counted(json_number(item, "instructions"), "instruction"),
                  ", ", counted(json_number(item, "registers"), "register"), "\n");
    }
    print_needs(json_member(program, "packed"), indent);
    print_constants(json_member(program, "constants"), indent);
  }

  void print_needs(const cJSON *packed, const std::string &indent) {
    std::vector<std::string> kernels, builtins;
    for (const cJSON *item : json_items(packed)) {
      const std::string name = plain_text(item);
      name.starts_with(builtin_prefix) ? builtins.push_back(name.substr(builtin_prefix.size()))
                                       : kernels.push_back(name);
    }
    if (!kernels.empty()) line(indent, "needs", join(kernels, ", "));
    if (!builtins.empty()) line(indent, "builtins", join(builtins, ", "));
  }

  void print_constants(const cJSON *constants, const std::string &indent) {
    if (cJSON_GetArraySize(constants) == 0) return;
    out_ += cat(indent, "constants:\n");
    int64_t index = 0;
    for (const cJSON *constant : json_items(constants))
      out_ +=
          cat(indent, "  ", index++, ": ", json_string(constant, "kind"), " ", json_string(constant, "value"), "\n");
  }

  std::string out_;
};

// A row of a table with a label, a number of bytes and a note. A heading has no number.
struct SizeRow {
  std::string label, bytes, note;
};

struct SizeTable {
  std::vector<SizeRow> rows;

  void add(std::string label, int64_t bytes, std::string note = "") {
    rows.push_back({std::move(label), cat(bytes), std::move(note)});
  }

  std::string text() const {
    size_t labels = 0, numbers = 0;
    for (const SizeRow &row : rows) {
      if (!row.bytes.empty()) labels = std::max(labels, width_of(row.label));
      numbers = std::max(numbers, row.bytes.size());
    }
    std::string out;
    for (const SizeRow &row : rows) {
      if (row.bytes.empty()) out += row.label;
      else out += cat(pad_right(row.label, labels), "  ", pad_left(row.bytes, numbers), " bytes");
      out += cat(row.note.empty() ? "" : "  ", row.note, "\n");
    }
    return out;
  }
};

void add_program_sizes(SizeTable &table, const cJSON *program) {
  const cJSON *sections = json_member(program, "section_bytes"), *functions = json_member(program, "functions"),
              *constants = json_member(program, "constants");
  int64_t tensors = 0, tensor_bytes = 0, instructions = 0;
  for (const cJSON *item : json_items(constants)) {
    tensors += json_string(item, "kind") == "tensor";
    tensor_bytes += json_number(item, "bytes");
  }
  for (const cJSON *item : json_items(functions)) instructions += json_number(item, "instructions");
  const int64_t entries = cJSON_GetArraySize(functions) + cJSON_GetArraySize(json_member(program, "packed"));
  table.add("  function table", json_number(sections, "functions"), cat(entries, entries == 1 ? " entry" : " entries"));
  table.add("  constants", json_number(sections, "constants"),
            cat(counted(cJSON_GetArraySize(constants), "constant"), ", of which ", counted(tensors, "tensor"), " with ",
                tensor_bytes, " bytes of data"));
  table.add("  code", json_number(sections, "code"), counted(instructions, "instruction"));
  for (const cJSON *item : json_items(functions))
    if (json_member(item, "code_bytes"))
      table.add(cat("    ", json_string(item, "name")), json_number(item, "code_bytes"),
                cat(counted(json_number(item, "instructions"), "instruction"), ", ",
                    counted(json_number(item, "registers"), "register")));
}

void add_library_sizes(SizeTable &table, const cJSON *module) {
  if (json_member(module, "size_bytes")) table.add("  file", json_number(module, "size_bytes"));
  if (json_member(module, "memory_bytes")) table.add("  in memory", json_number(module, "memory_bytes"));
  if (const int64_t bytes = json_number(module, "embedded_bytes")) table.add("  embedded modules", bytes);
  if (json_member(module, "code_bytes")) table.add("  segments with code", json_number(module, "code_bytes"));
  for (const cJSON *function : json_items(json_member(module, "function_bytes")))
    table.add(cat("    ", function->string), static_cast<int64_t>(function->valuedouble));
}

}  // namespace

std::string module_name(const cJSON *module) {
  const std::string file = json_string(module, "file");
  return file.empty() ? json_string(module, "kind") : cat(json_string(module, "kind"), "  ", file);
}

std::string plain_text(const cJSON *item) {
  if (cJSON_IsString(item)) return item->valuestring;
  if (cJSON_IsArray(item)) return item->child ? join(mapped(json_items(item), plain_text), ", ") : "none";
  const std::unique_ptr<char, Release<cJSON_free>> json(cJSON_PrintUnformatted(item));
  return json ? json.get() : "";
}

std::string signature_text(const cJSON *function) {
  std::vector<std::string> params;
  for (const cJSON *param : json_items(json_member(function, "params"))) {
    const std::string type = type_text(param), name = json_string(param, "name");
    params.push_back(type.empty() ? name : cat(name, ": ", type));
  }
  const std::string result = type_text(json_member(function, "result"));
  return cat(json_string(function, "name"), "(", join(params, ", "), ")", result.empty() ? "" : " -> ", result);
}

std::string overview_text(const cJSON *module) { return Overview().print(module); }

std::string tree_text(const cJSON *module) {
  std::string out;
  append_tree(out, module, "", "");
  return out;
}

std::string signatures_text(const cJSON *module) {
  std::string out;
  each_module(module, [&](const cJSON *each) {
    if (is_named_only(each)) return;
    const cJSON *program = json_member(each, "program"), *written = json_member(each, "signatures");
    out += cat(module_name(each), "\n");
    for (const cJSON *function : json_items(json_member(program ? program : each, "functions"))) {
      if (program) {
        out += cat("  ", signature_text(function), "\n");
        continue;
      }
      const std::string name = plain_text(function), known = json_string(written, name.c_str());
      out += cat("  ", name, known.empty() ? "(…)" : ": ", known, "\n");
    }
  });
  return out;
}

std::string sizes_text(const cJSON *module) {
  SizeTable table;
  each_module(module, [&](const cJSON *each) {
    if (is_named_only(each)) return;
    table.rows.push_back({module_name(each), "", ""});
    if (const cJSON *program = json_member(each, "program")) add_program_sizes(table, program);
    else add_library_sizes(table, each);
  });
  return table.text();
}

}  // namespace opd::cli
