// Reads and writes an executable's bytes in both versions, see docs/executable.md.
#include "program/constant_pages.h"
#include "program/executable.h"

namespace opd {
namespace {

constexpr const char *kVersionText = "0.14";

FunctionInfo read_function(ByteReader &in) {
  FunctionInfo function;
  const auto kind = in.read<int32_t>("function kind");
  if (kind < 0 || kind > 2) in.bad("function kind", concat("is ", kind, "; 0, 1 and 2 are known"));
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

Value read_constant(ByteReader &in, int32_t kind) {
  switch (kind) {
    case OPD_SHAPE: {
      const auto count = in.read_count(8, "shape constant");
      int64_t *dims;
      auto shape = Shape::make_uninitialised(count, dims);
      const Bytes bytes = in.take(count * 8, "shape constant");
      if (count) std::memcpy(dims, bytes.data(), bytes.size());
      return Value(std::move(shape));
    }
    case OPD_STRING:
      return Value(in.read_string("string constant"));
    case OPD_INT:
      return Value(in.read<int64_t>("int constant"));
    case OPD_FLOAT:
      return Value(in.read<double>("float constant"));
    case OPD_DTYPE:
      return Value(in.read<DLDataType>("dtype constant"));
    default:
      in.bad("constant kind", concat("is ", kind, ", which no known TVM release writes"));
  }
}

void write_constant(ByteWriter &out, const View &constant) {
  const bool text = is_text(constant);
  out.write<int32_t>(text ? int32_t{OPD_STRING} : constant.type);
  if (text) return out.write_string(as_text(constant, "constant"));
  switch (constant.type) {
    case OPD_TENSOR:
      return write_tensor(out, static_cast<Tensor *>(object_of(constant))->dl);
    case OPD_SHAPE: {
      const auto dims = static_cast<Shape *>(object_of(constant))->dims();
      out.write<uint64_t>(dims.size());
      return out.write_bytes(dims.data(), dims.size_bytes());
    }
    case OPD_FLOAT:
      return out.write(constant.u.float64);
    case OPD_DTYPE:
      return out.write(constant.u.dtype);
    default:
      return out.write(constant.u.int64);
  }
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

std::vector<int64_t> read_words(ByteReader &in, const char *section) {
  const auto count = in.read_count(8, section);
  std::vector<int64_t> words(count);
  const Bytes bytes = in.take(count * 8, section);
  if (count) std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

void write_words(ByteWriter &out, const std::vector<int64_t> &words) {
  out.write<uint64_t>(words.size());
  out.write_bytes(words.data(), words.size() * 8);
}

// Returns the number of bytes that write_constant() adds.
uint64_t constant_bytes(const View &constant) {
  if (is_text(constant)) return 12 + as_text(constant, "constant").size();
  switch (constant.type) {
    case OPD_TENSOR: {
      const DLTensor &tensor = static_cast<Tensor *>(object_of(constant))->dl;
      return 4 + 16 + 8 + 4 + 4 + 8 * static_cast<uint64_t>(tensor.ndim) + 8 + bytes_of(tensor);
    }
    case OPD_SHAPE:
      return 12 + static_cast<Shape *>(object_of(constant))->dims().size_bytes();
    default:
      return 4 + (constant.type == OPD_DTYPE ? 4 : 8);
  }
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
