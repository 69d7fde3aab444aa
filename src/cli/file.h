// Files and standard streams. Every failed read or write is an error with the system's reason.
#pragma once
#include <string>
#include <string_view>

namespace opd::cli {

// "-" is standard input. Fails with Exit::failed.
std::string read_file(const std::string &path);
// "-" is standard output. A regular file is replaced as a whole, so that no reader sees a part of it.
void write_file(const std::string &path, std::string_view content);

// Writes to standard output at once. A closed pipe or a full disk ends the program with Exit::failed.
void print(std::string_view text);
// Writes to standard error. Failures are ignored, because they cannot be reported anywhere.
void print_message(std::string_view text);
// Reports write errors that the system delayed; called once, at the end.
void close_output();

// Whether standard error is a terminal, where progress may be shown.
bool has_terminal();

}  // namespace opd::cli
