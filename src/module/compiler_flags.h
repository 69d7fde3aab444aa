// What the words of a C compiler's command line mean, as far as caching their result needs to know.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace opd {

bool takes_next_word(std::string_view option);  // its value is the word that follows

// Libraries, objects and options of the linker must follow what needs them; all else precedes it. Neither an option nor
// its value is taken for a file because of a dot or a slash in it.
void split_flags(const std::vector<std::string> &words, std::vector<std::string> &options,
                 std::vector<std::string> &libraries);

// Whether an option makes the compiler or linker read files that it does not name itself: response files, linker
// scripts, specifications, plug-ins, profiles.
bool leads_to_unknown_files(std::string_view word);

// The files that are there among the words and the values in them (after "=", between commas).
std::vector<std::string> files_named_by(const std::vector<std::string> &words);

}  // namespace opd
