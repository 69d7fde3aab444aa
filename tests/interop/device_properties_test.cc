// The properties of devices against what the drivers' own tools tell: clinfo and vulkaninfo.
#include <array>
#include <cstdio>

#include "support/opdyno_test.h"

using namespace opdyno_test;

namespace {

// What a command writes; "" if it does not run.
std::string output_of(const std::string &command) {
  FILE *const pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (!pipe) return "";
  std::string text;
  std::array<char, 4096> part;
  for (size_t count; (count = fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), count);
  return pclose(pipe) == 0 ? text : "";
}

std::string trimmed(const std::string &text) {
  const size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

int64_t number_in(const std::string &text) { return std::strtoll(text.c_str(), nullptr, 0); }

class PropertiesOf : public testing::Test {
 protected:
  // The tool's lines of the device; skips the test if the device or the tool is absent.
  void SetUp() override {
    const Value reason = opdyno::device_attr(device(), OPD_ATTR_ABSENCE);
    const std::string text = output_of(command());
    if (reason.type() != OPD_NONE) {
      EXPECT_EQ(text.find(works()), std::string::npos) << command() << " lists it, but: " << reason.string();
      GTEST_SKIP() << reason.string();
    }
    if (text.empty()) GTEST_SKIP() << command() << " does not run here";
    read(lines_of(text));
  }
  virtual DLDevice device() const = 0;
  virtual std::string command() const = 0;
  virtual std::string works() const = 0;  // what the command says of a device that must be there for opdyno, too
  virtual void read(const std::vector<std::string> &lines) = 0;

  const std::string &told(const std::string &name) {
    EXPECT_TRUE(told_.contains(name)) << command() << " does not tell " << name;
    return told_[name];
  }
  void expect_number(opd_device_attr attr, int64_t expected) const {
    const Value value = opdyno::device_attr(device(), attr);
    ASSERT_EQ(value.type(), OPD_INT) << attr;
    EXPECT_EQ(value.view().u.int64, expected) << attr;
  }
  void expect_text(opd_device_attr attr, const std::string &expected) const {
    EXPECT_EQ(opdyno::device_attr(device(), attr).string(), expected) << attr;
  }
  std::string dimensions() const {
    return opdyno::to_string(opdyno::device_attr(device(), OPD_ATTR_MAX_THREAD_DIMENSIONS).view());
  }

  std::map<std::string, std::string> told_;  // by name; the first one counts
};

// Lines are "[platform/number] NAME value".
class PropertiesOfOpenCl : public PropertiesOf {
 protected:
  DLDevice device() const override { return {kDLOpenCL, 0}; }
  std::string command() const override { return "clinfo --raw"; }
  std::string works() const override { return "Portable Computing Language"; }
  void read(const std::vector<std::string> &lines) override {
    const std::string name = opdyno::device_attr(device(), OPD_ATTR_DEVICE_NAME).string();
    std::string prefix;  // of the device with this name
    for (const std::string &line : lines)
      if (line.starts_with("[") && line.ends_with(" " + name)) {
        prefix = line.substr(0, line.find(']') + 1);
        break;
      }
    ASSERT_FALSE(prefix.empty()) << name;
    for (const std::string &line : lines) {
      if (!line.starts_with(prefix)) continue;
      const std::string rest = trimmed(line.substr(prefix.size()));
      const size_t space = rest.find(' ');
      if (space != std::string::npos) told_.emplace(rest.substr(0, space), trimmed(rest.substr(space)));
    }
  }
};

// Sections begin with "GPU0:" and so on; lines are "name = value", and lists "name: count = n" before their lines.
class PropertiesOfVulkan : public PropertiesOf {
 protected:
  DLDevice device() const override { return {kDLVulkan, 0}; }
  std::string command() const override { return "vulkaninfo"; }
  std::string works() const override { return "llvmpipe"; }
  void read(const std::vector<std::string> &lines) override {
    const std::string name = opdyno::device_attr(device(), OPD_ATTR_DEVICE_NAME).string();
    std::map<std::string, std::string> section;
    const auto end_section = [&] {
      if (told_.empty() && section.contains("deviceName") && section["deviceName"] == name) told_ = section;
      section.clear();
    };
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].starts_with("GPU") && lines[i].ends_with(":")) end_section();
      const size_t equals = lines[i].find(" = ");
      if (equals == std::string::npos) continue;
      std::string key = trimmed(lines[i].substr(0, equals)), value = trimmed(lines[i].substr(equals + 3));
      if (const size_t count = key.find(": count"); count != std::string::npos) {
        key.resize(count);
        const auto size = static_cast<size_t>(number_in(value));
        value.clear();
        for (size_t j = 1; j <= size && i + j < lines.size(); ++j) value += (j > 1 ? ", " : "") + trimmed(lines[i + j]);
      }
      section.emplace(key, value);
    }
    end_section();
    ASSERT_FALSE(told_.empty()) << name;
  }
};

}  // namespace

