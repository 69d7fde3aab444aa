// Reads and writes .safetensors: the size of a JSON header, the header, then the elements of all tensors without gaps.
//
// Because gaps are not allowed, the writer can only choose the start of the first tensor and the order. The header ends
// at a multiple of 64, and tensors whose size is a multiple of 64 come first. The header lists the tensors in the order
// of the set.
#include <algorithm>

#include "base/json_document.h"
#include "base/json_writer.h"
#include "device/device.h"
#include "params/formats.h"
#include "params/tensor_bytes.h"

namespace opd {
namespace {

constexpr uint64_t kMostHeader = 100'000'000;  // the format's own limit

struct NamedType {
  std::string_view name;
  DLDataType dtype;
};
constexpr NamedType kTypes[] = {
    {"BOOL", {kDLBool, 8, 1}},
    {"F4", {kDLFloat4_e2m1fn, 4, 1}},
    {"F6_E2M3", {kDLFloat6_e2m3fn, 6, 1}},
    {"F6_E3M2", {kDLFloat6_e3m2fn, 6, 1}},
    {"U8", {kDLUInt, 8, 1}},
    {"I8", {kDLInt, 8, 1}},
    {"F8_E5M2", {kDLFloat8_e5m2, 8, 1}},
    {"F8_E4M3", {kDLFloat8_e4m3fn, 8, 1}},
    {"F8_E8M0", {kDLFloat8_e8m0fnu, 8, 1}},
    {"F8_E4M3FNUZ", {kDLFloat8_e4m3fnuz, 8, 1}},
    {"F8_E5M2FNUZ", {kDLFloat8_e5m2fnuz, 8, 1}},
    {"I16", {kDLInt, 16, 1}},
    {"U16", {kDLUInt, 16, 1}},
    {"F16", {kDLFloat, 16, 1}},
    {"BF16", {kDLBfloat, 16, 1}},
    {"I32", {kDLInt, 32, 1}},
    {"U32", {kDLUInt, 32, 1}},
    {"F32", {kDLFloat, 32, 1}},
    {"C64", {kDLComplex, 64, 1}},
    {"F64", {kDLFloat, 64, 1}},
    {"I64", {kDLInt, 64, 1}},
    {"U64", {kDLUInt, 64, 1}},
};

struct Extent {
  uint64_t begin, end;
  const cJSON *where;
};

class SafetensorsReader {
 public:
  // The header is copied, because a token could lie outside of the header if the file changed during parsing.
  SafetensorsReader(Ref<ByteSource> source, std::string_view header, uint64_t begin)
      : source_(std::move(source)),
        begin_(begin),
        size_(source_->bytes().size() - begin),
        header_(header),
        json_(header_, source_->name()) {}

  Ref<Params> read() {
    if (!cJSON_IsObject(json_.root())) json_.bad(json_.root(), "is not an object of tensors");
    for (const cJSON *member = json_.root()->child; member; member = member->next) {
      const std::string name = json_.key(member);
      if (name == "__metadata__") continue;
      if (!params_->add(name, read_tensor(member))) json_.bad(member, concat("repeats the tensor \"", name, "\""));
    }
    check_cover();
    return params_;
  }

 private:
  StoredTensor read_tensor(const cJSON *tensor) {
    if (!cJSON_IsObject(tensor)) json_.bad(tensor, "is not an object with dtype, shape and data_offsets");
    const cJSON *dtype = nullptr, *shape = nullptr, *offsets = nullptr;
    for (const cJSON *member = tensor->child; member; member = member->next) {
      const std::string key = json_.key(member);
      const cJSON **place = key == "dtype"          ? &dtype
                            : key == "shape"        ? &shape
                            : key == "data_offsets" ? &offsets
                                                    : nullptr;
      if (!place) continue;
      if (*place) json_.bad(member, concat("repeats \"", key, "\""));
      *place = member;
    }
    if (!dtype || !shape || !offsets) json_.bad(tensor, "lacks dtype, shape or data_offsets");
    StoredTensor stored{read_dtype(dtype), read_integers(shape), 0, source_, 0, {}};
    check_size(stored, shape);
    const std::vector<int64_t> bounds = read_integers(offsets);
    if (bounds.size() != 2 || bounds[1] < bounds[0] || static_cast<uint64_t>(bounds[1]) > size_)
      json_.bad(offsets, concat("does not give a begin and an end within the ", size_, " bytes after the header"));
    const Extent extent{static_cast<uint64_t>(bounds[0]), static_cast<uint64_t>(bounds[1]), offsets};
    if (extent.end - extent.begin != stored.bytes)
      json_.bad(offsets, concat("declares ", extent.end - extent.begin, " bytes for a tensor of ", stored.bytes));
    stored.offset = begin_ + extent.begin;
    extents_.push_back(extent);
    return stored;
  }

