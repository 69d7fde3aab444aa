// Kernels in CUDA C++ as functions of the processor: to be included before their source, and EMULATED_KERNEL(name)
// after it for each. Blocks run one after the other. The threads of a block are coroutines that run in turn up to the
// next point where they wait for each other. So answers are exact, and nothing is said about time.
#pragma once
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "emulated_launch.h"

#define __global__
#define __device__
#define __shared__ static  // one block runs at a time
#define __launch_bounds__(...)
#define alignas(bytes) __attribute__((aligned(bytes)))  // the compiler takes it after `static`, too

struct EmulatedIndex {
  unsigned x, y, z;
};
static EmulatedIndex gridDim, blockDim, blockIdx, threadIdx;

namespace emulation {

enum class State { kReady, kAtWarp, kAtBlock, kDone };

struct Thread {
  ucontext_t context;
  std::vector<char> stack;
  State state;
  EmulatedIndex index;
  uint64_t lent;  // what it lends to its warp
};
static std::vector<Thread> threads;
static ucontext_t scheduler;
static size_t running;
static std::function<void()> body;

inline void wait(State state) {
  threads[running].state = state;
  swapcontext(&threads[running].context, &scheduler);
}

/** The value that a thread of the warp lends; the own one if there is no such thread. */
template <class T>
T borrow(T value, size_t lane) {
  static_assert(sizeof value <= sizeof(uint64_t));
  std::memcpy(&threads[running].lent, &value, sizeof value);
  wait(State::kAtWarp);
  const size_t lender = running / 32 * 32 + lane;
  if (lender < threads.size()) std::memcpy(&value, &threads[lender].lent, sizeof value);
  wait(State::kAtWarp);
  return value;
}

inline void run_thread() {
  body();
  threads[running].state = State::kDone;
}

inline void run_block() {
  constexpr size_t kStackBytes = 64 << 10;
  for (size_t i = 0; i < threads.size(); ++i) {
    Thread &thread = threads[i];
    thread.stack.resize(kStackBytes);
    thread.state = State::kReady;
    const auto number = static_cast<unsigned>(i);
    thread.index = {number % blockDim.x, number / blockDim.x % blockDim.y, number / blockDim.x / blockDim.y};
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.data();
    thread.context.uc_stack.ss_size = thread.stack.size();
    thread.context.uc_link = &scheduler;
    makecontext(&thread.context, run_thread, 0);
  }
  const auto release = [](State state) {
    bool any = false;
    for (Thread &thread : threads)
      if (thread.state == state) thread.state = State::kReady, any = true;
    return any;
  };
  do {
    for (running = 0; running < threads.size(); ++running) {
      if (threads[running].state != State::kReady) continue;
      threadIdx = threads[running].index;
      swapcontext(&scheduler, &threads[running].context);
    }
  } while (release(State::kAtWarp) || release(State::kAtBlock));
}

template <class P>
P argument(const cuda_driver::EmulatedLaunch &launch, size_t i) {
  P value;
  std::memcpy(&value, launch.args[i], sizeof value);
  if constexpr (std::is_pointer_v<P>) value = static_cast<P>(launch.translate(launch.driver, value));
  return value;
}
template <class... P, size_t... I>
void call(void (*kernel)(P...), const cuda_driver::EmulatedLaunch &launch, std::index_sequence<I...>) {
  kernel(argument<P>(launch, I)...);
}

template <class... P>
void run(void (*kernel)(P...), const cuda_driver::EmulatedLaunch &launch) {
  const auto &grid = launch.grid, &block = launch.block;
  gridDim = {grid[0], grid[1], grid[2]}, blockDim = {block[0], block[1], block[2]};
  threads.resize(size_t{block[0]} * block[1] * block[2]);
  body = [&] { call(kernel, launch, std::index_sequence_for<P...>()); };
  for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x) run_block();
}

}  // namespace emulation

inline void __syncthreads() { emulation::wait(emulation::State::kAtBlock); }
inline unsigned __activemask() { return ~0u; }
template <class T>
T __shfl_sync(unsigned, T value, int lane, int width) {
  const size_t mine = emulation::running % 32, segment = mine / static_cast<size_t>(width) * static_cast<size_t>(width);
  return emulation::borrow(value, segment + static_cast<size_t>(lane % width));
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned delta, int width) {
  const size_t mine = emulation::running % 32, in_segment = mine % static_cast<size_t>(width);
  return emulation::borrow(value, in_segment + delta < static_cast<size_t>(width) ? mine + delta : mine);
}
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
template <class T>
T max(T a, T b) {
  return a > b ? a : b;
}

#define EMULATED_KERNEL(name)                                                                                         \
  extern "C" __attribute__((visibility("default"))) void emulated_##name(const cuda_driver::EmulatedLaunch &launch) { \
    emulation::run(name, launch);                                                                                     \
  }
