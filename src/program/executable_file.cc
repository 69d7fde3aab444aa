// Reads and writes an executable's bytes in both versions, see docs/executable.md.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "device/memory/device_memory.h"
#include "params/tensor_bytes.h"
#include "program/executable.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // since Linux 6.3
#endif

namespace opd {
namespace {

constexpr const char *kVersionText = "0.14";

FunctionInfo read_function(ByteReader &in) {
  FunctionInfo function;
  const auto kind = in.read<int32_t>("function kind");
  if (kind < 0 || kind > 2) in.bad("function kind", concat("is ", kind, "; 0, 1 and 2 are supported"));
  function.kind = static_cast<FunctionKind>(kind);
  function.name = in.read_string("function name");
  function.start = in.read<int64_t>("function start");
  function.end = in.read<int64_t>("function end");
  function.num_args = in.read<int64_t>("number of arguments");
  function.num_registers = in.read<int64_t>("register file size");
  const auto params = in.read_count(8, "parameter names");
  function.param_names.reserve(params);
  for (uint64_t i = 0; i < params; ++i) function.param_names.emplace_back(in.read_string("parameter name"));
  return function;
}

std::vector<int64_t> read_words(ByteReader &in, const char *section) {
  const auto count = in.read_count(8, section);
  std::vector<int64_t> words(count);
  const Bytes bytes = in.take(count * 8, section);
  if (count) std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

void write_words(ByteWriter &out, std::span<const int64_t> words) {
  out.write<uint64_t>(words.size());
  out.write_bytes(words.data(), words.size_bytes());
}

Value read_constant(ByteReader &in, int32_t kind) {
  if (kind == OPD_SHAPE) return Value(Shape::make(read_words(in, "shape constant")));
  if (kind == OPD_STRING) return Value(in.read_string("string constant"));
  if (kind == OPD_INT) return Value(in.read<int64_t>("int constant"));
  if (kind == OPD_FLOAT) return Value(in.read<double>("float constant"));
  if (kind == OPD_DTYPE) return Value(in.read<DLDataType>("dtype constant"));
  in.bad("constant kind", concat("is ", kind, ", which no known TVM release writes"));
}

void write_constant(ByteWriter &out, const View &constant) {
  const bool text = is_text(constant);
  out.write<int32_t>(text ? int32_t{OPD_STRING} : constant.type);
  if (text) return out.write_string(as_text(constant, "constant"));
  if (constant.type == OPD_TENSOR) return write_tensor(out, static_cast<Tensor *>(object_of(constant))->dl);
  if (const auto *shape = try_as<Shape>(constant)) return write_words(out, shape->dims());
  if (constant.type == OPD_FLOAT) return out.write(constant.u.float64);
  if (constant.type == OPD_DTYPE) return out.write(constant.u.dtype);
  out.write(constant.u.int64);
}

constexpr size_t kWorthMapping = 64 << 10;

struct Mapping final : Object {
  static int32_t type() { return OPD_OBJECT; }
  void *data;
  const size_t size;

  Mapping(int fd, size_t bytes)
      : data(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0)), size(bytes) {
    if (data == MAP_FAILED) DeviceMemory::of(kHost).fail_out_of_memory(size);
    DeviceMemory::of(kHost).count_mapping(data, size);
  }
  ~Mapping() {
    DeviceMemory::of(kHost).count_unmapping(data, size);
    unmap(data, size);
  }
};

size_t bytes_together(std::span<const StoredTensor> tensors) {
  size_t bytes = 0;
  for (const auto &tensor : tensors) bytes += round_up(tensor.bytes, kAlignment);
  return bytes;
}

bool write_at(int fd, Bytes bytes, size_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<size_t>(n);
  }
  return true;
}

int make_memory_file() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int fd = ::memfd_create("opdyno-constants", kFlags | MFD_NOEXEC_SEAL);
  return fd < 0 && errno == EINVAL ? ::memfd_create("opdyno-constants", kFlags) : fd;
}

// The constant tensors of a program in a memory file. Each load maps it instead of copying. Mappings are private (copy
// on write), so each load has its own constants.
class ConstantPages final : public Object {
 public:
  static int32_t type() { return OPD_OBJECT; }

  // Returns null if copies are better: there are few bytes, no memory file can be made, or the process has memory
  // hooks.
  static Ref<ConstantPages> make(std::span<const StoredTensor> tensors) {
    const size_t size = bytes_together(tensors);
    if (size < kWorthMapping || !may_write_file(size) || !DeviceMemory::of(kHost).is_from_system()) return nullptr;
    auto pages = make_object<ConstantPages>();
    pages->fd_ = make_memory_file();
    if (pages->fd_ < 0 || ::ftruncate(pages->fd_, static_cast<off_t>(size))) return nullptr;
    size_t offset = 0;
    for (const auto &tensor : tensors) {
      if (!write_at(pages->fd_, tensor.elements(), offset)) return nullptr;
      offset += round_up(tensor.bytes, kAlignment);
    }
    // If the file shrank, the next read of a lost page would kill the process (SIGBUS). If it cannot be sealed against
    // that, the tensors are copied.
    if (::fcntl(pages->fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)) return nullptr;
    pages->size_ = size;
    return pages;
  }

  ~ConstantPages() {
    if (fd_ >= 0) ::close(fd_);
  }

  // Maps the tensors that were passed to make(). Cost: two system calls. The first use of a page maps it and its
  // neighbours.
  std::vector<Ref<Tensor>> map(std::span<const StoredTensor> tensors) const {
    const auto mapping = make_object<Mapping>(fd_, size_);
    std::vector<Ref<Tensor>> made;
    made.reserve(tensors.size());
    auto *place = static_cast<char *>(mapping->data);
    for (const auto &tensor : tensors) {
      made.push_back(Tensor::make(tensor.dims, tensor.dtype, kHost, place, mapping));
      place += round_up(tensor.bytes, kAlignment);
    }
    return made;
  }

