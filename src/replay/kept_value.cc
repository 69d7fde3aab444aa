#include "replay/kept_value.h"

#include <algorithm>

#include "base/content_hash.h"
#include "device/device.h"
#include "value/map.h"

namespace opd {
namespace {

// A file may come from anybody, and an item of one byte takes 120 bytes in memory. The writer has the same limits, so
// it writes no file that the reader refuses.
constexpr uint64_t kMostItems = uint64_t{1} << 20;  // limit for one value
// Most bytes that a strided tensor may span per byte of its elements.
constexpr uint64_t kMostGaps = 16;
// The bytes before the first element are not in the file, but a replay allocates them.
constexpr uint64_t kMostOffset = uint64_t{1} << 20;
constexpr size_t kMostDims = 64;

// Files have these bits: a new flag needs a new bit, and read_tensor() refuses unknown bits.
enum TensorFlag : uint8_t { kHasElements = 1, kHasStrides = 2, kIsReadOnly = 4 };

// Bytes from the first element of a strided tensor to its last one. Returns false if a stride is negative or there are
// too many bytes. With a negative stride, elements would be before the tensor's address, so the writer stores such a
// tensor as a compact one.
bool spanned_bytes(std::span<const int64_t> dims, std::span<const int64_t> strides, DLDataType dtype, uint64_t &out) {
  uint64_t last = 0, compact = 0;
  if (!compact_bytes(dims, dtype, compact)) return false;
  if (count_of(dims) == 0) return out = 0, true;
  for (size_t i = 0; i < dims.size(); ++i) {
    uint64_t step;
    if (strides[i] < 0 || __builtin_mul_overflow(static_cast<uint64_t>(strides[i]), uint64_t(dims[i] - 1), &step) ||
        __builtin_add_overflow(last, step, &last))
      return false;
  }
  return last < UINT64_MAX && data_bytes(last + 1, dtype, out);
}

// Whether a tensor's strides are worth the memory between its elements.
// One column of a large matrix spans all of it. Up to 1 MiB that does not matter.
bool is_dense(uint64_t spanned, uint64_t compact) {
  constexpr uint64_t kSmall = uint64_t{1} << 20;
  return spanned <= kSmall || spanned / kMostGaps <= compact;
}

bool is_read_only(const View &value) {
  return value.type == OPD_TENSOR && is_read_only(*static_cast<Tensor *>(object_of(value)));
}

// The elements at their places. Bytes between them may belong to another tensor, so they are not copied.
std::string spread(const DLTensor &tensor, uint64_t spanned) {
  std::string out(spanned, '\0');
  DLTensor to = tensor;
  to.device = kHost, to.data = out.data(), to.byte_offset = 0;
  copy_tensor(tensor, to);
  return out;
}

// Tensors without elements are never the same, because their addresses mean nothing. Null strides mean a compact
// tensor, so two compact tensors are the same even if only one has strides.
bool is_same(const DLTensor &a, const DLTensor &b) {
  const auto have_equal = [&](const int64_t *one, const int64_t *other) {
    return one && other && std::equal(one, one + a.ndim, other);
  };
  return data_of(a) == data_of(b) && same(a.dtype, b.dtype) && same(a.device, b.device) && a.ndim == b.ndim &&
         std::equal(a.shape, a.shape + a.ndim, b.shape) && bytes_of(a) > 0 &&
         ((is_contiguous(a) && is_contiguous(b)) || have_equal(a.strides, b.strides));
}

void write_dims(ByteWriter &out, const int64_t *dims, int32_t count) {
  for (int32_t i = 0; i < count; ++i) out.write(dims[i]);
}

std::vector<int64_t> read_dims(ByteReader &from, size_t count) {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < count; ++i) dims.push_back(from.read<int64_t>("size"));
  return dims;
}

// The fields are in the order of write_tensor(). The sizes are also checked for a tensor that has only a hash, so later
// code need not check them.
std::shared_ptr<const KeptTensor> read_tensor(ByteReader &from) {
  auto tensor = std::make_shared<KeptTensor>();
  const auto flags = from.read<uint8_t>("flags");
  if (flags > 7) from.bad("flags", "of a tensor must be below 8");
  tensor->dtype = from.read<DLDataType>("dtype");
  tensor->device = from.read<DLDevice>("device");
  const uint64_t ndim = from.read_count(sizeof(int64_t), "number of dimensions");
  if (ndim > kMostDims) from.bad("number of dimensions", "exceeds 64");
  tensor->dims = read_dims(from, ndim);
  if (flags & kHasStrides) tensor->strides = read_dims(from, ndim);
  tensor->byte_offset = from.read<uint64_t>("byte offset");
  tensor->hash = from.read<ContentsHash>("hash");
  tensor->is_read_only = flags & kIsReadOnly, tensor->has_elements = flags & kHasElements;
  if (tensor->byte_offset > kMostOffset) from.bad("byte offset", "exceeds 1 MiB");
  uint64_t bytes = 0;
  // An element of 0 bits would make tensors of any shape 0 bytes long.
  bool is_sound = tensor->dtype.bits && tensor->dtype.lanes && compact_bytes(tensor->dims, tensor->dtype, bytes);
  // From here on `bytes` includes the gaps, which the file also has.
  if (const uint64_t compact = bytes; is_sound && flags & kHasStrides)
    is_sound = spanned_bytes(tensor->dims, tensor->strides, tensor->dtype, bytes) && is_dense(bytes, compact);
  if (!is_sound) from.bad("shape", "does not describe a valid tensor");
  if (tensor->has_elements) tensor->elements = from.take(bytes, "elements");
  return tensor;
}

// Depth and number of items are limited, so a small file can exhaust neither the stack nor the memory. Unknown kinds
// are an error, because their length is unknown.
KeptValue read_value(ByteReader &from, int depth, uint64_t &num_items) {
  if (++num_items > kMostItems) from.bad("value", concat("has more than ", kMostItems, " items"));
  KeptValue value;
  const auto kind = from.read<uint8_t>("kind");
  if (kind > KeptValue::kSameState)
    from.bad("kind", concat("of a value must be at most ", int{KeptValue::kSameState}, ", but is ", kind));
  value.kind = static_cast<KeptValue::Kind>(kind);
  switch (value.kind) {
    case KeptValue::kNone:
      break;
    case KeptValue::kInt:
    case KeptValue::kBool:
    case KeptValue::kDtype:
    case KeptValue::kDevice:
    case KeptValue::kSameTensor:
    case KeptValue::kGivenTensor:
    case KeptValue::kSameState:
      value.number = from.read<int64_t>("number");
      break;
    case KeptValue::kFloat:
      value.real = from.read<double>("number");
      break;
    case KeptValue::kText:
    case KeptValue::kBytes:
    case KeptValue::kOpaque:
    case KeptValue::kFunction:
      value.text = from.read_string("text");
      break;
    case KeptValue::kShape:
      value.dims = read_dims(from, from.read_count(sizeof(int64_t), "number of sizes"));
      break;
    case KeptValue::kState:
      value.text = from.read_string("maker");
      value.saved = as_bytes(from.read_string("state"));
      [[fallthrough]];
    case KeptValue::kArray:
    case KeptValue::kMap: {
      if (depth == kMostTuples) from.bad("value", concat("is nested more than ", kMostTuples, " deep"));
      // Each item takes at least one byte for its kind, so the count is checked against the remaining bytes.
      const uint64_t count = from.read_count(1, "number of items");
      if (value.kind == KeptValue::kMap && count % 2) from.bad("number of items", "of a map must be even");
      for (uint64_t i = 0; i < count; ++i) value.items.push_back(read_value(from, depth + 1, num_items));
      break;
    }
    case KeptValue::kTensor:
      value.tensor = read_tensor(from);
      break;
  }
  return value;
}

// The flag is set in a second tensor, because the elements are written through the first one.
Ref<Tensor> read_only(Ref<Tensor> tensor) {
  const DLTensor &dl = tensor->dl;
  return Tensor::make(dims_of(dl), dl.dtype, dl.device, dl.data, Ref<Object>::share(tensor.get()), true);
}

// A kernel may check the strides and the offset of its arguments, so a call with a compact copy could end differently
// from the recorded call. On a device other than the recorded one, the tensor becomes compact: the host cannot place
// elements in its memory.
Ref<Tensor> tensor_of(const KeptTensor &kept, DLDevice device) {
  if (!kept.has_elements) fail(OPD_UNSUPPORTED, "of a tensor ", kept.type(), ", the recording has only a hash");
  const bool is_plain = kept.strides.empty() && kept.byte_offset == 0;
  if (is_plain) {
    Ref<Tensor> made = make_tensor(kept.dims, kept.dtype, device);
    if (!kept.elements.empty()) copy_from_bytes(made->dl, kept.elements.data(), kept.elements.size());
    return kept.is_read_only ? read_only(std::move(made)) : made;
  }
  require(kept.device.device_type == kDLCPU, "a tensor with strides or an offset must be of the CPU");
  const int64_t bytes[] = {static_cast<int64_t>(kept.byte_offset + kept.elements.size())};
  Ref<Tensor> memory = make_tensor(bytes, {kDLUInt, 8, 1}, kept.device);
  char *const data = data_of(memory->dl);
  // Zeroed, so that each replay reads the same before the first element.
  if (bytes[0]) std::memset(data, 0, kept.byte_offset);
  if (!kept.elements.empty()) std::memcpy(data + kept.byte_offset, kept.elements.data(), kept.elements.size());
  Ref<Tensor> made = Tensor::make(kept.dims, kept.dtype, kept.device, data, std::move(memory), kept.is_read_only);
  made->dl.byte_offset = kept.byte_offset;
  std::ranges::copy(kept.strides, made->dl.strides);
  if (same(kept.device, device)) return made;
  Ref<Tensor> moved = copied_to(device, made->dl);
  return kept.is_read_only ? read_only(std::move(moved)) : moved;
}

// Order and depth must match ValueWriter::write(): numbers of kGivenTensor count these tensors, both when a call is
// captured and when it is replayed.
void add_tensors(std::vector<View> &out, const View &value, int depth) {
  if (try_dltensor(value)) out.push_back(value);
  if (depth == kMostTuples || lacks_object(value)) return;
  if (const auto *array = try_as<Array>(value))
    for (const View &item : array->views()) add_tensors(out, item, depth + 1);
  if (Map *const map = try_map(value))
    for (uint64_t at = map->begin(); at != map->end(); at = map->next(at)) {
      add_tensors(out, map->at(at).key, depth + 1);
      add_tensors(out, map->at(at).value, depth + 1);
    }
}

// A map is one leaf, because its items have no stable numbers.
void add_leaves(std::vector<KeptLeaf> &out, const KeptValue &value, const std::string &name) {
  if (value.kind == KeptValue::kArray) {
    for (size_t i = 0; i < value.items.size(); ++i) add_leaves(out, value.items[i], concat(name, "_", i));
    return;
  }
  // The texts are for reports. Values that could not be kept also have one, so that reports have a line for each.
  KeptLeaf leaf{name, {}, value.tensor};
  if (value.tensor) leaf.shown = concat(value.tensor->type(), " on ", device_name(value.tensor->device));
  else if (value.kind == KeptValue::kOpaque) leaf.shown = "an object of type " + value.text;
  else if (value.kind == KeptValue::kSameTensor) leaf.shown = concat("tensor ", value.number, " of the arguments");
  else if (value.kind == KeptValue::kGivenTensor) leaf.shown = concat("tensor ", value.number, " that it was given");
  else if (value.kind == KeptValue::kMap) leaf.shown = concat("a map of ", value.items.size() / 2);
  else if (value.kind == KeptValue::kFunction) leaf.shown = "function " + value.text;
  else if (value.kind == KeptValue::kState)
    leaf.shown = concat("a state of ", value.text, ", ", value.saved.size(), " bytes");
  else if (value.kind == KeptValue::kSameState) leaf.shown = concat("state ", value.number, " of the arguments");
  else leaf.shown = to_text(ValueMaker().make(value));
  out.push_back(std::move(leaf));
}

}  // namespace

