// Facts from small files of the system: /proc, /sys and /etc.
#pragma once
#include <string>
#include <vector>

namespace opd::cli {

// `path` below $OPDYNO_SYSTEM_ROOT, which tests set to a copy of another machine's files. Without it: `path` itself.
std::string system_path(const std::string &path);
// The first 64 KiB of a file; "" if it cannot be read. Never waits.
std::string system_text(const std::string &path);
// The first line of a file, at most 4 KiB, without spaces at its ends.
std::string system_line(const std::string &path);
bool has_system_file(const std::string &path);
// The names in a directory that consist of `begin` and a number: "cpu0", "cpu1" … in the order of the numbers.
std::vector<std::string> numbered_names(const std::string &directory, const std::string &begin);

}  // namespace opd::cli