  // whether map() may be called
  bool serve(std::span<const StoredTensor> tensors) const {
    return size_ == bytes_together(tensors) && DeviceMemory::of(kHost).is_from_system();
  }

 private:
  int fd_ = -1;
  size_t size_ = 0;
};

// Puts the tensors into memory that kernels may read. `*derived` is null or holds the pages of an earlier load of the
// same program. It receives the pages for the next load. If `derived` itself is null, the tensors are copied.
std::vector<Ref<Tensor>> place_constants(std::span<const StoredTensor> tensors, Ref<Object> *derived) {
  Ref<ConstantPages> pages;
  if (derived) {
    pages = Ref<ConstantPages>::share(static_cast<ConstantPages *>(derived->get()));
    if (!pages || !pages->serve(tensors)) pages = ConstantPages::make(tensors);
    *derived = pages;
  }
  if (pages) return pages->map(tensors);
  std::vector<const StoredTensor *> stored;
  for (const auto &tensor : tensors) stored.push_back(&tensor);
  return make_tensors(stored, true);
}

std::vector<Value> read_constants(ByteReader &in, Bytes all, Ref<Object> *derived) {
  const auto source = ByteSource::borrow(all, "executable", false);
  std::vector<Value> constants(in.read_count(8, "constants"));
  std::vector<StoredTensor> tensors;
  std::vector<size_t> places;
  for (size_t i = 0; i < constants.size(); ++i) {
    const auto kind = in.read<int32_t>("constant kind");
    if (kind != OPD_TENSOR) {
      constants[i] = read_constant(in, kind);
      continue;
    }
    tensors.push_back(read_stored_tensor(in, source));
    places.push_back(i);
  }
  auto made = place_constants(tensors, derived);
  for (size_t i = 0; i < places.size(); ++i) constants[places[i]] = Value(std::move(made[i]));
  return constants;
}

// Returns the number of bytes that write_constant() adds.
uint64_t constant_bytes(const View &constant) {
  if (is_text(constant)) return 12 + as_text(constant, "constant").size();
  if (const auto *shape = try_as<Shape>(constant)) return 12 + shape->dims().size_bytes();
  if (constant.type != OPD_TENSOR) return 4 + (constant.type == OPD_DTYPE ? 4 : 8);
  const DLTensor &tensor = static_cast<Tensor *>(object_of(constant))->dl;
  return 4 + 16 + 8 + 4 + 4 + 8 * static_cast<uint64_t>(tensor.ndim) + 8 + bytes_of(tensor);
}

}  // namespace

Ref<Executable> Executable::read(Bytes bytes, Ref<Object> *derived) {
  ByteReader in(bytes, "executable");
  auto executable = make_object<Executable>();
  const auto magic = in.read<uint64_t>("magic number");
  if (magic != kExecutableMagicV1 && magic != kExecutableMagicV2)
    fail(OPD_BAD_FORMAT, "executable: the first 8 bytes are not those of a TVM VM executable");
  const auto version = in.read_string("version");
  if (version != kVersionText)
    fail(OPD_UNSUPPORTED, "executable: its format version is \"", version.substr(0, 20), "\", readable is \"",
         kVersionText, "\" (TVM 0.22 to 0.27); export it again with such a release");
  const auto functions = in.read_count(52, "function table");
  executable->functions.reserve(functions);
  for (uint64_t i = 0; i < functions; ++i) executable->functions.push_back(read_function(in));
  if (magic == kExecutableMagicV2)
    for (uint64_t n = in.read_count(16, "memory scopes"); n > 0; --n) {
      const auto constant = in.read<int64_t>("memory scope");
      executable->scopes.push_back({constant, std::string(in.read_string("memory scope"))});
    }
  executable->constants = read_constants(in, bytes, derived);
  executable->offsets = read_words(in, "instruction offsets");
  executable->words = read_words(in, "instruction words");
  if (!in.at_end()) in.bad("end", concat("is followed by ", in.remaining(), " bytes that belong to nothing"));
  verify(*executable);
  return executable;
}

SectionSizes Executable::section_sizes() const {
  SectionSizes sizes{8 + 8 + std::string_view(kVersionText).size(), 8, 8, 8, 16 + 8 * (offsets.size() + words.size())};
  for (const auto &function : functions) {
    sizes.functions += 4 + 8 + function.name.size() + 4 * 8 + 8;
    for (const auto &name : function.param_names) sizes.functions += 8 + name.size();
  }
  for (const auto &scope : scopes) sizes.scopes += 8 + 8 + scope.scope.size();
  for (const auto &constant : constants) sizes.constants += constant_bytes(constant);
  return sizes;
}

std::string Executable::write() const {
  ByteWriter out;
  out.write(kExecutableMagicV2);
  out.write_string(kVersionText);
  out.write<uint64_t>(functions.size());
  for (const auto &function : functions) {
    out.write(static_cast<int32_t>(function.kind));
    out.write_string(function.name);
    for (const int64_t number : {function.start, function.end, function.num_args, function.num_registers})
      out.write(number);
    out.write<uint64_t>(function.param_names.size());
    for (const auto &name : function.param_names) out.write_string(name);
  }
  out.write<uint64_t>(scopes.size());
  for (const auto &scope : scopes) {
    out.write(scope.constant);
    out.write_string(scope.scope);
  }
  out.write<uint64_t>(constants.size());
  for (const auto &constant : constants) write_constant(out, constant);
  write_words(out, offsets);
  write_words(out, words);
  return out.take();
}

}  // namespace opd
