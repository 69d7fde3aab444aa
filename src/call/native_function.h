// Packed functions that call C function pointers with a textual signature. A call costs one libffi call (tens of ns)
// and the conversions. Up to 16 arguments of the usual sizes allocate nothing.
#pragma once
#include <string>
#include <string_view>

#include "value/function.h"

namespace opd {

// `name` is used in messages. `keep_alive` may be null; it lives as long as the function.
Ref<Function> make_native_function(void *pointer, std::string_view signature, std::string name, Ref<Object> keep_alive);

}  // namespace opd