// `dl` points into the vectors' own memory, which does not move with the Seen. The reference is weak, because a strong
// one would keep the program's memory until the end of the call.
ValueWriter::Seen::Seen(const View &value) : dl(*try_dltensor(value)), dims(dl.shape, dl.shape + dl.ndim) {
  dl.shape = dims.data();
  if (dl.strides) strides.assign(dl.strides, dl.strides + dl.ndim), dl.strides = strides.data();
  if (value.type == OPD_TENSOR) owner.emplace(object_of(value));
}

std::string ValueWriter::write(const View &value, std::span<const View> given) {
  ByteWriter out;
  // The limit applies to each value, but tensors and states are known for the whole call.
  num_items_ = 0, given_ = given;
  write(out, value, 0);
  return out.take();
}

// A value that cannot be kept still has a place in the file. So the rest of the file stays readable, and the caller can
// name the type.
void ValueWriter::write_opaque(ByteWriter &out, std::string_view type) {
  out.write<uint8_t>(KeptValue::kOpaque);
  out.write_string(type);
  opaque_.emplace_back(type);
}

void ValueWriter::write(ByteWriter &out, const View &value, int depth) {
  const auto number = [&](KeptValue::Kind kind, int64_t n) { out.write<uint8_t>(kind), out.write(n); };
  const auto text = [&](KeptValue::Kind kind, std::string_view t) { out.write<uint8_t>(kind), out.write_string(t); };
  if (++num_items_ > kMostItems) return write_opaque(out, "tuple of too many items");
  // Tensors come first, because they have several types: an object, or a DLTensor that the caller owns.
  if (try_dltensor(value)) return write_tensor(out, value);
  if (value.type == OPD_NONE) return out.write<uint8_t>(KeptValue::kNone);
  if (value.type == OPD_INT) return number(KeptValue::kInt, value.u.int64);
  if (value.type == OPD_BOOL) return number(KeptValue::kBool, value.u.int64);
  if (value.type == OPD_FLOAT) return out.write<uint8_t>(KeptValue::kFloat), out.write(value.u.float64);
  if (value.type == OPD_DTYPE || value.type == OPD_DEVICE) {
    // Both have at most eight bytes, so the format stores them as a number.
    int64_t bits = 0;
    if (value.type == OPD_DTYPE)
      return std::memcpy(&bits, &value.u, sizeof(DLDataType)), number(KeptValue::kDtype, bits);
    const DLDevice device = move_.then(value.u.device);
    std::memcpy(&bits, &device, sizeof device);
    return number(KeptValue::kDevice, bits);
  }
  if (is_text(value)) return text(KeptValue::kText, as_text(value, "value"));
  if (is_bytes(value)) return text(KeptValue::kBytes, bytes_in(value, "value"));
  if (const auto *shape = try_as<Shape>(value)) {
    number(KeptValue::kShape, static_cast<int64_t>(shape->size));
    for (const int64_t dim : shape->dims()) out.write(dim);
    return;
  }
  // A writer of hashes or results has no names. It writes states and functions as opaque, so only their types are
  // compared.
  if (name_of_ && !lacks_object(value)) {
    if (KvState *const state = try_kv_state(value)) return write_state(out, *state, depth);
    const auto *const function = try_as<Function>(value);
    if (const std::string name = function ? name_of_(*function) : ""; !name.empty())
      return text(KeptValue::kFunction, name);
  }
  const auto *array = try_as<Array>(value);
  Map *const map = try_map(value);
  if ((!array && !map) || depth == kMostTuples || lacks_object(value))
    return write_opaque(out, lacks_object(value) ? "NULL" : type_key(value.type));
  if (array) {
    number(KeptValue::kArray, static_cast<int64_t>(array->size()));
    for (const View &item : array->views()) write(out, item, depth + 1);
    return;
  }
  number(KeptValue::kMap, static_cast<int64_t>(2 * map->count));
  for (uint64_t at = map->begin(); at != map->end(); at = map->next(at)) {
    write(out, map->at(at).key, depth + 1);
    write(out, map->at(at).value, depth + 1);
  }
}

