// The recording driver as a library of the driver's name: the functions of the driver that opdyno uses, and below them
// what tests ask it (support/cuda/recording.h).
#include <array>
#include <utility>

#include "support/cuda/driver.h"

#define EXPORT extern "C" __attribute__((visibility("default")))
#define BEGIN(kind)            \
  const Call call(Call::kind); \
  Driver &d = Driver::get();   \
  if (call.status) return call.status

using namespace cuda_driver;

namespace {

constexpr bool kHasOrderedMemory[Driver::kDevices] = {true, false};

std::string sizes(uint32_t x, uint32_t y, uint32_t z) {
  return std::to_string(x) + "x" + std::to_string(y) + "x" + std::to_string(z);
}

Status launch(Driver &d, Function *function, const uint32_t *grid, const uint32_t *block, uint32_t shared_bytes,
              Stream *stream, void **args, const std::string &note) {
  Stream *const queue = d.stream_of(stream);
  if (!queue || function->module->context != queue->context) return kInvalidContext;
  if (!grid[0] || !grid[1] || !grid[2] || block[0] * block[1] * block[2] > 1024) return kInvalidValue;
  if (shared_bytes > static_cast<uint32_t>(function->shared_bytes)) return kInvalidValue;
  d.note("launch ", function->name, " ", sizes(grid[0], grid[1], grid[2]), " ", sizes(block[0], block[1], block[2]),
         " ", shared_bytes, note, " in ", queue->name);
  Arguments values;  // are read now, as the driver does
  for (size_t i = 0; i < function->parameters.size(); ++i)
    values.emplace_back(static_cast<char *>(args[i]), function->parameters[i]);
  const auto device = queue->context->device;
  queue->give([&d, name = function->name, values, device, g = std::array{grid[0], grid[1], grid[2]},
               b = std::array{block[0], block[1], block[2]}] {
    return d.run_kernel(name, g.data(), b.data(), values, device);
  });
  return kSuccess;
}

// A copy that waits in a stream. Each side finds its bytes when the copy is done.
Status copy(Driver &d, Stream *stream, const char *kind, size_t size, std::function<char *()> to,
            std::function<const char *()> from) {
  Stream *const queue = d.stream_of(stream);
  if (!queue) return kInvalidContext;
  d.note(kind, " ", size, " in ", queue->name);
  queue->give([=] {
    char *const target = to();
    const char *const source = from();
    if (!target || !source) return Status{kIllegalAddress};
    std::memmove(target, source, size);
    return Status{kSuccess};
  });
  return kSuccess;
}

}  // namespace

