#include "cli/support/text_table.h"

#include <algorithm>
#include <utility>

#include "cli/support/screen.h"
#include "cli/support/text.h"

namespace opd::cli {

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
  constexpr size_t kLeastName = 20, kGap = 2;
  std::vector<size_t> widths(lines[0].size());
  for (const auto &line : lines)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  size_t others = 0;
  for (size_t i = 1; i < widths.size(); ++i) others += widths[i] + kGap;
  const size_t least_name = std::min(widths[0], kLeastName);
  for (const size_t column : minor) {
    if (least_name + others <= width) break;
    others -= std::exchange(widths[column], 0) + kGap;
  }
  widths[0] = std::min(widths[0], std::max(least_name, width - std::min(width, others)));
  std::vector<std::string> names;
  for (const auto &line : lines) names.push_back(line[0]);
  names = shortened_apart(names, widths[0]);
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
