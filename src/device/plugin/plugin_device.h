// Kinds of devices that the program adds by a table of functions.
#pragma once
#include <opdyno/device_plugin.h>

#include <string_view>

namespace opd {

// Takes ownership of the table's user_data unless it throws. Returns the kind's number.
DLDeviceType register_plugin(std::string_view kind, const opd_device_table &table);

}  // namespace opd
