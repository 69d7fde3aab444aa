#include "params/npy.h"

#include <algorithm>
#include <charconv>

#include "device/device.h"
#include "params/tensor_bytes.h"

namespace opd {
namespace {

constexpr size_t kMostDims = 64;               // NumPy's own limit
constexpr uint32_t kMostNpyHeader = 1u << 20;  // far more than 64 dimensions need

// Parses a header, which is one Python dict. The parser is strict: no escapes, no expressions, each key once.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const char *what, size_t base) : text_(text), what_(what), base_(base) {}

  NpyHeader parse() {
    NpyHeader header;
    std::vector<std::string_view> seen;
    expect('{');
    while (!accept('}')) {
      const size_t place = skip_space();
      const std::string_view key = string();
      if (std::ranges::find(seen, key) != seen.end()) bad(place, concat("repeats the key '", key, "'"));
      seen.push_back(key);
      expect(':');
      if (key == "descr") header.dtype = dtype();
      else if (key == "fortran_order") header.column_major = boolean();
      else if (key == "shape") header.dims = tuple();
      else bad(place, concat("has the unknown key '", key, "'"));
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (skip_space() != text_.size()) bad(at_, "goes on after the dict");
    if (seen.size() != 3) bad(0, "lacks one of 'descr', 'fortran_order' and 'shape'");
    return header;
  }

 private:
  [[noreturn]] void bad(size_t place, std::string_view problem) const {
    fail(OPD_BAD_FORMAT, what_, ": the .npy header at offset ", base_ + place, " ", problem);
  }
  size_t skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    return at_;
  }
  bool accept(char c) {
    if (skip_space() == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) bad(at_, concat("lacks a '", c, "'"));
  }

  std::string_view string() {
    const size_t begin = skip_space();
    if (begin == text_.size() || (text_[begin] != '\'' && text_[begin] != '"')) bad(begin, "lacks a string");
    const size_t end = text_.find(text_[begin], begin + 1);
    if (end == std::string_view::npos) bad(begin, "has a string without an end");
    at_ = end + 1;
    const std::string_view content = text_.substr(begin + 1, end - begin - 1);
    if (content.find('\\') != std::string_view::npos) bad(begin, "has an escape in a string");
    return content;
  }

  bool boolean() {
    const size_t begin = skip_space();
    for (const std::string_view word : {"True", "False"})
      if (text_.substr(begin).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    bad(begin, "lacks True or False");
  }

  std::vector<int64_t> tuple() {
    std::vector<int64_t> dims;
    expect('(');
    const size_t begin = at_;
    bool comma = true;
    while (!accept(')')) {
      if (!comma) bad(at_, "lacks a ','");
      if (dims.size() == kMostDims) bad(at_, concat("has more than ", kMostDims, " dimensions"));
      const size_t first = skip_space();
      int64_t size = -1;
      const auto [end, error] = std::from_chars(text_.data() + first, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) bad(first, "lacks a size from 0 to 2^63 - 1");
      at_ = static_cast<size_t>(end - text_.data());
      dims.push_back(size);
      comma = accept(',');
    }
    if (dims.size() == 1 && !comma) bad(begin, "has a number in brackets where a tuple is expected");
    return dims;
  }

  DLDataType dtype() {
    const size_t place = skip_space();
    if (place < text_.size() && text_[place] == '[')
      fail(OPD_UNSUPPORTED, what_, ": the array has fields (a structured dtype at offset ", base_ + place,
           "); a tensor has none");
    const std::string_view text = string();
    const auto refuse = [&](std::string_view why) {
      fail(OPD_UNSUPPORTED, what_, ": the elements have the dtype '", text, "' (at offset ", base_ + place, "), ", why);
    };
    if (text.size() < 2 || std::string_view("<>|=").find(text[0]) == std::string_view::npos)
      bad(place, concat("has the dtype '", text, "'; one as '<f4' is expected"));
    uint32_t bytes = 0;
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), bytes);
    const bool sized = error == std::errc() && end == text.data() + text.size();
    if (text[0] == '>' && bytes != 1)
      refuse("which is big-endian; convert it by array.astype(array.dtype.newbyteorder('<'))");
    const auto any_of = [&](std::initializer_list<uint32_t> sizes) {
      return sized && std::ranges::find(sizes, bytes) != sizes.end();
    };
    const auto bits = static_cast<uint8_t>(bytes * 8);
    if (text[1] == 'b' && any_of({1})) return {kDLBool, 8, 1};
    if (text[1] == 'i' && any_of({1, 2, 4, 8})) return {kDLInt, bits, 1};
    if (text[1] == 'u' && any_of({1, 2, 4, 8})) return {kDLUInt, bits, 1};
    if (text[1] == 'f' && any_of({2, 4, 8})) return {kDLFloat, bits, 1};
    if (text[1] == 'c' && any_of({8, 16})) return {kDLComplex, bits, 1};
    if (text[1] == 'O') refuse("Python objects, which would have to be unpickled");
    refuse("which is none of bool, int8 to int64, uint8 to uint64, float16 to float64, complex64 and complex128");
    return {};
  }

  std::string_view text_;
  const char *what_;
  size_t base_, at_ = 0;
};

