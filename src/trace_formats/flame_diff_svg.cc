// The changes between two traces, as a flame graph of both. Each path's own time is compared by the tests for reports
// (stats/diff.h), with the parts of the traces as runs. The picture shows all paths of either trace.
#include <array>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "report/writers/report_charts.h"
#include "stats/diff.h"
#include "trace_formats/flame_boxes.h"
#include "trace_formats/trace_formats.h"
#include "trace_views/trace_report.h"

namespace opd {
namespace {

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

  std::string draw() {
    const std::string drawn = draw_boxes(kFlameDiffTop);
    std::string out;
    begin_picture(out, kFlameDiffTop, [&] { write_rules(out); });
    out += "<text class=\"h\" x=\"8\" y=\"24\">What changed, from ";
    append_xml(out, before_.parts.titles());
    append_xml(out += " to ", after_.parts.titles());
    out += "</text>\n<text class=\"s\" x=\"8\" y=\"44\">";
    write_summary(out);
    out += "</text>\n";
    write_legend(out);
    out += drawn;
    out += "</svg>\n";
    return out;
  }

 private:
  struct Path {
    std::string_view name;
    const DiffOperator *found = nullptr;   // null: only nested paths have spans in the parts
    double before = 0, after = 0;          // µs of a part, without nested paths
    double all_before = 0, all_after = 0;  // with nested paths
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

  void write_summary(std::string &out) const {
    out += concat("Times of a part, of ", diff_->num_before(), " before and ", diff_->num_after(), " after: ");
    append_both(out, paths_[0].all_before, paths_[0].all_after);
    out += ". A box is as wide as the mean of both";
    if (const uint64_t dropped = before_.num_dropped() + after_.num_dropped())
      append(out += ". Dropped events: ", dropped);
  }

  static void write_rules(std::string &out) {
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
  static void write_legend(std::string &out) {
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

void write_flame_diff_svg(const Trace &before, const Trace &after, ByteSink &out) {
  out.write(FlameDiffPicture(before, after).draw());
}

}  // namespace opd
