// Settings that the process's front end, the binding of a host language, makes.
#pragma once
#include <opdyno/dlpack.h>

namespace opd {

// DLPackManagedTensorAllocator: makes a tensor like the prototype.
using TensorMaker = int (*)(DLTensor *prototype, DLManagedTensorVersioned **out, void *context,
                            void (*set_error)(void *context, const char *kind, const char *message));
TensorMaker tensor_maker();  // null: opdyno's own memory is used

}  // namespace opd
