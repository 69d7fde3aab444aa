// The functions of a session's server that TVM's clients ask for by name, beside the global ones.
#pragma once
#include <memory>
#include <string_view>

#include "module/module.h"
#include "rpc/server/work_folder.h"

namespace opd::rpc {

// Null: there is none of that name, also among the global functions.
Ref<Function> session_function(std::string_view name, const std::shared_ptr<WorkFolder> &folder);

}  // namespace opd::rpc
