// What becomes of the objects of OpenCL's driver, whichever call of it fails, and what its errors say.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"
#include "device/opencl/opencl_context.h"

namespace opd::cl {
namespace {

constexpr DLDevice kOpenClDevice = {kDLOpenCL, 0};
constexpr cl_int kRefused = -59;
constexpr const char *kScaleOpenCl = R"(
__kernel void scale(__global const float *from, __global float *to, float factor, __local float *stage) {
  const size_t i = get_global_id(0);
  stage[get_local_id(0)] = from[i];
  to[i] = factor * stage[get_local_id(0)];
})";

// Stands between the library and the driver while it lives: counts objects, and lets calls fail.
class CountedOpenCl {
 public:
  CountedOpenCl() : real_(Api::get()) {
    here() = this;
    put_between(const_cast<Api &>(Api::get()));
  }
  ~CountedOpenCl() {
    Api &api = const_cast<Api &>(Api::get());
#define OPD_RESTORE(name) api.name = real_.name;
    OPD_OPENCL_FUNCTIONS(OPD_RESTORE)
#undef OPD_RESTORE
    here() = nullptr;
  }
  CountedOpenCl(const CountedOpenCl &) = delete;

  /** What was made and not released, by kind. */
  std::map<std::string, int> alive;
  /** The nth call that can fail, from now on, does and all after it; 0: none does. */
  void fail_from(int64_t nth) { calls_ = 0, fail_from_ = nth; }
  int64_t calls() const { return calls_; }
  const std::string &failed() const { return failed_; }  // the first one

 private:
  static CountedOpenCl *&here() {
    static CountedOpenCl *counted = nullptr;
    return counted;
  }
  bool fails(const char *name) {
    if (++calls_ < fail_from_ || !fail_from_) return false;
    if (calls_ == fail_from_) failed_ = name;
    return true;
  }
  template <class T>
  T *made(T *object, const char *kind) {
    if (object && ++alive[kind] == 0) alive.erase(kind);
    return object;
  }
  cl_int released(cl_int status, const char *kind) {
    EXPECT_EQ(status, CL_SUCCESS) << kind;
    if (--alive[kind] == 0) alive.erase(kind);
    return status;
  }
  cl_int given(cl_int status, cl_event *event) {
    if (status == CL_SUCCESS && event) made(*event, "event");
    return status;
  }
  void put_between(Api &api) const;

