// What the recording driver knows: a driver of CUDA without a device. Device memory lies in the host's, behind
// addresses that nobody can read. Work waits in its stream until somebody waits for the stream, so a missing wait shows
// as wrong contents, and not only now and then. It runs kernels that were compiled for the processor, and the suite's.
#pragma once
#include <dlfcn.h>
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>

#include "device/cuda/cuda_api.h"
#include "support/cuda/emulated_launch.h"
#include "support/cuda/kernel_image.h"

namespace opd::cuda {  // the types of the driver, which the library only points at

using Work = std::deque<std::function<Status()>>;
struct Graph {
  Work work;
};
struct GraphExec {
  Context *context;
  Work work;
};
struct Stream {
  Context *context;
  std::string name;
  Work work;
  std::unique_ptr<Graph> captured = nullptr;  // what work becomes instead of being done; null: it is done
  uint32_t capture_mode = 0;
  bool is_spoilt = false;  // the capture, by a call that does not go with it
  bool frees = false;      // blocks, in its order
  void give(std::function<Status()> piece) { (captured ? captured->work : work).push_back(std::move(piece)); }
};
struct Event {
  struct State {
    Stream *stream = nullptr;  // where it waits
    std::chrono::steady_clock::time_point moment{};
    bool is_done = false;
  };
  std::shared_ptr<State> state = std::make_shared<State>();
};
struct Context {
  int device;
  Status failure = kSuccess;  // of work: from then on every call for the context fails with it
  Stream default_stream{this, "default", {}};
  std::set<Stream *> streams;
};
struct Module {
  Context *context;
  cuda_driver::Kernels kernels;
  std::map<std::string, std::unique_ptr<Function>> functions;
};
struct Function {
  Module *module;
  std::string name;
  std::vector<size_t> parameters;
  int shared_bytes = 48 << 10;
};

}  // namespace opd::cuda

namespace cuda_driver {

using namespace opd::cuda;

enum : Status {
  kInvalidImage = 200,
  kInvalidContext = 201,
  kInvalidPtx = 218,
  kNotReady = 600,
  kIllegalAddress = 700,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kUnknown = 999
};

using Arguments = std::vector<std::string>;  // the bytes of each

class Driver {
 public:
  static constexpr int kDevices = 2;
  static constexpr int kComputeVersions[kDevices] = {90, 80};
  static Driver &get() {
    static auto *const driver = new Driver;
    return *driver;
  }

  // Everything below is guarded by this.
  std::recursive_mutex guard;
  std::string log;
  int64_t calls = 0, fail_from = 0;
  Context contexts[kDevices] = {{0}, {1}};
  std::map<Address, std::pair<std::string, int>> blocks;  // contents, device
  std::map<void *, std::unique_ptr<char[]>> host_blocks;
  std::set<Module *> modules;
  int streams_made = 0;
  size_t events = 0, graphs = 0;
  std::string image;  // the last one that was a fatbin
  std::chrono::milliseconds event_step{0};
  std::chrono::steady_clock::time_point stepped;
  size_t limit = 1 << 30;            // of all blocks of a device
  void *emulated_kernels = nullptr;  // a library of them

  template <class... T>
  void note(const T &...parts) {
    std::ostringstream line;
    (line << ... << parts);
    log += line.str() + "\n";
  }

  std::chrono::steady_clock::time_point event_moment() {
    return event_step.count() ? stepped += event_step : std::chrono::steady_clock::now();
  }

  /** The calling thread's contexts; the last one is current. */
  static std::vector<Context *> &stack() {
    thread_local std::vector<Context *> contexts;
    return contexts;
  }
  static Context *current() { return stack().empty() ? nullptr : stack().back(); }
  Stream *stream_of(Stream *stream) {  // null unless it is one of the current context
    Context *const here = current();
    if (!stream) return &here->default_stream;
    return here->streams.contains(stream) ? stream : nullptr;
  }

