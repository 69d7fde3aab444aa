// Copies that involve a device whose memory the host does not touch itself.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "device/device.h"

namespace opd {
namespace {

// Host memory behind a device number; keeps a list of the transfers.
struct RemoteDevice final : DeviceBackend {
  struct Copy {
    DLDevice from, to;
    size_t bytes;
  };
  std::vector<Copy> copies;

  Value attr(int32_t id, opd_device_attr attr) override { return attr == OPD_ATTR_EXIST ? Value(id == 0) : Value(); }
  void *allocate(int32_t, size_t bytes, size_t alignment) override { return std::aligned_alloc(alignment, bytes); }
  void deallocate(int32_t, void *data, size_t, size_t) noexcept override { std::free(data); }
  void copy(const void *from, DLDevice from_device, void *to, DLDevice to_device, size_t bytes, void *) override {
    copies.push_back({from_device, to_device, bytes});
    std::memcpy(to, from, bytes);
  }
  void sync(int32_t) override {}
};

constexpr DLDevice kFirst = {kDLMetal, 0}, kSecond = {kDLWebGPU, 0};
RemoteDevice &remote(DLDevice device) {
  static RemoteDevice *const devices[2] = {new RemoteDevice, new RemoteDevice};
  static const bool registered =
      (register_device(kDLMetal, *devices[0]), register_device(kDLWebGPU, *devices[1]), true);
  (void)registered;
  return *devices[device.device_type == kDLWebGPU];
}

Ref<Tensor> numbers(std::vector<int64_t> dims, DLDevice device) {
  auto tensor = make_tensor(dims, {kDLInt, 32, 1}, device);
  for (size_t i = 0; i < bytes_of(tensor->dl) / 4; ++i)
    static_cast<int32_t *>(tensor->dl.data)[i] = static_cast<int32_t>(i);
  remote(kFirst).copies.clear();
  remote(kSecond).copies.clear();
  return tensor;
}
std::vector<int32_t> content(const Tensor &tensor) {
  const auto *data = static_cast<const int32_t *>(tensor.dl.data);
  return {data, data + bytes_of(tensor.dl) / 4};
}

TEST(ACopyToADevice, IsOneTransferForContiguousTensors) {
  remote(kFirst);
  auto to = make_tensor(std::vector<int64_t>{2, 3}, {kDLInt, 32, 1}, kFirst);
  auto from = numbers({2, 3}, kHost);
  copy_tensor(from->dl, to->dl);
  EXPECT_EQ(content(*to), content(*from));
  ASSERT_EQ(remote(kFirst).copies.size(), 1u);
  EXPECT_EQ(remote(kFirst).copies[0].bytes, 24u);
  EXPECT_EQ(remote(kFirst).copies[0].from.device_type, kDLCPU);
  EXPECT_EQ(remote(kFirst).copies[0].to.device_type, kDLMetal);
}

TEST(ACopyToADevice, IsATransferForEachRunOfStridedTensors) {
  remote(kFirst);
  auto to = make_tensor(std::vector<int64_t>{2, 2}, {kDLInt, 32, 1}, kFirst);
  auto from = numbers({2, 3}, kHost);
  DLTensor left = from->dl;  // the first two of three columns
  int64_t dims[] = {2, 2};
  left.shape = dims;
  copy_tensor(left, to->dl);
  EXPECT_EQ(content(*to), (std::vector<int32_t>{0, 1, 3, 4}));
  ASSERT_EQ(remote(kFirst).copies.size(), 2u);  // one a row
  EXPECT_EQ(remote(kFirst).copies[0].bytes, 8u);
}

TEST(ACopyBetweenKindsOfDevices, GoesOverTheHost) {
  remote(kFirst);
  auto to = make_tensor(std::vector<int64_t>{4}, {kDLInt, 32, 1}, kSecond);
  auto from = numbers({4}, kFirst);
  copy_tensor(from->dl, to->dl);
  EXPECT_EQ(content(*to), content(*from));
  ASSERT_EQ(remote(kFirst).copies.size(), 1u);
  EXPECT_EQ(remote(kFirst).copies[0].to.device_type, kDLCPU);
  ASSERT_EQ(remote(kSecond).copies.size(), 1u);
  EXPECT_EQ(remote(kSecond).copies[0].from.device_type, kDLCPU);
}

TEST(ACopyOfBytes, GoesThroughTheDevice) {
  remote(kFirst);
  auto tensor = numbers({3}, kFirst);
  int32_t out[3] = {};
  const int32_t in[3] = {7, 8, 9};
  copy_from_bytes(tensor->dl, in, sizeof in);
  copy_to_bytes(tensor->dl, out, sizeof out);
  EXPECT_EQ(std::memcmp(in, out, sizeof in), 0);
  EXPECT_EQ(remote(kFirst).copies.size(), 2u);
}

TEST(PinnedMemory, IsCopiedAsTheHostsOwn) {
  auto from = numbers({3}, kHost), to = numbers({3}, kHost);
  to->dl.device = {kDLCUDAHost, 0};
  std::memset(to->dl.data, 0, 12);
  copy_tensor(from->dl, to->dl);
  EXPECT_EQ(content(*to), content(*from));
}

TEST(ACopyOfBytes, IsOfWholeContiguousTensors) {
  auto tensor = numbers({2, 3}, kHost);
  DLTensor transposed = tensor->dl;
  int64_t dims[] = {3, 2}, strides[] = {1, 3};
  transposed.shape = dims, transposed.strides = strides;
  int32_t bytes[6] = {};
  const auto refusal = [](const std::function<void()> &body) {
    try {
      body();
    } catch (const Exception &e) {
      EXPECT_EQ(e.error()->code, OPD_INVALID_ARGUMENT);
      return e.error()->message;
    }
    return std::string();
  };
  EXPECT_EQ(refusal([&] { copy_from_bytes(transposed, bytes, sizeof bytes); }),
            "cannot copy bytes to int32[3, 2] on cpu:0: it is strided");
  EXPECT_EQ(refusal([&] { copy_to_bytes(transposed, bytes, sizeof bytes); }),
            "cannot copy bytes from int32[3, 2] on cpu:0: it is strided");
  EXPECT_EQ(refusal([&] { copy_to_bytes(tensor->dl, bytes, 23); }),
            "cannot copy 23 bytes from int32[2, 3] on cpu:0, which has 24");
  EXPECT_EQ(refusal([&] { copy_to_bytes(tensor->dl, nullptr, 24); }), "data must not be NULL");
}

// Whatever number is asked for.
struct ManyDevices final : DeviceBackend {
  Value attr(int32_t id, opd_device_attr attr) override { return attr == OPD_ATTR_EXIST ? Value(id >= 0) : Value(); }
  void *allocate(int32_t, size_t, size_t) override { return nullptr; }
  void deallocate(int32_t, void *, size_t, size_t) noexcept override {}
  void copy(const void *, DLDevice, void *, DLDevice, size_t, void *) override {}
  void sync(int32_t) override {}
};

TEST(AKindOfDevice, WithManyDevicesIsNamedAsARangeInMessages) {
  static auto *const many = new ManyDevices;
  static const bool registered = (register_device(kDLHexagon, *many), true);
  (void)registered;
  try {
    device_backend({kDLHexagon, -1});
    FAIL() << "no error";
  } catch (const Exception &e) {
    EXPECT_NE(e.error()->message.find(", hexagon:0 to hexagon:63"), std::string::npos) << e.error()->message;
  }
}

TEST(AKindOfDevice, SaysWhyItIsAbsent) {
  for (const int32_t type : {0, 63, 64, -1}) {
    EXPECT_EQ(find_device({static_cast<DLDeviceType>(type), 0}), nullptr) << type;
    const std::string reason = absence_of({static_cast<DLDeviceType>(type), 0});
    EXPECT_EQ(reason.find("this build has no back end for devices of kind "), 0u) << reason;
    EXPECT_NE(reason.find(", and no plug-in has registered one"), std::string::npos) << reason;
  }
  EXPECT_EQ(absence_of({static_cast<DLDeviceType>(kDevicesOfSession), 0}), "there is no session with the number 0");
  EXPECT_EQ(absence_of({static_cast<DLDeviceType>(5 * kDevicesOfSession + 1), 0}),
            "there is no session with the number 4");
  EXPECT_EQ(absence_of(kHost), "");
}

TEST(AKindOfDevice, IsRegisteredOnceWithASmallNumber) {
  EXPECT_THROW(register_device(kDLCPU, remote(kFirst)), Exception);
  EXPECT_THROW(register_device(64, remote(kFirst)), Exception);
  EXPECT_THROW(register_device(-1, remote(kFirst)), Exception);
  EXPECT_EQ(find_device({kDLMetal, 1}), nullptr);
  EXPECT_EQ(find_device(kFirst), &remote(kFirst));
  try {
    device_backend({kDLMetal, 1});
    FAIL() << "no error";
  } catch (const Exception &e) {
    EXPECT_EQ(e.error()->code, OPD_UNSUPPORTED);
    EXPECT_EQ(e.error()->message.rfind("there is no device metal:1: devices of this kind have no number 1; this "
                                       "process has cpu:0 to cpu:63, metal:0",
                                       0),
              0u)
        << e.error()->message;
    EXPECT_EQ(e.error()->message.find("metal:0 to"), std::string::npos) << "it is one: " << e.error()->message;
  }
}

}  // namespace
}  // namespace opd
