// A flame graph of one trace. Titles show the numbers, so a browser needs no script for them.
#include "report/writers/report_charts.h"
#include "trace_formats/flame_boxes.h"
#include "trace_formats/trace_formats.h"
#include "trace_views/stack_tree.h"

namespace opd {
namespace {

constexpr double kFlameTop = 56;
constexpr uint32_t kNumColours = 12;  // classes c0 … c11 in the style

class FlamePicture : FlameBoxes {
 public:
  explicit FlamePicture(const Trace &trace) : trace_(trace), tree_(trace, nest_spans(trace)) {
    const auto &nodes = tree_.nodes();
    boxes_.resize(nodes.size());
    for (size_t i = 1; i < nodes.size(); ++i) {
      boxes_[i].parent = nodes[i].parent;
      boxes_[i].weight = static_cast<double>(nodes[i].self_ticks);
    }
    arrange();
  }

  std::string draw() {
    const std::string drawn = draw_boxes(kFlameTop);
    std::string out;
    begin_picture(out, kFlameTop, [&] { write_colours(out); });
    out += "<text class=\"h\" x=\"8\" y=\"24\">Flame graph of ";
    append_xml(out, trace_.parts.titles());
    out += "</text>\n<text class=\"s\" x=\"8\" y=\"44\">";
    write_summary(out);
    out += "</text>\n";
    out += drawn;
    out += "</svg>\n";
    return out;
  }

 private:
  double us(double ticks) const { return trace_.parts.duration_ns(static_cast<uint64_t>(ticks)) / 1000; }

  void write_summary(std::string &out) const {
    append_time(out, us(all()));
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

  std::string_view name_of(uint32_t i) const override { return tree_.name(tree_.nodes()[i]); }
  void write_class(std::string &out, uint32_t i) const override {
    append(out += "c", std::hash<std::string_view>()(name_of(i)) % kNumColours);
  }
  void write_title(std::string &out, uint32_t i) const override {
    const StackTree::Node &node = tree_.nodes()[i];
    append_time(out, us(boxes_[i].weight));
    append_fixed(out += " (", 100 * boxes_[i].weight / all(), 2);
    append_time(out += " %), alone ", trace_.parts.duration_ns(node.self_ticks) / 1000);
    if (node.count) append(out += ", ", counted(node.count, "span"));
  }

  const Trace &trace_;
  const StackTree tree_;
};

}  // namespace

void write_flame_svg(const Trace &trace, ByteSink &out) { out.write(FlamePicture(trace).draw()); }

}  // namespace opd
