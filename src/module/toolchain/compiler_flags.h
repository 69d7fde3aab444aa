// The files that a C compiler reads because of its command line or of the text that it compiles, as far as caching the
// result needs them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace opd {

bool takes_next_word(std::string_view option);  // its value is the next word

// Separates libraries, objects and options of the linker, which must follow the files that need them, from all else,
// which precedes these. No option or value is mistaken for a file because of a dot or a slash in it.
void split_flags(const std::vector<std::string> &words, std::vector<std::string> &options,
                 std::vector<std::string> &libraries);

// Whether an option makes the compiler or linker read files that it does not name itself: response files, linker
// scripts, specifications, plug-ins, profiles.
bool leads_to_unknown_files(std::string_view word);

// The files that exist among the words, and among the values in them (after "=", between commas).
std::vector<std::string> files_named_by(const std::vector<std::string> &words);

// Whether preprocessed text may make the assembler read further files (.incbin, .include).
bool may_read_files(std::string_view preprocessed);

}  // namespace opd
