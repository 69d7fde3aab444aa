// What the front end of the process wants used.
#pragma once
#include <opdyno/dlpack.h>

namespace opd {

// DLPackManagedTensorAllocator: a tensor like the prototype.
using TensorMaker = int (*)(DLTensor *prototype, DLManagedTensorVersioned **out, void *context,
                            void (*set_error)(void *context, const char *kind, const char *message));
TensorMaker tensor_maker();  // null: opdyno's own memory

}  // namespace opd
