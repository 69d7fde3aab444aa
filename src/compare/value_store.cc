#include "compare/value_store.h"

#include <cstring>

#include "base/content_hash.h"
#include "device/device.h"
#include "device/graph.h"

namespace opd {

std::shared_ptr<const std::string> ValueStore::keep(const ContentsHash &hash, std::string_view bytes) {
  if (const auto found = copies_.find(hash); found != copies_.end() && *found->second == bytes) return found->second;
  if (bytes.size() > limit_ - used_) return ++num_refused_, nullptr;
  auto copy = std::make_shared<const std::string>(bytes);
  used_ += bytes.size();
  copies_.insert_or_assign(hash, copy);
  return copy;
}

std::string_view host_bytes(const DLTensor &tensor, Ref<Tensor> &copy) {
  const DLTensor *view = &tensor;
  if (tensor.device.device_type != kDLCPU || !is_contiguous(tensor)) {
    copy = copied_to(kHost, tensor);
    view = &copy->dl;
  }
  const uint64_t bytes = bytes_of(*view);
  return bytes ? std::string_view(data_of(*view), bytes) : std::string_view("", 0);
}

// Equal bits of another dtype are another value.
ContentsHash hash_of(std::string_view bytes, DLDataType dtype) {
  ContentHash hash;
  hash.add(bytes).add({reinterpret_cast<const char *>(&dtype), sizeof dtype});
  return {hash.low(), hash.high()};
}

std::string_view elements_of(const Contents &contents, Ref<Tensor> &copy) {
  if (contents.kept) return *contents.kept;
  if (!contents.live) return {};
  const std::string_view bytes = host_bytes(contents.live->dl, copy);
  // The program may have written its parameter since it was hashed.
  return hash_of(bytes, contents.dtype) == contents.hash ? bytes : std::string_view();
}

const Function *kernel_of(std::string_view name, Args args) {
  if (name != "vm.builtin.call_tir_dyn" || args.size() < 2) return nullptr;
  return try_as<Shape>(args.back()) ? try_as<Function>(args[0]) : nullptr;
}

bool is_readable(const DLTensor &tensor) { return tensor.device.device_type == kDLCPU || !is_capturing(tensor.device); }

void fill_unwritten(const DLTensor &tensor) noexcept try {
  const uint64_t bytes = bytes_of(tensor);
  if (bytes == 0 || !is_readable(tensor)) return;
  if (tensor.device.device_type == kDLCPU) {
    std::memset(data_of(tensor), 0xFF, bytes);
    return;
  }
  const std::string ones(bytes, '\xFF');
  copy_from_bytes(tensor, ones.data(), ones.size());
} catch (...) {}

}  // namespace opd
