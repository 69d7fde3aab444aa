// The sizes of `bench --sweep`: every combination of the values of each name.
#include <set>

#include "cli/load/target.h"
#include "cli/support/failure.h"
#include "cli/support/text.h"

namespace opd::cli {

namespace {

constexpr size_t most_rows = 1000;

[[noreturn]] void fail_sweep(std::string_view text) {
  fail_usage(cat("option '--sweep' takes a name and sizes as n=1,8,64 or n=16:64:16 or n=1:64:x2, not '", text, "'"));
}

// Reads "8", "1:4", "16:64:16" or "1:64:x2".
void add_sizes(std::string_view part, std::string_view text, std::vector<int64_t> &sizes) {
  const std::vector<std::string_view> ends = split(part, ':');
  const std::optional<int64_t> first = read_int(ends[0]), last = ends.size() > 1 ? read_int(ends[1]) : first;
  const bool multiplies = ends.size() > 2 && ends[2].starts_with('x');
  const std::optional<int64_t> step = ends.size() > 2 ? read_int(ends[2].substr(multiplies)) : 1;
  if (ends.size() > 3 || !first || !last || !step || *first < 0 || *last < *first || *step < 1 ||
      (multiplies && (*step < 2 || *first < 1)))
    fail_sweep(text);
  for (int64_t size = *first;;) {
    sizes.push_back(size);
    if (sizes.size() > most_rows) fail_usage(cat("option '--sweep ", text, "' has more than ", most_rows, " sizes"));
    const bool is_last = multiplies ? size > *last / *step : size > *last - *step;
    if (is_last) return;
    size = multiplies ? size * *step : size + *step;
  }
}

}  // namespace

std::vector<Sizes> sweep_of(const Args &args) {
  std::vector<Sizes> rows(1);
  for (const std::string &text : args.all("sweep")) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) fail_sweep(text);
    const std::string name = text.substr(0, equals);
    std::vector<int64_t> sizes;
    for (const std::string_view part : split(std::string_view(text).substr(equals + 1), ','))
      add_sizes(part, text, sizes);
    if (std::set(sizes.begin(), sizes.end()).size() != sizes.size())
      fail_usage(cat("option '--sweep ", text, "' names a size twice"));
    if (rows.size() * sizes.size() > most_rows)
      fail_usage(cat("the options --sweep have more than ", most_rows, " combinations"));
    std::vector<Sizes> all;
    for (const Sizes &row : rows) {
      for (const auto &entry : row)
        if (entry.first == name) fail_usage(cat("option '--sweep' is given twice for ", name));
      for (const int64_t size : sizes) (all.emplace_back(row)).emplace_back(name, size);
    }
    rows = std::move(all);
  }
  return rows;
}

std::string sizes_text(const Sizes &sizes) {
  return join(mapped(sizes, [](const auto &one) { return cat(one.first, "=", one.second); }), ", ");
}

}  // namespace opd::cli
