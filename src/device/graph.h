// Graphs: a device keeps submitted work and runs it at each launch. So the host submits many kernels by one call. While
// one thread captures a graph, other threads may use the device.
//
// A graph refers to the addresses of all memory that its work used. So it owns the blocks that were returned during the
// capture: otherwise a launch would overwrite the data of their next owner.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "device/device.h"

namespace opd {

class DeviceMemory;

struct GivenBlock {
  DeviceMemory *memory;
  void *data;
  size_t size;
};

class Graph {
 public:
  // Captures the work that `give` submits to the calling thread's current stream. During the capture this is a separate
  // stream. Passes on exceptions of `give`. Throws the device's error if the work cannot be captured. The device must
  // have graphs.
  static std::unique_ptr<Graph> capture(DLDevice device, const std::function<void()> &give);
  ~Graph();
  Graph(const Graph &) = delete;

  void launch(NameId name);  // into the current stream; `name` is for recordings

 private:
  friend class Capture;
  explicit Graph(DLDevice device) : device_(device) {}

  const DLDevice device_;
  std::unique_ptr<DeviceGraph> work_;
  std::vector<GivenBlock> blocks_;
};

// State of captures of the calling thread. Cost while no thread captures: one load.
namespace detail {
extern std::atomic<uint32_t> captures;  // number of captures in all threads
bool is_capturing_here(DLDevice device, const void *stream, bool any_stream) noexcept;
bool is_captured_here(DLDevice device, const void *stream);
}  // namespace detail
inline bool is_any_capturing() noexcept { return detail::captures.load(std::memory_order_relaxed) != 0; }
inline bool is_capturing(DLDevice device) noexcept {
  return is_any_capturing() && detail::is_capturing_here(device, nullptr, true);
}
inline bool is_capturing(DLDevice device, const void *stream) noexcept {
  return is_any_capturing() && detail::is_capturing_here(device, stream, false);
}
bool is_capturing() noexcept;  // true for a capture on any device
// Whether work for a stream becomes part of a graph. Throws if the thread captures another stream: the work would run
// once, and be missing in the graph.
inline bool is_captured(DLDevice device, const void *stream) {
  return is_any_capturing() && detail::is_captured_here(device, stream);
}
[[noreturn]] void fail_in_capture(DLDevice device, const char *what);  // `what`: the refused action
// Returns false if the thread captures no graph, or if there is no memory.
bool keep_for_graph(const GivenBlock &block) noexcept;

// Drivers refuse to wait for a whole device while one of its streams is captured, and such a wait makes the capture
// fail. A thread that waits for the device enters through Visit. A capture closes the gate: it waits for threads
// inside, and no other thread enters.
class CaptureGate {
 public:
  class Visit {
   public:
    explicit Visit(CaptureGate &gate);
    ~Visit();
    Visit(const Visit &) = delete;
    explicit operator bool() const { return is_inside_; }  // false if the gate is closed

   private:
    CaptureGate &gate_;
    bool is_inside_;
  };
  void close() noexcept {
    captures_.fetch_add(1);
    for (uint32_t inside = visitors_.load(); inside; inside = visitors_.load()) visitors_.wait(inside);
  }
  void open() noexcept {
    if (captures_.fetch_sub(1) == 1) captures_.notify_all();
  }
  bool is_closed() const noexcept { return captures_.load() != 0; }
  void wait_until_open() const noexcept {
    for (uint32_t closed = captures_.load(); closed; closed = captures_.load()) captures_.wait(closed);
  }

 private:
  std::atomic<uint32_t> captures_{0}, visitors_{0};
};

}  // namespace opd
