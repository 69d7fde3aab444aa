// What standard output is written to.
#pragma once
#include <cstdint>

namespace opd::cli {

// Standard output, if that is a terminal: how wide it is, and whether it shows colours (not with NO_COLOR, see
// no-color.org, nor on a dumb one). Else the width is that of the environment's COLUMNS, or 80.
struct Screen {
  bool is_terminal = false, has_colors = false;
  int32_t width = 80;
};
Screen output_screen();

}  // namespace opd::cli
