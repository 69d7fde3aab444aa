// The kind of CUDA devices: their memory, copies, streams, timers, counters, graphs and programs.
#include <fstream>
#include <utility>

#include "device/backends.h"
#include "device/cuda/cuda_context.h"
#include "device/cuda/cupti_activity.h"

namespace opd {
namespace cuda {
namespace {

// The release of the kernel's driver, such as "535.261.03". None if the system has no file with it.
Value driver_version() {
  std::string version;
  std::ifstream file("/sys/module/nvidia/version");
  if (!std::getline(file, version) || version.empty()) return {};
  return Value(version);
}

Address address_of(const void *data) { return reinterpret_cast<uintptr_t>(data); }

// A graph of the driver: work that was submitted to a stream during its capture.
class CudaGraph final : public DeviceGraph {
 public:
  CudaGraph(const DeviceContext &device, Graph *graph) : device_(device) {
    const Api &api = device.api();
    api.check(api.cuGraphInstantiateWithFlags(&graph_, graph, 0), "cuGraphInstantiateWithFlags");
  }
  ~CudaGraph() { device_.release(device_.api().cuGraphExecDestroy, graph_); }

  void launch(void *stream) override {
    get_cuda_device(device_.number());  // throws in a child of fork()
    const Api &api = device_.api();
    const CurrentContext current(device_);
    api.check(api.cuGraphLaunch(graph_, static_cast<Stream *>(stream)), "cuGraphLaunch");
  }
  std::unique_ptr<PendingWork> launch_timed(void *stream) override {
    return CudaWork::timed(device_, stream, [&] { launch(stream); });
  }

 private:
  const DeviceContext &device_;
  GraphExec *graph_ = nullptr;
};

class CudaBackend final : public DeviceBackend {
 public:
  Value attr(int32_t id, opd_device_attr attr) override {
    if (attr == OPD_ATTR_EXIST) return Value(find_cuda_device(id) != nullptr);
    const DeviceContext &device = get_cuda_device(id);
    constexpr std::pair<opd_device_attr, DeviceAttribute> kNumbers[] = {
        {OPD_ATTR_MAX_THREADS_PER_BLOCK, kMaxThreadsPerBlock},           {OPD_ATTR_WARP_SIZE, kWarpSize},
        {OPD_ATTR_MAX_SHARED_MEMORY_PER_BLOCK, kMaxSharedBytesPerBlock}, {OPD_ATTR_MAX_CLOCK_RATE, kClockKhz},
        {OPD_ATTR_MULTI_PROCESSOR_COUNT, kMultiprocessorCount},          {OPD_ATTR_L2_CACHE_SIZE_BYTES, kL2Bytes}};
    for (const auto &[known, number] : kNumbers)
      if (known == attr) return Value(device.attribute(number));
    switch (attr) {
      case OPD_ATTR_COMPUTE_VERSION:
        return Value(concat(device.compute_version() / 10, ".", device.compute_version() % 10));
      case OPD_ATTR_DEVICE_NAME:
        return Value(device.name());
      case OPD_ATTR_MAX_THREAD_DIMENSIONS:
        return dimensions_of(device);
      case OPD_ATTR_API_VERSION:
        return Value(device.api().version);
      case OPD_ATTR_DRIVER_VERSION:
        return driver_version();
      case OPD_ATTR_TOTAL_GLOBAL_MEMORY:
        return Value(static_cast<int64_t>(device.total_bytes()));
      case OPD_ATTR_AVAILABLE_GLOBAL_MEMORY:
        return Value(static_cast<int64_t>(free_bytes(device)));
      default:
        return {};
    }
  }

  std::string absence(int32_t id) override { return absence_of_cuda_device(id); }
  bool is_started() const override { return Api::is_open(); }

  void *allocate(int32_t id, size_t bytes, size_t) override { return allocate_block(get_cuda_device(id), bytes); }
  void deallocate(int32_t id, void *data, size_t, size_t) noexcept override {
    const DeviceContext *const device = find_cuda_device(id);
    if (device && !device->api().is_inherited()) free_block(*device, data);
  }

  void copy(const void *from, DLDevice from_device, void *to, DLDevice to_device, size_t bytes, void *stream) override {
    const bool reads = from_device.device_type == kDLCUDA, writes = to_device.device_type == kDLCUDA;
    if (reads && writes && from_device.device_id != to_device.device_id)
      return copy_between(from, from_device, to, to_device, bytes, stream);
    const DeviceContext &device = get_cuda_device(reads ? from_device.device_id : to_device.device_id);
    const Api &api = device.api();
    const CurrentContext current(device);
    auto *const queue = static_cast<Stream *>(stream);
    if (reads && writes)
      return api.check(api.cuMemcpyDtoDAsync_v2(address_of(to), address_of(from), bytes, queue), "cuMemcpyDtoDAsync");
    if (reads) api.check(api.cuMemcpyDtoHAsync_v2(to, address_of(from), bytes, queue), "cuMemcpyDtoHAsync");
    else api.check(api.cuMemcpyHtoDAsync_v2(address_of(to), from, bytes, queue), "cuMemcpyHtoDAsync");
    if (from_device.device_type == kDLCUDAHost && keep_until_read(from, device, stream)) return;
    api.check(api.cuStreamSynchronize(queue), "cuStreamSynchronize");
  }

