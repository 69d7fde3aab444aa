// Files generated from the table of commands when opdyno is built: man pages and shell completions.
#pragma once
#include <string>
#include <vector>

#include "cli/commands/command.h"

namespace opd::cli {

std::string man_page();                        // opdyno.1
std::string man_page(const Command &command);  // opdyno-run.1
std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

// Writes all of them to an existing directory: `opdyno --generate-pages DIR`.
void write_generated(const std::string &directory);

}  // namespace opd::cli
