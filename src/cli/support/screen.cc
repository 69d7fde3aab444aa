#include "cli/support/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/support/file.h"
#include "cli/support/text.h"

namespace opd::cli {

Screen output_screen() {
  Screen screen;
  const auto text_of = [](const char *name) -> std::string_view {
    const char *text = std::getenv(name);
    return text ? text : "";
  };
  if (const auto columns = read_int(text_of("COLUMNS")); columns && *columns > 0 && *columns <= 10'000)
    screen.width = static_cast<int32_t>(*columns);
  screen.is_terminal = isatty(STDOUT_FILENO) == 1;
  if (!screen.is_terminal) return screen;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    if (size.ws_col > 0) screen.width = size.ws_col;
    if (size.ws_row > 0) screen.height = size.ws_row;
  }
  screen.has_colors = text_of("NO_COLOR").empty() && text_of("TERM") != "dumb";
  return screen;
}

void print_fitted(std::string_view text) {
  const Screen screen = output_screen();
  if (screen.is_terminal) print(fitted(text, static_cast<size_t>(screen.width)));
  else print(text);
}

}  // namespace opd::cli
