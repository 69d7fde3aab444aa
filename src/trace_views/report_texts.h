// Texts for a report's rows, made from events. Many rows share a text, so each is looked up once by its source.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "report/report.h"
#include "trace/model/shape_cache.h"
#include "trace/model/trace.h"
#include "value/tensor.h"

namespace opd {

std::string report_device_name(DLDevice device);  // "cpu0"

// Adds the error bounds of devices' times to a report's configuration: "Device clock error: opencl0 (us)", unless
// unknown, and "Device clock: opencl0", a text.
void configure_device_clocks(const TraceParts &parts, ReportBuilder &builder);

class ReportTexts {
 public:
  explicit ReportTexts(ReportBuilder &builder) : builder_(builder) {}

  Metric none() { return none_ ? none_ : none_ = builder_.text(""); }
  Metric name(NameId id) {
    if (id >= kMostNames) return builder_.text(name_text(id));
    if (id >= names_.size()) names_.resize(size_t{id} + 1);
    return names_[id] ? names_[id] : names_[id] = builder_.text(name_text(id));
  }
  Metric shapes(const Event &event) {
    const uint32_t number = numbers_.of(event);
    if (number >= shapes_.size()) shapes_.resize(size_t{number} + 1);
    return shapes_[number] ? shapes_[number] : shapes_[number] = builder_.text(shapes_text(event));
  }
  Metric device(DLDevice device) {
    if (!device_text_ || !same(device, device_))
      device_text_ = builder_.text(report_device_name(device)), device_ = device;
    return device_text_;
  }

 private:
  ReportBuilder &builder_;
  Metric none_, device_text_;
  DLDevice device_{};           // the device that device_text_ names
  std::vector<Metric> names_;   // index: NameId
  std::vector<Metric> shapes_;  // index: number of the shapes
  ShapeNumbers numbers_;
};

}  // namespace opd
