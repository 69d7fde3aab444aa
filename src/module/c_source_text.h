// Extracts facts from the text of a C source, without a compiler. They are correct for sources that TVM generated. Also
// determines the files that a C compiler reads because of its command line or its input. The cache of results needs
// them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace opd {

bool is_identifier(char c);  // true for a letter, a digit or '_'

// The functions that a C source names as __tvm_ffi_<name>(…). Names that macros form are not found.
std::vector<std::string> functions_named_in(std::string_view c_source);

// The bytes of an array in a C source if it has TVM's form `NAME[COUNT] = {0x12,0x34 …}`, else "".
std::string bytes_written_in(std::string_view c_source, std::string_view array);

// ---- command lines

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
