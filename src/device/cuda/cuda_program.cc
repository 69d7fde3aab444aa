// Code that the driver has loaded for a device, and the kernels in it. The code is checked before the driver gets it.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/few_or_many.h"
#include "base/fork_mutex.h"
#include "base/signals.h"
#include "device/cuda/cuda_compile.h"
#include "device/cuda/cuda_context.h"
#include "value/value.h"

namespace opd::cuda {
namespace {

constexpr size_t kFewArgs = 32;  // nearly all kernels have fewer

// Launch attributes that cuLaunchKernel() does not support.
class Attributes {
 public:
  explicit Attributes(const KernelLaunch &launch) {
    if (launch.cluster != std::array<uint32_t, 3>{1, 1, 1})
      std::copy_n(launch.cluster.begin(), 3, add(kClusterSizes).value.sizes);
    if (launch.is_programmatic) add(kProgrammatic).value.number = 1;
    if (launch.is_cooperative) add(kCooperative).value.number = 1;
  }
  LaunchAttribute *data() { return list_.data(); }
  uint32_t count() const { return count_; }

 private:
  LaunchAttribute &add(uint32_t id) {
    list_[count_].id = id;
    return list_[count_++];
  }
  std::array<LaunchAttribute, 3> list_{};
  uint32_t count_ = 0;
};

class CudaKernel final : public DeviceKernel {
 public:
  CudaKernel(const DeviceContext &device, Function *function, std::string name)
      : device_(device), function_(function), name_(std::move(name)) {
    read_parameters();
    int bytes = 0;
    device_.api().check(device_.api().cuFuncGetAttribute(&bytes, kMaxDynamicSharedBytes, function_),
                        "cuFuncGetAttribute");
    shared_bytes_ = static_cast<uint32_t>(std::max(bytes, 0));
  }

  std::unique_ptr<PendingWork> launch_timed(void *stream, const KernelLaunch &given) override {
    return CudaWork::timed(device_, stream, [&] { launch(stream, given); });
  }
  void launch(void *stream, const KernelLaunch &launch) override {
    check_launch(device_.api(), name_);
    check_args(launch.args);
    const CurrentContext current(device_);
    allow_shared_bytes(launch);
    FewOrMany<void *, kFewArgs> places(launch.args.size());
    run(static_cast<Stream *>(stream), launch, places.get());
  }

 private:
  // Reads the sizes of the parameters, if the driver has them. A launch reads as many arguments as the code declares.
  void read_parameters() {
    const Api &api = device_.api();
    if (!api.cuFuncGetParamInfo) return;
    constexpr size_t kMost = 32764;  // limit for all parameters of a kernel together, in bytes
    std::vector<size_t> sizes;
    size_t offset = 0, size = 0;
    Status status = kSuccess;
    while (sizes.size() < kMost && !(status = api.cuFuncGetParamInfo(function_, sizes.size(), &offset, &size)))
      sizes.push_back(size);
    if (status == kInvalidValue) parameters_ = std::move(sizes);
  }
  void check_args(std::span<const KernelArg> args) const {
    if (!parameters_) return;
    if (args.size() != parameters_->size()) [[unlikely]]
      fail(OPD_BAD_FORMAT, "kernel ", name_, " is described with ", counted(args.size(), "parameter"),
           ", but its code has ", parameters_->size());
    for (size_t i = 0; i < args.size(); ++i)
      if (args[i].size != (*parameters_)[i]) [[unlikely]]
        fail(OPD_BAD_FORMAT, "parameter ", i, " of kernel ", name_, " is described with ",
             counted(args[i].size, "byte"), ", but has ", (*parameters_)[i], " in its code");
  }

  // A kernel must request more than 48 KiB of dynamic shared memory. It does so once for each new maximum.
  void allow_shared_bytes(const KernelLaunch &launch) {
    if (launch.dynamic_shared_bytes <= shared_bytes_.load(std::memory_order_acquire)) [[likely]]
      return;
    const std::scoped_lock lock(guard_);
    const uint64_t bytes = launch.dynamic_shared_bytes;
    if (bytes <= shared_bytes_.load(std::memory_order_relaxed)) return;
    if (bytes > INT32_MAX) fail_launch("cuFuncSetAttribute", kInvalidValue, launch);
    if (const Status status =
            device_.api().cuFuncSetAttribute(function_, kMaxDynamicSharedBytes, static_cast<int>(bytes)))
      fail_launch("cuFuncSetAttribute", status, launch);
    shared_bytes_.store(static_cast<uint32_t>(bytes), std::memory_order_release);
  }

