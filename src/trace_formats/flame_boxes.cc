#include "trace_formats/flame_boxes.h"

#include <algorithm>

#include "base/json_writer.h"
#include "report/writers/report_charts.h"

namespace opd {
namespace {

constexpr double kWidth = 1200, kRow = 18;
constexpr double kNarrowest = 0.1;  // narrower boxes are left out, with all boxes below them
constexpr double kDigit = 6.7;      // width of a character of the boxes' font

constexpr std::string_view kStyle = R"(
svg{background:#fff;color:#1b1f24}text{font:11px ui-monospace,monospace;fill:currentColor}
.h{font:600 16px system-ui,sans-serif}.s{font:13px system-ui,sans-serif}
rect{stroke:#fff;stroke-width:.5}g:hover rect{stroke:currentColor}.a rect{fill:#d0d7de}
@media(prefers-color-scheme:dark){svg{background:#0f1419;color:#e6edf3}rect{stroke:#0f1419}.a rect{fill:#343b44}}
)";

}  // namespace

void append_xml(std::string &out, std::string_view text) {
  std::string escaped;
  append_html(escaped, text);
  for (std::string_view rest = escaped; !rest.empty();) {
    const std::string_view character = rest.substr(0, utf8_length(rest));
    out += character == "\uFFFE" || character == "\uFFFF" ? "\uFFFD" : character;
    rest.remove_prefix(character.size());
  }
}

void FlameBoxes::arrange() {
  for (size_t i = boxes_.size(); i-- > 1;) {
    Box &parent = boxes_[boxes_[i].parent];
    parent.weight += boxes_[i].weight;
    parent.children.push_back(static_cast<uint32_t>(i));
  }
  for (Box &box : boxes_)
    std::ranges::sort(box.children, [this](uint32_t a, uint32_t b) {
      return boxes_[a].weight != boxes_[b].weight ? boxes_[a].weight > boxes_[b].weight : a < b;
    });
}

double FlameBoxes::width_of(uint32_t i) const { return kWidth * boxes_[i].weight / all(); }

void FlameBoxes::begin(std::string &out, double top) const {
  const double height = top + kRow * rows_ + 8;
  out += "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"";
  put(out, " viewBox=\"0 0 ", kWidth, " ", height, "\" width=\"", kWidth, "\" height=\"", height, "\">\n<style>");
  out += kStyle;
}

std::string FlameBoxes::draw_boxes(double top) {
  std::string out;
  if (!(all() > 0)) return out;
  struct Place {
    uint32_t box, row;
  };
  std::vector<Place> open{{0, 0}};
  while (!open.empty()) {
    const auto [box, row] = open.back();
    open.pop_back();
    draw_box(out, box, top + kRow * row);
    rows_ = std::max(rows_, row + 1);
    double x = boxes_[box].x;
    for (const uint32_t child : boxes_[box].children) {
      if (width_of(child) < kNarrowest) break;
      boxes_[child].x = x;
      x += width_of(child);
      open.push_back({child, row + 1});
    }
  }
  return out;
}

void FlameBoxes::draw_box(std::string &out, uint32_t i, double y) const {
  const std::string_view name = i == 0 ? "all" : name_of(i);
  const double x = boxes_[i].x, width = width_of(i);
  out += "<g class=\"";
  if (i == 0) out += "a";
  else write_class(out, i);
  append_xml(out += "\"><title>", name);
  write_title(out += "\n", i);
  put(out, "</title><rect x=\"", x, "\" y=\"", y, "\" width=\"");
  append_fixed(out, width, 2);
  put(out, "\" height=\"", kRow - 1, "\"/>");
  if (const auto room = static_cast<size_t>(std::max(width - 6, 0.0) / kDigit); room >= 3) {
    put(out, "<text x=\"", x + 3, "\" y=\"", y + 13, "\">");
    append_xml(out, shortened(name, room));
    out += "</text>";
  }
  out += "</g>\n";
}

}  // namespace opd
