#include "rpc/wire/packets.h"

#include "device/device.h"
#include "value/dtype.h"

namespace opd::rpc {
namespace {

constexpr int32_t kMostDims = 64;
constexpr int32_t kMostValues = 4096;

// On the wire, objects have a second type. Small texts and bytes are not objects in memory, but are objects on the
// wire.
int32_t second_type(int32_t type) {
  switch (type) {
    case OPD_STRING:
    case OPD_SMALL_STRING:
      return OPD_STRING;
    case OPD_BYTES:
    case OPD_SMALL_BYTES:
      return OPD_BYTES;
    default:
      return type == kObjectReference ? type : 0;
  }
}

}  // namespace

RemoteTensor RemoteTensor::read(ByteReader &from) {
  RemoteTensor made;
  made.data = from.read<uint64_t>("data of a tensor");
  made.device = from.read<DLDevice>("device of a tensor");
  const auto ndim = from.read<int32_t>("number of dimensions");
  if (ndim < 0 || ndim > kMostDims)
    from.bad("number of dimensions", concat("is ", ndim, ", not from 0 to ", kMostDims));
  made.dtype = from.read<DLDataType>("dtype of a tensor");
  for (int32_t i = 0; i < ndim; ++i) {
    made.dims.push_back(from.read<int64_t>("dimension"));
    if (made.dims.back() < 0) from.bad("dimension", concat("is ", made.dims.back()));
  }
  made.byte_offset = from.read<uint64_t>("byte offset of a tensor");
  return made;
}

void RemoteTensor::write(ByteWriter &to) const {
  to.write(data);
  to.write(device);
  to.write(static_cast<int32_t>(dims.size()));
  to.write(dtype);
  for (const int64_t dim : dims) to.write(dim);
  to.write(byte_offset);
}

uint64_t RemoteTensor::bytes() const {
  DLTensor view{};
  view.ndim = static_cast<int32_t>(dims.size());
  view.shape = const_cast<int64_t *>(dims.data());
  view.dtype = dtype;
  return bytes_of(view);
}

Ref<Tensor> RemoteTensor::in(const Objects &objects) const {
  auto &whole = as<Tensor>(objects.find(data), "the data of a tensor");
  if (!same(whole.dl.device, device))
    fail(OPD_INVALID_ARGUMENT, "the memory of a tensor is on ", device_name(whole.dl.device), ", not on ",
         device_name(device));
  if (static_cast<int16_t>(dtype.lanes) <= 0 || dtype.bits == 0)
    fail(OPD_INVALID_ARGUMENT, "a tensor cannot have elements of dtype ", dtype_name(dtype));
  const uint64_t needed = bytes(), all = bytes_of(whole.dl);
  if (byte_offset > all || needed > all - byte_offset)
    fail(OPD_OUT_OF_RANGE, "a tensor of ", needed, " bytes from byte ", byte_offset, " on does not lie in memory of ",
         all, " bytes");
  return Tensor::make_view(Ref<Tensor>::share(&whole), dims, dtype, device, data_of(whole.dl) + byte_offset);
}

Arguments::Arguments(ByteReader &from, const Objects &objects) {
  const auto count = from.read<int32_t>("number of values");
  if (count < 0 || count > kMostValues)
    from.bad("number of values", concat("is ", count, ", not from 0 to ", kMostValues));
  for (int32_t i = 0; i < count; ++i) read_value(from, objects);
}

std::optional<Value> read_plain(ByteReader &from, int32_t type) {
  switch (type) {
    case OPD_NONE:
      return Value();
    case OPD_INT:
      return Value(from.read<int64_t>("integer"));
    case OPD_BOOL:
      return Value(from.read<int64_t>("bool") != 0);
    case OPD_FLOAT:
      return Value(from.read<double>("float"));
    case OPD_DTYPE: {
      const auto dtype = from.read<DLDataType>("dtype");
      from.take(sizeof(int32_t), "padding of a dtype");
      return Value(dtype);
    }
    case OPD_DEVICE:
      return Value(from.read<DLDevice>("device"));
    case OPD_CSTRING:
    case OPD_SMALL_STRING:
    case OPD_STRING:
      return Value(from.read_string("string"));
    case OPD_BYTES_VIEW:
    case OPD_SMALL_BYTES:
    case OPD_BYTES:
      return make_bytes(from.read_string("bytes"));
    default:
      return {};
  }
}

ByteReader values_of(std::string_view answer) {
  ByteReader body(as_bytes(answer), "an answer of the server", sizeof(Code));
  body.read<int32_t>("number of values");
  return body;
}

int32_t read_type(ByteReader &from) {
  const auto type = from.read<int32_t>("type of a value");
  const int32_t second = second_type(type);
  if (second && from.read<int32_t>("type of an object") != second)
    from.bad("type of an object", "differs from that of its value");
  return type;
}

void Arguments::read_value(ByteReader &from, const Objects &objects) {
  const int32_t type = read_type(from);
  if (std::optional<Value> plain = read_plain(from, type)) return values_.push_back(std::move(*plain));
  switch (type) {
    case OPD_POINTER:
      handles_.emplace_back(values_.size(), from.read<uint64_t>("handle"));
      values_.emplace_back();
      return;
    case OPD_DLTENSOR: {
      RemoteTensor tensor = RemoteTensor::read(from);
      if (tensor.data) return values_.emplace_back(tensor.in(objects)), void();
      descriptions_.emplace_back(values_.size(), std::move(tensor));
      values_.emplace_back();
      return;
    }
    case OPD_FUNCTION:
    case OPD_MODULE:
    case kObjectReference:
      values_.push_back(objects.find(from.read<uint64_t>("number of an object")));
      return;
    default:
      from.bad("type of a value", concat("is ", type, ", which has no form here"));
  }
}

Args Arguments::for_call() const {
  for (const auto &[place, number] : handles_)
    if (number) fail(OPD_UNSUPPORTED, "argument ", place, " is an address, which means nothing in another process");
  if (!descriptions_.empty())
    fail(OPD_INVALID_ARGUMENT, "argument ", descriptions_.front().first, " is a tensor without data");
  return views_of(values_);
}

void Arguments::require_size(size_t size, const char *request) const {
  if (values_.size() != size) fail(OPD_BAD_FORMAT, request, " has ", size, " values, but ", values_.size(), " came");
}

uint64_t Arguments::handle(size_t i, const char *request) const {
  for (const auto &[place, number] : handles_)
    if (place == i) return number;
  fail(OPD_BAD_FORMAT, request, ": value ", i, " must be a handle");
}

const RemoteTensor &Arguments::description(size_t i, const char *request) const {
  for (const auto &[place, tensor] : descriptions_)
    if (place == i) return tensor;
  fail(OPD_BAD_FORMAT, request, ": value ", i, " must be a tensor without data");
}

void PacketWriter::begin(int32_t type) {
  ++count_;
  values_.write(type);
  if (const int32_t second = second_type(type)) values_.write(second);
}

bool PacketWriter::add_plain(const View &value) {
  switch (value.type) {
    case OPD_NONE:
      begin(value.type);
      return true;
    case OPD_BOOL:
    case OPD_INT:
    case OPD_FLOAT:
      add(value.type, value.u.int64);
      return true;
    case OPD_DTYPE:
      add(value.type, value.u.dtype);
      values_.write(int32_t{0});
      return true;
    case OPD_DEVICE:
      add_device(value.u.device);
      return true;
    default:
      if (is_text(value)) add_text(as_text(value, "a text"));
      else if (is_bytes(value)) add_bytes(bytes_in(value, "bytes"));
      else return false;
      return true;
  }
}

std::string result_of_call(const Value &value, Objects &objects) {
  const View &view = value.view();
  PacketWriter packet(Code::kReturn);
  if (view.type == OPD_TENSOR) {
    auto tensor = Ref<Tensor>::share(static_cast<Tensor *>(object_of(view)));
    if (!is_contiguous(tensor->dl)) tensor = copied_to(tensor->dl.device, tensor->dl);
    RemoteTensor sent;
    sent.device = tensor->dl.device, sent.dtype = tensor->dl.dtype;
    sent.dims.assign(tensor->dl.shape, tensor->dl.shape + tensor->dl.ndim);
    sent.data = objects.add(std::move(tensor));
    return packet.add_int(OPD_TENSOR).add_tensor(sent).add_handle(sent.data).take();
  }
  packet.add_int(is_text(view) ? OPD_STRING : is_bytes(view) ? OPD_BYTES : view.type);
  if (!packet.add_plain(view)) {
    if (!is_object(view))
      fail(OPD_UNSUPPORTED, "a result of the type ", type_key(view.type), " cannot be sent to another process");
    packet.add_handle(objects.add(value));
  }
  return packet.take();
}

std::string result_of_request(const View &value) {
  PacketWriter packet(Code::kReturn);
  if (!packet.add_plain(value)) packet.add_plain(opd_none());
  return packet.take();
}

}  // namespace opd::rpc