void ValueWriter::write_state(ByteWriter &out, KvState &state, int depth) {
  // Two arguments may be the same state. If it were kept twice, tokens that a call adds to one would be missing in the
  // other.
  for (size_t i = 0; i < states_.size(); ++i)
    if (states_[i].lock().get() == &state)
      return out.write<uint8_t>(KeptValue::kSameState), out.write(static_cast<int64_t>(i));
  // The state is written to separate buffers: if it cannot be kept, `out` must not have a part of it.
  ByteWriter saved, made_by;
  const size_t num_opaque = opaque_.size();
  const std::string type(type_key(state.type_index));
  try {
    // If another thread runs a pass on the state, this throws and the state becomes opaque: otherwise a save could have
    // half of the pass.
    const KvUse alone(state);
    state.save(saved);
    const std::vector<Value> args = state.maker_arguments();
    made_by.write(static_cast<uint64_t>(args.size()));
    for (const Value &arg : args) write(made_by, arg.view(), depth + 1);
  } catch (const Exception &e) { return write_opaque(out, concat(type, " (", e.what(), ")")); }
  // The whole state cannot be kept, so the message names it instead of its kernel.
  if (opaque_.size() > num_opaque) {
    opaque_.resize(num_opaque);
    return write_opaque(out, type + " (a function that is not of the program is among its kernels)");
  }
  states_.emplace_back(&state);
  out.write<uint8_t>(KeptValue::kState);
  out.write_string(state.maker());
  out.write_string(saved.take());
  const std::string arguments = made_by.take();
  out.write_bytes(arguments.data(), arguments.size());
}