  void run(Stream *stream, const KernelLaunch &launch, std::span<void *> places) const {
    for (size_t i = 0; i < places.size(); ++i) places[i] = const_cast<void *>(launch.args[i].value);
    const Api &api = device_.api();
    const auto &[grid, block, cluster, shared_bytes, cooperative, programmatic, args] = launch;
    const auto shared = static_cast<uint32_t>(shared_bytes);
    Attributes attributes(launch);
    if (attributes.count() == 0) {
      if (const Status status = api.cuLaunchKernel(function_, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                                   shared, stream, places.data(), nullptr)) [[unlikely]]
        fail_launch("cuLaunchKernel", status, launch);
      return;
    }
    if (!api.cuLaunchKernelEx)
      fail(OPD_UNSUPPORTED, "kernel ", name_,
           " is launched cooperatively, in clusters or before its predecessor ends, for which the driver must be of "
           "CUDA 11.8 or newer; it is of ",
           api.version / 1000, ".", api.version % 1000 / 10);
    const LaunchConfig config{
        {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared, stream, attributes.data(),
        attributes.count()};
    if (const Status status = api.cuLaunchKernelEx(&config, function_, places.data(), nullptr)) [[unlikely]]
      fail_launch("cuLaunchKernelEx", status, launch);
  }

  [[noreturn]] void fail_launch(const char *function, Status status, const KernelLaunch &launch) const {
    const bool has_clusters = launch.cluster != std::array<uint32_t, 3>{1, 1, 1};
    fail(OPD_CALL_FAILED, "kernel ", name_, " cannot be launched with ", sizes_text(launch.grid), " blocks of ",
         sizes_text(launch.block), " threads and ", launch.dynamic_shared_bytes, " bytes of dynamic shared memory",
         has_clusters ? concat(" in clusters of ", sizes_text(launch.cluster)) : "", ": ", function, " returned ",
         device_.api().status_name(status));
  }

  const DeviceContext &device_;
  Function *const function_;
  const std::string name_;
  std::optional<std::vector<size_t>> parameters_;
  std::atomic<uint32_t> shared_bytes_{0};  // dynamic bytes that a launch may have
  ForkMutex guard_{LockRank::kDeviceKernel};
};

class CudaProgram final : public DeviceProgram {
 public:
  CudaProgram(const DeviceContext &device, const DeviceCode &code, const std::string &image)
      : device_(device), origin_(code.origin) {
    const Api &api = device_.api();
    std::string log(8192, '\0');
    uint32_t options[] = {kErrorLog, kErrorLogBytes};
    void *values[] = {log.data(), reinterpret_cast<void *>(log.size() - 1)};  // the second is no pointer
    const CurrentContext current(device_);
    const Status status = api.cuModuleLoadDataEx(&module_, image.data(), std::size(options), options, values);
    if (status)
      fail(status == kOutOfMemory ? OPD_OUT_OF_MEMORY : OPD_CALL_FAILED, "the driver of cuda:", device_.number(),
           " cannot load the kernels of ", origin_, ": ", api.status_name(status), log[0] ? "\n" : "", log.c_str());
  }
  ~CudaProgram() {
    const Api &api = device_.api();
    if (api.is_inherited()) return;
    try {
      const CurrentContext current(device_);
      api.cuCtxSynchronize();  // its kernels may still run
      api.cuModuleUnload(module_);
    } catch (const Exception &) {}  // the driver has ended
  }

  std::unique_ptr<DeviceKernel> find(const std::string &name) override {
    const Api &api = device_.api();
    const CurrentContext current(device_);
    Function *function = nullptr;
    const Status status = api.cuModuleGetFunction(&function, module_, name.c_str());
    if (status == kNotFound) fail(OPD_NOT_FOUND, "the CUDA code in ", origin_, " has no kernel ", name);
    api.check(status, "cuModuleGetFunction");
    return std::make_unique<CudaKernel>(device_, function, name);
  }

