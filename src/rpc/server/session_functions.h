// Functions of a session's server that TVM's clients look up by name, in addition to the global ones.
#pragma once
#include <memory>
#include <string_view>

#include "module/module.h"
#include "rpc/server/work_folder.h"

namespace opd::rpc {

// Null: neither the session nor the global functions have that name.
Ref<Function> session_function(std::string_view name, const std::shared_ptr<WorkFolder> &folder);

}  // namespace opd::rpc
