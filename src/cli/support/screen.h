// Output for people: properties of the screen that standard output shows, and tables of words and numbers.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

enum class TableStyle { text, markdown };

// A table for a terminal, or in Markdown. The first column names the rows.
struct TextTable {
  std::vector<std::vector<std::string>> lines;  // the head first; all have the same number of cells
  std::vector<size_t> words = {};               // further columns that are left-aligned; the others are numbers
  std::vector<size_t> minor = {};               // columns to drop in this order if a terminal is too narrow
  size_t least_name = 20;                       // width to which names are shortened before columns are dropped

  // Returns the table. Text for a terminal fits its width. If necessary, names are shortened, too.
  std::string written(TableStyle style) const;
  std::string columns(size_t width) const;  // text of that width

 private:
  bool is_word(size_t column) const;
  std::string markdown() const;
};

}  // namespace opd::cli
