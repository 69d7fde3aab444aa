#include "value/dtype.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <iterator>
#include <memory>

#include "base/error.h"

namespace opd {
namespace {

struct FixedType {  // the name implies the bits
  const char *name;
  uint8_t code, bits;
};
constexpr FixedType kFixed[] = {
    {"float8_e3m4", kDLFloat8_e3m4, 8},
    {"float8_e4m3", kDLFloat8_e4m3, 8},
    {"float8_e4m3b11fnuz", kDLFloat8_e4m3b11fnuz, 8},
    {"float8_e4m3fn", kDLFloat8_e4m3fn, 8},
    {"float8_e4m3fnuz", kDLFloat8_e4m3fnuz, 8},
    {"float8_e5m2", kDLFloat8_e5m2, 8},
    {"float8_e5m2fnuz", kDLFloat8_e5m2fnuz, 8},
    {"float8_e8m0fnu", kDLFloat8_e8m0fnu, 8},
    {"float6_e2m3fn", kDLFloat6_e2m3fn, 6},
    {"float6_e3m2fn", kDLFloat6_e3m2fn, 6},
    {"float4_e2m1fn", kDLFloat4_e2m1fn, 4},
    {"bool", kDLBool, 8},
};
struct SizedType {  // the number of bits follows the name
  const char *name, *shorthand;
  uint8_t code, usual_bits;
};
constexpr SizedType kSized[] = {
    {"int", "i", kDLInt, 32},        {"uint", "u", kDLUInt, 32},          {"float", "f", kDLFloat, 32},
    {"bfloat", "bf", kDLBfloat, 16}, {"handle", "", kDLOpaqueHandle, 64}, {"complex", "", kDLComplex, 64},
};

struct DeviceKind {
  const char *name;
  int32_t type;
};
// If a type has several names, the first is used for output.
constexpr DeviceKind kDeviceKinds[] = {
    {"cpu", kDLCPU},
    {"llvm", kDLCPU},
    {"c", kDLCPU},
    {"cuda", kDLCUDA},
    {"gpu", kDLCUDA},
    {"nvptx", kDLCUDA},
    {"cuda_host", kDLCUDAHost},
    {"opencl", kDLOpenCL},
    {"cl", kDLOpenCL},
    {"vulkan", kDLVulkan},
    {"metal", kDLMetal},
    {"mtl", kDLMetal},
    {"vpi", kDLVPI},
    {"rocm", kDLROCM},
    {"rocm_host", kDLROCMHost},
    {"ext_dev", kDLExtDev},
    {"cuda_managed", kDLCUDAManaged},
    {"oneapi", kDLOneAPI},
    {"webgpu", kDLWebGPU},
    {"hexagon", kDLHexagon},
    {"maia", kDLMAIA},
    {"trn", kDLTrn},
};

// Device kinds that plug-ins added. They are never removed. Index i has number kFirstAdded + i.
constexpr int32_t kFirstAdded = 48;  // DLPack 1.3 uses numbers up to 18
constexpr size_t kMostAdded = 16;
std::array<std::atomic<const std::string *>, kMostAdded> added_kinds{};

std::optional<DLDeviceType> find_added(std::string_view name) {
  for (size_t i = 0; i < kMostAdded; ++i) {
    const std::string *const known = added_kinds[i].load(std::memory_order_acquire);
    if (known && *known == name) return static_cast<DLDeviceType>(kFirstAdded + static_cast<int32_t>(i));
  }
  return std::nullopt;
}

bool take_number(std::string_view &text, uint32_t &out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end == text.data()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool take_lanes(std::string_view text, uint16_t &lanes) {
  lanes = 1;
  if (text.empty()) return true;
  const bool scalable = text.starts_with("xvscalex");
  if (!scalable && text[0] != 'x') return false;
  text.remove_prefix(scalable ? 8 : 1);
  uint32_t number = 0;
  if (!take_number(text, number) || !text.empty() || number == 0 || number > (scalable ? 32768u : 32767u)) return false;
  lanes = static_cast<uint16_t>(scalable ? -static_cast<int32_t>(number) : static_cast<int32_t>(number));
  return true;
}

bool parse(std::string_view text, DLDataType &out) {
  if (text.empty() || text == "void") return out = {kDLOpaqueHandle, 0, 0}, true;
  std::string plain;  // f8_… and fp8_… mean float8_…
  for (const std::string_view start : {"fp", "f"})
    if (text.starts_with(start) && text.size() > start.size() + 1 && text[start.size() + 1] == '_') {
      plain = concat("float", text.substr(start.size()));
      text = plain;
      break;
    }
  const FixedType *fixed = nullptr;  // the longest matching name: float8_e4m3fn starts with float8_e4m3
  for (const auto &candidate : kFixed) {
    const std::string_view name = candidate.name;
    if (text.starts_with(name) && (!fixed || name.size() > std::string_view(fixed->name).size())) fixed = &candidate;
  }
  if (fixed) {
    out = {fixed->code, fixed->bits, 1};
    text.remove_prefix(std::string_view(fixed->name).size());
    if (text.starts_with("_x")) text.remove_prefix(1);  // as in PyTorch's float4_e2m1fn_x2
    return take_lanes(text, out.lanes);
  }
  for (const auto &sized : kSized)
    for (const std::string_view name : {std::string_view(sized.name), std::string_view(sized.shorthand)}) {
      if (name.empty() || !text.starts_with(name)) continue;
      std::string_view rest = text.substr(name.size());
      uint32_t bits = sized.usual_bits;
      const bool given = !rest.empty() && rest[0] != 'x';
      if (given && !take_number(rest, bits)) continue;
      if (!given && name == sized.shorthand) continue;
      out = {sized.code, static_cast<uint8_t>(bits), 1};
      return bits > 0 && bits <= 128 && take_lanes(rest, out.lanes);
    }
  return false;
}

}  // namespace

DLDataType parse_dtype(std::string_view text) {
  DLDataType dtype;
  require(parse(text, dtype), "\"", text,
          "\" is not a dtype; write it as float32, int8x4, bool, bfloat16 or float8_e4m3fn");
  return dtype;
}

std::string dtype_name(DLDataType dtype) {
  if (dtype.code == kDLOpaqueHandle && dtype.bits == 0 && dtype.lanes == 0) return "void";
  std::string out;
  const auto fixed =
      std::ranges::find_if(kFixed, [&](auto &f) { return f.code == dtype.code && f.bits == dtype.bits; });
  const auto sized = std::ranges::find_if(kSized, [&](auto &s) { return s.code == dtype.code; });
  if (fixed != std::end(kFixed)) {
    out = fixed->name;
  } else if (sized != std::end(kSized)) {
    out = concat(sized->name, unsigned{dtype.bits});
    if (dtype.code == kDLOpaqueHandle && dtype.bits == 64) out = "handle";
  } else {
    out = concat("custom[", unsigned{dtype.code}, "]", unsigned{dtype.bits});
  }
  const auto lanes = static_cast<int16_t>(dtype.lanes);
  if (lanes < 0) return concat(out, "xvscalex", -static_cast<int32_t>(lanes));
  return lanes == 1 ? out : concat(out, "x", int32_t{lanes});
}

bool data_bytes(uint64_t count, DLDataType dtype, uint64_t &out_bytes) {
  uint64_t bits;
  if (__builtin_mul_overflow(count, element_bits(dtype), &bits) || bits > UINT64_MAX - 7) return false;
  out_bytes = (bits + 7) / 8;
  return true;
}

bool element_count(const int64_t *dims, int64_t ndim, uint64_t &out_count) {
  uint64_t count = 1;
  bool empty = false, overflow = false;  // a size of 0 makes the product 0, even if the others overflow
  for (int64_t i = 0; i < ndim; ++i) {
    if (dims[i] < 0) return false;
    empty |= dims[i] == 0;
    overflow |= __builtin_mul_overflow(count, static_cast<uint64_t>(dims[i]), &count);
  }
  out_count = empty ? 0 : count;
  return empty || (!overflow && count <= static_cast<uint64_t>(INT64_MAX));
}

DLDevice parse_device(std::string_view text) {
  constexpr std::string_view kRemote = "remote[";
  if (std::string_view rest = text; rest.starts_with(kRemote)) {
    rest.remove_prefix(kRemote.size());
    uint32_t session = 0;
    constexpr uint32_t kMost = 1 << 20;
    require(take_number(rest, session) && session < kMost && rest.starts_with("]:") && rest.size() > 2, "\"", text,
            "\" is not a device of a session; write it as remote[0]:cpu:0");
    const DLDevice there = parse_device(rest.substr(2));
    require(there.device_type < kDevicesOfSession, "\"", text, "\" is a device of a session within a session");
    const auto first = static_cast<int32_t>(session + 1) * kDevicesOfSession;
    return {static_cast<DLDeviceType>(first + there.device_type), there.device_id};
  }
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  uint32_t type = 0, id = 0;
  bool known = true;
  if (const auto named = device_kind_of(kind)) {
    type = *named;
  } else {
    std::string_view digits = kind;
    known = take_number(digits, type) && digits.empty() && type > 0 && type < 1u << 30;
  }
  if (colon != std::string_view::npos) {
    std::string_view digits = text.substr(colon + 1);
    known = known && take_number(digits, id) && digits.empty() && id < 1u << 30;
  }
  require(known, "\"", text, "\" is not a device; write it as cpu, cpu:0 or cuda:1");
  return {static_cast<DLDeviceType>(type), static_cast<int32_t>(id)};
}

std::string device_kind_name(int32_t device_type) {
  if (device_type >= kDevicesOfSession)
    return concat("remote[", device_type / kDevicesOfSession - 1,
                  "]:", device_kind_name(device_type % kDevicesOfSession));
  for (const auto &kind : kDeviceKinds)
    if (kind.type == device_type) return kind.name;
  if (device_type >= kFirstAdded && device_type < kFirstAdded + static_cast<int32_t>(kMostAdded))
    if (const std::string *added = added_kinds[static_cast<size_t>(device_type - kFirstAdded)]) return *added;
  return concat("device", device_type);
}

std::optional<DLDeviceType> device_kind_of(std::string_view name) {
  for (const auto &kind : kDeviceKinds)
    if (name == kind.name) return static_cast<DLDeviceType>(kind.type);
  return find_added(name);
}

DLDeviceType add_device_kind(std::string_view name) {
  if (const auto known = device_kind_of(name)) return *known;
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  require(!name.empty() && name.size() <= 32 && name[0] >= 'a' && std::ranges::all_of(name, fits),
          "a kind of device is named by 1 to 32 small letters, digits and underscores, a letter first, not \"", name,
          "\"");
  auto mine = std::make_unique<const std::string>(name);
  for (size_t i = 0; i < kMostAdded; ++i) {
    const std::string *other = nullptr;
    if (added_kinds[i].compare_exchange_strong(other, mine.get(), std::memory_order_acq_rel)) {
      mine.release();
      return static_cast<DLDeviceType>(kFirstAdded + static_cast<int32_t>(i));
    }
    // another thread has added it since the search
    if (*other == name) return static_cast<DLDeviceType>(kFirstAdded + static_cast<int32_t>(i));
  }
  fail(OPD_OUT_OF_RANGE, "a process can add ", kMostAdded, " kinds of devices");
}

std::string device_name(DLDevice device) { return concat(device_kind_name(device.device_type), ":", device.device_id); }

}  // namespace opd
