#include "cli/load/kernel_signature.h"

#include <cctype>

#include "cli/support/text.h"

namespace opd::cli {

namespace {

bool is_name(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  for (const char c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  return true;
}

// Splits at commas outside of all brackets.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    if (const std::string_view part = trim(text.substr(start, i - start)); !part.empty()) parts.push_back(part);
    start = i + 1;
  }
  return parts;
}

// Reads 4, T.int64(4), or the name of a size.
std::optional<Dim> read_signature_dim(std::string_view text) {
  if (text.starts_with("T.int") && text.ends_with(')')) {
    text.remove_prefix(std::min(text.find('(') + 1, text.size()));
    text.remove_suffix(1);
  }
  if (const std::optional<int64_t> size = read_int(text)) return Dim(*size);
  return is_name(text) ? std::optional<Dim>(std::string(text)) : std::nullopt;
}

// Reads Tensor([T.int64(4), n], float32).
std::optional<KernelArgument> read_argument(std::string_view type) {
  constexpr std::string_view kTensor = "Tensor(";
  if (!type.starts_with(kTensor) || !type.ends_with(')')) return std::nullopt;
  const auto parts = split_list(type.substr(kTensor.size(), type.size() - kTensor.size() - 1));
  if (parts.size() != 2 || !parts[0].starts_with('[') || !parts[0].ends_with(']')) return std::nullopt;
  KernelArgument argument{std::string(parts[1]), {}};
  for (const std::string_view part : split_list(parts[0].substr(1, parts[0].size() - 2))) {
    const std::optional<Dim> dim = read_signature_dim(part);
    if (!dim) return std::nullopt;
    argument.dims.push_back(*dim);
  }
  return argument;
}

}  // namespace

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