// If the replay will already have the tensor, writes its number, so that arguments share memory there as they did in
// the recorded call. Otherwise notes the tensor for later ones and returns false. The address alone does not identify a
// tensor: its memory may have been freed and reused.
bool ValueWriter::write_as_known(ByteWriter &out, const View &value) {
  const DLTensor &tensor = *try_dltensor(value);
  const auto number = [&](KeptValue::Kind kind, size_t n) {
    out.write<uint8_t>(kind), out.write(static_cast<int64_t>(n));
    return true;
  };
  for (size_t i = 0; i < given_.size(); ++i)
    // Only reference-counted tensors: the result has to own the tensor that it refers to.
    if (given_[i].type == OPD_TENSOR && is_same(*try_dltensor(given_[i]), tensor))
      return number(KeptValue::kGivenTensor, i);
  const auto [first, last] = seen_at_.equal_range(data_of(tensor));
  for (auto at = first; at != last; ++at) {
    const Seen &seen = seen_[at->second];
    if (is_same(seen.dl, tensor) && (!seen.owner || seen.owner->lock()))
      return number(KeptValue::kSameTensor, at->second);
  }
  seen_at_.emplace(data_of(tensor), seen_.size());
  seen_.emplace_back(value);
  return false;
}

void ValueWriter::write_tensor(ByteWriter &out, const View &value) {
  // Results and hashes have each tensor in full. So they do not depend on earlier values, and can be compared.
  if (keeping_ == Keeping::kArguments && write_as_known(out, value)) return;
  const DLTensor &tensor = *try_dltensor(value);
  Ref<Tensor> copy;
  const std::string_view compact = host_bytes(tensor, copy);
  uint64_t spanned = 0;
  // Strides and offsets are kept only for the host: addresses of other devices permit no arithmetic here.
  const bool keeps_place = keeping_ == Keeping::kArguments && tensor.device.device_type == kDLCPU;
  const bool keeps_strides =
      keeps_place && !is_contiguous(tensor) &&
      spanned_bytes(dims_of(tensor), {tensor.strides, size_t(tensor.ndim)}, tensor.dtype, spanned) &&
      is_dense(spanned, compact.size());
  const bool keeps_offset = keeps_place && tensor.byte_offset <= kMostOffset;
  out.write<uint8_t>(KeptValue::kTensor);
  out.write(static_cast<uint8_t>((keeping_ == Keeping::kHashes ? 0 : kHasElements) | (keeps_strides ? kHasStrides : 0) |
                                 (is_read_only(value) ? kIsReadOnly : 0)));
  out.write(tensor.dtype);
  out.write(move_.then(tensor.device));
  out.write(static_cast<uint64_t>(tensor.ndim));
  write_dims(out, tensor.shape, tensor.ndim);
  if (keeps_strides) write_dims(out, tensor.strides, tensor.ndim);
  out.write(keeps_offset ? tensor.byte_offset : uint64_t{0});
  // The hash covers the compact elements. So it does not depend on the strides, which another build of the program may
  // choose differently.
  out.write(hash_of(compact, tensor.dtype));
  if (keeping_ == Keeping::kHashes) return;
  // No length is written: the reader computes it from the shape, so the two cannot contradict each other.
  if (!keeps_strides) return out.write_bytes(compact.data(), compact.size());
  const std::string at_places = spread(tensor, spanned);
  out.write_bytes(at_places.data(), at_places.size());
}

