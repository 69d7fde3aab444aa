#include "device/cuda/cupti_api.h"

#include <cstring>

#include "base/fork_mutex.h"
#include "device/cuda/cuda_api.h"

namespace opd::cupti {

namespace {

// Opens the library; null if it is not found. A release works with drivers of its own generation and newer ones.
void *open_library() {
  for (const char *name : {"libcupti.so", "libcupti.so.13", "libcupti.so.12"})
    if (void *const library = cuda::open_of_toolkits(name, {"/extras/CUPTI/lib64/", "/lib64/", "/lib/"}))
      return library;
  return nullptr;
}

}  // namespace

void Api::open() {
  const LoaderCall call;
  const DriverLibrary library{"libcupti.so", absence, open_library()};
  if (!library.handle)
    absence =
        "there is no libcupti.so where the loader looks, in CUDA_HOME, CUDA_PATH or /usr/local/cuda (it comes with the "
        "CUDA toolkit, and with the Python package nvidia-cuda-cupti)";
#define OPD_FIND(name, result, parameters) library.require(name, #name);
  OPD_CUPTI_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
}

std::string Api::status_name(Status status) const {
  const char *text = nullptr;
  return cuptiGetResultString(status, &text) || !text ? concat("error ", status) : concat(text, " (", status, ")");
}

void Api::check(Status status, const char *function) const {
  if (status)
    fail(OPD_UNSUPPORTED, "activity of CUDA devices is not reported: ", function, " returned ", status_name(status));
}

void RangeApi::open() {
  const LoaderCall call;
  const DriverLibrary library{"libcupti.so", absence, open_library()};
#define OPD_FIND(name, params) library.require(name, #name, ", which CUPTI has since CUDA 12.6");
  OPD_CUPTI_RANGE_FUNCTIONS(OPD_FIND)
#undef OPD_FIND
}

// ---- records

namespace {

// Reads a record's members at the offsets in CUPTI's header.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> record) : record_(record) {}

  template <class T>
  Reader &read(size_t place, T &out) {
    if (place + sizeof out > record_.size()) is_whole_ = false;
    else std::memcpy(&out, record_.data() + place, sizeof out);
    return *this;
  }
  bool is_whole() const { return is_whole_; }

 private:
  const std::span<const uint8_t> record_;
  bool is_whole_ = true;
};

// Records of copies and fills begin with the same members.
void read_transfer(Reader &reader, Activity &out, size_t correlation) {
  reader.read(8, out.bytes).read(16, out.start).read(24, out.end).read(32, out.device).read(40, out.stream);
  reader.read(correlation, out.correlation);
}

void read_overhead(Reader &reader, Activity &out) {
  constexpr uint32_t kOfThread = 2;
  uint32_t of = 0;
  reader.read(4, out.detail).read(8, of).read(24, out.start).read(32, out.end);
  if (of == kOfThread) reader.read(16, out.thread);
}

}  // namespace

std::optional<Activity> read_activity(std::span<const uint8_t> record) {
  Activity made;
  Reader reader(record);
  reader.read(0, made.kind);
  switch (made.kind) {
    case kConcurrentKernel:
      reader.read(16, made.start).read(24, made.end).read(40, made.device).read(48, made.stream);
      reader.read(92, made.correlation).read(104, made.name);
      break;
    case kMemcpy:
    case kPeerMemcpy: {
      uint8_t kind = 0;
      read_transfer(reader.read(4, kind), made, made.kind == kMemcpy ? 44 : 60);
      made.detail = kind;
      break;
    }
    case kMemset:
      read_transfer(reader, made, 44);
      break;
    case kDriverCall:
    case kRuntimeCall:
      reader.read(8, made.start).read(16, made.end).read(28, made.thread).read(32, made.correlation);
      break;
    case kOverhead:
      read_overhead(reader, made);
      break;
    case kExternalCorrelation:
      reader.read(8, made.external).read(16, made.correlation);
      break;
    default:
      return std::nullopt;
  }
  if (!reader.is_whole()) return std::nullopt;
  return made;
}

}  // namespace opd::cupti
