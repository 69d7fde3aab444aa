// Flame graphs as one SVG. Each stack of names has a box, as wide as its time, below the box of the stack without the
// last name.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace opd {

// HTML-escaped, without characters that XML forbids.
void append_xml(std::string &out, std::string_view text);

class FlameBoxes {
 protected:
  struct Box {
    double weight = 0;  // its own time; after arrange(), also that of nested boxes
    uint32_t parent = 0;
    std::vector<uint32_t> children{};  // widest first
    double x = 0;
  };

  ~FlameBoxes() = default;
  void arrange();  // arranges boxes_, where each box comes after its parent
  double all() const { return boxes_[0].weight; }

  std::string draw_boxes(double top);
  // The beginning of the file, including the style. `write_rules` adds rules to it. Call this after draw_boxes().
  template <class Write>
  void begin_picture(std::string &out, double top, const Write &write_rules) const {
    begin(out, top);
    write_rules();
    out += "</style>\n";
  }

  virtual std::string_view name_of(uint32_t i) const = 0;            // not called for the first box
  virtual void write_class(std::string &out, uint32_t i) const = 0;  // not called for the first box
  virtual void write_title(std::string &out, uint32_t i) const = 0;  // follows the name

  std::vector<Box> boxes_;  // the first one contains all others

 private:
  void begin(std::string &out, double top) const;
  void draw_box(std::string &out, uint32_t i, double y) const;
  double width_of(uint32_t i) const;

  uint32_t rows_ = 0;
};

}  // namespace opd
