#include "cli/show/params_info.h"

#include <algorithm>

#include "cli/support/json.h"
#include "cli/support/text.h"
#include "cli/tensors/dim.h"

namespace opd::cli {

namespace {

struct Line {
  std::string name, type, size;
};

std::string type_of(const Params &params, size_t index) {
  const std::vector<int64_t> shape = params.shape(index);
  return cat(opdyno::to_string(params.dtype(index)), dims_text(shape.data(), static_cast<int32_t>(shape.size())));
}

std::string bytes_text(uint64_t bytes) {
  constexpr std::string_view units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto number = static_cast<double>(bytes);
  size_t unit = 0;
  for (; number >= 1024 && unit + 1 < std::size(units); ++unit) number /= 1024;
  return cat(unit ? fixed(number, 1) : cat(bytes), " ", units[unit]);
}

}  // namespace

std::string params_text(const Params &params) {
  std::vector<Line> lines;
  uint64_t views = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    const uint64_t bytes = params.info(i).bytes;
    if (params.is_view(i)) views += bytes;
    const std::string name = printable(params.name(i));
    lines.push_back({name.empty() ? "(no name)" : name, type_of(params, i), bytes_text(bytes)});
  }
  size_t names = 0, types = 0;
  for (const Line &line : lines) {
    names = std::max(names, width_of(line.name));
    types = std::max(types, line.type.size());
  }
  std::string text;
  for (const Line &line : lines)
    text += cat(pad_right(line.name, names), "  ", pad_right(line.type, types), "  ", line.size, "\n");
  return cat(text, params.size(), params.size() == 1 ? " tensor, " : " tensors, ",
             bytes_text(params.stats().total_bytes), ", of which ", bytes_text(views), " can be used where they lie\n");
}

std::string params_json(const Params &params) {
  JsonWriter json;
  json.begin_object().key("tensors").begin_array();
  for (size_t i = 0; i < params.size(); ++i) {
    json.begin_object().key("name").string(params.name(i)).key("dtype").string(opdyno::to_string(params.dtype(i)));
    json.key("shape").begin_array();
    for (const int64_t size : params.shape(i)) json.number(size);
    json.end_array().key("bytes").number(params.info(i).bytes);
    json.key("view").boolean(params.is_view(i)).end_object();
  }
  return cat(json.end_array().end_object().take(), "\n");
}

}  // namespace opd::cli
