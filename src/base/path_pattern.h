// Paths that a pattern stands for, so that each process, and each file of one, has a path of its own.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace opd {

// "%p" is the number of the process, "%n" is `number` if there is one, "%%" is "%"; all else stands for itself.
std::string expand_path(std::string_view pattern, std::optional<uint64_t> number = {});
bool has_process_number(std::string_view pattern);  // whether "%p" is in it

}  // namespace opd
