// The harness of all sides: a row is an operation with a name, of which run.py asks one sample at a time, each side in
// turn.
#pragma once
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <chrono>
#endif

namespace bench {

inline uint64_t read_ticks() {  // as the library does where the processor's counter can be relied on
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

struct Missing : std::runtime_error {  // what a row needs is not there; not a failure
  using runtime_error::runtime_error;
};

using Sampler = std::function<double()>;      // measures once; in the unit of its row
using Loop = std::function<void(int64_t n)>;  // performs the operation n times

struct Settings {
  std::string artifacts;  // directory of the libraries made by tests/interop/generate.py
  std::string programs;   // directory through which one side hands VM programs to the other; empty: none
  bool quick = false;     // one tiny round, only to see that everything works
};
const Settings &settings();

// Globals of these types make rows known.
struct AddRow {
  AddRow(std::string name, std::string unit, std::function<Sampler()> set_up);
};
struct AddRows {  // `add` makes more rows known, once the settings are
  explicit AddRows(std::function<void()> add);
};
struct AddProcessRow {  // every sample comes from a fresh process
  AddProcessRow(std::string name, std::string unit, Sampler sample);
};

// Median over a few batches, each of at least 1 ms: nanoseconds per operation, divided by `divisor`.
Sampler timed(double divisor, Loop loop);

inline constexpr const char *kCompiledChain = "compiled/0.27/chain_1000";  // the chain with exec_mode="compiled"

// The library `name`.so. In a quick run, which has only what is committed, `stand_in` if that is missing.
std::string artifact(const std::string &name, const std::string &stand_in = {});
std::string read_file(const std::string &path);

// The largest amount of memory that this process has had resident, in MiB.
double peak_memory();

double median(std::vector<double> values);

// Nanoseconds that `action` takes.
double nanoseconds(const std::function<void()> &action);

}  // namespace bench
