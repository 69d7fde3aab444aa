#include "cli/support/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

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

bool TextTable::is_word(size_t column) const { return column == 0 || std::ranges::count(words, column) > 0; }

std::string TextTable::markdown() const {
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    for (const std::string &cell : lines[i]) text += cat("| ", markdown_text(cell), " ");
    text += "|\n";
    if (i > 0) continue;
    for (size_t column = 0; column < lines[0].size(); ++column) text += is_word(column) ? "|---" : "|---:";
    text += "|\n";
  }
  return text;
}

std::string TextTable::columns(size_t width) const {
  constexpr size_t kGap = 2;
  std::vector<size_t> widths(lines[0].size());
  for (const auto &line : lines)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  size_t others = 0;
  for (size_t i = 1; i < widths.size(); ++i) others += widths[i] + kGap;
  const size_t least = std::min(widths[0], least_name);
  for (const size_t column : minor) {
    if (least + others <= width) break;
    others -= std::exchange(widths[column], 0) + kGap;
  }
  widths[0] = std::min(widths[0], std::max(least, width - std::min(width, others)));
  const std::vector<std::string> names =
      shortened_apart(mapped(lines, [](const auto &line) { return line[0]; }), widths[0]);
  std::string text;
  for (size_t number = 0; number < lines.size(); ++number) {
    const auto &line = lines[number];
    std::string row;
    for (size_t i = 0; i < line.size(); ++i) {
      if (widths[i] == 0) continue;
      const std::string cell = i == 0 ? names[number] : shortened(line[i], widths[i]),
                        gap(widths[i] - width_of(cell), ' ');
      row += cat(i ? "  " : "", is_word(i) ? cell : gap, is_word(i) ? gap : cell);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

std::string TextTable::written(TableStyle style) const {
  if (style == TableStyle::markdown) return markdown();
  const Screen screen = output_screen();
  return columns(screen.is_terminal ? static_cast<size_t>(screen.width) : SIZE_MAX);
}

}  // namespace opd::cli
