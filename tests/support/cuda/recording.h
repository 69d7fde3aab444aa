// What tests ask the recording driver, which is the process's libcuda.so.1 if LD_LIBRARY_PATH says so.
#pragma once
#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace cuda_driver {

/** Whether NVIDIA's driver and a GPU are tested instead (tools/gpu-check). */
inline bool is_real_cuda() { return std::getenv("OPDYNO_TEST_REAL_CUDA") != nullptr; }

class Recording {
 public:
  static bool is_here() { return find("recording_log") != nullptr; }

  /** The calls since the last time, one to a line. Contexts that are made current are not among them. */
  static std::string log() { return as<const char *()>("recording_log")(); }
  /** The nth call from now on fails, and all after it; 0: none does. Calls that free something never fail. */
  static void fail_from(int64_t nth) { as<void(int64_t)>("recording_fail_from")(nth); }
  /** The last fatbin that it was given. */
  static std::string image() {
    size_t size = 0;
    const char *const bytes = as<const char *(size_t *)>("recording_image")(&size);
    return {bytes, size};
  }
  /** Each event's time is so many milliseconds after the one before; 0: it is the host's. */
  static void set_event_step(int64_t ms) { as<void(int64_t)>("recording_event_step")(ms); }
  /** Bytes that all blocks of a device have at most. */
  static void set_limit(size_t bytes) { as<void(size_t)>("recording_limit")(bytes); }
  static int64_t calls() { return as<int64_t()>("recording_calls")(); }
  /** How many contexts the calling thread has made current and not given up. */
  static int depth() { return as<int()>("recording_depth")(); }
  /** From now on kernels of this library run, which support/cuda/emulation.h made. */
  static void emulate(const std::string &library) { as<void(const char *)>("recording_emulate")(library.c_str()); }
  /** What is alive: blocks, modules, blocks of the host, events, streams, graphs. */
  static std::array<size_t, 6> counts() {
    std::array<size_t, 6> counts{};
    as<void(size_t *)>("recording_counts")(counts.data());
    return counts;
  }

 private:
  static void *find(const char *name) {
    static void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, name) : nullptr;
  }
  template <class F>
  static F *as(const char *name) {
    return reinterpret_cast<F *>(find(name));
  }
};

}  // namespace cuda_driver
