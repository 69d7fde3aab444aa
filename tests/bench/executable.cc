// From the bytes of a program with 3000 instructions to something that can be called.
#include <opdyno/opdyno.hpp>

#include "chain.h"
#include "harness.h"

namespace {

opdyno::Executable executable_of(const opdyno::Module &module) {
  opdyno::Executable executable;
  opdyno::check(opd_executable_from_module(module.get(), executable.out()));
  return executable;
}

const bench::AddRow read("executable_read", "us", [] {
  const std::string bytes = executable_of(bench::Chain().module).save();
  return bench::timed(1000, [=](int64_t n) {
    for (int64_t i = 0; i < n; ++i) opdyno::Executable::load(bytes);
  });
});

const bench::AddRow create("vm_create", "us", [] {
  const bench::Chain chain;
  return bench::timed(1000, [=](int64_t n) {
    for (int64_t i = 0; i < n; ++i) opdyno::Vm(chain.module);
  });
});

}  // namespace