  /** The bytes behind an address; null unless they are of one block of the device. */
  char *memory(Address address, size_t size, int device) {
    auto found = blocks.upper_bound(address);
    if (found == blocks.begin()) return nullptr;
    --found;
    auto &[contents, owner] = found->second;
    const Address offset = address - found->first;
    return owner == device && offset + size <= contents.size() ? contents.data() + offset : nullptr;
  }
  size_t used_bytes(int device) const {
    size_t used = 0;
    for (const auto &[address, block] : blocks) used += block.second == device ? block.first.size() : 0;
    return used;
  }
  static Address reserve(size_t size) {
    void *const range = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return reinterpret_cast<uintptr_t>(range);
  }
  void make(Address address, size_t size, int device) { blocks[address] = {std::string(size, '\xAA'), device}; }
  bool free(Address address) {
    const auto found = blocks.find(address);
    if (found == blocks.end()) return false;
    munmap(reinterpret_cast<void *>(address), found->second.first.size());
    blocks.erase(found);
    return true;
  }

  /** Whether a stream is captured, which a call does not go with: then the capture is spoilt. */
  static bool spoils(Stream &stream) { return stream.captured && (stream.is_spoilt = true); }
  bool spoils_any(Context &context, uint32_t most_mode = UINT32_MAX) {
    bool any = false;
    for (Stream *stream : context.streams)
      if (stream->captured && stream->capture_mode <= most_mode) any |= spoils(*stream);
    return any;
  }

  Status run(Stream &stream) {
    for (; !stream.work.empty(); stream.work.pop_front())
      if (const Status status = stream.work.front()(); status && !stream.context->failure)
        stream.context->failure = status;
    return stream.context->failure;
  }
  Status run(Context &context) {
    run(context.default_stream);
    for (Stream *stream : context.streams) run(*stream);
    return context.failure;
  }

  /** Runs a kernel: one that was compiled for the processor, or the suite's; any other does nothing. */
  Status run_kernel(const std::string &name, const uint32_t *grid, const uint32_t *block, Arguments args, int device) {
    void *const emulated = emulated_kernels ? dlsym(emulated_kernels, ("emulated_" + name).c_str()) : nullptr;
    if (emulated) return emulate(emulated, grid, block, args, device);
    return name == "scale" ? scale(args, grid[0] * block[0], device) : kSuccess;
  }

 private:
  /** to[i] = factor * from[i] + offset, the kernel of the conformance suite. */
  Status scale(const Arguments &args, uint32_t threads, int device) {
    const auto value = [&](size_t i, auto initial) {
      std::memcpy(&initial, args[i].data(), sizeof initial);
      return initial;
    };
    auto *from = reinterpret_cast<float *>(memory(value(0, Address{}), threads * sizeof(float), device));
    auto *to = reinterpret_cast<float *>(memory(value(1, Address{}), threads * sizeof(float), device));
    if (!from || !to) return kIllegalAddress;
    for (uint32_t i = 0; i < threads; ++i) to[i] = value(2, 0.f) * from[i] + static_cast<float>(value(3, 0));
    return kSuccess;
  }

  struct Memory {
    Driver *driver;
    int device;
    bool is_legal = true;
  };
  Status emulate(void *kernel, const uint32_t *grid, const uint32_t *block, Arguments &args, int device) {
    std::vector<void *> places;
    for (std::string &arg : args) places.push_back(arg.data());
    Memory whose{this, device};
    const auto translate = [](void *data, void *address) -> void * {
      auto &memory = *static_cast<Memory *>(data);
      void *const found = memory.driver->memory(reinterpret_cast<uintptr_t>(address), 1, memory.device);
      if (!found) memory.is_legal = false;
      return found;
    };
    const EmulatedLaunch launch = {
        {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, places.data(), translate, &whose};
    reinterpret_cast<void (*)(const EmulatedLaunch &)>(kernel)(launch);
    return whose.is_legal ? int{kSuccess} : int{kIllegalAddress};
  }
};

/** What a call of the driver does first: takes the guard, and tells whether the call fails. */
class Call {
 public:
  enum Kind { kAnywhere, kInContext, kNeverFails };
  explicit Call(Kind kind) : lock_(Driver::get().guard) {
    Driver &driver = Driver::get();
    if (kind == kNeverFails) return;
    const int64_t call = ++driver.calls;
    if (driver.fail_from && call >= driver.fail_from) status = kUnknown;
    else if (kind == kInContext) status = Driver::current() ? Driver::current()->failure : kInvalidContext;
  }
  Status status = kSuccess;

 private:
  std::scoped_lock<std::recursive_mutex> lock_;
};

}  // namespace cuda_driver
