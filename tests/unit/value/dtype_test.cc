// Types of elements and devices: their names both ways, at the borders of what there is, and the sizes of elements.
#include "value/dtype.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/refusal.h"

namespace opd {
namespace {

std::string shown(std::string_view text) {
  const DLDataType dtype = parse_dtype(text);
  return concat(unsigned{dtype.code}, " ", unsigned{dtype.bits}, " ", dtype.lanes);
}

TEST(Dtypes, HaveTheCodesAndBitsOfDlpack) {
  struct Case {
    const char *text;
    int code, bits;
  };
  for (const auto &[text, code, bits] : {Case{"float8_e3m4", kDLFloat8_e3m4, 8},
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
                                         {"int8", kDLInt, 8},
                                         {"uint64", kDLUInt, 64},
                                         {"float16", kDLFloat, 16},
                                         {"bfloat16", kDLBfloat, 16},
                                         {"handle", kDLOpaqueHandle, 64},
                                         {"complex128", kDLComplex, 128}}) {
    EXPECT_EQ(shown(text), concat(code, " ", bits, " 1")) << text;
    EXPECT_EQ(dtype_name(parse_dtype(text)), text);
  }
  // Names without bits have the usual ones; short ones need their bits.
  for (const auto &[text, name] : {std::pair("int", "int32"),
                                   {"uint", "uint32"},
                                   {"float", "float32"},
                                   {"bfloat", "bfloat16"},
                                   {"complex", "complex64"},
                                   {"intx4", "int32x4"},
                                   {"i8", "int8"},
                                   {"u16x2", "uint16x2"},
                                   {"f64", "float64"},
                                   {"bf16", "bfloat16"},
                                   {"f6_e2m3fn", "float6_e2m3fn"},
                                   {"fp4_e2m1fn", "float4_e2m1fn"},
                                   {"float4_e2m1fn_x2", "float4_e2m1fnx2"},
                                   {"", "void"},
                                   {"void", "void"}})
    EXPECT_EQ(dtype_name(parse_dtype(text)), name) << text;
}

TEST(Dtypes, HaveUpTo128BitsAndAsManyLanesAs15BitsCount) {
  EXPECT_EQ(shown("int1"), "0 1 1");
  EXPECT_EQ(shown("int128"), "0 128 1");
  EXPECT_EQ(shown("int8x32767"), "0 8 32767");
  EXPECT_EQ(shown("int8x1"), "0 8 1");
  EXPECT_EQ(shown("int8xvscalex1"), concat("0 8 ", 65535));
  EXPECT_EQ(shown("int8xvscalex32768"), "0 8 32768");
  for (const std::string none : {"int0",
                                 "int129",
                                 "int256",
                                 "int8x32768",
                                 "int8xvscalex32769",
                                 "int8x0",
                                 "int8xvscalex0",
                                 "int8x4q",
                                 "int8x",
                                 "int8q4",
                                 "int8xvscale",
                                 "8",
                                 "32",
                                 "x4",
                                 "i",
                                 "ix4",
                                 "fp16",
                                 "f",
                                 "bf",
                                 "_x2",
                                 "boolq",
                                 " int8",
                                 "int8 ",
                                 "void1"})
    EXPECT_EQ(refusal(OPD_INVALID_ARGUMENT, [&] { parse_dtype(none); }),
              "\"" + none + "\" is not a dtype; write it as float32, int8x4, bool, bfloat16 or float8_e4m3fn");
}

TEST(SizesOfElements, AreCountedIn64Bits) {
  const auto bytes = [](uint64_t count, const char *dtype) {
    uint64_t out = 77;
    return data_bytes(count, parse_dtype(dtype), out) ? concat(out) : std::string("too many");
  };
  EXPECT_EQ(bytes(0, "float64"), "0");
  EXPECT_EQ(bytes(3, "float32x4"), "48");
  EXPECT_EQ(bytes(1, "int4"), "1");
  EXPECT_EQ(bytes(2, "int4"), "1");
  EXPECT_EQ(bytes(3, "int4"), "2");
  EXPECT_EQ(bytes(8, "uint1"), "1");
  EXPECT_EQ(bytes(9, "uint1"), "2");
  // 2^64 - 8 bits are whole bytes; 2^64 - 4 would be rounded up to 2^64.
  EXPECT_EQ(bytes((uint64_t{1} << 62) - 2, "int4"), concat((uint64_t{1} << 61) - 1));
  EXPECT_EQ(bytes((uint64_t{1} << 62) - 1, "int4"), "too many");
  EXPECT_EQ(bytes(uint64_t{1} << 61, "int8"), "too many");
  EXPECT_EQ(bytes((uint64_t{1} << 61) - 1, "int8"), concat((uint64_t{1} << 61) - 1));
}

TEST(NumbersOfElements, AreLimitedToInt64) {
  const auto count = [](const std::vector<int64_t> &dims) {
    uint64_t out = 77;
    return element_count(dims.data(), static_cast<int64_t>(dims.size()), out) ? concat(out) : std::string("none");
  };
  EXPECT_EQ(count({}), "1");
  EXPECT_EQ(count({3, 4, 5}), "60");
  EXPECT_EQ(count({INT64_MAX}), "9223372036854775807");
  EXPECT_EQ(count({int64_t{1} << 62, 2}), "none") << "2^63";
  EXPECT_EQ(count({int64_t{1} << 32, int64_t{1} << 32}), "none") << "2^64, which wraps to 0";
  EXPECT_EQ(count({int64_t{1} << 32, int64_t{1} << 32, 0}), "0") << "a size of 0 counts more than all others";
  EXPECT_EQ(count({0, INT64_MAX, INT64_MAX}), "0");
  EXPECT_EQ(count({3, -1}), "none");
  EXPECT_EQ(count({0, -1}), "none");
}

TEST(Devices, HaveNamesBothWays) {
  struct Case {
    const char *text;
    int type, id;
    const char *name;
  };
  for (const auto &[text, type, id, name] : {Case{"cpu", kDLCPU, 0, "cpu:0"},
                                             {"nvptx:1", kDLCUDA, 1, "cuda:1"},
                                             {"cuda_host", kDLCUDAHost, 0, "cuda_host:0"},
                                             {"vulkan", kDLVulkan, 0, "vulkan:0"},
                                             {"metal", kDLMetal, 0, "metal:0"},
                                             {"vpi", kDLVPI, 0, "vpi:0"},
                                             {"rocm", kDLROCM, 0, "rocm:0"},
                                             {"rocm_host", kDLROCMHost, 0, "rocm_host:0"},
                                             {"ext_dev", kDLExtDev, 0, "ext_dev:0"},
                                             {"cuda_managed", kDLCUDAManaged, 0, "cuda_managed:0"},
                                             {"oneapi", kDLOneAPI, 0, "oneapi:0"},
                                             {"webgpu", kDLWebGPU, 0, "webgpu:0"},
                                             {"hexagon", kDLHexagon, 0, "hexagon:0"},
                                             {"maia", kDLMAIA, 0, "maia:0"},
                                             {"trn", kDLTrn, 0, "trn:0"},
                                             {"cpu:1073741823", kDLCPU, (1 << 30) - 1, "cpu:1073741823"},
                                             {"127:5", 127, 5, "device127:5"},
                                             {"64", 64, 0, "device64:0"},
                                             {"remote[0]:cpu:2", 129, 2, "remote[0]:cpu:2"},
                                             {"remote[3]:cuda", 4 * 128 + 2, 0, "remote[3]:cuda:0"},
                                             {"remote[0]:127", 255, 0, "remote[0]:device127:0"},
                                             {"128", 128, 0, "remote[0]:device0:0"},
                                             {"1073741823:0", (1 << 30) - 1, 0, "remote[8388606]:device127:0"}}) {
    const DLDevice device = parse_device(text);
    EXPECT_EQ(device.device_type, type) << text;
    EXPECT_EQ(device.device_id, id) << text;
    EXPECT_EQ(device_name(device), name);
  }
  const DLDevice last = parse_device("remote[1048575]:cpu:0");
  EXPECT_EQ(device_name(last), "remote[1048575]:cpu:0");
}

TEST(Devices, ParseErrorsQuoteTheText) {
  const auto told = [](const std::string &text) { return refusal(OPD_INVALID_ARGUMENT, [&] { parse_device(text); }); };
  for (const std::string none : {"cpu:1073741824", "1073741824", "1073741824:0", "0", "0:1", "cpu:1x", "1x", "1x:0",
                                 "nobody", "nobody:0", "cpu:", ":", "-1", "cpu:-1", " cpu"})
    EXPECT_EQ(told(none), "\"" + none + "\" is not a device; write it as cpu, cpu:0 or cuda:1");
  for (const std::string none : {"remote[1048576]:cpu:0", "remote[]:cpu", "remote[x]:cpu", "remote[0]cpu",
                                 "remote[0]:", "remote[0", "remote[-1]:cpu"})
    EXPECT_EQ(told(none), "\"" + none + "\" is not a device of a session; write it as remote[0]:cpu:0");
  for (const std::string nested : {"remote[0]:remote[1]:cpu:0", "remote[0]:128"})
    EXPECT_EQ(told(nested), "\"" + nested + "\" is a device of a session within a session");
  EXPECT_EQ(told("remote[0]:nobody"), "\"nobody\" is not a device; write it as cpu, cpu:0 or cuda:1");
}

// The numbers begin at 48; a process has room for 16 kinds, whoever asks for them.
TEST(KindsOfDevices, MayBeAddedUpTo16) {
  EXPECT_EQ(add_device_kind("cuda"), kDLCUDA) << "it has a number already";
  EXPECT_EQ(device_kind_of("kind_0"), std::nullopt);
  for (const std::string none : {"", "0kind", "_kind", "Kind", "kind-0", "kind 0", "a23456789012345678901234567890123"})
    EXPECT_EQ(refusal(OPD_INVALID_ARGUMENT, [&] { add_device_kind(none); }),
              "a kind of device is named by 1 to 32 small letters, digits and underscores, a letter first, not \"" +
                  none + "\"");
  const auto name = [](int i) { return i == 3 ? "a2345678901234567890123456789_12" : "kind_" + std::to_string(i); };
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(add_device_kind(name(i)), 48 + i);
    EXPECT_EQ(add_device_kind(name(i)), 48 + i) << "as before";
  }
  EXPECT_EQ(refusal(OPD_OUT_OF_RANGE, [] { add_device_kind("one_more"); }), "a process can add 16 kinds of devices");
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(device_kind_name(48 + i), name(i));
    EXPECT_EQ(device_kind_of(name(i)), static_cast<DLDeviceType>(48 + i));
    EXPECT_EQ(device_name(parse_device(name(i) + ":2")), name(i) + ":2");
  }
  EXPECT_EQ(device_kind_of("one_more"), std::nullopt);
  EXPECT_EQ(device_kind_name(47), "device47");
  EXPECT_EQ(device_kind_name(64), "device64");
}

}  // namespace
}  // namespace opd
