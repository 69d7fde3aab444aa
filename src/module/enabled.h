// The targets for which this build can run artifacts.
#pragma once
#include <string_view>

namespace opd {

// `target` is a kind or one of its common other names ("gpu", "cl", "nvptx64" …). It may have options after a space.
// Unknown targets are not enabled.
bool is_target_enabled(std::string_view target);

}  // namespace opd