  DLDataType read_dtype(const cJSON *item) const {
    if (!cJSON_IsString(item)) json_.bad(item, "is not the name of a dtype");
    const std::string text = json_.text(item);
    for (const NamedType &type : kTypes)
      if (type.name == text) return type.dtype;
    fail(OPD_UNSUPPORTED, source_->name(), ": JSON at offset ", json_.offset(item), " has the unknown dtype \"",
         text.substr(0, 60), "\"");
  }

  std::vector<int64_t> read_integers(const cJSON *list) const {
    if (!cJSON_IsArray(list)) json_.bad(list, "is not a list of integers");
    std::vector<int64_t> out;
    for (const cJSON *item = list->child; item; item = item->next) {
      if (!cJSON_IsNumber(item) || json_.integer(item) < 0) json_.bad(item, "is not an integer from 0 on");
      out.push_back(json_.integer(item));
    }
    return out;
  }

  void check_size(StoredTensor &stored, const cJSON *shape) const {
    if (!compact_bytes(stored.dims, stored.dtype, stored.bytes)) json_.bad(shape, "has a size that exceeds 64 bits");
    const uint64_t count = count_of(stored.dims);
    if (count % 8 * stored.dtype.bits % 8)
      json_.bad(shape,
                concat("has ", count, " elements of ", dtype_name(stored.dtype), ", which do not fill whole bytes"));
  }

  // Checks that every byte belongs to exactly one tensor, as the format requires.
  void check_cover() {
    std::ranges::sort(extents_, [](const Extent &a, const Extent &b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    uint64_t end = 0;
    for (const Extent &extent : extents_) {
      if (extent.begin != end)
        json_.bad(extent.where, concat("begins at ", extent.begin, ", but the tensor before it ends at ", end));
      end = extent.end;
    }
    if (end != size_)
      fail(OPD_BAD_FORMAT, source_->name(), ": the tensors end at offset ", begin_ + end, ", but the file at ",
           begin_ + size_);
  }

  Ref<ByteSource> source_;
  uint64_t begin_, size_;
  std::string header_;
  JsonDocument json_;
  std::vector<Extent> extents_;
  Ref<Params> params_ = make_object<Params>();
};

std::string_view type_name(DLDataType dtype, uint64_t count) {
  for (const NamedType &type : kTypes)
    if (same(type.dtype, dtype) && count % 8 * dtype.bits % 8 == 0) return type.name;
  fail(OPD_UNSUPPORTED, "a .safetensors file cannot hold ", count, " elements of ", dtype_name(dtype),
       "; a TVM param dict can");
}

}  // namespace

bool is_safetensors(Bytes front) {
  uint64_t size = 0;
  if (front.size() < 9 || front[8] != '{') return false;
  std::memcpy(&size, front.data(), 8);
  return size <= kMostHeader;
}

Ref<Params> read_safetensors(Ref<ByteSource> source) {
  ByteReader in(source->bytes(), source->name());
  const auto size = in.read<uint64_t>("header size");
  if (size > kMostHeader) in.bad("header", concat("has ", size, " bytes; ", kMostHeader, " are possible"));
  const std::string_view header = as_text(in.take(size, "header"));
  return SafetensorsReader(std::move(source), header, in.offset()).read();
}

void write_safetensors(const Params &params, ByteSink &out) {
  std::vector<size_t> order(params.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_partition(order.begin(), order.end(), [&](size_t i) { return params.bytes(i) % kAlignment == 0; });
  std::vector<uint64_t> begins(params.size());
  uint64_t end = 0;
  for (const size_t i : order) begins[i] = end, end += params.bytes(i);

  JsonWriter json;
  json.begin_object();
  for (size_t i = 0; i < params.size(); ++i) {
    require(is_utf8(params.name(i)) && params.name(i) != "__metadata__", "the parameter name \"",
            params.name(i).substr(0, 100), "\" cannot name a tensor of a .safetensors file");
    json.key(params.name(i)).begin_object().key("dtype").value(type_name(params.dtype(i), count_of(params.dims(i))));
    json.key("shape").begin_array();
    for (const int64_t size : params.dims(i)) json.value(size);
    json.end_array().key("data_offsets").begin_array();
    json.value(begins[i]).value(begins[i] + params.bytes(i)).end_array().end_object();
  }
  json.end_object();
  json.text().append(padding(8 + json.text().size(), kAlignment), ' ');
  out.reserve(8 + json.text().size() + end);
  const uint64_t size = json.text().size();
  out.write(&size, sizeof size);
  out.write(json.take());
  for (const size_t i : order) {
    const Ref<Tensor> tensor = on_host(params.tensor(i));
    write_elements(out, tensor->dl);
  }
}

}  // namespace opd