 private:
  const DeviceContext &device_;
  const std::string origin_;
  Module *module_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceProgram> build_program(const DeviceContext &device, const DeviceCode &code) {
  if (code.format != "cuda") return std::make_unique<CudaProgram>(device, code, checked_image(code));
  const Nvrtc &nvrtc = Nvrtc::get(device.api().version);
  return std::make_unique<CudaProgram>(
      device, code, kept_or_compiled(nvrtc, device.compute_version(), code.code, code.origin, code.cache_directory));
}

// ---- checks

namespace {

// PTX is text that ends with a NUL. The driver identifies other formats by their first bytes, none of which is ASCII.
void check_ptx(std::string_view code, const char *what) {
  const auto bad = [&](size_t at, std::string_view problem) {
    fail(OPD_BAD_FORMAT, what, ": byte ", at, " ", problem, ", but PTX is text");
  };
  if (code.empty()) fail(OPD_BAD_FORMAT, what, ": there is no PTX");
  const auto first = static_cast<unsigned char>(code[0]);
  if (first >= 127 || (first < ' ' && (first < '\t' || first > '\r'))) bad(0, "is not a character");
  if (const size_t nul = code.find('\0'); nul < code.size() - 1) bad(nul, "is NUL");
}

void check_range(uint64_t offset, uint64_t size, size_t all, const char *what, const char *part, uint64_t index) {
  if (offset > all || size > all - offset)
    fail(OPD_BAD_FORMAT, what, ": ", part, " ", index, " has ", size, " bytes at offset ", offset, ", but there are ",
         all);
}

// Checks that every part in the file's tables lies within the file.
void check_cubin(std::string_view code, const char *what) {
  constexpr uint16_t kMachine = 190;  // EM_CUDA
  ByteReader reader(as_bytes(code), what);
  const auto header = reader.read<Elf64_Ehdr>("the ELF header");
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB)
    fail(OPD_BAD_FORMAT, what, ": a cubin is a little-endian ELF file of 64 bits, and this is none");
  if (header.e_machine != kMachine)
    fail(OPD_BAD_FORMAT, what, ": the ELF file is for machine ", header.e_machine, "; a cubin is for ", kMachine);
  if (header.e_shnum && header.e_shentsize != sizeof(Elf64_Shdr))
    fail(OPD_BAD_FORMAT, what, ": a section's header has ", header.e_shentsize, " bytes, but must have ",
         sizeof(Elf64_Shdr));
  if (header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr))
    fail(OPD_BAD_FORMAT, what, ": a segment's header has ", header.e_phentsize, " bytes, but must have ",
         sizeof(Elf64_Phdr));
  if (header.e_shoff && !header.e_shnum) fail(OPD_BAD_FORMAT, what, ": there is a table of sections of no entry");
  check_range(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr), code.size(), what, "the table of sections",
              0);
  check_range(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr), code.size(), what, "the table of segments",
              0);
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, code.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL)
      check_range(section.sh_offset, section.sh_size, code.size(), what, "section", i);
  }
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, code.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    check_range(segment.p_offset, segment.p_filesz, code.size(), what, "segment", i);
  }
}

// Checks a container of code for several architectures. A descriptor of a container in a program's data has the same
// use, but holds an address. It is not accepted.
void check_fatbin(std::string_view code, const char *what) {
  constexpr uint32_t kMagic = 0xBA55ED50;
  ByteReader reader(as_bytes(code), what);
  const auto magic = reader.read<uint32_t>("the mark of a fatbin");
  if (magic != kMagic)
    fail(OPD_BAD_FORMAT, what, ": a fatbin begins with ", uint64_t{kMagic}, ", but this with ", uint64_t{magic});
  reader.read<uint16_t>("the version");
  const auto header_bytes = reader.read<uint16_t>("the size of the header");
  const auto bytes = reader.read<uint64_t>("the size of the contents");
  check_range(header_bytes, bytes, code.size(), what, "the contents", 0);
  reader.take(header_bytes - std::min<uint64_t>(header_bytes, reader.offset()), "the rest of the header");
  const uint64_t end = header_bytes + bytes;
  for (uint64_t entry = 0; reader.offset() < end; ++entry) {  // an entry: two marks and two sizes, then the code
    const size_t begin = reader.offset();
    reader.read<uint32_t>("the kind of an entry");
    const auto entry_header = reader.read<uint32_t>("the size of an entry's header");
    const auto entry_bytes = reader.read<uint64_t>("the size of an entry");
    const uint64_t so_far = reader.offset() - begin;
    if (entry_header < so_far)
      fail(OPD_BAD_FORMAT, what, ": the header of entry ", entry, " has ", entry_header, " bytes, but must have ",
           so_far);
    check_range(begin + entry_header, entry_bytes, end, what, "entry", entry);
    reader.take(entry_header - so_far + entry_bytes, "an entry");
  }
}

}  // namespace

std::string checked_image(const DeviceCode &code) {
  const std::string what = concat(code.origin, ": the ", code.format, " for CUDA");
  if (code.format == "ptx") check_ptx(code.code, what.c_str());
  else if (code.format == "cubin") check_cubin(code.code, what.c_str());
  else if (code.format == "fatbin") check_fatbin(code.code, what.c_str());
  else
    fail(OPD_UNSUPPORTED, "the CUDA code in ", code.origin, " has the format \"", code.format,
         "\"; this build reads \"cuda\", which is source, \"ptx\", \"cubin\" and \"fatbin\"");
  return std::string(code.code);
}

}  // namespace opd::cuda
