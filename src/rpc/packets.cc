#include "rpc/packets.h"

#include "device/device.h"
#include "value/dtype.h"

namespace opd::rpc {
namespace {

// Type indices on the wire are those of tvm-ffi, as in values here. These differ, or are of the wire alone.
constexpr int32_t kObjectReference = 115;
constexpr int32_t kMostDims = 64;
constexpr int32_t kMostValues = 4096;

std::string packet(Code code, int32_t num_values, ByteWriter &values) {
  ByteWriter made;
  made.write(code);
  made.write(num_values);
  return made.take() + values.take();
}

// One value that is whole on the wire. False: it is an object, or an address.
bool write_plain(ByteWriter &to, const View &value) {
  switch (value.type) {
    case OPD_NONE:
      to.write(value.type);
      return true;
    case OPD_BOOL:
    case OPD_INT:
    case OPD_FLOAT:
      to.write(value.type);
      to.write(value.u.int64);
      return true;
    case OPD_DTYPE:
      to.write(value.type);
      to.write(value.u.dtype);
      to.write(int32_t{0});
      return true;
    case OPD_DEVICE:
      to.write(value.type);
      to.write(value.u.device);
      return true;
    default:
      return false;
  }
}

void write_int(ByteWriter &to, int64_t number) { write_plain(to, opd_int(number)); }
void write_handle(ByteWriter &to, uint64_t number) {
  to.write(int32_t{OPD_POINTER});
  to.write(number);
}

bool is_bytes(const View &value) { return value.type == OPD_BYTES || value.type == OPD_SMALL_BYTES; }

}  // namespace

std::string_view bytes_in(const View &value, std::string_view what) {
  if (value.type == OPD_SMALL_BYTES) return {value.u.bytes, value.length};
  const auto &bytes = as<BytesObject>(value, what);
  return {bytes.data, bytes.size};
}

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

void Arguments::read_value(ByteReader &from, const Objects &objects) {
  const auto type = from.read<int32_t>("type of a value");
  const auto number = [&] { return from.read<uint64_t>("number of an object"); };
  // Objects have a second type. Small texts and bytes, which are none in memory, are some on the wire.
  int32_t second = type == OPD_STRING || type == OPD_BYTES || type == kObjectReference ? type : 0;
  if (type == OPD_SMALL_STRING) second = OPD_STRING;
  if (type == OPD_SMALL_BYTES) second = OPD_BYTES;
  if (second && from.read<int32_t>("type of an object") != second)
    from.bad("type of an object", "differs from that of its value");
  switch (type) {
    case OPD_NONE:
      values_.emplace_back();
      return;
    case OPD_INT:
      values_.emplace_back(from.read<int64_t>("integer"));
      return;
    case OPD_BOOL:
      values_.emplace_back(from.read<int64_t>("bool") != 0);
      return;
    case OPD_FLOAT:
      values_.emplace_back(from.read<double>("float"));
      return;
    case OPD_POINTER:
      handles_.push_back({values_.size(), from.read<uint64_t>("handle")});
      values_.emplace_back();
      return;
    case OPD_DTYPE: {
      const auto dtype = from.read<DLDataType>("dtype");
      from.take(sizeof(int32_t), "padding of a dtype");
      values_.emplace_back(dtype);
      return;
    }
    case OPD_DEVICE:
      values_.emplace_back(from.read<DLDevice>("device"));
      return;
    case OPD_DLTENSOR: {
      RemoteTensor tensor = RemoteTensor::read(from);
      if (tensor.data) return values_.emplace_back(tensor.in(objects)), void();
      descriptions_.emplace_back(values_.size(), std::move(tensor));
      values_.emplace_back();
      return;
    }
    case OPD_CSTRING:
    case OPD_SMALL_STRING:
    case OPD_STRING:
      values_.emplace_back(from.read_string("string"));
      return;
    case OPD_BYTES_VIEW:
    case OPD_SMALL_BYTES:
    case OPD_BYTES:
      values_.push_back(make_bytes(from.read_string("bytes")));
      return;
    case OPD_FUNCTION:
    case OPD_MODULE:
    case kObjectReference:
      values_.push_back(objects.find(number()));
      return;
    default:
      from.bad("type of a value", concat("is ", type, ", which has no form here"));
  }
}

Args Arguments::for_call() const {
  for (const Handle &one : handles_)
    if (one.number)
      fail(OPD_UNSUPPORTED, "argument ", one.place, " is an address, which means nothing in another process");
  if (!descriptions_.empty())
    fail(OPD_INVALID_ARGUMENT, "argument ", descriptions_.front().first, " is a tensor without data");
  return {reinterpret_cast<const View *>(values_.data()), values_.size()};
}

void Arguments::require_size(size_t size, const char *request) const {
  if (values_.size() != size) fail(OPD_BAD_FORMAT, request, " has ", size, " values, but ", values_.size(), " came");
}

uint64_t Arguments::handle(size_t i, const char *request) const {
  for (const Handle &one : handles_)
    if (one.place == i) return one.number;
  fail(OPD_BAD_FORMAT, request, ": value ", i, " must be a handle");
}

const RemoteTensor &Arguments::description(size_t i, const char *request) const {
  for (const auto &[place, tensor] : descriptions_)
    if (place == i) return tensor;
  fail(OPD_BAD_FORMAT, request, ": value ", i, " must be a tensor without data");
}

std::string result_of_call(const Value &value, Objects &objects) {
  const View &view = value.view();
  ByteWriter values;
  if (is_text(view)) {
    write_int(values, OPD_STRING);
    values.write(int32_t{OPD_CSTRING});
    values.write_string(as_text(view, "the result"));
  } else if (is_bytes(view)) {
    write_int(values, OPD_BYTES);
    values.write(int32_t{OPD_BYTES_VIEW});
    values.write_string(bytes_in(view, "the result"));
  } else if (view.type == OPD_TENSOR) {
    auto tensor = Ref<Tensor>::share(static_cast<Tensor *>(object_of(view)));
    if (!is_contiguous(tensor->dl)) tensor = copied_to(tensor->dl.device, tensor->dl);
    RemoteTensor sent;
    sent.device = tensor->dl.device, sent.dtype = tensor->dl.dtype;
    sent.dims.assign(tensor->dl.shape, tensor->dl.shape + tensor->dl.ndim);
    sent.data = objects.add(std::move(tensor));
    write_int(values, OPD_TENSOR);
    values.write(int32_t{OPD_DLTENSOR});
    sent.write(values);
    write_handle(values, sent.data);
    return packet(Code::kReturn, 3, values);
  } else {
    write_int(values, view.type);
    if (is_object(view)) write_handle(values, objects.add(value));
    else if (!write_plain(values, view))
      fail(OPD_UNSUPPORTED, "a result of the type ", type_key(view.type), " cannot be sent to another process");
  }
  return packet(Code::kReturn, 2, values);
}

std::string result_of_request(const View &value) {
  ByteWriter values;
  if (is_text(value)) {
    values.write(int32_t{OPD_CSTRING});
    values.write_string(as_text(value, "the answer"));
  } else if (!write_plain(values, value)) {
    write_plain(values, opd_none());
  }
  return packet(Code::kReturn, 1, values);
}

std::string handle_result(uint64_t handle) {
  ByteWriter values;
  write_handle(values, handle);
  return packet(Code::kReturn, 1, values);
}

std::string exception(std::string_view message) {
  ByteWriter values;
  values.write(int32_t{OPD_CSTRING});
  values.write_string(message);
  return packet(Code::kException, 1, values);
}

}  // namespace opd::rpc
