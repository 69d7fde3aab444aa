// The peer of ../load.cc.
#include "../harness.h"
#include "tvm.h"

namespace {

void load() { bench::make_vm(tvm::ffi::Module::LoadFromFile(bench::artifact("consts_1mb"))); }

const bench::AddProcessRow first("load_first", "ms", [] { return bench::nanoseconds(load) / 1e6; });

const bench::AddRow next("load_next", "ms", [] {
  return bench::timed(1e6, [](int64_t n) {
    for (int64_t i = 0; i < n; ++i) load();
  });
});

}  // namespace