KeptValue read_value(ByteReader &from) {
  uint64_t num_items = 0;
  return read_value(from, 0, num_items);
}

Value ValueMaker::make_state(const KeptValue &kept) {
  std::vector<Value> args;
  for (const KeptValue &arg : kept.items) args.push_back(make(arg));
  ByteReader saved(kept.saved, "the state");
  // The state gets its number after its arguments are made, as in the writer.
  return states_.emplace_back(make_saved_state(kept.text, views_of(args), saved));
}

// Numbers come from the file, so each one is range-checked. Only here is a value that could not be kept an error: a
// file with one can still be shown.
Value ValueMaker::make(const KeptValue &kept, std::span<const View> given) {
  const auto earlier = [&](const auto &made, const char *what) -> Value {
    if (kept.number < 0 || static_cast<uint64_t>(kept.number) >= made.size())
      fail(OPD_BAD_FORMAT, "the recording refers to ", what, kept.number, ", but has only ", made.size(), " before it");
    return made[static_cast<size_t>(kept.number)];
  };
  if (kept.kind == KeptValue::kNone) return {};
  if (kept.kind == KeptValue::kInt) return kept.number;
  if (kept.kind == KeptValue::kBool) return kept.number != 0;
  if (kept.kind == KeptValue::kFloat) return kept.real;
  if (kept.kind == KeptValue::kDtype || kept.kind == KeptValue::kDevice) {
    DLDataType dtype;
    DLDevice device;
    std::memcpy(&dtype, &kept.number, sizeof dtype);
    std::memcpy(&device, &kept.number, sizeof device);
    return kept.kind == KeptValue::kDtype ? Value(dtype) : Value(move_.now(device));
  }
  if (kept.kind == KeptValue::kText) return kept.text;
  if (kept.kind == KeptValue::kBytes) return make_bytes(kept.text);
  if (kept.kind == KeptValue::kShape) return Shape::make(kept.dims);
  if (kept.kind == KeptValue::kTensor)
    return tensors_.emplace_back(tensor_of(*kept.tensor, move_.now(kept.tensor->device)));
  if (kept.kind == KeptValue::kSameTensor) return earlier(tensors_, "tensor ");
  if (kept.kind == KeptValue::kGivenTensor) {
    if (kept.number < 0 || static_cast<uint64_t>(kept.number) >= given.size())
      fail(OPD_BAD_FORMAT, "the recording refers to tensor ", kept.number, " of a call's arguments, which have ",
           given.size());
    return Value(given[static_cast<size_t>(kept.number)]);
  }
  if (kept.kind == KeptValue::kOpaque)
    fail(OPD_UNSUPPORTED, "a value of type ", kept.text, " cannot be kept in a recording");
  if (kept.kind == KeptValue::kFunction) {
    Ref<Function> function = vm_ ? vm_->find_function_named(kept.text) : nullptr;
    if (!function) fail(OPD_NOT_FOUND, "the program has no function ", kept.text);
    return function;
  }
  if (kept.kind == KeptValue::kState) return make_state(kept);
  if (kept.kind == KeptValue::kSameState) return earlier(states_, "state ");
  std::vector<Value> items;
  for (const KeptValue &item : kept.items) items.push_back(make(item, given));
  if (kept.kind == KeptValue::kMap) return Map::make(views_of(items));
  return Array::make(views_of(items));
}

std::vector<View> tensors_in(const View &value) {
  std::vector<View> tensors;
  add_tensors(tensors, value, 0);
  return tensors;
}

std::vector<KeptLeaf> leaves_of(const KeptValue &value, const std::string &name) {
  std::vector<KeptLeaf> leaves;
  add_leaves(leaves, value, name);
  return leaves;
}

// The written form has no addresses, so equal values have equal hashes in every process.
ContentsHash hash_of_value(const View &value, DeviceMove move) {
  ContentHash hash;
  hash.add(ValueWriter(Keeping::kHashes, {}, move).write(value));
  return {hash.low(), hash.high()};
}

}  // namespace opd
