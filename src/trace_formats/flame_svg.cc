// Flame graphs as one SVG: of one trace, and of the changes between two traces. Each stack of names has a box, as wide
// as its time, below the box of the stack without the last name. Titles show the numbers, so a browser needs no script
// for them.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "base/json_writer.h"
#include "report/writers/report_charts.h"
#include "stats/diff.h"
#include "trace_formats/trace_formats.h"
#include "trace_views/key_averages.h"
#include "trace_views/trace_report.h"

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

// HTML-escaped, without characters that XML forbids.
void append_xml(std::string &out, std::string_view text) {
  std::string escaped;
  append_html(escaped, text);
  for (std::string_view rest = escaped; !rest.empty();) {
    const std::string_view character = rest.substr(0, utf8_length(rest));
    out += character == "\uFFFE" || character == "\uFFFF" ? "\uFFFD" : character;
    rest.remove_prefix(character.size());
  }
}

class FlameBoxes {
 protected:
  struct Box {
    double weight = 0;  // its own time; after arrange(), also that of nested boxes
    uint32_t parent = 0;
    std::vector<uint32_t> children{};  // widest first
    double x = 0;
  };

  ~FlameBoxes() = default;
  // Arranges boxes_, where each box comes after its parent.
  void arrange() {
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
  double all() const { return boxes_[0].weight; }

  // The whole file. The boxes begin at `top`.
  std::string draw(double top) {
    const std::string boxes = draw_boxes(top);  // first, because this counts the rows
    const double height = top + kRow * rows_ + 8;
    std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"";
    put(out, " viewBox=\"0 0 ", kWidth, " ", height, "\" width=\"", kWidth, "\" height=\"", height, "\">\n<style>");
    write_rules(out += kStyle);
    write_heading(out += "</style>\n<text class=\"h\" x=\"8\" y=\"24\">");
    write_summary(out += "</text>\n<text class=\"s\" x=\"8\" y=\"44\">");
    write_legend(out += "</text>\n");
    return out + boxes + "</svg>\n";
  }

  virtual void write_rules(std::string &out) const = 0;  // writes the rules of the style
  virtual void write_heading(std::string &out) const = 0;
  virtual void write_summary(std::string &out) const = 0;
  virtual void write_legend(std::string &) const {}
  virtual std::string_view name_of(uint32_t i) const = 0;            // not called for the first box
  virtual void write_class(std::string &out, uint32_t i) const = 0;  // not called for the first box
  virtual void write_title(std::string &out, uint32_t i) const = 0;  // follows the name

  std::vector<Box> boxes_;  // the first one contains all others

 private:
  std::string draw_boxes(double top) {
    std::string out;
    if (!(all() > 0)) return out;
    std::vector<std::pair<uint32_t, uint32_t>> open{{0, 0}};  // boxes and their rows
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
  void draw_box(std::string &out, uint32_t i, double y) const {
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
  double width_of(uint32_t i) const { return kWidth * boxes_[i].weight / all(); }

  uint32_t rows_ = 0;
};

// ---- one trace

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

  std::string draw() { return FlameBoxes::draw(kFlameTop); }

 private:
  double us(double ticks) const { return trace_.parts.duration_ns(static_cast<uint64_t>(ticks)) / 1000; }

  void write_heading(std::string &out) const override { append_xml(out += "Flame graph of ", trace_.parts.titles()); }
  void write_summary(std::string &out) const override {
    append_time(out, us(all()));
    append(out += " in ", tree_.nodes().size() - 1);
    out += " stacks; the widest come first, and what is within a box lies below it";
    if (const uint64_t dropped = trace_.num_dropped()) append(out += ". Dropped events: ", dropped);
  }

  void write_rules(std::string &out) const override {
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

// ---- the changes between two traces, as a flame graph of both. Each path's own time is compared by the tests for
// reports (stats/diff.h), with the parts of the traces as runs. The picture shows all paths of either trace.

constexpr double kFlameDiffTop = 96;

// Changes of the own time, as shares of the box: each step has a colour and a lower limit.
struct Step {
  double limit;
  std::string_view text, light, dark;  // lightness and saturation of the colours
};
constexpr std::array<Step, 4> kSteps = {{{0.01, "1 %", "90% 90%", "30% 24%"},
                                         {0.05, "5 %", "90% 83%", "45% 30%"},
                                         {0.2, "20 %", "90% 75%", "60% 36%"},
                                         {0.5, "50 %", "85% 66%", "75% 42%"}}};

void append_percent(std::string &out, double change) {
  out += change < 0 ? "−" : "+";
  append_fixed(out, std::abs(change) * 100, 1);
  out += " %";
}

// "before 1.20 ms, after 1.50 ms (+25.0 %)"
void append_both(std::string &out, double before_us, double after_us) {
  append_time(out += "before ", before_us);
  append_time(out += ", after ", after_us);
  if (!(before_us > 0)) return;
  append_percent(out += " (", after_us / before_us - 1);
  out += ")";
}

class FlameDiffPicture : FlameBoxes {
 public:
  FlameDiffPicture(const Trace &before, const Trace &after) : before_(before), after_(after) {
    const Ref<Report> old_paths = report_of_paths(before, true), new_paths = report_of_paths(after, true);
    const Report *sides[] = {old_paths.get(), new_paths.get()};
    DiffOptions how;
    how.metric = kSelfColumn;
    diff_ = Diff::of_reports({sides, 1}, {sides + 1, 1}, how);
    boxes_.emplace_back();
    paths_.emplace_back();
    for (const DiffOperator &one : diff_->operators)
      if (one.kind == DiffRow::kOperator) add(one);
    for (size_t i = 1; i < boxes_.size(); ++i) boxes_[i].weight = (paths_[i].before + paths_[i].after) / 2;
    arrange();
    for (size_t i = boxes_.size(); i-- > 0;) {
      Path &path = paths_[i];
      path.all_before += path.before, path.all_after += path.after;
      if (i == 0) break;
      paths_[boxes_[i].parent].all_before += path.all_before, paths_[boxes_[i].parent].all_after += path.all_after;
    }
  }

  std::string draw() { return FlameBoxes::draw(kFlameDiffTop); }

 private:
  struct Path {
    std::string_view name;
    const DiffOperator *found = nullptr;   // null: only nested paths have spans in the parts
    double before = 0, after = 0;          // µs of a part, without nested paths
    double all_before = 0, all_after = 0;  // times including nested paths
  };

  static double mean(const RunValues &values, size_t runs) {
    return runs ? std::accumulate(values.values.begin(), values.values.end(), 0.0) / static_cast<double>(runs) : 0;
  }

  void add(const DiffOperator &one) {
    uint32_t box = 0;
    const std::string_view path = one.name;
    for (size_t begin = 0; begin <= path.size();) {
      const size_t end = std::min(path.find(';', begin), path.size());
      box = child(box, path.substr(begin, end - begin));
      begin = end + 1;
    }
    paths_[box].found = &one;
    paths_[box].before = mean(one.before, diff_->num_before());
    paths_[box].after = mean(one.after, diff_->num_after());
  }
  uint32_t child(uint32_t parent, std::string_view name) {
    const auto [place, fresh] = children_[parent].try_emplace(name, static_cast<uint32_t>(boxes_.size()));
    if (fresh) boxes_.emplace_back().parent = parent, paths_.emplace_back().name = name;
    return place->second;
  }

  void write_heading(std::string &out) const override {
    append_xml(out += "What changed, from ", before_.parts.titles());
    append_xml(out += " to ", after_.parts.titles());
  }
  void write_summary(std::string &out) const override {
    out += concat("Times of a part, of ", diff_->num_before(), " before and ", diff_->num_after(), " after: ");
    append_both(out, paths_[0].all_before, paths_[0].all_after);
    out += ". A box is as wide as the mean of both";
    if (const uint64_t dropped = before_.num_dropped() + after_.num_dropped())
      append(out += ". Dropped events: ", dropped);
  }

  void write_rules(std::string &out) const override {
    out +=
        "rect.l{stroke:none}.p rect,rect.p{fill-opacity:.12;stroke-width:1.5}.o rect,rect.o{stroke:currentColor;"
        "stroke-width:1;stroke-dasharray:4 2}\n";
    for (const bool is_dark : {false, true}) {
      if (is_dark) out += "@media(prefers-color-scheme:dark){";
      out += is_dark ? ".z{fill:#343b44}" : ".z{fill:#d0d7de}";
      for (size_t i = 0; i < kSteps.size(); ++i)
        for (const auto &[name, hue] : {std::pair("s", 5), std::pair("f", 215)}) {  // hues for slower and faster
          const std::string colour = concat("hsl(", hue, " ", is_dark ? kSteps[i].dark : kSteps[i].light, ")");
          out += concat(".", name, i, "{fill:", colour, "}.", name, i, ".p rect,rect.", name, i, ".p{stroke:", colour,
                        "}");
        }
      out += is_dark ? "}\n" : "\n";
    }
  }

  // Draws the scale, from faster to slower, and explains the other signs.
  void write_legend(std::string &out) const override {
    constexpr double kStep = 62, kHeight = 17, kY = 60;
    double x = 8;
    const auto entry = [&](std::string_view style, std::string_view text, double width) {
      put(out, "<rect class=\"", style, "\" x=\"", x, "\" y=\"", kY, "\" width=\"", width - 2, "\" height=\"", kHeight,
          "\"/><text x=\"", x + 4, "\" y=\"", kY + 13, "\">", text, "</text>\n");
      x += width;
    };
    for (size_t i = kSteps.size(); i-- > 0;) entry(concat("l f", i), concat("−", kSteps[i].text), kStep);
    entry("l z", "same", kStep);
    for (size_t i = 0; i < kSteps.size(); ++i) entry(concat("l s", i), concat("+", kSteps[i].text), kStep);
    put(out, "<text class=\"s\" x=\"", x + 6, "\" y=\"", kY + 13,
        "\">or more of the box: change of its time alone</text>\n");
    x += 330;
    entry("s3 p", "may be chance", 110);
    entry("z o", "only in one", 96);
  }

  // The change of the own time, as a share of the box. It is small if only nested boxes changed.
  double change(uint32_t i) const {
    return boxes_[i].weight > 0 ? (paths_[i].after - paths_[i].before) / boxes_[i].weight : 0;
  }
  static bool is_certain(const DiffOperator &one) {
    return one.verdict != Verdict::undecided && one.verdict != Verdict::same;
  }
  static bool is_in_one(const DiffOperator &one) {
    return one.verdict == Verdict::is_new || one.verdict == Verdict::vanished;
  }

  std::string_view name_of(uint32_t i) const override { return paths_[i].name; }
  void write_class(std::string &out, uint32_t i) const override {
    const double shown = change(i);
    size_t steps = 0;
    while (steps < kSteps.size() && std::abs(shown) >= kSteps[steps].limit) ++steps;
    if (steps == 0) out += "z";
    else append(out += shown > 0 ? "s" : "f", steps - 1);
    if (const DiffOperator *one = paths_[i].found) {
      if (steps > 0 && !is_certain(*one)) out += " p";
      if (is_in_one(*one)) out += " o";
    }
  }
  void write_title(std::string &out, uint32_t i) const override {
    const Path &path = paths_[i];
    append_both(out, path.all_before, path.all_after);
    const DiffOperator *const one = path.found;
    if (!one) return;
    append_both(out += "\nalone: ", path.before, path.after);
    out += ", ";
    append(out, one->verdict == Verdict::is_new     ? "only after"
                : one->verdict == Verdict::vanished ? "only before"
                                                    : verdict_name(one->verdict));
    if (!std::isfinite(one->high - one->low)) return;
    append_percent(out += ", by ", std::expm1(one->low));
    append_percent(out += " to ", std::expm1(one->high));
  }

  const Trace &before_, &after_;
  Ref<Diff> diff_;
  std::vector<Path> paths_;                                                                // parallel to boxes_
  std::unordered_map<uint32_t, std::unordered_map<std::string_view, uint32_t>> children_;  // by parent and name
};

}  // namespace

void write_flame_svg(const Trace &trace, ByteSink &out) { out.write(FlamePicture(trace).draw()); }

void write_flame_diff_svg(const Trace &before, const Trace &after, ByteSink &out) {
  out.write(FlameDiffPicture(before, after).draw());
}

}  // namespace opd
