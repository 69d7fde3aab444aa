// Properties of standard output.
#pragma once
#include <cstdint>
#include <string_view>

namespace opd::cli {

// If standard output is a terminal: its size, and whether it shows colours (not with NO_COLOR, see no-color.org, nor
// on a dumb terminal). Otherwise the width is the environment's COLUMNS, or 80.
struct Screen {
  bool is_terminal = false, has_colors = false;
  int32_t width = 80, height = 24;
};
Screen output_screen();

// Prints on standard output; on a terminal, lines are broken to fit.
void print_fitted(std::string_view text);

}  // namespace opd::cli
