// The targets whose artifacts this build can run.
#pragma once
#include <string_view>

namespace opd {

// A target's kind or one of its usual other names ("gpu", "cl", "nvptx64" …), with or without options after a space.
// Unknown targets are not enabled.
bool is_target_enabled(std::string_view target);

}  // namespace opd
