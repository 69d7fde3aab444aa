// A flame graph as one SVG: a box for each stack of names, as wide as its time, below that of the stack without the
// last name. Its title has the numbers, so a browser shows them without a script.
#include <algorithm>

#include "analysis/formats/stack_tree.h"
#include "analysis/formats/trace_formats.h"
#include "base/json_writer.h"
#include "report/writers/report_charts.h"

namespace opd {
namespace {

constexpr double kWidth = 1200, kRow = 18, kTop = 56;
constexpr double kNarrowest = 0.1;    // boxes that are narrower are left out, with all below them
constexpr double kDigit = 6.7;        // width of a character of the boxes' font
constexpr uint32_t kNumColours = 12;  // classes c0 … c11 of the style

constexpr std::string_view kStyle = R"(
svg{background:#fff;color:#1b1f24}text{font:11px ui-monospace,monospace;fill:currentColor}
.h{font:600 16px system-ui,sans-serif}.s{font:13px system-ui,sans-serif}
rect{stroke:#fff;stroke-width:.5}g:hover rect{stroke:currentColor}.a rect{fill:#d0d7de}
@media(prefers-color-scheme:dark){svg{background:#0f1419;color:#e6edf3}rect{stroke:#0f1419}.a rect{fill:#343b44}}
)";

// Escaped as in HTML, less what no XML may contain.
void append_xml(std::string &out, std::string_view text) {
  std::string escaped;
  append_html(escaped, text);
  for (std::string_view rest = escaped; !rest.empty();) {
    const std::string_view character = rest.substr(0, utf8_length(rest));
    out += character == "\uFFFE" || character == "\uFFFF" ? "\uFFFD" : character;
    rest.remove_prefix(character.size());
  }
}

class Picture {
 public:
  explicit Picture(const Trace &trace) : trace_(trace), tree_(nest_spans(trace)), boxes_(tree_.nodes().size()) {
    const auto &nodes = tree_.nodes();
    for (size_t i = nodes.size(); i-- > 1;) {  // a node lies behind its parent
      boxes_[i].ticks += nodes[i].self_ticks;
      boxes_[nodes[i].parent].ticks += boxes_[i].ticks;
      boxes_[nodes[i].parent].children.push_back(static_cast<uint32_t>(i));
    }
    for (Box &box : boxes_)
      std::ranges::sort(box.children, [this](uint32_t a, uint32_t b) {
        return boxes_[a].ticks != boxes_[b].ticks ? boxes_[a].ticks > boxes_[b].ticks : a < b;
      });
  }

  std::string draw() {
    if (all() > 0) draw_boxes();
    const double height = kTop + kRow * rows_ + 8;
    std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"";
    put(out, " viewBox=\"0 0 ", kWidth, " ", height, "\" width=\"", kWidth, "\" height=\"", height, "\">\n<style>");
    out += kStyle;
    write_colours(out);
    out += "</style>\n<text class=\"h\" x=\"8\" y=\"24\">Flame graph of ";
    append_xml(out, trace_.parts.process_name);
    out += "</text>\n<text class=\"s\" x=\"8\" y=\"44\">";
    write_summary(out);
    out += "</text>\n";
    out += boxes_text_;
    out += "</svg>\n";
    return out;
  }

 private:
  struct Box {
    uint64_t ticks = 0;  // with those within it
    std::vector<uint32_t> children;
    double x = 0;
  };
  uint64_t all() const { return boxes_[StackTree::kRoot].ticks; }
  double width_of(uint32_t i) const {
    return kWidth * static_cast<double>(boxes_[i].ticks) / static_cast<double>(all());
  }

  void write_summary(std::string &out) const {
    append_time(out, trace_.parts.line.duration_ns(all()) / 1000);
    append(out += " in ", tree_.nodes().size() - 1);
    out += " stacks; the widest come first, and what is within a box lies below it";
    if (const uint64_t dropped = trace_.num_dropped()) append(out += ". Dropped events: ", dropped);
  }

  static void write_colours(std::string &out) {
    for (const char *theme : {"", "@media(prefers-color-scheme:dark){"}) {
      out += theme;
      for (uint32_t i = 0; i < kNumColours; ++i) {
        append(out += ".c", i);
        append(out += " rect{fill:hsl(", i * 360 / kNumColours);
        out += *theme ? " 35% 32%)}" : " 70% 80%)}";
      }
      out += *theme ? "}\n" : "\n";
    }
  }

  void draw_boxes() {
    struct Place {
      uint32_t node, row;
    };
    std::vector<Place> open{{StackTree::kRoot, 0}};
    while (!open.empty()) {
      const auto [node, row] = open.back();
      open.pop_back();
      draw_box(node, row);
      rows_ = std::max(rows_, row + 1);
      double x = boxes_[node].x;
      for (const uint32_t child : boxes_[node].children) {
        if (width_of(child) < kNarrowest) break;
        boxes_[child].x = x;
        x += width_of(child);
        open.push_back({child, row + 1});
      }
    }
  }

  void draw_box(uint32_t i, uint32_t row) {
    const StackTree::Node &node = tree_.nodes()[i];
    const std::string_view name = i == StackTree::kRoot ? "all" : std::string_view(StackTree::name(node));
    const double x = boxes_[i].x, y = kTop + kRow * row, width = width_of(i);
    std::string &out = boxes_text_;
    out += "<g class=\"";
    if (i == StackTree::kRoot) out += "a";
    else append(out += "c", std::hash<std::string_view>()(name) % kNumColours);
    append_xml(out += "\"><title>", name);
    append_time(out += "\n", trace_.parts.line.duration_ns(boxes_[i].ticks) / 1000);
    append_fixed(out += " (", 100 * static_cast<double>(boxes_[i].ticks) / static_cast<double>(all()), 2);
    append_time(out += " %), alone ", trace_.parts.line.duration_ns(node.self_ticks) / 1000);
    if (i != StackTree::kRoot) append(out += ", ", counted(node.count, "span"));
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

  const Trace &trace_;
  const StackTree tree_;
  std::vector<Box> boxes_;  // of the nodes
  uint32_t rows_ = 0;
  std::string boxes_text_;
};

}  // namespace

void write_flame_svg(const Trace &trace, ByteSink &out) { out.write(Picture(trace).draw()); }

}  // namespace opd