EXPORT Status cuInit(uint32_t) {
  BEGIN(kAnywhere);
  (void)d;
  return std::getenv("OPDYNO_TEST_NO_CUDA_DEVICE") ? 100 : 0;
}
EXPORT Status cuDriverGetVersion(int *version) {
  BEGIN(kAnywhere);
  (void)d;
  *version = 13050;
  return kSuccess;
}
// NVIDIA's compiler asks the driver for private tables, and goes without if there are none.
EXPORT Status cuGetExportTable(const void **table, const void *) {
  *table = nullptr;
  return kNotFound;
}
EXPORT Status cuGetErrorName(Status status, const char **name) {
  const std::map<Status, const char *> names = {{1, "CUDA_ERROR_INVALID_VALUE"},
                                                {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                {100, "CUDA_ERROR_NO_DEVICE"},
                                                {200, "CUDA_ERROR_INVALID_IMAGE"},
                                                {201, "CUDA_ERROR_INVALID_CONTEXT"},
                                                {218, "CUDA_ERROR_INVALID_PTX"},
                                                {500, "CUDA_ERROR_NOT_FOUND"},
                                                {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
                                                {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
                                                {999, "CUDA_ERROR_UNKNOWN"}};
  const auto found = names.find(status);
  *name = found == names.end() ? nullptr : found->second;
  return *name ? kSuccess : kInvalidValue;
}
EXPORT Status cuGetErrorString(Status, const char **text) {
  *text = "as the recording driver was told";
  return kSuccess;
}

EXPORT Status cuDeviceGetCount(int *count) {
  BEGIN(kAnywhere);
  (void)d;
  *count = Driver::kDevices;
  return kSuccess;
}
EXPORT Status cuDeviceGet(Device *device, int number) {
  BEGIN(kAnywhere);
  (void)d;
  *device = 10 + number;  // a device is not its number
  return kSuccess;
}
EXPORT Status cuDeviceGetName(char *name, int size, Device) {
  BEGIN(kAnywhere);
  (void)d;
  std::strncpy(name, "Recording driver", static_cast<size_t>(size));
  return kSuccess;
}
EXPORT Status cuDeviceGetPCIBusId(char *text, int size, Device device) {  // in another order than NVML's
  BEGIN(kAnywhere);
  (void)d;
  std::snprintf(text, static_cast<size_t>(size), "0000:%02x:00.0", 0x40 - (device - 10));
  return kSuccess;
}
EXPORT Status cuDeviceTotalMem_v2(size_t *bytes, Device) {
  BEGIN(kAnywhere);
  (void)d;
  *bytes = 1 << 30;
  return kSuccess;
}
EXPORT Status cuDeviceGetAttribute(int *value, uint32_t attribute, Device device) {
  BEGIN(kAnywhere);
  (void)d;
  const int compute = Driver::kComputeVersions[device - 10];
  const std::map<uint32_t, int> values = {{kMaxThreadsPerBlock, 1024},
                                          {kMaxBlockX, 1024},
                                          {kMaxBlockY, 1024},
                                          {kMaxBlockZ, 64},
                                          {kMaxSharedBytesPerBlock, 49152},
                                          {kWarpSize, 32},
                                          {kClockKhz, 1980000},
                                          {kMultiprocessorCount, 132},
                                          {kL2Bytes, 52428800},
                                          {kComputeMajor, compute / 10},
                                          {kComputeMinor, compute % 10},
                                          {kOrderedMemory, kHasOrderedMemory[device - 10]}};
  const auto found = values.find(attribute);
  if (found == values.end()) return kInvalidValue;
  *value = found->second;
  return kSuccess;
}

EXPORT Status cuDevicePrimaryCtxRetain(Context **context, Device device) {
  BEGIN(kAnywhere);
  d.note("cuDevicePrimaryCtxRetain ", device - 10);
  *context = &d.contexts[device - 10];
  return kSuccess;
}
EXPORT Status cuCtxGetCurrent(Context **context) {
  *context = Driver::current();
  return kSuccess;
}
EXPORT Status cuCtxPushCurrent_v2(Context *context) {
  Driver::stack().push_back(context);
  return kSuccess;
}
EXPORT Status cuCtxPopCurrent_v2(Context **context) {
  if (Driver::stack().empty()) return kInvalidContext;
  *context = Driver::current();
  Driver::stack().pop_back();
  return kSuccess;
}
// Waits also if it is to fail, so that no work is left that uses what is freed afterwards.
EXPORT Status cuCtxSynchronize() {
  const Call call(Call::kInContext);
  Driver &d = Driver::get();
  d.note("cuCtxSynchronize");
  if (Driver::current() && d.spoils_any(*Driver::current())) return kCaptureUnsupported;
  const Status failure = Driver::current() ? d.run(*Driver::current()) : kInvalidContext;
  return call.status ? call.status : failure;
}

EXPORT Status cuMemGetInfo_v2(size_t *free, size_t *total) {
  BEGIN(kInContext);
  *total = d.limit, *free = d.limit - d.used_bytes(Driver::current()->device);
  return kSuccess;
}
EXPORT Status cuMemAlloc_v2(Address *address, size_t size) {
  BEGIN(kInContext);
  d.note("cuMemAlloc ", size);
  if (d.spoils_any(*Driver::current(), kRelaxed - 1)) return kCaptureUnsupported;
  const int device = Driver::current()->device;
  if (d.used_bytes(device) + size > d.limit) return kOutOfMemory;
  d.make(*address = Driver::reserve(size), size, device);
  return kSuccess;
}
// The block is there when the stream has come so far, and gone when the stream has come to its end.
EXPORT Status cuMemAllocAsync(Address *address, size_t size, Stream *stream) {
  BEGIN(kInContext);
  Stream *const queue = d.stream_of(stream);
  if (!queue) return kInvalidContext;
  d.note("cuMemAllocAsync ", size, " in ", queue->name);
  const int device = Driver::current()->device;
  if (!kHasOrderedMemory[device]) return kInvalidValue;
  if (d.used_bytes(device) + size > d.limit) return kOutOfMemory;
  *address = Driver::reserve(size);
  queue->give([&d, address = *address, size, device] {
    d.make(address, size, device);
    return Status{kSuccess};
  });
  return kSuccess;
}
EXPORT Status cuMemFreeAsync(Address address, Stream *stream) {
  BEGIN(kInContext);
  Stream *const queue = d.stream_of(stream);
  if (!queue) return kInvalidContext;
  d.note("cuMemFreeAsync in ", queue->name);
  queue->frees = true;
  queue->give([&d, address] { return d.free(address) ? Status{kSuccess} : Status{kInvalidValue}; });
  return kSuccess;
}
EXPORT Status cuMemFree_v2(Address address) {
  BEGIN(kNeverFails);
  d.note("cuMemFree");
  return d.free(address) ? kSuccess : kInvalidValue;
}
EXPORT Status cuMemHostAlloc(void **data, size_t size, uint32_t flags) {
  BEGIN(kInContext);
  d.note("cuMemHostAlloc ", size, flags == kPortable ? " portable" : "");
  auto block = std::make_unique<char[]>(size + 64);
  *data = block.get() + (64 - reinterpret_cast<uintptr_t>(block.get()) % 64);
  d.host_blocks[*data] = std::move(block);
  return kSuccess;
}
EXPORT Status cuMemFreeHost(void *data) {
  BEGIN(kNeverFails);
  d.note("cuMemFreeHost");
  return d.host_blocks.erase(data) ? kSuccess : kInvalidValue;
}

EXPORT Status cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t size, Stream *stream) {
  BEGIN(kInContext);
  const int device = Driver::current()->device;
  return copy(
      d, stream, "cuMemcpyHtoDAsync", size, [=, &d] { return d.memory(to, size, device); },
      [=] { return static_cast<const char *>(from); });
}
EXPORT Status cuMemcpyDtoHAsync_v2(void *to, Address from, size_t size, Stream *stream) {
  BEGIN(kInContext);
  const int device = Driver::current()->device;
  return copy(
      d, stream, "cuMemcpyDtoHAsync", size, [=] { return static_cast<char *>(to); },
      [=, &d] { return d.memory(from, size, device); });
}
EXPORT Status cuMemcpyDtoDAsync_v2(Address to, Address from, size_t size, Stream *stream) {
  BEGIN(kInContext);
  const int device = Driver::current()->device;
  return copy(
      d, stream, "cuMemcpyDtoDAsync", size, [=, &d] { return d.memory(to, size, device); },
      [=, &d] { return d.memory(from, size, device); });
}
EXPORT Status cuMemcpyPeerAsync(Address to, Context *there, Address from, Context *here, size_t size, Stream *stream) {
  BEGIN(kInContext);
  return copy(
      d, stream, "cuMemcpyPeerAsync", size, [=, &d] { return d.memory(to, size, there->device); },
      [=, &d] { return d.memory(from, size, here->device); });
}

EXPORT Status cuStreamCreate(Stream **stream, uint32_t flags) {
  BEGIN(kInContext);
  *stream = new Stream{Driver::current(), "stream " + std::to_string(++d.streams_made), {}};
  d.note("cuStreamCreate ", flags);
  Driver::current()->streams.insert(*stream);
  return kSuccess;
}
EXPORT Status cuStreamDestroy_v2(Stream *stream) {
  BEGIN(kNeverFails);
  d.note("cuStreamDestroy ", stream->name);
  d.run(*stream);  // its work still ends
  stream->context->streams.erase(stream);
  delete stream;
  return kSuccess;
}
EXPORT Status cuStreamSynchronize(Stream *stream) {
  const Call call(Call::kInContext);
  Driver &d = Driver::get();
  Stream *const queue = Driver::current() ? d.stream_of(stream) : nullptr;
  if (!queue) return kInvalidContext;
  d.note("cuStreamSynchronize ", queue->name);
  if (Driver::spoils(*queue)) return kCaptureUnsupported;
  const Status failure = d.run(*queue);
  return call.status ? call.status : failure;
}

EXPORT Status cuStreamWaitEvent(Stream *stream, Event *event, uint32_t) {
  BEGIN(kInContext);
  Stream *const queue = d.stream_of(stream);
  if (!queue) return kInvalidContext;
  d.note("cuStreamWaitEvent ", event->state->stream ? event->state->stream->name : "", " in ", queue->name);
  queue->give([&d, state = event->state] { return state->stream ? d.run(*state->stream) : Status{kSuccess}; });
  return kSuccess;
}

EXPORT Status cuStreamBeginCapture_v2(Stream *stream, uint32_t mode) {
  BEGIN(kInContext);
  if (!stream || stream->captured) return kCaptureUnsupported;
  d.note("cuStreamBeginCapture ", mode, " in ", stream->name);
  stream->captured = std::make_unique<Graph>();
  stream->capture_mode = mode, stream->is_spoilt = false;
  return kSuccess;
}
// Ends the capture also if it is to fail.
EXPORT Status cuStreamEndCapture(Stream *stream, Graph **graph) {
  const Call call(Call::kInContext);
  Driver &d = Driver::get();
  d.note("cuStreamEndCapture ", stream->name);
  *graph = nullptr;
  if (!stream->captured) return kInvalidValue;
  const std::unique_ptr<Graph> captured = std::move(stream->captured);
  if (call.status) return call.status;
  if (stream->is_spoilt) return kCaptureInvalidated;
  ++d.graphs;
  *graph = new Graph(*captured);
  return kSuccess;
}
EXPORT Status cuGraphInstantiateWithFlags(GraphExec **exec, Graph *graph, unsigned long long flags) {
  BEGIN(kInContext);
  d.note("cuGraphInstantiate ", flags, " with ", graph->work.size());
  ++d.graphs;
  *exec = new GraphExec{Driver::current(), graph->work};
  return kSuccess;
}
EXPORT Status cuGraphLaunch(GraphExec *exec, Stream *stream) {
  BEGIN(kInContext);
  Stream *const queue = d.stream_of(stream);
  if (!queue || exec->context != queue->context) return kInvalidContext;
  d.note("cuGraphLaunch ", exec->work.size(), " in ", queue->name);
  for (const auto &piece : exec->work) queue->give(piece);
  return kSuccess;
}
EXPORT Status cuGraphDestroy(Graph *graph) {
  BEGIN(kNeverFails);
  d.note("cuGraphDestroy");
  --d.graphs;
  delete graph;
  return kSuccess;
}
EXPORT Status cuGraphExecDestroy(GraphExec *exec) {
  BEGIN(kNeverFails);
  d.note("cuGraphExecDestroy");
  --d.graphs;
  delete exec;
  return kSuccess;
}

EXPORT Status cuEventCreate(Event **event, uint32_t) {
  BEGIN(kInContext);
  *event = new Event;
  ++d.events;
  return kSuccess;
}
EXPORT Status cuEventDestroy_v2(Event *event) {
  BEGIN(kNeverFails);
  --d.events;
  delete event;
  return kSuccess;
}
EXPORT Status cuEventRecord(Event *event, Stream *stream) {
  BEGIN(kInContext);
  Stream *const queue = d.stream_of(stream);
  if (!queue) return kInvalidContext;
  if (Driver::spoils(*queue)) return kCaptureUnsupported;  // the driver allows it, but the event then has no time
  event->state = std::make_shared<Event::State>();         // who waits for it already waits for what it was
  event->state->stream = queue;
  queue->give([state = event->state] {
    *state = {nullptr, Driver::get().event_moment(), true};
    return Status{kSuccess};
  });
  return kSuccess;
}
EXPORT Status cuEventSynchronize(Event *event) {
  const Call call(Call::kInContext);
  const Status failure = event->state->stream ? Driver::get().run(*event->state->stream) : kSuccess;
  return call.status ? call.status : failure;
}
EXPORT Status cuEventElapsedTime(float *ms, Event *begin, Event *end) {
  BEGIN(kInContext);
  (void)d;
  if (!begin->state->is_done || !end->state->is_done) return kNotReady;
  *ms = std::chrono::duration<float, std::milli>(end->state->moment - begin->state->moment).count();
  return kSuccess;
}

EXPORT Status cuModuleLoadDataEx(Module **module, const void *image, uint32_t count, uint32_t *options, void **values) {
  BEGIN(kInContext);
  d.note("cuModuleLoadDataEx");
  const auto *const bytes = static_cast<const char *>(image);
  const bool is_container = is_fatbin(bytes);
  if (is_container) d.image = fatbin_bytes(bytes);
  const auto kernels = read_image(bytes, Driver::kComputeVersions[Driver::current()->device]);
  if (!kernels) {
    if (count == 2 && options[0] == kErrorLog && options[1] == kErrorLogBytes)
      std::strncpy(static_cast<char *>(values[0]),
                   is_container ? "the recording driver does not decompress" : "line 1: this is no PTX",
                   reinterpret_cast<uintptr_t>(values[1]));
    return is_container ? kInvalidImage : kInvalidPtx;
  }
  *module = new Module{Driver::current(), *kernels, {}};
  d.modules.insert(*module);
  return kSuccess;
}
EXPORT Status cuModuleUnload(Module *module) {
  BEGIN(kNeverFails);
  d.note("cuModuleUnload");
  d.modules.erase(module);
  delete module;
  return kSuccess;
}
EXPORT Status cuModuleGetFunction(Function **function, Module *module, const char *name) {
  BEGIN(kInContext);
  (void)d;
  const auto found = module->kernels.find(name);
  if (found == module->kernels.end()) return kNotFound;
  auto &place = module->functions[name];
  if (!place) place.reset(new Function{module, name, found->second});
  *function = place.get();
  return kSuccess;
}

EXPORT Status cuFuncGetAttribute(int *value, uint32_t attribute, Function *function) {
  BEGIN(kInContext);
  (void)d;
  if (attribute != kMaxDynamicSharedBytes) return kInvalidValue;
  *value = function->shared_bytes;
  return kSuccess;
}
EXPORT Status cuFuncSetAttribute(Function *function, uint32_t attribute, int value) {
  BEGIN(kInContext);
  d.note("cuFuncSetAttribute ", function->name, " ", attribute, " ", value);
  if (attribute != kMaxDynamicSharedBytes || value > 227 << 10) return kInvalidValue;
  function->shared_bytes = value;
  return kSuccess;
}
EXPORT Status cuFuncGetParamInfo(Function *function, size_t index, size_t *offset, size_t *size) {
  BEGIN(kInContext);
  (void)d;
  if (index >= function->parameters.size()) return kInvalidValue;
  *offset = 0, *size = function->parameters[index];
  return kSuccess;
}

EXPORT Status cuLaunchKernel(Function *function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by,
                             uint32_t bz, uint32_t shared_bytes, Stream *stream, void **args, void **) {
  BEGIN(kInContext);
  const uint32_t grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  return launch(d, function, grid, block, shared_bytes, stream, args, "");
}
EXPORT Status cuLaunchKernelEx(const LaunchConfig *config, Function *function, void **args, void **) {
  BEGIN(kInContext);
  std::string note;
  for (uint32_t i = 0; i < config->num_attributes; ++i) {
    const LaunchAttribute &one = config->attributes[i];
    const auto &cluster = one.value.sizes;
    if (one.id == kClusterSizes) note += " clusters of " + sizes(cluster[0], cluster[1], cluster[2]);
    if (one.id == kProgrammatic && one.value.number) note += " programmatic";
    if (one.id == kCooperative && one.value.number) note += " cooperative";
  }
  return launch(d, function, config->grid, config->block, config->shared_bytes, config->stream, args, note);
}

EXPORT const char *recording_log() {
  static std::string text;
  const Call call(Call::kNeverFails);
  text = std::exchange(Driver::get().log, "");
  return text.c_str();
}
EXPORT void recording_fail_from(int64_t nth) {
  const Call call(Call::kNeverFails);
  Driver::get().calls = 0, Driver::get().fail_from = nth;
}
EXPORT int64_t recording_calls() { return Driver::get().calls; }
EXPORT const char *recording_image(size_t *size) {
  const Driver &d = Driver::get();
  return *size = d.image.size(), d.image.data();
}
EXPORT void recording_event_step(int64_t ms) {
  const Call call(Call::kNeverFails);
  Driver::get().event_step = std::chrono::milliseconds(ms);
}
EXPORT void recording_limit(size_t bytes) {
  const Call call(Call::kNeverFails);
  Driver::get().limit = bytes;
}
EXPORT void recording_counts(size_t *counts) {
  const Call call(Call::kNeverFails);
  Driver &d = Driver::get();
  for (Context &context : d.contexts)  // what was given back is free when the device comes to it
    for (Stream *stream : context.streams)
      if (stream->frees) d.run(*stream);
  counts[0] = d.blocks.size(), counts[1] = d.modules.size(), counts[2] = d.host_blocks.size(), counts[3] = d.events,
  counts[4] = 0, counts[5] = d.graphs;
  for (const Context &context : d.contexts) counts[4] += context.streams.size();
}
EXPORT void recording_emulate(const char *library) {
  const Call call(Call::kNeverFails);
  Driver::get().emulated_kernels = dlopen(library, RTLD_NOW | RTLD_LOCAL);
}
EXPORT int recording_depth() { return static_cast<int>(Driver::stack().size()); }