TEST_F(PropertiesOfOpenCl, AgreeWithClinfo) {
  expect_text(OPD_ATTR_DEVICE_NAME, told("CL_DEVICE_NAME"));
  expect_text(OPD_ATTR_DRIVER_VERSION, told("CL_DRIVER_VERSION"));
  const std::string version = told("CL_DEVICE_VERSION");  // "OpenCL 3.0 and more"
  const std::string numbers = version.substr(7, version.find(' ', 7) - 7);
  expect_text(OPD_ATTR_COMPUTE_VERSION, numbers);
  expect_number(OPD_ATTR_API_VERSION, static_cast<int64_t>(std::stod(numbers) * 100 + 0.5));
  expect_number(OPD_ATTR_MAX_THREADS_PER_BLOCK, number_in(told("CL_DEVICE_MAX_WORK_GROUP_SIZE")));
  expect_number(OPD_ATTR_MAX_SHARED_MEMORY_PER_BLOCK, number_in(told("CL_DEVICE_LOCAL_MEM_SIZE")));
  expect_number(OPD_ATTR_MULTI_PROCESSOR_COUNT, number_in(told("CL_DEVICE_MAX_COMPUTE_UNITS")));
  expect_number(OPD_ATTR_MAX_CLOCK_RATE, 1000 * number_in(told("CL_DEVICE_MAX_CLOCK_FREQUENCY")));
  expect_number(OPD_ATTR_L2_CACHE_SIZE_BYTES, number_in(told("CL_DEVICE_GLOBAL_MEM_CACHE_SIZE")));
  expect_number(OPD_ATTR_TOTAL_GLOBAL_MEMORY, number_in(told("CL_DEVICE_GLOBAL_MEM_SIZE")));
  expect_number(OPD_ATTR_TEXTURE_SPATIAL_LIMIT, number_in(told("CL_DEVICE_IMAGE2D_MAX_WIDTH")));
  std::string sizes = told("CL_DEVICE_MAX_WORK_ITEM_SIZES");  // "4096 4096 4096"
  for (size_t at = 0; (at = sizes.find(' ', at)) != std::string::npos; at += 2) sizes.replace(at, 1, ", ");
  EXPECT_EQ(dimensions(), "[" + sizes + "]");
}

TEST_F(PropertiesOfVulkan, AgreeWithVulkaninfo) {
  expect_text(OPD_ATTR_DEVICE_NAME, told("deviceName"));
  expect_text(OPD_ATTR_DRIVER_VERSION, told("driverInfo"));
  const std::string version = told("apiVersion");  // "1.3.230 (4206822)"
  const std::string numbers = version.substr(0, version.find(' '));
  expect_text(OPD_ATTR_COMPUTE_VERSION, numbers);
  expect_number(OPD_ATTR_API_VERSION, static_cast<int64_t>(std::stod(numbers) * 100 + 0.5));
  expect_number(OPD_ATTR_MAX_THREADS_PER_BLOCK, number_in(told("maxComputeWorkGroupInvocations")));
  expect_number(OPD_ATTR_WARP_SIZE, number_in(told("subgroupSize")));
  expect_number(OPD_ATTR_MAX_SHARED_MEMORY_PER_BLOCK, number_in(told("maxComputeSharedMemorySize")));
  expect_number(OPD_ATTR_TEXTURE_SPATIAL_LIMIT, number_in(told("maxImageDimension2D")));
  EXPECT_EQ(dimensions(), "[" + told("maxComputeWorkGroupSize") + "]");
  // The first heap is that of the device's own memory on the drivers that were tried: "2147483648 (0x80000000) …".
  expect_number(OPD_ATTR_TOTAL_GLOBAL_MEMORY, number_in(told("size")));
  for (const opd_device_attr attr :
       {OPD_ATTR_MAX_CLOCK_RATE, OPD_ATTR_MULTI_PROCESSOR_COUNT, OPD_ATTR_L2_CACHE_SIZE_BYTES})
    EXPECT_EQ(opdyno::device_attr(device(), attr).type(), OPD_NONE) << "Vulkan does not tell it";
}
