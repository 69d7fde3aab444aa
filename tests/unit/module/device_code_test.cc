// Code of devices: the bytes of a module of kernels field by field, and what is told of it where there is no device.
#include <gtest/gtest.h>

#include "module/kinds/device_module.h"
#include "support/described_module.h"
#include "support/refusal.h"

namespace opd {
namespace {

using Names = std::vector<std::string>;

struct Kernel {
  std::string name;
  std::vector<DLDataType> params = {};
  Names launch = {};
  std::vector<int32_t> tags = {};
};
std::string head(const std::string &format, const std::vector<Kernel> &kernels) {
  ByteWriter out;
  out.write_string(format);
  out.write<uint64_t>(kernels.size());
  for (const auto &[name, params, launch, tags] : kernels) {
    out.write_string(name);
    out.write_string("the function's own name");
    out.write<uint64_t>(params.size());
    for (const DLDataType &param : params) out.write(param);
    out.write<uint64_t>(launch.size());
    for (const auto &tag : launch) out.write_string(tag);
    out.write<uint64_t>(tags.size());
    for (const int32_t tag : tags) out.write(tag);
  }
  return out.take();
}
std::string sized_text(const std::string &code) {
  ByteWriter out;
  out.write_string(code);
  return out.take();
}
DeviceModuleBytes read_code(const std::string &bytes, CodeForm form = CodeForm::kOneForAll) {
  return read_device_module(as_bytes(bytes), "code", form);
}
std::string unsupported(const Kernel &kernel) {
  const std::string bytes = head("ptx", {kernel}) + sized_text("");
  return read_code(bytes).kernels.at(0).unsupported;
}

constexpr DLDataType kHandle{kDLOpaqueHandle, 64, 1}, kFloat{kDLFloat, 32, 1};

TEST(DeviceCode, HasAFormatKernelsAndCode) {
  const std::string bytes = head("ptx", {{"one", {kHandle, kFloat}, {"threadIdx.x", "blockIdx.x"}, {0, 0}}, {"two"}}) +
                            sized_text("the code");
  const DeviceModuleBytes found = read_code(bytes);
  EXPECT_EQ(found.format, "ptx");
  EXPECT_EQ(found.code, "the code");
  ASSERT_EQ(found.kernels.size(), 2u);
  const KernelInfo &one = found.kernels[0], &two = found.kernels[1];
  EXPECT_EQ(one.name, "one");
  ASSERT_EQ(one.params.size(), 2u);
  EXPECT_EQ(one.params[0].code, kDLOpaqueHandle);
  EXPECT_EQ(one.params[1].bits, 32);
  EXPECT_EQ(one.values, (std::vector<LaunchValue>{LaunchValue::kBlockX, LaunchValue::kGridX}));
  EXPECT_FALSE(one.is_cooperative || one.is_programmatic);
  EXPECT_EQ(one.unsupported, "");
  EXPECT_EQ(two.name, "two");
  EXPECT_TRUE(two.params.empty() && two.values.empty());
  // Of the form that has a code for each kernel, all that follows the descriptions is left to the device's reader.
  EXPECT_EQ(read_code(bytes, CodeForm::kEachItsOwn).code, sized_text("the code"));
}

// The tags are those that TVM writes, `use_programtic_dependent_launch` included.
TEST(DeviceCode, HasTheLaunchValuesAndTheMannerOfTheLaunchThatItsTagsName) {
  const std::vector<std::pair<std::string, LaunchValue>> tags = {
      {"blockIdx.x", LaunchValue::kGridX},
      {"blockIdx.y", LaunchValue::kGridY},
      {"blockIdx.z", LaunchValue::kGridZ},
      {"threadIdx.x", LaunchValue::kBlockX},
      {"threadIdx.y", LaunchValue::kBlockY},
      {"threadIdx.z", LaunchValue::kBlockZ},
      {"clusterCtaIdx.x", LaunchValue::kClusterX},
      {"clusterCtaIdx.y", LaunchValue::kClusterY},
      {"clusterCtaIdx.z", LaunchValue::kClusterZ},
      {"preferredClusterCtaIdx.x", LaunchValue::kPreferredCluster},
      {"preferredClusterCtaIdx.y", LaunchValue::kPreferredCluster},
      {"preferredClusterCtaIdx.z", LaunchValue::kPreferredCluster},
      {"tirx.use_dyn_shared_memory", LaunchValue::kDynamicShared},
      {"tir.use_dyn_shared_memory", LaunchValue::kDynamicShared}};
  Kernel kernel{"k"};
  std::vector<LaunchValue> values;
  for (const auto &[name, value] : tags) kernel.launch.push_back(name), values.push_back(value);
  const std::string all = head("ptx", {kernel}) + sized_text("");
  EXPECT_EQ(read_code(all).kernels[0].values, values);
  struct Manner {
    std::string tag;
    bool is_cooperative, is_programmatic;
    std::string unsupported;
  };
  for (const auto &[tag, is_cooperative, is_programmatic, what] :
       {Manner{"tirx.use_cooperative_launch", true, false, ""},
        {"tir.use_cooperative_launch", true, false, ""},
        {"tirx.use_programtic_dependent_launch", false, true, ""},
        {"tirx.use_required_block_dimension", false, false, ""},
        {"use_required_block_dimension", false, false, ""},
        {"tirx.use_a_new_thing", false, false, "the launch parameter tirx.use_a_new_thing"},
        {"blockIdx.w", false, false, "the launch parameter blockIdx.w"},
        {"", false, false, "the launch parameter "}}) {
    const std::string bytes = head("ptx", {{"k", {}, {tag}}}) + sized_text("");
    const DeviceModuleBytes found = read_code(bytes);
    EXPECT_EQ(found.kernels[0].is_cooperative, is_cooperative) << tag;
    EXPECT_EQ(found.kernels[0].is_programmatic, is_programmatic) << tag;
    EXPECT_EQ(found.kernels[0].unsupported, what) << tag;
    EXPECT_TRUE(found.kernels[0].values.empty()) << tag;
  }
}

TEST(DeviceCode, NamesUnsupportedParameters) {
  for (const DLDataType good : {kHandle,
                                kFloat,
                                DLDataType{kDLFloat, 64, 1},
                                {kDLInt, 8, 1},
                                {kDLInt, 64, 1},
                                {kDLUInt, 16, 1},
                                {kDLBool, 8, 1}})
    EXPECT_EQ(unsupported({"k", {good}}), "") << int{good.code} << " of " << int{good.bits};
  const std::pair<DLDataType, const char *> others[] = {
      {{kDLFloat, 16, 1}, "float16"}, {{kDLFloat, 32, 2}, "float32x2"}, {{kDLBfloat, 16, 1}, "bfloat16"},
      {{kDLInt, 128, 1}, "int128"},   {{kDLInt, 32, 4}, "int32x4"},     {{kDLComplex, 64, 1}, "complex64"}};
  for (const auto &[dtype, name] : others)
    EXPECT_EQ(unsupported({"k", {kFloat, dtype, kFloat}}), concat("a parameter of dtype ", name));
  EXPECT_EQ(unsupported({"k", {}, {}, {0, 0}}), "");
  EXPECT_EQ(unsupported({"k", {}, {}, {0, 2, 0}}), "a tensor map as a parameter");
}

TEST(DeviceCode, IsReadWithinItsBytes) {
  const auto told = [](const std::string &bytes) { return refusal(OPD_BAD_FORMAT, [&] { read_code(bytes); }); };
  EXPECT_EQ(told(head("a b", {})), "code: the format at offset 11 is not printable");
  EXPECT_EQ(told(head("", {})), "code: the format at offset 8 is not printable");
  EXPECT_EQ(told(head("ptx", {}) + "1234567"), "code: the code at offset 19 needs 8 bytes, 7 remain");
  EXPECT_EQ(told(head("ptx", {{"a b"}})), "code: a kernel's name at offset 30 is not printable");
  std::string many = head("ptx", {});
  many[11] = 2;  // kernels, each of which takes 40 bytes at least: five numbers
  EXPECT_EQ(told(many + std::string(79, '\0')),
            "code: the number of kernels at offset 19 counts 2 entries, but only 79 bytes remain");
  EXPECT_EQ(told(many + std::string(80, '\0')), "code: a kernel's name at offset 27 is not printable");
  const std::string whole = head("ptx", {{"k", {kFloat}, {"blockIdx.x"}, {0}}}) + sized_text("x");
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_NE(told(whole.substr(0, size)), "accepted") << size;
  EXPECT_EQ(told(whole), "accepted");
  for (const auto &[name, good] : {std::pair<std::string, bool>{"", false},
                                   {"!", true},
                                   {" ", false},
                                   {"a b", false},
                                   {"~", true},
                                   {"\x7f", false},
                                   {"\xc3\xa9", false},
                                   {std::string(512, 'n'), true},
                                   {std::string(513, 'n'), false}})
    EXPECT_EQ(is_kernel_name(name), good) << name;
}

TEST(DeviceCode, IsForADeviceOfItsKind) {
  const std::pair<const char *, DLDeviceType> kinds[] = {{"cuda", kDLCUDA},     {"opencl", kDLOpenCL},
                                                         {"vulkan", kDLVulkan}, {"hip", kDLROCM},
                                                         {"hsaco", kDLROCM},    {"rocm", kDLROCM}};
  for (const auto &[kind, device] : kinds) EXPECT_EQ(device_of_module_kind(kind), device) << kind;
  for (const char *kind : {"", "cud", "cudax", "dnnl_json"})
    EXPECT_EQ(device_of_module_kind(kind), std::nullopt) << kind;
}

TEST(DeviceCode, IsKeptAndDescribedIfNoBackEndRunsIt) {
  const std::string bytes =
      head("hip", {{"one", {kHandle}, {"blockIdx.x"}}, {"two"}}) + sized_text("a\tb\v\r\n \xc3\xa9");
  const Ref<DeviceModule> module = make_object<DeviceModule>("hip", kDLROCM, as_bytes(bytes), "m.so", "");
  EXPECT_STREQ(module->kind(), "hip");
  EXPECT_STREQ(module->format(), "hip");
  EXPECT_EQ(module->origin(), "m.so");
  EXPECT_EQ(module->properties(), OPD_MODULE_SERIALIZABLE);
  EXPECT_EQ(module->list(), (Names{"one", "two"}));
  EXPECT_TRUE(module->implements("two"));
  EXPECT_FALSE(module->implements("three"));
  EXPECT_FALSE(module->find("three"));
  EXPECT_EQ(refusal(OPD_UNSUPPORTED, [&] { module->find("two"); }),
            concat("function \"two\" of m.so is in its embedded module of kind hip, which cannot run here: ",
                   absence_of({kDLROCM, 0})));
  EXPECT_EQ(module->source(""), "a\tb\v\r\n \xc3\xa9");
  EXPECT_EQ(module->source("hip"), module->save("hip"));
  EXPECT_EQ(refusal(OPD_UNSUPPORTED, [&] { module->source("ptx"); }),
            "a module of kind hip has no source of format ptx");
  EXPECT_EQ(module->serialize(), bytes);
  EXPECT_EQ(json_of(*module), concat(R"({"supported":false,"size_bytes":)", bytes.size(), "}"));
  for (const char byte : {'\b', '\x0e', '\x1f', '\0'}) {
    const std::string binary = head("hsaco", {}) + sized_text(std::string("text") + byte);
    const auto made = make_object<DeviceModule>("hip", kDLROCM, as_bytes(binary), "m.so", "");
    EXPECT_EQ(refusal(OPD_UNSUPPORTED, [&] { made->source(""); }), "a module of kind hip has no source") << int{byte};
    EXPECT_EQ(made->save("hsaco").size(), 5u);
  }
}

}  // namespace
}  // namespace opd
