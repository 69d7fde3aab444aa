// .safetensors: load_params.h says what must hold.
#include "load_params.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  load_params(data, size);
  return 0;
}
