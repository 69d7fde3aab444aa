// Files and standard streams, where every failed read or write is an error with the system's reason.
#pragma once
#include <string>
#include <string_view>

namespace opd::cli {

// "-" is standard input. Fails with Exit::failed.
std::string read_file(const std::string &path);
// "-" is standard output. A regular file is replaced as a whole, so that no reader sees a part of it.
void write_file(const std::string &path, std::string_view content);

// Standard output, written at once: a closed pipe or a full disk ends the program with Exit::failed.
void print(std::string_view text);
// Standard error; failures are ignored, there is nowhere left to tell them.
void print_message(std::string_view text);
// Reports what the system kept back until now; called once, last.
void close_output();

// A terminal on standard error, where progress may be shown.
bool has_terminal();

}  // namespace opd::cli