// Reads the part before the dict and returns the size of the dict.
uint32_t read_preamble(ByteReader &in, const char *what) {
  in.take(kNpyMagic.size(), ".npy magic number");
  const auto major = in.read<uint8_t>(".npy version");
  const auto minor = in.read<uint8_t>(".npy version");
  if (major < 1 || major > 3 || minor != 0)
    fail(OPD_UNSUPPORTED, what, ": the .npy version at offset 6 is ", unsigned{major}, ".", unsigned{minor},
         "; 1.0, 2.0 and 3.0 are supported");
  const uint32_t size = major == 1 ? in.read<uint16_t>(".npy header size") : in.read<uint32_t>(".npy header size");
  if (size > kMostNpyHeader) in.bad(".npy header", concat("has ", size, " bytes; ", kMostNpyHeader, " are possible"));
  return size;
}

// Copies the elements of a column-major array in row-major order.
void transpose(const uint8_t *from, uint8_t *to, std::span<const int64_t> dims, size_t element) {
  const size_t ndim = dims.size();
  std::vector<size_t> strides(ndim), index(ndim);
  size_t count = 1;
  for (size_t i = 0; i < ndim; ++i) strides[i] = count * element, count *= static_cast<size_t>(dims[i]);
  size_t place = 0;
  for (size_t done = 0; done < count; ++done, to += element) {
    std::memcpy(to, from + place, element);
    for (size_t i = ndim; i-- > 0;) {
      place += strides[i];
      if (++index[i] < static_cast<size_t>(dims[i])) break;
      place -= strides[i] * index[i];
      index[i] = 0;
    }
  }
}

std::string descr(DLDataType dtype) {
  const bool is_float8 = dtype.code >= kDLFloat8_e3m4 && dtype.code <= kDLFloat8_e8m0fnu;
  const char kind = dtype.code == kDLBool                                           ? 'b'
                    : dtype.code == kDLInt                                          ? 'i'
                    : dtype.code == kDLFloat                                        ? 'f'
                    : dtype.code == kDLComplex                                      ? 'c'
                    : dtype.code == kDLUInt || dtype.code == kDLBfloat || is_float8 ? 'u'
                                                                                    : '\0';
  const unsigned bits = dtype.bits;
  const bool whole = bits >= 8 && bits <= 128 && (bits & (bits - 1)) == 0 && (bits <= 64 || kind == 'c');
  if (!kind || !whole || dtype.lanes != 1 || (kind == 'f' && bits < 16) || (kind == 'c' && bits < 64) ||
      (kind == 'b' && bits != 8))
    fail(OPD_UNSUPPORTED, "an .npy file cannot hold elements of ", dtype_name(dtype), "; a TVM param dict can");
  return concat(bits == 8 ? '|' : '<', kind, bits / 8);
}

}  // namespace

uint64_t npy_header_size(Bytes front, const char *what) {
  ByteReader in(front, what);
  const uint64_t size = read_preamble(in, what);
  return in.offset() + size;
}

NpyHeader read_npy_header(Bytes front, uint64_t file_size, const char *what) {
  ByteReader in(front, what);
  const uint32_t size = read_preamble(in, what);
  const size_t begin = in.offset();
  NpyHeader header = HeaderParser(as_text(in.take(size, ".npy header")), what, begin).parse();
  header.size = in.offset();
  if (!compact_bytes(header.dims, header.dtype, header.bytes))
    in.bad(".npy array", "has a shape whose size exceeds 64 bits");
  if (const uint64_t rest = file_size - header.size; header.bytes != rest)
    in.bad(".npy array", concat("takes ", header.bytes, " bytes, but ", rest, " follow the header"));
  header.column_major = header.column_major && header.dims.size() > 1 && count_of(header.dims) > 1;
  return header;
}

Ref<Tensor> from_column_major(std::span<const int64_t> dims, DLDataType dtype, const uint8_t *data) {
  auto tensor = make_tensor(dims, dtype, kHost, MemoryUse::kParameter);
  transpose(data, static_cast<uint8_t *>(tensor->dl.data), dims, element_bits(dtype) / 8);
  return tensor;
}

StoredTensor read_npy(Ref<ByteSource> source, uint64_t offset, uint64_t size, const char *what) {
  NpyHeader header = read_npy_header(source->bytes().subspan(offset, size), size, what);
  StoredTensor stored{header.dtype, std::move(header.dims), header.bytes, std::move(source), offset + header.size, {}};
  if (header.column_major)
    stored.decode = [](const StoredTensor &self) {
      return from_column_major(self.dims, self.dtype, self.source->bytes().data() + self.offset);
    };
  return stored;
}

std::string npy_header(const DLTensor &tensor) {
  std::string dict = concat("{'descr': '", descr(tensor.dtype), "', 'fortran_order': False, 'shape': (");
  for (int32_t i = 0; i < tensor.ndim; ++i) append(dict += i ? ", " : "", tensor.shape[i]);
  dict += tensor.ndim == 1 ? ",), }" : "), }";
  // The elements begin at a multiple of 64, so that they can be mapped. 64 dimensions fit into the 64 KiB of version 1.
  constexpr size_t kBefore = 10;
  dict.append(63 - (kBefore + dict.size()) % 64, ' ');
  dict += '\n';
  require(dict.size() <= UINT16_MAX, "an .npy header of ", dict.size(), " bytes for ", tensor.ndim,
          " dimensions is too large");
  std::string out(kNpyMagic);
  out += '\1';
  out += '\0';
  out += static_cast<char>(dict.size() & 0xFF);
  out += static_cast<char>(dict.size() >> 8);
  return out += dict;
}

void write_npy(const DLTensor &tensor, ByteSink &out) {
  out.write(npy_header(tensor));
  write_elements(out, tensor);
}

}  // namespace opd
