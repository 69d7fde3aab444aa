// Bytes of kernels for Vulkan that may be anything: they are read and checked without the driver, which compiles at the
// first launch.
#include <gtest/gtest.h>

#include <cstring>

#include "device/device.h"

namespace opd {
namespace {

constexpr DLDevice kDevice = {kDLVulkan, 0};

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}
std::string text(const std::string &content) { return raw(uint64_t{content.size()}) + content; }

// The shortest kernel: its entry point and an empty function.
std::string spirv() {
  const uint32_t words[] = {0x07230203,    0x10300, 0,  10,         0,                     // header
                            2u << 16 | 17, 1,                                              // capability Shader
                            3u << 16 | 14, 0,       1,                                     // memory model
                            5u << 16 | 15, 5,       1,  0x6C616373, 0x65,                  // entry point "scale"
                            6u << 16 | 16, 1,       17, 1,          1,    1,               // a block of one thread
                            5u << 16 | 54, 2,       1,  0,          3,    1u << 16 | 56};  // a function and its end
  return {reinterpret_cast<const char *>(words), sizeof words};
}
std::string kernel() { return raw(uint32_t{0}) + raw(uint64_t{spirv().size() / 4}) + spirv(); }
std::string one_kernel(bool has_size) {
  return raw(uint64_t{1}) + text("scale") + (has_size ? text(kernel()) : kernel());
}

class KernelsForVulkan : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (const std::string absence = absence_of(kDevice); !absence.empty()) GTEST_SKIP() << absence;
  }
  static void read(const std::string &code) {
    device_backend(kDevice).build(0, {"vulkan", code, "m.so"})->find("scale");
  }
};

TEST_P(KernelsForVulkan, AreRefusedWhereverTheyEnd) {
  const std::string good = one_kernel(GetParam());
  EXPECT_NO_THROW(read(good));
  for (size_t size = 0; size < good.size(); ++size) {
    const std::vector<char> part(good.begin(), good.begin() + static_cast<ptrdiff_t>(size));  // sanitizers see its end
    EXPECT_THROW(read({part.begin(), part.end()}), Exception) << size;
  }
  EXPECT_THROW(read(good + "?"), Exception);
}

TEST_P(KernelsForVulkan, MayHaveAnyBytes) {
  const std::string good = one_kernel(GetParam());
  size_t refused = 0;
  for (size_t i = 0; i < good.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = good;
      changed[i] = static_cast<char>(changed[i] ^ 1 << bit);
      try {
        read(changed);
      } catch (const Exception &e) {
        EXPECT_FALSE(std::string(e.what()).empty());
        ++refused;
      }
    }
  EXPECT_GT(refused, 4 * good.size());
}

TEST_P(KernelsForVulkan, HaveNamesOfTheirOwn) {
  const std::string kernels = GetParam() ? text("scale") + text(kernel()) : text("scale") + kernel();
  try {
    read(raw(uint64_t{2}) + kernels + kernels);
    ADD_FAILURE() << "accepted";
  } catch (const Exception &e) {
    EXPECT_NE(std::string(e.what()).find("a kernel's name"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("is there a second time"), std::string::npos) << e.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, KernelsForVulkan, testing::Bool(),
                         [](const auto &info) { return info.param ? "WithSize" : "WithoutSize"; });

}  // namespace
}  // namespace opd
