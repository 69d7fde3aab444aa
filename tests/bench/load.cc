// From a library on disk to a VM that can be called: a model with 1 MB of constants.
#include <opdyno/opdyno.hpp>

#include "harness.h"

namespace {

void load() { opdyno::Vm(opdyno::Module::load(bench::artifact("consts_1mb", "mlp"))); }

const bench::AddProcessRow first("load_first", "ms", [] { return bench::nanoseconds(load) / 1e6; });

const bench::AddRow next("load_next", "ms", [] {
  return bench::timed(1e6, [](int64_t n) {
    for (int64_t i = 0; i < n; ++i) load();
  });
});

}  // namespace
