// A table of words and numbers for people: for a terminal, or in Markdown. Its first column names the rows.
#pragma once
#include <string>
#include <vector>

namespace opd::cli {

enum class TableStyle { text, markdown };

struct TextTable {
  std::vector<std::vector<std::string>> lines;  // the head first; all have the same number of cells
  std::vector<size_t> words = {};               // further columns that are left-aligned; the others are numbers
  std::vector<size_t> minor = {};               // columns to drop in this order if a terminal is too narrow

  // Text for a terminal fits its width. If necessary, names are shortened, too.
  std::string written(TableStyle style) const;

 private:
  bool is_word(size_t column) const;
  std::string markdown() const;
  std::string columns(size_t width) const;
};

}  // namespace opd::cli
