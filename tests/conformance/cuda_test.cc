// CUDA's back end on the recording driver: which calls it makes in which order, and what it does when any of them
// fails.
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/recorded_cuda.h"

using namespace opdyno_test;
using cuda_driver::Recording;

namespace {

class RecordedCuda : public OnRecordedCuda {};

// A module of one kernel scale(from, to, factor, offset) with these tags after it.
Module kernels_with(const std::string &name, const std::vector<std::string> &tags, const std::string &format = "ptx",
                    const std::string &code = kPtx, size_t params = 4) {
  const DLDataType known[] = {{kDLOpaqueHandle, 64, 1}, {kDLOpaqueHandle, 64, 1}, {kDLFloat, 32, 1}, {kDLInt, 32, 1}};
  std::string list_of = number(params);
  for (size_t i = 0; i < params; ++i) list_of += raw(known[i]);
  return with_root(
      "cuda_" + name, "cuda",
      text(format) + number(1) + text("scale") + text("scale") + list_of + list(tags) + number(0) + text(code));
}

TEST_F(RecordedCuda, ReportsTheDriversProperties) {
  const auto number_of = [](opd_device_attr attr, int32_t id = 0) {
    return opdyno::device_attr({kDLCUDA, id}, attr).view().u.int64;
  };
  EXPECT_EQ(number_of(OPD_ATTR_MAX_THREADS_PER_BLOCK), 1024);
  EXPECT_EQ(number_of(OPD_ATTR_WARP_SIZE), 32);
  EXPECT_EQ(number_of(OPD_ATTR_MAX_SHARED_MEMORY_PER_BLOCK), 49152);
  EXPECT_EQ(number_of(OPD_ATTR_MAX_CLOCK_RATE), 1980000);
  EXPECT_EQ(number_of(OPD_ATTR_MULTI_PROCESSOR_COUNT), 132);
  EXPECT_EQ(number_of(OPD_ATTR_API_VERSION), 13050);
  EXPECT_EQ(number_of(OPD_ATTR_L2_CACHE_SIZE_BYTES), 52428800);
  EXPECT_EQ(number_of(OPD_ATTR_TOTAL_GLOBAL_MEMORY), 1 << 30);
  const int64_t free_before = number_of(OPD_ATTR_AVAILABLE_GLOBAL_MEMORY);
  const Tensor there({1024}, "float32", kDevice);
  EXPECT_EQ(number_of(OPD_ATTR_AVAILABLE_GLOBAL_MEMORY), free_before - 4096);
  EXPECT_EQ(opdyno::device_attr(kDevice, OPD_ATTR_DEVICE_NAME).string(), "Recording driver");
  EXPECT_EQ(opdyno::device_attr(kDevice, OPD_ATTR_COMPUTE_VERSION).string(), "9.0");
  EXPECT_EQ(opdyno::device_attr({kDLCUDA, 1}, OPD_ATTR_COMPUTE_VERSION).string(), "8.0");
  EXPECT_EQ(opdyno::to_string(opdyno::device_attr(kDevice, OPD_ATTR_MAX_THREAD_DIMENSIONS).view()), "[1024, 1024, 64]");
  EXPECT_EQ(opdyno::device_attr({kDLCUDA, 2}, OPD_ATTR_ABSENCE).string(),
            "NVIDIA's driver has 2 devices, not a number 2");
  if (!std::filesystem::exists("/sys/module/nvidia/version")) {
    EXPECT_EQ(opdyno::device_attr(kDevice, OPD_ATTR_DRIVER_VERSION).type(), OPD_NONE);
  }
  EXPECT_EQ(opdyno::device_attr(kDevice, OPD_ATTR_TEXTURE_SPATIAL_LIMIT).type(), OPD_NONE);
  EXPECT_EQ(opdyno::device_attr({kDLCUDAHost, 0}, OPD_ATTR_DEVICE_NAME).string(),
            "memory of the host for CUDA devices");
  EXPECT_EQ(opdyno::device_attr({kDLCUDAHost, 0}, OPD_ATTR_WARP_SIZE).type(), OPD_NONE);
}

TEST_F(RecordedCuda, WaitsForCopiesOfTheHostOnly) {
  const Tensor first({4}, "float32", kDevice), second({4}, "float32", kDevice);
  const std::vector<float> values = {1, 2, 3, 4};
  Recording::log();
  first.copy_from_bytes(values.data(), 16);
  EXPECT_EQ(Recording::log(), "cuMemcpyHtoDAsync 16 in default\ncuStreamSynchronize default\n");
  second.copy_from(first);
  EXPECT_EQ(Recording::log(), "cuMemcpyDtoDAsync 16 in default\n");
  EXPECT_EQ(read(second), values);
  EXPECT_EQ(Recording::log(), "cuMemcpyDtoHAsync 16 in default\ncuStreamSynchronize default\n");
}

TEST_F(RecordedCuda, WorksInTheCurrentStream) {
  const opdyno::Stream stream(kDevice);
  const std::string made = Recording::log();
  EXPECT_EQ(made, "cuStreamCreate 1\n") << "it does not wait for the default one";
  const Module kernels = kernels_with("stream", {"blockIdx.x", "threadIdx.x"});
  const Tensor x = on(kDevice, {1, 2, 3, 4});
  const Function scale = kernels.function("scale", 1);
  scale(x, x, 1.0, 0, 1, 4);
  Recording::log();
  {
    const CurrentStream current(kDevice, stream.get());
    scale(x, x, 2.0, 1, 1, 4);
    const std::string launched = Recording::log(), name = launched.substr(launched.find("stream "));
    EXPECT_EQ(launched, "launch scale 1x1x1 4x1x1 0 in " + name);
    EXPECT_EQ(read(x), (std::vector<float>{3, 5, 7, 9}));
    EXPECT_EQ(Recording::log(), "cuMemcpyDtoHAsync 16 in " + name + "cuStreamSynchronize " + name);
  }
}

TEST_F(RecordedCuda, MeasuresByTheEventsOfTheCurrentStream) {
  const opdyno::Stream stream(kDevice);
  const CurrentStream current(kDevice, stream.get());
  auto options = opdyno::defaults(opd_evaluator_options_init);
  options.device = kDevice, options.number = 4, options.repeat = 2;
  const auto before = Recording::counts();
  const opdyno::Evaluator evaluator(make_function([](const opd_value *, int32_t, opd_value *) {}), &options);
  Recording::set_event_step(500);
  const opdyno::Benchmark times = evaluator();
  Recording::set_event_step(0);
  EXPECT_EQ(times.seconds(), (std::vector<double>{0.125, 0.125})) << "half a second for four calls";
  EXPECT_TRUE(times.stats().is_device_time);
  for (int64_t nth = 1; nth <= 60; ++nth) {
    Recording::fail_from(nth);
    try {
      evaluator();
    } catch (const Error &) {}
    Recording::fail_from(0);
    EXPECT_EQ(Recording::counts(), before) << "after call " << nth;
  }
}

TEST_F(RecordedCuda, WaitsBeforeItFreesMemoryOutsideAStream) {
  Tensor({4}, "float32", {kDLCUDA, 1});  // makes the device's context
  Recording::log();
  {
    const Tensor there({4}, "float32", {kDLCUDA, 1});
    EXPECT_EQ(Recording::log(), "cuMemAlloc 64\n");
  }
  EXPECT_EQ(Recording::log(), "cuCtxSynchronize\ncuMemFree\n");
}

// "cuMemFreeAsync in stream 2\n" and "in " give "stream 2".
std::string stream_behind(const std::string &log, const std::string &words) {
  const size_t begin = log.find(words) + words.size();
  return log.substr(begin, log.find('\n', begin) - begin);
}

TEST_F(RecordedCuda, FreesMemoryInTheOrderOfItsStreams) {
  const Module kernels = kernels_with("ordered", {"blockIdx.x", "threadIdx.x"});
  const Function scale = kernels.function("scale", 1);
  const Tensor first = on(kDevice, {0, 0, 0, 0}), second = on(kDevice, {0, 0, 0, 0});
  const opdyno::Stream stream(kDevice);
  Recording::log();
  auto there = std::make_unique<Tensor>(std::vector<int64_t>{4}, "float32", kDevice);
  const std::string allocated = Recording::log(), own = stream_behind(allocated, "cuMemAllocAsync 64 in ");
  EXPECT_EQ(allocated, "cuMemAllocAsync 64 in " + own + "\ncuStreamSynchronize " + own + "\n");
  const std::vector<float> values = {1, 2, 3, 4};
  there->copy_from_bytes(values.data(), 16);
  scale(*there, first, 2.0, 0, 1, 4);
  std::string used;
  {
    const CurrentStream current(kDevice, stream.get());
    Recording::log();
    scale(*there, second, 3.0, 0, 1, 4);
    used = stream_behind(Recording::log(), "0 in ");
  }
  there.reset();
  const std::string freed = Recording::log(), last = stream_behind(freed, "cuMemFreeAsync in ");
  EXPECT_EQ(freed, "cuStreamWaitEvent default in " + last + "\ncuStreamWaitEvent " + used + " in " + last +
                       "\ncuMemFreeAsync in " + last + "\n");
  EXPECT_NE(last, own) << "new memory does not wait for what is freed";
  opdyno::sync(kDevice);
  EXPECT_EQ(read(first), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(read(second), (std::vector<float>{3, 6, 9, 12}));
}

TEST_F(RecordedCuda, WaitsForMemoryThatIsBeingFreedIfThereIsNoOther) {
  struct Limit {
    explicit Limit(size_t bytes) { Recording::set_limit(bytes); }
    ~Limit() { Recording::set_limit(1 << 30); }
  } const limit(1 << 20);
  const int64_t most = 600 << 10;
  { const Tensor gone({most}, "uint8", kDevice); }
  const Tensor there({most}, "uint8", kDevice);
  expect_throws([&] { Tensor({most}, "uint8", kDevice); }, OPD_OUT_OF_MEMORY, "cannot get 614400 bytes on cuda:0");
}

TEST_F(RecordedCuda, FreesMemoryAlsoIfTheOrderOfStreamsFails) {
  const auto counts = Recording::counts();
  auto there = std::make_unique<Tensor>(std::vector<int64_t>{4}, "float32", kDevice);
  Recording::log();
  Recording::fail_from(1);
  there.reset();
  Recording::fail_from(0);
  EXPECT_EQ(Recording::log(), "cuCtxSynchronize\ncuMemFree\n");
  EXPECT_EQ(Recording::counts(), counts);
}

TEST_F(RecordedCuda, CopiesBetweenItsDevices) {
  const DLDevice other = {kDLCUDA, 1};
  const Tensor here = on(kDevice, {1, 2, 3, 4}), there = on(other, {0, 0, 0, 0}), copy({4}, "float32", other);
  copy.copy_from(there);  // work that the target still has
  Recording::log();
  there.copy_from(here);
  EXPECT_EQ(Recording::log(),
            "cuStreamSynchronize default\ncuMemcpyPeerAsync 16 in default\ncuStreamSynchronize default\n");
  EXPECT_EQ(read(there), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(read(copy), (std::vector<float>{0, 0, 0, 0}));
}

TEST_F(RecordedCuda, HasMemoryOfTheHost) {
  const auto counts = Recording::counts();
  {
    const Tensor pinned({4}, "float32", {kDLCUDAHost, 0}), there = on(kDevice, {1, 2, 3, 4});
    EXPECT_NE(Recording::log().find("cuMemHostAlloc 64 portable\n"), std::string::npos);
    pinned.copy_from(there);
    EXPECT_EQ(pinned.data<float>()[3], 4) << "the processor reads it";
    pinned.data<float>()[0] = 9;
    there.copy_from(pinned);
    EXPECT_EQ(read(there), (std::vector<float>{9, 2, 3, 4}));
  }
  EXPECT_EQ(Recording::counts(), counts);
  expect_throws(
      [] {
        Tensor({1}, "float32", {kDLCUDAHost, 1});
      },
      OPD_UNSUPPORTED,
      "there is no device cuda_host:1: there is only number 0, not 1; this process has cpu:0 to cpu:63, cuda:0 to "
      "cuda:1, cuda_host:0");
}

// In a stream of the program's own. The memory can be written again when the stream was waited for, and given back at
// any time.
TEST_F(RecordedCuda, DoesNotWaitForCopiesFromItsMemoryOfTheHost) {
  const std::vector<float> first = {1, 2, 3, 4}, second = {5, 6, 7, 8};
  const auto pinned = [](const std::vector<float> &values) {
    auto made = std::make_unique<Tensor>(std::vector<int64_t>{4}, "float32", DLDevice{kDLCUDAHost, 0});
    std::copy(values.begin(), values.end(), made->data<float>());
    return made;
  };
  const Tensor there = on(kDevice, {0, 0, 0, 0}), other = on(kDevice, {0, 0, 0, 0});
  const auto counts = Recording::counts();
  const opdyno::Stream stream(kDevice);
  auto source = pinned(first);
  {
    const CurrentStream current(kDevice, stream.get());
    Recording::log();
    there.copy_from(*source);
    const std::string copied = Recording::log(), name = stream_behind(copied, "cuMemcpyHtoDAsync 16 in ");
    EXPECT_EQ(copied, "cuMemcpyHtoDAsync 16 in " + name + "\n");
    stream.sync();
    std::copy(second.begin(), second.end(), source->data<float>());
    other.copy_from(*source);
    const std::vector<float> pageable = {9, 9, 9, 9};
    Recording::log();
    source.reset();  // waits for the copy
    pinned({0, 0, 0, 0});
    EXPECT_EQ(read(there), first);
    EXPECT_EQ(read(other), second);
    Recording::log();
    other.copy_from_bytes(pageable.data(), 16);
    EXPECT_EQ(Recording::log(), "cuMemcpyHtoDAsync 16 in " + name + "\ncuStreamSynchronize " + name + "\n");
    const Tensor from(there), to({4}, "float32", {kDLCUDAHost, 0});
    to.copy_from(from);
    EXPECT_EQ(to.data<float>()[3], 4) << "the processor may read it at once";
  }
  source = pinned(first);
  Recording::log();
  there.copy_from(*source);
  EXPECT_EQ(Recording::log(), "cuMemcpyHtoDAsync 16 in default\ncuStreamSynchronize default\n");
  source.reset();
  auto now = Recording::counts();
  now[4] -= 1;  // the stream
  EXPECT_EQ(now, counts);
}

// A program reuses the memory of its tensors without asking the device.
TEST_F(RecordedCuda, WaitsForCopiesFromItsMemoryOfTheHostWithinPrograms) {
  define("test.pinned_fill", [](const opd_value *args, int32_t, opd_value *) {
    std::fill_n(Tensor::of(args[0]).data<float>(), 4, static_cast<float>(args[1].u.int64));
  });
  const DLDevice devices[] = {kDevice, {kDLCUDAHost, 0}};
  auto options = opdyno::defaults(opd_vm_options_init);
  options.devices = devices, options.num_devices = 2;
  const Vm vm(Executable::assemble(R"(
.func copied(number) {
  %s = call vm.builtin.alloc_storage(%vm, shape(16), 1, dtype(uint8), "global")
  %t = call vm.builtin.alloc_tensor(%s, 0, shape(4), dtype(float32))
  call test.pinned_fill(%t, %number)
  %d = call vm.builtin.to_device(%t, 2, 0)
  ret %d
}
.func main() {
  %a = call copied(1)
  %b = call copied(2)
  %r = call vm.builtin.make_tuple(%a, %b)
  ret %r
})")
                  .to_module(),
              &options);
  const opdyno::Stream stream(kDevice);
  const CurrentStream current(kDevice, stream.get());
  const opdyno::Array both = opdyno::Array::of(vm.call("main"));
  EXPECT_EQ(read(Tensor::of(both[0])), std::vector<float>(4, 1));
  EXPECT_EQ(read(Tensor::of(both[1])), std::vector<float>(4, 2));
  Function::remove_global("test.pinned_fill");
}

TEST_F(RecordedCuda, LaunchesAsTheModulesTagsSay) {
  const Tensor x = on(kDevice, std::vector<float>(64, 1));
  const auto launched = [&](const std::string &name, const std::vector<std::string> &tags, auto... values) {
    const Function scale = kernels_with(name, tags).function("scale", 1);
    Recording::log();
    scale(x, x, 1.0, 0, values...);
    const std::string log = Recording::log();
    return log.substr(log.find("launch"));
  };
  EXPECT_EQ(
      launched("tags_all", {"threadIdx.z", "threadIdx.y", "threadIdx.x", "blockIdx.z", "blockIdx.y", "blockIdx.x"}, 1,
               2, 4, 1, 2, 3),
      "launch scale 3x2x1 4x2x1 0 in default\n");
  EXPECT_EQ(launched("tags_shared", {"blockIdx.x", "threadIdx.x", "tirx.use_dyn_shared_memory"}, 1, 32, 4096),
            "launch scale 1x1x1 32x1x1 4096 in default\n");
  EXPECT_EQ(launched("tags_cooperative", {"blockIdx.x", "threadIdx.x", "tirx.use_cooperative_launch"}, 1, 32),
            "launch scale 1x1x1 32x1x1 0 cooperative in default\n");
  EXPECT_EQ(launched("tags_required", {"blockIdx.x", "threadIdx.x", "tirx.use_required_block_dimension"}, 1, 32),
            "launch scale 1x1x1 32x1x1 0 in default\n")
      << "the kernel's own attribute says so";
  expect_throws(
      [&] {
        launched("tags_unknown", {"blockIdx.x", "threadIdx.x", "tirx.use_a_new_thing"}, 1, 32);
      },
      OPD_UNSUPPORTED, "the launch parameter tirx.use_a_new_thing");
  EXPECT_EQ(
      launched("tags_cluster", {"blockIdx.x", "threadIdx.x", "clusterCtaIdx.x", "tirx.use_programtic_dependent_launch"},
               2, 32, 2),
      "launch scale 2x1x1 32x1x1 0 clusters of 2x1x1 programmatic in default\n");
}

TEST_F(RecordedCuda, RequestsMuchSharedMemoryOnce) {
  const Tensor x = on(kDevice, std::vector<float>(64, 1));
  const Function scale =
      kernels_with("much_shared", {"blockIdx.x", "threadIdx.x", "tir.use_dyn_shared_memory"}).function("scale", 1);
  scale(x, x, 1.0, 0, 1, 32, 49152);
  Recording::log();
  for (const int bytes : {65536, 65536, 50000, 49152}) scale(x, x, 1.0, 0, 1, 32, bytes);
  EXPECT_EQ(Recording::log(),
            "cuFuncSetAttribute scale 8 65536\n"
            "launch scale 1x1x1 32x1x1 65536 in default\nlaunch scale 1x1x1 32x1x1 65536 in default\n"
            "launch scale 1x1x1 32x1x1 50000 in default\nlaunch scale 1x1x1 32x1x1 49152 in default\n");
  expect_throws(
      [&] { scale(x, x, 1.0, 0, 1, 32, 300000); }, OPD_CALL_FAILED,
      "kernel scale cannot be launched with 1 x 1 x 1 blocks of 32 x 1 x 1 threads and 300000 bytes of dynamic "
      "shared memory: cuFuncSetAttribute returned CUDA_ERROR_INVALID_VALUE (1)");
  expect_throws([&] { scale(x, x, 1.0, 0, 1, 32, int64_t{1} << 40); }, OPD_CALL_FAILED, "1099511627776 bytes");
  expect_throws([&] { scale(x, x, 1.0, 0, 1, 2048, 0); }, OPD_CALL_FAILED,
                "cuLaunchKernel returned CUDA_ERROR_INVALID_VALUE (1)");
}

// The driver reads as many arguments as the code has: also more than kernels mostly have.
TEST_F(RecordedCuda, PassesAllArguments) {
  for (const size_t count : {31u, 32u, 33u, 40u}) {
    std::string code = kPtx, more;
    for (size_t i = 4; i < count; ++i) more += ", .param .u32 more" + std::to_string(i);
    code.insert(code.find(".param .u32 offset") + 18, more);
    const DLDataType known[] = {{kDLOpaqueHandle, 64, 1}, {kDLOpaqueHandle, 64, 1}, {kDLFloat, 32, 1}};
    std::string params = number(count);
    for (size_t i = 0; i < count; ++i) params += raw(i < 3 ? known[i] : DLDataType{kDLInt, 32, 1});
    const Module module = with_root("cuda_many" + std::to_string(count), "cuda",
                                    text("ptx") + number(1) + text("scale") + text("scale") + params +
                                        list({"blockIdx.x", "threadIdx.x"}) + number(0) + text(code));
    const Tensor x = on(kDevice, {1, 2, 3, 4});
    std::vector<opd_value> args = {arg(x), arg(x), opd_float(2), opd_int(5)};
    args.resize(count, opd_int(7));
    args.push_back(opd_int(1)), args.push_back(opd_int(4));
    module.function("scale", 1).call(args);
    EXPECT_EQ(read(x), (std::vector<float>{7, 9, 11, 13})) << count;
  }
}

TEST_F(RecordedCuda, RefusesKernelsWithOtherParametersInTheirCode) {
  const Tensor x = on(kDevice, {1, 2, 3, 4});
  const Module few = kernels_with("few", {"blockIdx.x", "threadIdx.x"}, "ptx", kPtx, 3);
  expect_throws([&] { few.function("scale", 1)(x, x, 1.0, 1, 4); }, OPD_BAD_FORMAT,
                "kernel scale is described with 3 parameters, but its code has 4");
  std::string code = kPtx;
  code.replace(code.find(".f32 factor"), 4, ".f64");
  const Module wide = kernels_with("wide", {"blockIdx.x", "threadIdx.x"}, "ptx", code);
  expect_throws([&] { wide.function("scale", 1)(x, x, 1.0, 0, 1, 4); }, OPD_BAD_FORMAT,
                "parameter 2 of kernel scale is described with 4 bytes, but has 8 in its code");
}

TEST_F(RecordedCuda, ErrorsContainTheDriversMessageAboutCode) {
  const Tensor x = on(kDevice, {1, 2, 3, 4});
  const auto run = [&](const std::string &name, const std::string &format, const std::string &code) {
    kernels_with(name, {"blockIdx.x", "threadIdx.x"}, format, code).function("scale", 1)(x, x, 1.0, 0, 1, 4);
  };
  expect_throws([&] { run("bad_ptx", "ptx", "no ptx"); }, OPD_CALL_FAILED,
                "CUDA_ERROR_INVALID_PTX (218): as the recording driver was told\nline 1: this is no PTX");
  std::string other = kPtx;
  other.replace(other.find("scale"), 5, "skale");
  expect_throws([&] { run("other", "ptx", other); }, OPD_NOT_FOUND, "has no kernel scale");
  expect_throws([&] { run("hsaco", "hsaco", "x"); }, OPD_UNSUPPORTED, "has the format \"hsaco\"");
}

TEST_F(RecordedCuda, RefusesCodeThatEndsEarlyBeforeTheDriverReadsIt) {
  const Tensor x = on(kDevice, {1, 2, 3, 4});
  int count = 0;
  const auto refuses = [&](const std::string &format, const std::string &code, const std::string &part) {
    Recording::log();
    const Module module = kernels_with("bytes" + std::to_string(count++), {"blockIdx.x", "threadIdx.x"}, format, code);
    expect_throws([&] { module.function("scale", 1)(x, x, 1.0, 0, 1, 4); }, OPD_BAD_FORMAT, part);
    EXPECT_EQ(Recording::log().find("cuModuleLoadDataEx"), std::string::npos) << part;
  };
  refuses("ptx", "", "there is no PTX");
  refuses("ptx", std::string(".version 6.0\0.target", 20), "byte 12 is NUL, but PTX is text");
  refuses("ptx",
          "\x7f"
          "ELF",
          "byte 0 is not a character");
  refuses("ptx", "\xb1\x43\x62\x46", "byte 0 is not a character");  // a descriptor with an address
  refuses("cubin",
          "\x7f"
          "ELF",
          "the ELF header");
  refuses("cubin", std::string(64, 'x'), "this is none");
  refuses("fatbin", std::string("\x50\xed\x55\xba\x01\0\x10\0", 8), "the size of the contents");
  refuses("fatbin", std::string("\x50\xed\x55\xba\x01\0\x10\0\x05\0\0\0\0\0\0\0four", 20), "has 5 bytes at offset 16");
  const auto fatbin = [](uint64_t header, uint64_t bytes) {  // of one entry with four bytes
    return std::string("\x50\xed\x55\xba\x01\0\x10\0\x14\0\0\0\0\0\0\0\x02\0\x01\x01", 20) +
           raw(static_cast<uint32_t>(header)) + raw(bytes) + "four";
  };
  refuses("fatbin", fatbin(16, 5), "entry 0 has 5 bytes at offset 32, but there are 36");
  refuses("fatbin", fatbin(16, UINT64_MAX), "entry 0 has 18446744073709551615 bytes");
  refuses("fatbin", fatbin(15, 4), "the header of entry 0 has 15 bytes, but must have 16");
  refuses("fatbin", fatbin(16, 3), "the kind of an entry at offset 35 needs 4 bytes, 1 remain");
  refuses("fatbin", std::string("\xb1\x43\x62\x46\x01\0\x10\0\x05\0\0\0\0\0\0\0", 16), "a fatbin begins with");
}

TEST_F(RecordedCuda, GivesAnErrorAndLosesNothing) {
  Recording recording;
  expect_errors_and_no_loss(kDevice, recording);
}

TEST_F(RecordedCuda, LosesNothingWhileItIsRecorded) {
  Recording recording;
  expect_no_loss_while_recorded(kDevice, recording);
}

TEST_F(RecordedCuda, IsNotUsedInAChildOfFork) {
  const Module kernels = kernels_with("fork", {"blockIdx.x", "threadIdx.x"});
  const Function scale = kernels.function("scale", 1);
  auto there = std::make_unique<Tensor>(on(kDevice, {1, 2, 3, 4}));
  auto stream = std::make_unique<opdyno::Stream>(kDevice);
  scale(*there, *there, 1.0, 0, 1, 4);
  opdyno::sync(kDevice);
  Recording::log();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const auto is_refused = [](const std::function<void()> &body) {
      try {
        body();
      } catch (const Error &e) {
        return e.code() == OPD_UNSUPPORTED && e.message().find("child of fork()") != std::string::npos;
      }
      return false;
    };
    bool all = is_refused([&] { scale(*there, *there, 1.0, 0, 1, 4); });
    all &= is_refused([&] { Tensor({4}, "float32", kDevice); });
    all &= is_refused([&] { read(*there); });
    all &= is_refused([&] { opdyno::sync(kDevice); });
    there.reset();
    stream.reset();
    _exit(!all ? 1 : Recording::log().empty() ? 0 : 2);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "exit code 1: something is not refused; 2: the child called the driver";
  EXPECT_EQ(read(*there), (std::vector<float>{1, 2, 3, 4})) << "the parent afterwards";
}

TEST_F(RecordedCuda, ReportsAFailedKernelAtTheNextWait) {
  const DLDevice other = {kDLCUDA, 1};  // its context fails from here on
  const Function scale = kernels_with("illegal", {"blockIdx.x", "threadIdx.x"}).function("scale", 1);
  const Tensor x = on(other, {1, 2, 3, 4});
  Function::global("__tvm_set_device")(int{kDLCUDA}, 1);
  scale(x, x, 1.0, 0, 1, 1024);  // beyond the tensor
  expect_throws([&] { opdyno::sync(other); }, OPD_CALL_FAILED,
                "cuCtxSynchronize returned CUDA_ERROR_ILLEGAL_ADDRESS (700): as the recording driver was told");
  Function::global("__tvm_set_device")(int{kDLCUDA}, 0);
}

}  // namespace
