// Determines the files that a C compiler reads because of its command line or its input. The cache of results needs
// them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace opd {

bool takes_next_word(std::string_view option);  // true if the next word is the option's value

// Separates libraries, objects and linker options from all other words. The former must follow the files that need
// them; the latter come first. An option or value with a dot or a slash is not mistaken for a file.
void split_flags(const std::vector<std::string> &words, std::vector<std::string> &options,
                 std::vector<std::string> &libraries);

// Whether an option makes the compiler or linker read files that it does not name itself, such as response files,
// linker scripts, specifications, plug-ins or profiles.
bool leads_to_unknown_files(std::string_view word);

// The existing files among the words, and among the values in them (after "=", between commas).
std::vector<std::string> files_named_by(const std::vector<std::string> &words);

// Whether preprocessed text may make the assembler read further files (.incbin, .include).
bool may_read_files(std::string_view preprocessed);

}  // namespace opd