  std::unique_ptr<PendingWork> copy_timed(const void *from, DLDevice from_device, void *to, DLDevice to_device,
                                          size_t bytes, void *stream) override {
    const DLDevice device = from_device.device_type == kDLCUDA ? from_device : to_device;  // owner of the stream
    return CudaWork::timed(get_cuda_device(device.device_id), stream,
                           [&] { copy(from, from_device, to, to_device, bytes, stream); });
  }

  bool is_asynchronous() const override { return true; }
  void sync(int32_t id) override {
    const DeviceContext &device = get_cuda_device(id);
    if (!device.has_context()) return;  // a device without a context has no work
    const CurrentContext current(device);
    device.api().check(device.api().cuCtxSynchronize(), "cuCtxSynchronize");
  }
  void sync_stream(int32_t id, void *stream) override {
    const DeviceContext &device = get_cuda_device(id);
    if (!device.has_context()) return;
    const CurrentContext current(device);
    device.api().check(device.api().cuStreamSynchronize(static_cast<Stream *>(stream)), "cuStreamSynchronize");
  }
  void *create_stream(int32_t id) override {
    const DeviceContext &device = get_cuda_device(id);
    const CurrentContext current(device);
    Stream *stream = nullptr;
    device.api().check(device.api().cuStreamCreate(&stream, kNonBlocking), "cuStreamCreate");
    return stream;
  }
  void free_stream(int32_t id, void *stream) noexcept override {
    if (const DeviceContext *device = find_cuda_device(id))
      device->release(device->api().cuStreamDestroy_v2, static_cast<Stream *>(stream));
  }

  std::string counters_absence(int32_t id) override {
    return find_cuda_device(id) ? absence_of_cupti_counters() : absence(id);
  }
  ActivitySource *activity() override { return &cupti_activity(); }
  std::unique_ptr<DeviceCounterSet> open_counters(int32_t id, std::span<const std::string> names) override {
    return open_cupti_counters(get_cuda_device(id), names);
  }
  std::unique_ptr<DeviceTimer> start_timer(int32_t id, void *stream) override {
    return std::make_unique<CudaTimer>(get_cuda_device(id), static_cast<Stream *>(stream));
  }

  std::unique_ptr<DeviceProgram> build(int32_t id, const DeviceCode &code) override {
    return build_program(get_cuda_device(id), code);
  }

  bool has_graphs() const override {  // true for drivers of CUDA 11.4 and newer
    const Api &api = Api::get();
    return api.cuStreamBeginCapture_v2 && api.cuStreamEndCapture && api.cuGraphInstantiateWithFlags &&
           api.cuGraphLaunch && api.cuGraphDestroy && api.cuGraphExecDestroy;
  }
  // In the stricter modes the driver would refuse allocations, although opdyno gives that memory to the graph. The
  // strictest mode would also refuse calls of other threads.
  void begin_capture(int32_t id, void *stream) override {
    const DeviceContext &device = get_cuda_device(id);
    const CurrentContext current(device);
    device.api().check(device.api().cuStreamBeginCapture_v2(static_cast<Stream *>(stream), kRelaxed),
                       "cuStreamBeginCapture");
  }
  // Throws if the driver refused any of the captured work.
  std::unique_ptr<DeviceGraph> end_capture(int32_t id, void *stream) override {
    const DeviceContext &device = get_cuda_device(id);
    const Api &api = device.api();
    const CurrentContext current(device);
    Graph *captured = nullptr;
    api.check(api.cuStreamEndCapture(static_cast<Stream *>(stream), &captured), "cuStreamEndCapture");
    const auto destroy = [&api](Graph *graph) { api.cuGraphDestroy(graph); };
    const std::unique_ptr<Graph, decltype(destroy)> graph(captured, destroy);
    return std::make_unique<CudaGraph>(device, graph.get());
  }

 private:
  // The stream belongs to the source. The target's work is not ordered with it. So the copy waits for the target's
  // stream before it begins, and ends before it returns.
  static void copy_between(const void *from, DLDevice from_device, void *to, DLDevice to_device, size_t bytes,
                           void *stream) {
    const DeviceContext &source = get_cuda_device(from_device.device_id);
    const DeviceContext &target = get_cuda_device(to_device.device_id);
    wait_for_stream(to_device, current_stream(to_device));
    const Api &api = source.api();
    Context *const target_context = target.context();
    const CurrentContext current(source);
    auto *const queue = static_cast<Stream *>(stream);
    api.check(api.cuMemcpyPeerAsync(address_of(to), target_context, address_of(from), source.context(), bytes, queue),
              "cuMemcpyPeerAsync");
    api.check(api.cuStreamSynchronize(queue), "cuStreamSynchronize");
  }

  static Value dimensions_of(const DeviceContext &device) {
    const int64_t dims[] = {device.attribute(kMaxBlockX), device.attribute(kMaxBlockY), device.attribute(kMaxBlockZ)};
    return Value(Shape::make(dims));
  }
};

}  // namespace
}  // namespace cuda

DeviceBackend &cuda_backend() {
  static auto *backend = new cuda::CudaBackend;
  return *backend;
}

}  // namespace opd
