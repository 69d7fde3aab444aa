#include "cli/load/devices.h"

#include "cli/support/json.h"

namespace opd::cli {

namespace {

constexpr DLDeviceType kinds[] = {kDLCPU, kDLCUDA, kDLOpenCL, kDLVulkan, kDLROCM, kDLMetal, kDLOneAPI, kDLWebGPU};

}  // namespace

Value attribute_of(DLDevice device, opd_device_attr attr) {
  try {
    return opdyno::device_attr(device, attr);
  } catch (const opdyno::Error &error) {
    if (error.kind() == std::string_view("ConnectionError")) throw;
    return {};
  }
}

std::string kind_name(DLDeviceType kind) {
  const std::string name = opdyno::to_string(DLDevice{kind, 0});
  return name.substr(0, name.find(':'));
}

std::vector<DLDevice> devices_of(DLDeviceType kind, const Reach &reach) {
  std::vector<DLDevice> found;
  for (DLDevice device = {kind, 0}; attribute_of(reach(device), OPD_ATTR_EXIST).view().u.int64 != 0;
       ++device.device_id) {
    found.push_back(device);
    if (kind == kDLCPU) break;
  }
  return found;
}

std::vector<DLDevice> devices(const Reach &reach) {
  std::vector<DLDevice> found;
  for (const DLDeviceType kind : kinds)
    for (const DLDevice device : devices_of(kind, reach)) found.push_back(device);
  return found;
}

std::string absence_of(DLDeviceType kind, const Reach &reach) {
  const Value reason = attribute_of(reach({kind, 0}), OPD_ATTR_ABSENCE);
  return reason.type() == OPD_NONE ? "" : reason.string();
}

std::vector<std::pair<std::string, std::string>> absent_kinds(const Reach &reach) {
  std::vector<std::pair<std::string, std::string>> absent;
  for (const DLDeviceType kind : kinds)
    if (std::string reason = absence_of(kind, reach); !reason.empty())
      absent.emplace_back(kind_name(kind), std::move(reason));
  return absent;
}

std::string tls_absence() {
  const Json facts = parse_json(opdyno::rpc_serve_describe(), "the description of sessions");
  return json_string(facts.get(), "tls_absence");
}

}  // namespace opd::cli
