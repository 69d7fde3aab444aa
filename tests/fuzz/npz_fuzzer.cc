// .npz archives; the seeds in corpus/npz lead there.
#include "load_params.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  load_params(data, size);
  return 0;
}
