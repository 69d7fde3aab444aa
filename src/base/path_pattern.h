// Path patterns, which give each process, and each file of a process, its own path.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace opd {

// "%p" is the process number, "%n" is `number` if there is one, "%%" is "%". All other characters stay unchanged.
std::string expand_path(std::string_view pattern, std::optional<uint64_t> number = {});
bool has_process_number(std::string_view pattern);  // whether it contains "%p"

}  // namespace opd
