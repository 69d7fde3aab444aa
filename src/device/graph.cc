#include "device/graph.h"

#include "device/memory/device_memory.h"

namespace opd {

std::atomic<uint32_t> detail::captures{0};

// One capture, from its start to its end. The calling thread's current stream is restored in any case.
class Capture {
 public:
  explicit Capture(Graph &graph)
      : graph_(graph),
        id_(graph.device_.device_id),
        backend_(device_backend(graph.device_)),
        memory_(DeviceMemory::of(graph.device_)),
        stream_(make_stream(graph.device_)) {
    memory_.gate().close();
    before_ = current_stream(graph.device_);
    try {
      set_current_stream(graph.device_, stream_);
      backend_.begin_capture(id_, stream_);
    } catch (...) {
      leave();
      throw;
    }
    here = this;
    detail::captures.fetch_add(1, std::memory_order_relaxed);
  }
  ~Capture() {
    if (here != this) return;
    stop();
    abandon();
    leave();
  }
  Capture(const Capture &) = delete;

  void end() {
    stop();
    try {
      graph_.work_ = backend_.end_capture(id_, stream_);
    } catch (...) {
      leave();
      throw;
    }
    leave();
  }

  DLDevice device() const { return graph_.device_; }
  const void *stream() const { return stream_; }
  void keep(const GivenBlock &block) { graph_.blocks_.push_back(block); }

  static thread_local Capture *here;

 private:
  void stop() noexcept {
    here = nullptr;
    detail::captures.fetch_sub(1, std::memory_order_relaxed);
  }
  void abandon() noexcept try { backend_.end_capture(id_, stream_); } catch (const std::exception &) {
  }
  void leave() noexcept {
    set_current_stream(graph_.device_, before_);
    memory_.gate().open();
    memory_.give_late();
    try {
      end_stream(graph_.device_, stream_);
    } catch (const std::exception &) {}  // an error of earlier work
  }

  Graph &graph_;
  const int32_t id_;
  DeviceBackend &backend_;
  DeviceMemory &memory_;
  void *const stream_;
  void *before_ = nullptr;
};

thread_local Capture *Capture::here = nullptr;

std::unique_ptr<Graph> Graph::capture(DLDevice device, const std::function<void()> &give) {
  if (Capture::here) fail_in_capture(Capture::here->device(), "begin another capture");
  std::unique_ptr<Graph> graph(new Graph(device));
  Capture capture(*graph);
  give();
  capture.end();
  return graph;
}

Graph::~Graph() {
  work_.reset();
  for (const GivenBlock &block : blocks_) block.memory->give(block.data, block.size);
}

void Graph::launch(NameId name) {
  void *const stream = current_stream(device_);
  if (is_captured(device_, stream) || !is_recording(Interest::kDeviceWork)) return work_->launch(stream);
  record_work(device_, stream, WorkKind::kKernel, name, 0, [&] { return work_->launch_timed(stream); });
}

bool detail::is_capturing_here(DLDevice device, const void *stream, bool any_stream) noexcept {
  const Capture *const capture = Capture::here;
  return capture && same(capture->device(), device) && (any_stream || capture->stream() == stream);
}

bool detail::is_captured_here(DLDevice device, const void *stream) {
  const Capture *const capture = Capture::here;
  if (!capture) return false;
  if (same(capture->device(), device) && capture->stream() == stream) return true;
  if (same(capture->device(), device)) fail_in_capture(device, "give work to another stream");
  fail(OPD_FAILED_PRECONDITION, device_name(device), " cannot do work while the calling thread captures a graph of ",
       device_name(capture->device()), ": the work would be missing in the graph");
}

bool is_capturing() noexcept { return is_any_capturing() && Capture::here; }

void fail_in_capture(DLDevice device, const char *what) {
  fail(OPD_FAILED_PRECONDITION, "the calling thread captures a graph of ", device_name(device), " and cannot ", what,
       " at the same time: a graph has only kernels and copies of one device in one stream");
}

bool keep_for_graph(const GivenBlock &block) noexcept try {
  if (!Capture::here) return false;
  Capture::here->keep(block);
  return true;
} catch (const std::bad_alloc &) { return false; }

void wait_for_device(DLDevice device) {
  DeviceBackend &backend = device_backend(device);
  if (!backend.is_asynchronous()) return backend.sync(device.device_id);
  if (is_capturing(device)) fail_in_capture(device, "wait for all work");
  CaptureGate &gate = DeviceMemory::of(device).gate();
  for (;;) {
    if (const CaptureGate::Visit visit(gate); visit) return backend.sync(device.device_id);
    gate.wait_until_open();
  }
}

// Both sides write before they read, so either the visitor sees the capture or the capture sees the visitor.
CaptureGate::Visit::Visit(CaptureGate &gate) : gate_(gate) {
  gate_.visitors_.fetch_add(1);
  is_inside_ = !gate_.is_closed();
  if (!is_inside_ && gate_.visitors_.fetch_sub(1) == 1) gate_.visitors_.notify_all();
}
CaptureGate::Visit::~Visit() {
  if (is_inside_ && gate_.visitors_.fetch_sub(1) == 1) gate_.visitors_.notify_all();
}
}  // namespace opd
