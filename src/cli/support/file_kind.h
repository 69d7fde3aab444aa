// Which kind of file a path leads to, by its first bytes.
#pragma once
#include <string>
#include <string_view>

namespace opd::cli {

// For the error of a command that cannot read the file: a line that says what the file is, and which command takes it.
// "" if that is not known, or if `command` takes such files, so that the file is damaged.
std::string other_use_of(const std::string &path, std::string_view command);

}  // namespace opd::cli
