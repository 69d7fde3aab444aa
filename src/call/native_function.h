// Packed functions that call C function pointers, by a signature in text form.
// Cost: one libffi call (tens of ns) and the conversions; nothing is allocated up to 16 arguments of the usual sizes.
#pragma once
#include <string>
#include <string_view>

#include "value/function.h"

namespace opd {

// `name` is for messages. `keep_alive`, which may be null, lives as long as the function.
Ref<Function> make_native_function(void *pointer, std::string_view signature, std::string name, Ref<Object> keep_alive);

}  // namespace opd
