#include "cli/load/annotations.h"

#include "cli/support/json.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

// The text between `before` and the next `after`; "" if they are not there.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const size_t begin = text.find(before);
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin + before.size());
  const size_t end = text.find(after);
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

// The text up to the parenthesis that closes an open one.
std::string_view enclosed(std::string_view text) {
  int open = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    open += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (open == 0) return text.substr(0, i);
  }
  return {};
}

// Reads "4", "T.int64(4)", "n" or "n * 2".
Dim read_dim(std::string_view text) {
  std::string_view number = text;
  if (text.starts_with("T.int") && text.ends_with(')')) {
    number.remove_prefix(text.find('(') + 1);
    number.remove_suffix(1);
  }
  if (const auto size = read_int(number)) return *size;
  return std::string(text);
}

// Reads all tensors such as 'R.Tensor((4, n), dtype="float32")', in their order.
std::vector<AnnotatedTensor> read_tensors(std::string_view text) {
  constexpr std::string_view kTensor = "R.Tensor((";
  std::vector<AnnotatedTensor> tensors;
  for (size_t at = text.find(kTensor); at != std::string_view::npos; at = text.find(kTensor)) {
    text.remove_prefix(at + kTensor.size());
    const std::string_view dims = enclosed(text);
    AnnotatedTensor &tensor = tensors.emplace_back();
    for (const std::string_view dim : split(dims, ','))
      if (!trim(dim).empty()) tensor.dims.push_back(read_dim(trim(dim)));
    text.remove_prefix(dims.size());
    tensor.dtype = between(text.substr(0, text.find(kTensor)), "dtype=\"", "\"");
  }
  return tensors;
}

// Splits at commas outside of all brackets.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts = split(text, ',', "([", ")]");
  for (std::string_view &part : parts) part = trim(part);
  std::erase(parts, "");
  return parts;
}

// Reads Tensor([T.int64(4), n], float32).
std::optional<AnnotatedTensor> read_argument(std::string_view type) {
  constexpr std::string_view kTensor = "Tensor(";
  if (!type.starts_with(kTensor) || !type.ends_with(')')) return std::nullopt;
  const auto parts = split_list(type.substr(kTensor.size(), type.size() - kTensor.size() - 1));
  if (parts.size() != 2 || !parts[0].starts_with('[') || !parts[0].ends_with(']')) return std::nullopt;
  AnnotatedTensor argument{std::string(parts[1]), {}};
  for (const std::string_view part : split_list(parts[0].substr(1, parts[0].size() - 2))) {
    const Dim &dim = argument.dims.emplace_back(read_dim(part));
    const auto *name = std::get_if<std::string>(&dim);
    if (name && (!is_word(*name) || contains(*name, "."))) return std::nullopt;
  }
  return argument;
}

}  // namespace

bool read_annotation(std::string_view text, Annotations &annotations) {
  const std::string_view function = between(text, "ErrorContext(fn=", ", loc="),
                         place = between(text, "loc=param[", "]");
  const size_t begin = text.find("annotation=");
  const auto index = read_int(place);
  if (function.empty() || !index || begin == std::string_view::npos) return false;
  const std::string_view type = text.substr(begin + std::string_view("annotation=").size());
  Annotation &annotation = annotations[{std::string(function), *index}];
  annotation = {};
  if (type.starts_with("R.Tensor(")) annotation.kind = "tensor";
  else if (type.starts_with("R.Tuple(") || type.starts_with("T.Tuple(")) annotation.kind = "tuple";
  else if (type.starts_with("R.Shape(")) annotation.kind = "shape";
  if (annotation.kind != "shape") annotation.tensors = read_tensors(type);
  return true;
}

Annotations read_annotations(const Executable &executable) {
  const Json json = parse_json(executable.write(OPD_EXECUTABLE_JSON), "the program");
  Annotations annotations;
  for (const cJSON *constant : json_items(json_member(json.get(), "constants"))) {
    if (json_string(constant, "kind") != "string") continue;
    std::string text = json_string(constant, "value");
    std::erase(text, '\\');  // the constant is quoted
    read_annotation(text, annotations);
  }
  return annotations;
}

KernelSignature read_kernel_signature(std::string_view text) {
  const size_t open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return {};
  KernelSignature signature;
  for (const std::string_view part : split_list(text.substr(open + 1, text.size() - open - 2))) {
    const size_t colon = part.find(": ");
    signature.push_back(colon == std::string_view::npos ? std::nullopt : read_argument(trim(part.substr(colon + 2))));
  }
  return signature;
}

}  // namespace opd::cli
