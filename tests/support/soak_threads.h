// Threads that repeat what they do for OPDYNO_SOAK_SECONDS.
#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "support/opdyno_test.h"

namespace opdyno_test {

class SoakThreads {
 public:
  // Repeats `body(thread, turn)` on `count` threads, at least once each, until the time is over.
  template <class F>
  void start(int count, F body) {
    for (size_t thread = 0; thread < static_cast<size_t>(count); ++thread)
      threads_.emplace_back([this, body, thread] {
        try {
          size_t turn = 0;
          do body(thread, turn++);
          while (!over_);
        } catch (const std::exception &e) { ADD_FAILURE() << e.what(); }
      });
  }

  void finish() {
    const char *seconds = std::getenv("OPDYNO_SOAK_SECONDS");
    std::this_thread::sleep_for(std::chrono::seconds(seconds ? std::stoi(seconds) : 3));
    over_ = true;
    for (std::thread &thread : threads_) thread.join();
  }

 private:
  std::vector<std::thread> threads_;
  std::atomic<bool> over_{false};
};

inline Tensor soak_input(int seed) {
  Tensor x({2, 16}, "float32");
  for (int i = 0; i < 32; ++i) x.data<float>()[i] = static_cast<float>((i * 7 + seed) % 11) / 11 - 0.5f;
  return x;
}

}  // namespace opdyno_test
