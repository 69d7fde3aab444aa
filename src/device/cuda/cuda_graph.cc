#include "device/cuda/cuda_graph.h"

#include "device/cuda/cuda_devices.h"
#include "device/cuda/cuda_work.h"

namespace opd::cuda {
namespace {

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

}  // namespace

bool has_graphs(const Api &api) {
  return api.cuStreamBeginCapture_v2 && api.cuStreamEndCapture && api.cuGraphInstantiateWithFlags &&
         api.cuGraphLaunch && api.cuGraphDestroy && api.cuGraphExecDestroy;
}

// In the stricter modes the driver would refuse allocations, although opdyno gives that memory to the graph. The
// strictest mode would also refuse calls of other threads.
void begin_capture(const DeviceContext &device, Stream *stream) {
  const CurrentContext current(device);
  device.api().check(device.api().cuStreamBeginCapture_v2(stream, kRelaxed), "cuStreamBeginCapture");
}

std::unique_ptr<DeviceGraph> end_capture(const DeviceContext &device, Stream *stream) {
  const Api &api = device.api();
  const CurrentContext current(device);
  Graph *captured = nullptr;
  api.check(api.cuStreamEndCapture(stream, &captured), "cuStreamEndCapture");
  const auto destroy = [&api](Graph *graph) { api.cuGraphDestroy(graph); };
  const std::unique_ptr<Graph, decltype(destroy)> graph(captured, destroy);
  return std::make_unique<CudaGraph>(device, graph.get());
}

}  // namespace opd::cuda