  const Api real_;
  int64_t calls_ = 0, fail_from_ = 0;
  std::string failed_;
};

void CountedOpenCl::put_between(Api &api) const {
#define COUNTED(name)         \
  CountedOpenCl &c = *here(); \
  if (c.fails(#name)) return kRefused
#define COUNTED_MAKING(name)  \
  CountedOpenCl &c = *here(); \
  if (c.fails(#name)) return *status = kRefused, nullptr

  api.clCreateContext = [](const intptr_t *properties, uint32_t count, const cl_device_id *devices,
                           void (*notify)(const char *, const void *, size_t, void *), void *data,
                           cl_int *status) -> cl_context {
    COUNTED_MAKING(clCreateContext);
    EXPECT_EQ(count, 1u);
    return c.real_.clCreateContext(properties, count, devices, notify, data, status);
  };
  api.clGetDeviceInfo = [](cl_device_id device, uint32_t info, size_t size, void *out, size_t *out_size) {
    COUNTED(clGetDeviceInfo);
    return c.real_.clGetDeviceInfo(device, info, size, out, out_size);
  };
  api.clCreateCommandQueue = [](cl_context context, cl_device_id device, uint64_t flags,
                                cl_int *status) -> cl_command_queue {
    COUNTED_MAKING(clCreateCommandQueue);
    EXPECT_EQ(flags, +CL_QUEUE_PROFILING_ENABLE);
    return c.made(c.real_.clCreateCommandQueue(context, device, flags, status), "queue");
  };
  api.clReleaseCommandQueue = [](cl_command_queue queue) {
    return here()->released(here()->real_.clReleaseCommandQueue(queue), "queue");
  };
  api.clFinish = [](cl_command_queue queue) {
    COUNTED(clFinish);
    return c.real_.clFinish(queue);
  };
  api.clCreateBuffer = [](cl_context context, uint64_t flags, size_t size, void *data, cl_int *status) -> cl_mem {
    COUNTED_MAKING(clCreateBuffer);
    return c.made(c.real_.clCreateBuffer(context, flags, size, data, status), "memory");
  };
  api.clCreateSubBuffer = [](cl_mem whole, uint64_t flags, uint32_t type, const void *region,
                             cl_int *status) -> cl_mem {
    COUNTED_MAKING(clCreateSubBuffer);
    return c.made(c.real_.clCreateSubBuffer(whole, flags, type, region, status), "memory");
  };
  api.clCreateImage = [](cl_context context, uint64_t flags, const cl_image_format *format,
                         const cl_image_desc *description, void *data, cl_int *status) -> cl_mem {
    COUNTED_MAKING(clCreateImage);
    return c.made(c.real_.clCreateImage(context, flags, format, description, data, status), "memory");
  };
  api.clReleaseMemObject = [](cl_mem memory) {
    return here()->released(here()->real_.clReleaseMemObject(memory), "memory");
  };
  api.clEnqueueReadBuffer = [](cl_command_queue queue, cl_mem from, uint32_t blocking, size_t offset, size_t size,
                               void *to, uint32_t count, const cl_event *waits, cl_event *event) {
    COUNTED(clEnqueueReadBuffer);
    return c.given(c.real_.clEnqueueReadBuffer(queue, from, blocking, offset, size, to, count, waits, event), event);
  };
  api.clEnqueueWriteBuffer = [](cl_command_queue queue, cl_mem to, uint32_t blocking, size_t offset, size_t size,
                                const void *from, uint32_t count, const cl_event *waits, cl_event *event) {
    COUNTED(clEnqueueWriteBuffer);
    return c.given(c.real_.clEnqueueWriteBuffer(queue, to, blocking, offset, size, from, count, waits, event), event);
  };
  api.clEnqueueCopyBuffer = [](cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
                               size_t size, uint32_t count, const cl_event *waits, cl_event *event) {
    COUNTED(clEnqueueCopyBuffer);
    return c.given(c.real_.clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, size, count, waits, event),
                   event);
  };
  api.clEnqueueReadImage = [](cl_command_queue queue, cl_mem from, uint32_t blocking, const size_t *origin,
                              const size_t *region, size_t row, size_t layer, void *to, uint32_t count,
                              const cl_event *waits, cl_event *event) {
    COUNTED(clEnqueueReadImage);
    return c.given(
        c.real_.clEnqueueReadImage(queue, from, blocking, origin, region, row, layer, to, count, waits, event), event);
  };
  api.clEnqueueWriteImage = [](cl_command_queue queue, cl_mem to, uint32_t blocking, const size_t *origin,
                               const size_t *region, size_t row, size_t layer, const void *from, uint32_t count,
                               const cl_event *waits, cl_event *event) {
    COUNTED(clEnqueueWriteImage);
    return c.given(
        c.real_.clEnqueueWriteImage(queue, to, blocking, origin, region, row, layer, from, count, waits, event), event);
  };
  api.clEnqueueCopyImage = [](cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
                              const size_t *to_origin, const size_t *region, uint32_t count, const cl_event *waits,
                              cl_event *event) {
    COUNTED(clEnqueueCopyImage);
    return c.given(c.real_.clEnqueueCopyImage(queue, from, to, from_origin, to_origin, region, count, waits, event),
                   event);
  };
  api.clEnqueueCopyImageToBuffer = [](cl_command_queue queue, cl_mem from, cl_mem to, const size_t *origin,
                                      const size_t *region, size_t offset, uint32_t count, const cl_event *waits,
                                      cl_event *event) {
    COUNTED(clEnqueueCopyImageToBuffer);
    return c.given(c.real_.clEnqueueCopyImageToBuffer(queue, from, to, origin, region, offset, count, waits, event),
                   event);
  };
  api.clEnqueueCopyBufferToImage = [](cl_command_queue queue, cl_mem from, cl_mem to, size_t offset,
                                      const size_t *origin, const size_t *region, uint32_t count, const cl_event *waits,
                                      cl_event *event) {
    COUNTED(clEnqueueCopyBufferToImage);
    return c.given(c.real_.clEnqueueCopyBufferToImage(queue, from, to, offset, origin, region, count, waits, event),
                   event);
  };
  api.clCreateProgramWithSource = [](cl_context context, uint32_t count, const char **texts, const size_t *sizes,
                                     cl_int *status) -> cl_program {
    COUNTED_MAKING(clCreateProgramWithSource);
    return c.made(c.real_.clCreateProgramWithSource(context, count, texts, sizes, status), "program");
  };
  api.clBuildProgram = [](cl_program program, uint32_t count, const cl_device_id *devices, const char *options,
                          void (*notify)(cl_program, void *), void *data) {
    COUNTED(clBuildProgram);
    return c.real_.clBuildProgram(program, count, devices, options, notify, data);
  };
  api.clReleaseProgram = [](cl_program program) {
    return here()->released(here()->real_.clReleaseProgram(program), "program");
  };
  api.clCreateKernel = [](cl_program program, const char *name, cl_int *status) -> cl_kernel {
    COUNTED_MAKING(clCreateKernel);
    return c.made(c.real_.clCreateKernel(program, name, status), "kernel");
  };
  api.clReleaseKernel = [](cl_kernel kernel) {
    return here()->released(here()->real_.clReleaseKernel(kernel), "kernel");
  };
  api.clSetKernelArg = [](cl_kernel kernel, uint32_t place, size_t size, const void *value) {
    COUNTED(clSetKernelArg);
    return c.real_.clSetKernelArg(kernel, place, size, value);
  };
  api.clEnqueueNDRangeKernel = [](cl_command_queue queue, cl_kernel kernel, uint32_t dimensions, const size_t *offsets,
                                  const size_t *global, const size_t *local, uint32_t count, const cl_event *waits,
                                  cl_event *event) {
    COUNTED(clEnqueueNDRangeKernel);
    return c.given(
        c.real_.clEnqueueNDRangeKernel(queue, kernel, dimensions, offsets, global, local, count, waits, event), event);
  };
  api.clReleaseEvent = [](cl_event event) { return here()->released(here()->real_.clReleaseEvent(event), "event"); };
#undef COUNTED
#undef COUNTED_MAKING
}

class OpenClCalls : public testing::Test {
 protected:
  using Alive = std::map<std::string, int>;
  void SetUp() override {
    if (const std::string absence = absence_of(kOpenClDevice); !absence.empty()) GTEST_SKIP() << absence;
    backend_ = &device_backend(kOpenClDevice);
    backend_->sync(0);
    counted_ = std::make_unique<CountedOpenCl>();
  }
  CountedOpenCl &counted() { return *counted_; }
  DeviceBackend &backend() { return *backend_; }
  std::unique_ptr<DeviceProgram> built(const std::string &source, const char *format = "cl") {
    return backend().build(0, {format, source, "m.so"});
  }
  // Where parts of buffers may begin, as the driver tells it.
  static size_t alignment() {
    uint32_t bits = 0;
    EXPECT_EQ(Api::get().clGetDeviceInfo(list_devices(Api::get())[0], CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits,
                                         nullptr),
              CL_SUCCESS);
    return bits / 8;
  }
  struct Failure {
    opd_code code;
    std::string message;
  };
  static Failure failure_of(const std::function<void()> &body) {
    try {
      body();
    } catch (const Exception &e) { return {e.error()->code, e.error()->message}; }
    return {OPD_OK, ""};
  }

 private:
  DeviceBackend *backend_ = nullptr;
  std::unique_ptr<CountedOpenCl> counted_;
};

// A block or a stream of the device, which ends with the object.
struct Block {
  Block(DeviceBackend &b, size_t bytes) : backend(b), data(static_cast<char *>(b.allocate(0, bytes, kAlignment))) {
    if (!data) fail(OPD_OUT_OF_MEMORY, "there is no block");
  }
  ~Block() { backend.deallocate(0, data, 0, kAlignment); }
  Block(const Block &) = delete;
  DeviceBackend &backend;
  char *const data;
};
struct BackendStream {
  explicit BackendStream(DeviceBackend &b) : backend(b), handle(b.create_stream(0)) {}
  ~BackendStream() { backend.free_stream(0, handle); }
  BackendStream(const BackendStream &) = delete;
  DeviceBackend &backend;
  void *const handle;
};

// scale(from, to, 3) for 4 groups of 16 numbers.
struct Launch {
  Launch(const char *from, const char *to) : addresses{from, to} {
    args = {
        {&addresses[0], sizeof(void *), true}, {&addresses[1], sizeof(void *), true}, {&factor, sizeof factor, false}};
    launch.grid = {4, 1, 1}, launch.block = {16, 1, 1}, launch.args = args, launch.dynamic_shared_bytes = 64;
  }
  Launch(const Launch &) = delete;
  const char *addresses[2];
  float factor = 3;
  std::vector<KernelArg> args;
  KernelLaunch launch;
};

TEST_F(OpenClCalls, LeakNothingIfAnyOfThemFails) {
  const size_t part = alignment();
  const auto use = [&](bool is_timed) {
    const BackendStream stream(backend());
    const Block first(backend(), 256), second(backend(), part + 256);
    std::vector<float> values(64, 2), back(64);
    const auto copy = [&](const void *from, DLDevice from_device, void *to, DLDevice to_device) {
      if (is_timed) return backend().copy_timed(from, from_device, to, to_device, 256, stream.handle);
      return backend().copy(from, from_device, to, to_device, 256, stream.handle), std::unique_ptr<PendingWork>();
    };
    const auto written = copy(values.data(), kHost, first.data, kOpenClDevice);
    const auto program = built(kScaleOpenCl);
    const auto kernel = program->find("scale");
    const Launch given(first.data, second.data + part);
    std::unique_ptr<PendingWork> work;
    if (is_timed) work = kernel->launch_timed(stream.handle, given.launch);
    else kernel->launch(stream.handle, given.launch);
    const auto copied = copy(second.data + part, kOpenClDevice, first.data, kOpenClDevice);
    backend().sync_stream(0, stream.handle);
    const auto read = copy(first.data, kOpenClDevice, back.data(), kHost);
    EXPECT_EQ(back, std::vector<float>(64, 6));
  };
  for (const bool is_timed : {false, true}) {
    counted().fail_from(0);
    use(is_timed);
    const int64_t calls = counted().calls();
    EXPECT_EQ(counted().alive, Alive());
    ASSERT_GT(calls, 12);
    for (int64_t nth = 1; nth <= calls; ++nth) {
      counted().fail_from(nth);
      const Failure failure = failure_of([&] { use(is_timed); });
      counted().fail_from(0);
      backend().sync(0);
      const std::string &failed = counted().failed();
      EXPECT_EQ(failure.code, failed == "clCreateBuffer" ? OPD_OUT_OF_MEMORY : OPD_CALL_FAILED) << failed;
      // Without its names, a driver's binaries are not kept; then the next call fails.
      const std::string said =
          failed == "clCreateBuffer"    ? "there is no block"
          : failed == "clGetDeviceInfo" ? "clCreateProgramWithSource returned CL_INVALID_OPERATION (-59)"
          : failed == "clBuildProgram"  ? "the driver of opencl:0 cannot compile the kernels of m.so: "
                                          "CL_INVALID_OPERATION (-59)"
                                        : failed + " returned CL_INVALID_OPERATION (-59)";
      EXPECT_NE(failure.message.find(said), std::string::npos) << failure.message << "\n" << said;
      EXPECT_EQ(counted().alive, Alive()) << "after call " << nth << ", " << failed;
    }
  }
}

TEST_F(OpenClCalls, LeakNoImageIfAnyOfThemFails) {
  if (!backend().has_images(0)) GTEST_SKIP() << "the OpenCL device has no images";
  const ImageShape shape{7, 5, 3, {kDLFloat, 32, 1}};
  const size_t bytes = shape.bytes();
  const auto use = [&](bool is_timed) {
    const BackendStream stream(backend());
    struct Image {
      Image(DeviceBackend &b, const ImageShape &of) : backend(b), data(b.allocate_image(0, of)) {
        if (!data) fail(OPD_OUT_OF_MEMORY, "there is no image");
      }
      ~Image() { backend.deallocate(0, data, 0, kAlignment); }
      Image(const Image &) = delete;
      DeviceBackend &backend;
      void *const data;
    };
    const Image first(backend(), shape), second(backend(), ImageShape{35, 3, 1, shape.dtype});
    const Block block(backend(), bytes);
    std::vector<float> values(bytes / sizeof(float)), back(values.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    std::vector<std::unique_ptr<PendingWork>> works;
    const auto copy = [&](const void *from, DLDevice from_device, void *to, DLDevice to_device) {
      if (is_timed) works.push_back(backend().copy_timed(from, from_device, to, to_device, bytes, stream.handle));
      else backend().copy(from, from_device, to, to_device, bytes, stream.handle);
    };
    copy(values.data(), kHost, first.data, kOpenClDevice);
    copy(first.data, kOpenClDevice, second.data, kOpenClDevice);
    copy(second.data, kOpenClDevice, block.data, kOpenClDevice);
    copy(block.data, kOpenClDevice, first.data, kOpenClDevice);
    copy(first.data, kOpenClDevice, back.data(), kHost);
    EXPECT_EQ(back, values);
  };
  for (const bool is_timed : {false, true}) {
    counted().fail_from(0);
    use(is_timed);
    const int64_t calls = counted().calls();
    EXPECT_EQ(counted().alive, Alive());
    ASSERT_GT(calls, 12);
    for (int64_t nth = 1; nth <= calls; ++nth) {
      counted().fail_from(nth);
      const Failure failure = failure_of([&] { use(is_timed); });
      counted().fail_from(0);
      backend().sync(0);
      const bool is_block = counted().failed() == "clCreateBuffer";
      EXPECT_EQ(failure.message,
                is_block ? "there is no block" : counted().failed() + " returned CL_INVALID_OPERATION (-59)");
      EXPECT_EQ(counted().alive, Alive()) << "after call " << nth << ", " << counted().failed();
    }
  }
}

TEST_F(OpenClCalls, NameTheFailedCallWhileADeviceIsMade) {
  const cl_device_id device = list_devices(Api::get())[0];
  for (int64_t nth = 1; nth <= 3; ++nth) {
    counted().fail_from(nth);
    const Failure failure = failure_of([&] { DeviceContext(device, 0); });
    counted().fail_from(0);
    const char *const names[] = {"clCreateContext", "clCreateCommandQueue", "clGetDeviceInfo"};
    EXPECT_EQ(failure.code, OPD_CALL_FAILED);
    EXPECT_EQ(failure.message, concat(names[nth - 1], " returned CL_INVALID_OPERATION (-59)"));
  }
}

TEST_F(OpenClCalls, NameTheProblemOfCodeAndLaunches) {
  Failure failure = failure_of([&] { built("__kernel void f() { unknown = 1; }"); });
  EXPECT_EQ(failure.code, OPD_CALL_FAILED);
  EXPECT_EQ(failure.message.find("the driver of opencl:0 cannot compile the kernels of m.so: CL_BUILD_PROGRAM_FAILURE "
                                 "(-11)\n"),
            0u)
      << failure.message;
  EXPECT_NE(failure.message.find("unknown"), std::string::npos) << "the compiler's own words: " << failure.message;
  failure = failure_of([&] { built(kScaleOpenCl, "spirv"); });
  EXPECT_EQ(failure.code, OPD_UNSUPPORTED);
  EXPECT_EQ(failure.message,
            "the OpenCL code in m.so has the format \"spirv\"; this build reads \"cl\", which is source");

  const auto program = built(kScaleOpenCl);
  failure = failure_of([&] { program->find("none"); });
  EXPECT_EQ(failure.code, OPD_NOT_FOUND);
  EXPECT_EQ(failure.message, "the program for OpenCL has no kernel none");
  const auto kernel = program->find("scale");
  const Block block(backend(), 4096);
  Launch odd(block.data, block.data + 1);
  failure = failure_of([&] { kernel->launch(nullptr, odd.launch); });
  EXPECT_EQ(failure.code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure.message, concat("argument 1 of kernel scale begins 1 bytes into its buffer; opencl:0 can begin at "
                                    "multiples of ",
                                    alignment(), " only"));
  Launch wide(block.data, block.data);
  wide.launch.block = {1 << 20, 1, 1};
  failure = failure_of([&] { kernel->launch(nullptr, wide.launch); });
  EXPECT_EQ(failure.code, OPD_CALL_FAILED);
  EXPECT_EQ(failure.message.find("kernel scale cannot be launched with 4 x 1 x 1 groups of 1048576 x 1 x 1 items: "
                                 "clEnqueueNDRangeKernel returned CL_INVALID_WORK_"),
            0u)
      << failure.message;
  Launch few(block.data, block.data);
  few.launch.dynamic_shared_bytes = 0, few.args.push_back(few.args.back()), few.launch.args = few.args;
  failure = failure_of([&] { kernel->launch(nullptr, few.launch); });
  EXPECT_EQ(failure.code, OPD_CALL_FAILED);
  EXPECT_EQ(failure.message.find("kernel scale does not take argument 3: clSetKernelArg returned CL_INVALID_ARG_"), 0u)
      << failure.message;
}

TEST(OpenClErrors, AreOfMemoryIfTheDriverHasNone) {
  for (const cl_int status : {-1, -4, -5, -6, -59}) {
    try {
      check(status, "clSome");
      ADD_FAILURE() << "no error";
    } catch (const Exception &e) {
      EXPECT_EQ(e.error()->code, status <= -4 && status >= -6 ? OPD_OUT_OF_MEMORY : OPD_CALL_FAILED) << status;
      EXPECT_EQ(e.error()->message, concat("clSome returned ", status_name(status)));
    }
  }
  EXPECT_EQ(status_name(CL_BUILD_PROGRAM_FAILURE), "CL_BUILD_PROGRAM_FAILURE (-11)");
  EXPECT_EQ(status_name(-9999), "error -9999");
}

}  // namespace
}  // namespace opd::cl
