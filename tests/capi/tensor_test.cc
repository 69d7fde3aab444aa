// include/opdyno/tensor.h, through the C API.
#include <gtest/gtest.h>
#include <opdyno/opdyno.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "support/failure.h"

namespace {

using opdyno_test::Failure;
using opdyno_test::failure;

constexpr DLDevice kCpu = {kDLCPU, 0};
constexpr DLDataType kFloat32 = {kDLFloat, 32, 1}, kInt8 = {kDLInt, 8, 1}, kInt4 = {kDLInt, 4, 1};

opd_tensor *make(std::vector<int64_t> dims, DLDataType dtype) {
  opd_tensor *tensor = nullptr;
  EXPECT_OK(opd_tensor_create(dims.data(), static_cast<int32_t>(dims.size()), dtype, kCpu, &tensor));
  return tensor;
}

// A view of memory of the test.
struct Strided {
  std::vector<int64_t> dims, strides;
  DLTensor view{};
  Strided(void *data, std::vector<int64_t> d, std::vector<int64_t> s, DLDataType dtype, uint64_t offset = 0)
      : dims(std::move(d)), strides(std::move(s)) {
    view = {data,  kCpu,        static_cast<int32_t>(dims.size()),
            dtype, dims.data(), strides.empty() ? nullptr : strides.data(),
            offset};
  }
};

// Copies into memory of the test.
opd_error *copy(const DLTensor &from, const DLTensor &to) {
  DLManagedTensor lent{to, nullptr, nullptr};
  opd_tensor *target = nullptr;
  EXPECT_OK(opd_tensor_from_dlpack(&lent, &target));
  opd_error *error = opd_tensor_copy(&from, target);
  opd_tensor_release(target);
  return error;
}

TEST(ATensor, HasAlignedMemoryAndCompactStrides) {
  opd_tensor *tensor = make({2, 3, 4}, kFloat32);
  const DLTensor *view = opd_tensor_view(tensor);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(view->data) % 64, 0u);
  EXPECT_EQ(view->byte_offset, 0u);
  EXPECT_EQ(std::vector<int64_t>(view->shape, view->shape + 3), (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(std::vector<int64_t>(view->strides, view->strides + 3), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(opd_tensor_bytes(tensor), 96u);
  EXPECT_TRUE(opd_tensor_is_contiguous(tensor));
  opd_tensor_release(tensor);
}

TEST(ATensor, MayBeAScalarOrEmptyOrPacked) {
  opd_tensor *scalar = make({}, kFloat32), *empty = make({3, 0, 7}, kFloat32), *packed = make({3, 3}, kInt4);
  EXPECT_EQ(opd_tensor_bytes(scalar), 4u);
  EXPECT_EQ(opd_tensor_bytes(empty), 0u);
  EXPECT_EQ(opd_tensor_bytes(packed), 5u);  // 9 * 4 bits
  for (opd_tensor *tensor : {scalar, empty, packed}) opd_tensor_release(tensor);
}

TEST(ATensor, IsRefusedForImpossibleShapesDtypesAndDevices) {
  opd_tensor *none = nullptr;
  const auto create = [&](std::vector<int64_t> dims, DLDataType dtype, DLDevice device) {
    return failure(opd_tensor_create(dims.data(), static_cast<int32_t>(dims.size()), dtype, device, &none));
  };
  EXPECT_EQ(create({2, -1}, kFloat32, kCpu).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(create({2, -1}, kFloat32, kCpu).message,
            "a tensor cannot have the shape of float32[2, -1]: a size is negative, or there are too many elements");
  EXPECT_EQ(create({INT64_MAX, 2}, kFloat32, kCpu).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(create({INT64_MAX}, kFloat32, kCpu).code, OPD_OUT_OF_MEMORY);
  EXPECT_EQ(create({int64_t{1} << 61}, kInt8, kCpu).code, OPD_OUT_OF_MEMORY);
  EXPECT_EQ(create({2}, kFloat32, {kDLVPI, 0}).code, OPD_UNSUPPORTED);
  EXPECT_EQ(create({2}, kFloat32, {kDLCPU, 64}).code, OPD_UNSUPPORTED);
  EXPECT_EQ(create({2}, {kDLOpaqueHandle, 0, 0}, kCpu).message, "a tensor cannot have elements of dtype void");
  EXPECT_EQ(create({2}, {kDLFloat, 32, static_cast<uint16_t>(-4)}, kCpu).code, OPD_INVALID_ARGUMENT);
  const int64_t dims[] = {1};
  EXPECT_EQ(failure(opd_tensor_create(dims, -1, kFloat32, kCpu, &none)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(opd_tensor_create(nullptr, 1, kFloat32, kCpu, &none)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(opd_tensor_create(dims, 1, kFloat32, kCpu, nullptr)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(opd_tensor_view(nullptr), nullptr);
  EXPECT_EQ(opd_tensor_bytes(nullptr), 0u);
  opd_tensor_release(nullptr);
}

// ---- copies

TEST(ACopy, TransposesThroughStrides) {
  float from[6] = {0, 1, 2, 3, 4, 5}, to[6] = {};
  Strided source(from, {3, 2}, {1, 3}, kFloat32);  // columns of a 2x3 matrix
  Strided target(to, {3, 2}, {}, kFloat32);        // strides NULL: compact
  EXPECT_OK(copy(source.view, target.view));
  EXPECT_EQ(std::vector<float>(to, to + 6), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(ACopy, FollowsEveryPermutationOfDimensionsAndElementSize) {
  // Element (i, j, k) of the source has the value 15 i + 5 j + k, whatever the order in memory is on both sides.
  const int64_t size[] = {2, 3, 5};
  const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  const auto strides_of = [&](const int *order) {
    std::vector<int64_t> strides(3);
    int64_t step = 1;
    for (int i = 3; i-- > 0; step *= size[order[i]]) strides[static_cast<size_t>(order[i])] = step;
    return strides;
  };
  for (const int bytes : {1, 2, 3, 4, 8, 16, 32})
    for (const auto &from_order : orders)
      for (const auto &to_order : orders) {
        const DLDataType dtype = {kDLUInt, 8, static_cast<uint16_t>(bytes)};  // vectors of bytes
        std::vector<unsigned char> from(30 * 32), to(30 * 32);
        Strided source(from.data(), {2, 3, 5}, strides_of(from_order), dtype),
            target(to.data(), {2, 3, 5}, strides_of(to_order), dtype);
        const auto at = [&](Strided &s, int64_t i, int64_t j, int64_t k) {
          return static_cast<unsigned char *>(s.view.data) +
                 bytes * (i * s.strides[0] + j * s.strides[1] + k * s.strides[2]);
        };
        const auto for_all = [&](auto f) {
          for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 3; ++j)
              for (int k = 0; k < 5; ++k) f(i, j, k, static_cast<unsigned char>(15 * i + 5 * j + k));
        };
        for_all([&](int i, int j, int k, unsigned char v) {
          std::memset(at(source, i, j, k), v, static_cast<size_t>(bytes));
        });
        EXPECT_OK(copy(source.view, target.view));
        for_all([&](int i, int j, int k, unsigned char v) {
          for (int b = 0; b < bytes; ++b) EXPECT_EQ(at(target, i, j, k)[b], v);
        });
      }
}

TEST(ACopy, ReadsBackwardsAndBroadcasts) {
  int32_t from[4] = {1, 2, 3, 4}, to[8] = {};
  const DLDataType int32 = {kDLInt, 32, 1};
  Strided backwards(from, {4}, {-1}, int32, 3 * sizeof(int32_t));
  Strided target(to, {4}, {2}, int32);
  EXPECT_OK(copy(backwards.view, target.view));
  EXPECT_EQ(std::vector<int32_t>(to, to + 8), (std::vector<int32_t>{4, 0, 3, 0, 2, 0, 1, 0}));
  Strided broadcast(from, {2, 4}, {0, 1}, int32), rows(to, {2, 4}, {4, 1}, int32);
  EXPECT_OK(copy(broadcast.view, rows.view));
  EXPECT_EQ(std::vector<int32_t>(to, to + 8), (std::vector<int32_t>{1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(failure(copy(rows.view, broadcast.view)).message,
            "cannot copy to int32[2, 4] on cpu:0: its stride of dimension 0 is 0, so elements share a place");
}

TEST(ACopy, ErrorsNameTheDifference) {
  float data[12] = {};
  Strided a(data, {2, 3}, {}, kFloat32), b(data + 6, {3, 2}, {}, kFloat32), c(data, {2, 3}, {}, {kDLInt, 32, 1}),
      d(data, {6}, {}, kFloat32);
  EXPECT_EQ(failure(copy(a.view, b.view)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(copy(a.view, b.view)).message,
            "cannot copy float32[2, 3] on cpu:0 to float32[3, 2] on cpu:0: the shapes differ");
  EXPECT_EQ(failure(copy(a.view, d.view)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(copy(a.view, c.view)).message,
            "cannot copy float32[2, 3] on cpu:0 to int32[2, 3] on cpu:0: the dtypes differ");
}

TEST(ACopy, RefusesInvalidTensors) {
  float data[4] = {};
  Strided good(data, {2}, {}, kFloat32), far(data, {2}, {INT64_MAX / 2}, kFloat32), absent(data, {2}, {}, kFloat32);
  DLTensor no_shape = good.view, no_data = good.view, negative = good.view;
  no_shape.shape = nullptr;
  no_data.data = nullptr;
  negative.ndim = -1;
  absent.view.device = {kDLVPI, 0};
  for (DLTensor *bad : {&no_shape, &no_data, &negative, &far.view})
    EXPECT_EQ(failure(copy(*bad, good.view)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(copy(good.view, far.view)).code, OPD_INVALID_ARGUMENT);
  opd_tensor *tensor = make({2}, kFloat32);
  EXPECT_EQ(failure(opd_tensor_copy(nullptr, tensor)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(opd_tensor_copy(&good.view, nullptr)).code, OPD_INVALID_ARGUMENT);
  opd_tensor_release(tensor);
  EXPECT_EQ(failure(copy(absent.view, good.view)).code, OPD_UNSUPPORTED);
  Strided numberless(data, {2}, {}, kFloat32);
  numberless.view.device = {kDLCPU, -1};
  EXPECT_EQ(failure(copy(numberless.view, good.view)).code, OPD_INVALID_ARGUMENT);
}

TEST(ACopy, NeedsContiguousTensorsIfElementsAreSmallerThanAByte) {
  unsigned char from[4] = {0x21, 0x43, 0x65, 0x07}, to[4] = {};
  Strided a(from, {7}, {}, kInt4), b(to, {7}, {}, kInt4), strided(to, {7}, {2}, kInt4);
  EXPECT_OK(copy(a.view, b.view));
  EXPECT_EQ(std::memcmp(from, to, 4), 0);
  const Failure told = failure(copy(a.view, strided.view));
  EXPECT_EQ(told.code, OPD_UNSUPPORTED);
  EXPECT_NE(told.message.find("elements of 4 bits"), std::string::npos);
}

TEST(ACopy, ReadsNoPointersIfThereAreNoElements) {
  Strided a(nullptr, {0, 3}, {}, kFloat32), b(nullptr, {0, 3}, {1, 1}, kFloat32);
  EXPECT_OK(copy(a.view, b.view));
}

TEST(Bytes, GoInAndOutOfAContiguousTensor) {
  opd_tensor *tensor = make({2, 2}, kFloat32);
  const float in[4] = {1, 2, 3, 4};
  float out[4] = {};
  EXPECT_OK(opd_tensor_copy_from_bytes(tensor, in, sizeof in));
  EXPECT_OK(opd_tensor_copy_to_bytes(tensor, out, sizeof out));
  EXPECT_EQ(std::memcmp(in, out, sizeof in), 0);
  EXPECT_EQ(failure(opd_tensor_copy_from_bytes(tensor, in, 15)).message,
            "cannot copy 15 bytes to float32[2, 2] on cpu:0, which has 16");
  EXPECT_EQ(failure(opd_tensor_copy_to_bytes(tensor, out, 17)).message,
            "cannot copy 17 bytes from float32[2, 2] on cpu:0, which has 16");
  EXPECT_EQ(failure(opd_tensor_copy_from_bytes(tensor, nullptr, 16)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(opd_tensor_copy_to_bytes(tensor, nullptr, 16)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(opd_tensor_copy_from_bytes(nullptr, in, 16)).code, OPD_INVALID_ARGUMENT);
  opd_tensor_release(tensor);
  opd_tensor *empty = make({0}, kFloat32);
  EXPECT_OK(opd_tensor_copy_from_bytes(empty, nullptr, 0));
  opd_tensor_release(empty);
}

TEST(AReshape, SharesTheData) {
  opd_tensor *tensor = make({2, 6}, kFloat32), *other = nullptr;
  const int64_t dims[] = {3, 4}, wrong[] = {5, 2};
  EXPECT_OK(opd_tensor_reshape(tensor, dims, 2, &other));
  EXPECT_EQ(opd_tensor_view(other)->data, opd_tensor_view(tensor)->data);
  opd_tensor_release(tensor);  // the data lives on
  static_cast<float *>(opd_tensor_view(other)->data)[11] = 1;
  opd_tensor *none = nullptr;
  EXPECT_EQ(failure(opd_tensor_reshape(other, wrong, 2, &none)).message,
            "cannot reshape float32[3, 4] on cpu:0 to [5, 2]: the tensor has 12 elements, but the shape has 10");
  opd_tensor_release(other);
}

// ---- DLPack

struct Producer {  // lends an array, and counts the ends
  float data[6] = {0, 1, 2, 3, 4, 5};
  int64_t dims[2] = {2, 3}, strides[2] = {3, 1};
  int ended = 0;
  DLManagedTensor managed{};
  DLManagedTensorVersioned versioned{};
  Producer() {
    const DLTensor tensor = {data, kCpu, 2, kFloat32, dims, strides, 0};
    managed = {tensor, this, [](DLManagedTensor *self) { ++static_cast<Producer *>(self->manager_ctx)->ended; }};
    versioned.version = {1, 0};
    versioned.manager_ctx = this;
    versioned.deleter = [](DLManagedTensorVersioned *self) { ++static_cast<Producer *>(self->manager_ctx)->ended; };
    versioned.dl_tensor = tensor;
  }
};

// ---- borrowed tensors

void expect_refused(opd_error *error, const char *part) {
  const Failure refused = failure(error);
  EXPECT_EQ(refused.code, OPD_INVALID_ARGUMENT);
  EXPECT_NE(refused.message.find(part), std::string::npos) << refused.message;
}

struct Borrowed {
  std::vector<float> memory{1, 2, 3, 4, 5, 6};
  Strided strided{memory.data(), {2, 3}, {}, kFloat32};
  opd_tensor *tensor = nullptr;
  Borrowed() { EXPECT_OK(opd_tensor_borrow(&strided.view, &tensor)); }
  ~Borrowed() { opd_tensor_release(tensor); }
  opd_tensor *reshaped(const std::vector<int64_t> &dims) const {
    opd_tensor *view = nullptr;
    EXPECT_OK(opd_tensor_reshape(tensor, dims.data(), static_cast<int32_t>(dims.size()), &view));
    return view;
  }
};

void expect_empty(const opd_tensor *tensor) {
  const DLTensor &view = *opd_tensor_view(tensor);
  EXPECT_TRUE(opd_tensor_is_borrowed(tensor));
  EXPECT_TRUE(opd_tensor_has_ended(tensor));
  EXPECT_EQ(view.data, nullptr);
  ASSERT_EQ(view.ndim, 1);
  EXPECT_EQ(view.shape[0], 0);
  EXPECT_EQ(view.strides[0], 1);
  EXPECT_EQ(view.byte_offset, 0u);
  EXPECT_EQ(view.dtype.code, kDLFloat);
  EXPECT_EQ(opd_tensor_bytes(tensor), 0u);
}

TEST(ABorrowedTensor, SharesTheMemoryUntilTheEndOfTheLoan) {
  const Borrowed borrowed;
  EXPECT_TRUE(opd_tensor_is_borrowed(borrowed.tensor));
  EXPECT_FALSE(opd_tensor_has_ended(borrowed.tensor));
  EXPECT_EQ(opd_tensor_view(borrowed.tensor)->data, borrowed.memory.data());
  opd_tensor_end_borrow(borrowed.tensor);
  expect_empty(borrowed.tensor);
  opd_tensor_end_borrow(borrowed.tensor);
  expect_empty(borrowed.tensor);
}

TEST(ABorrowedTensor, EndsWithAllItsViews) {
  const Borrowed borrowed;
  opd_tensor *const view = borrowed.reshaped({6}), *const gone = borrowed.reshaped({3, 2});
  opd_tensor *scalar = nullptr, *of_view = nullptr;
  const int64_t dims[] = {1, 6};
  EXPECT_OK(opd_tensor_reshape(view, dims, 2, &of_view));
  float one = 1;
  DLTensor point{&one, kCpu, 0, kFloat32, nullptr, nullptr, 0};
  EXPECT_OK(opd_tensor_borrow(&point, &scalar));
  opd_tensor_release(gone);
  EXPECT_EQ(opd_tensor_view(of_view)->data, borrowed.memory.data());
  EXPECT_TRUE(opd_tensor_is_borrowed(of_view));
  opd_tensor_end_borrow(view);  // any tensor of the loan
  for (opd_tensor *each : {view, of_view, static_cast<opd_tensor *>(borrowed.tensor)}) expect_empty(each);
  EXPECT_FALSE(opd_tensor_has_ended(scalar)) << "another loan";
  opd_tensor_end_borrow(scalar);
  expect_empty(scalar);
  for (opd_tensor *each : {view, of_view, scalar}) opd_tensor_release(each);
}

TEST(ABorrowedTensor, GivesNoNewViewsAfterTheEnd) {
  const Borrowed borrowed;
  opd_tensor_end_borrow(borrowed.tensor);
  const int64_t dims[] = {0};
  opd_tensor *view = nullptr;
  expect_refused(opd_tensor_reshape(borrowed.tensor, dims, 1, &view), "copy what is to be kept");
}

TEST(ABorrowedTensor, KeepsStridesAndOffset) {
  float memory[8] = {};
  const Strided strided(memory, {2, 2}, {1, 2}, kFloat32, 4);
  opd_tensor *tensor = nullptr;
  EXPECT_OK(opd_tensor_borrow(&strided.view, &tensor));
  EXPECT_EQ(opd_tensor_view(tensor)->byte_offset, 4u);
  EXPECT_EQ(opd_tensor_view(tensor)->strides[0], 1);
  EXPECT_EQ(opd_tensor_view(tensor)->strides[1], 2);
  opd_tensor_release(tensor);
}

TEST(ABorrowedTensor, IsRefusedLikeADLPackTensor) {
  float memory[8] = {};
  const Strided strided(memory, {4}, {}, kFloat32, 3), nothing(nullptr, {4}, {}, kFloat32);
  opd_tensor *tensor = nullptr;
  expect_refused(opd_tensor_borrow(&strided.view, &tensor), "multiple of 4");
  expect_refused(opd_tensor_borrow(&nothing.view, &tensor), "must have data");
  expect_refused(opd_tensor_borrow(nullptr, &tensor), "from");
  expect_refused(opd_tensor_borrow(&strided.view, nullptr), "out_tensor");
}

TEST(ABorrowedTensor, DiffersFromOrdinaryTensors) {
  opd_tensor *const own = make({2}, kFloat32);
  EXPECT_FALSE(opd_tensor_is_borrowed(own));
  opd_tensor_end_borrow(own);
  opd_tensor_end_borrow(nullptr);
  EXPECT_FALSE(opd_tensor_has_ended(own));
  EXPECT_EQ(opd_tensor_view(own)->shape[0], 2);
  EXPECT_FALSE(opd_tensor_is_borrowed(nullptr));
  EXPECT_FALSE(opd_tensor_has_ended(nullptr));
  opd_tensor_release(own);
}

TEST(ATensor, IsUniqueWithoutOtherReferencesAndViews) {
  opd_tensor *const tensor = make({2, 3}, kFloat32);
  EXPECT_TRUE(opd_tensor_is_unique(tensor));
  opd_tensor_retain(tensor);
  EXPECT_FALSE(opd_tensor_is_unique(tensor));
  opd_tensor_release(tensor);
  const int64_t dims[] = {6};
  opd_tensor *view = nullptr;
  EXPECT_OK(opd_tensor_reshape(tensor, dims, 1, &view));
  EXPECT_FALSE(opd_tensor_is_unique(tensor));
  EXPECT_FALSE(opd_tensor_is_unique(view));
  opd_tensor_release(view);
  EXPECT_TRUE(opd_tensor_is_unique(tensor));
  DLManagedTensor *managed = nullptr;
  EXPECT_OK(opd_tensor_to_dlpack(tensor, &managed));
  EXPECT_FALSE(opd_tensor_is_unique(tensor));
  managed->deleter(managed);
  EXPECT_TRUE(opd_tensor_is_unique(tensor));
  EXPECT_FALSE(opd_tensor_is_unique(nullptr));
  opd_tensor_release(tensor);
}

TEST(DLPack, TensorsAreTakenOverWithoutCopying) {
  Producer producer;
  opd_tensor *tensor = nullptr;
  EXPECT_OK(opd_tensor_from_dlpack(&producer.managed, &tensor));
  EXPECT_EQ(opd_tensor_view(tensor)->data, producer.data);
  EXPECT_EQ(opd_tensor_bytes(tensor), 24u);
  auto *second = static_cast<opd_tensor *>(opd_object_retain(tensor));
  opd_tensor_release(tensor);
  EXPECT_EQ(producer.ended, 0);
  opd_tensor_release(second);
  EXPECT_EQ(producer.ended, 1);
}

TEST(DLPack, StridesAndOffsetsAreKept) {
  Producer producer;
  producer.strides[0] = 1, producer.strides[1] = 2;
  producer.versioned.dl_tensor.byte_offset = 4;
  producer.dims[0] = 1;
  opd_tensor *tensor = nullptr;
  EXPECT_OK(opd_tensor_from_dlpack_versioned(&producer.versioned, &tensor));
  EXPECT_FALSE(opd_tensor_is_contiguous(tensor));
  float out[3] = {};
  Strided target(out, {1, 3}, {}, kFloat32);
  EXPECT_OK(copy(*opd_tensor_view(tensor), target.view));
  EXPECT_EQ(std::vector<float>(out, out + 3), (std::vector<float>{1, 3, 5}));
  const int64_t dims[] = {3};
  opd_tensor *none = nullptr;
  EXPECT_EQ(failure(opd_tensor_reshape(tensor, dims, 1, &none)).message,
            "cannot reshape float32[1, 3] on cpu:0 to [3]: the tensor is strided");
  char bytes[12];
  EXPECT_EQ(failure(opd_tensor_copy_to_bytes(tensor, bytes, 12)).message,
            "cannot copy bytes from float32[1, 3] on cpu:0: it is strided");
  opd_tensor_release(tensor);
  EXPECT_EQ(producer.ended, 1);
}

TEST(DLPack, RefusedTensorsAreNotTakenOver) {
  opd_tensor *tensor = nullptr;
  Producer producer;
  producer.versioned.version.major = 2;
  EXPECT_EQ(failure(opd_tensor_from_dlpack_versioned(&producer.versioned, &tensor)).code, OPD_UNSUPPORTED);
  producer.versioned.version.major = 1;
  producer.versioned.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  EXPECT_EQ(failure(opd_tensor_from_dlpack_versioned(&producer.versioned, &tensor)).code, OPD_INVALID_ARGUMENT);
  producer.managed.dl_tensor.data = nullptr;
  EXPECT_EQ(failure(opd_tensor_from_dlpack(&producer.managed, &tensor)).message,
            "a DLPack tensor of 6 elements must have data");
  producer.managed.dl_tensor.data = producer.data;
  producer.managed.dl_tensor.dtype.lanes = 0;
  EXPECT_EQ(failure(opd_tensor_from_dlpack(&producer.managed, &tensor)).message,
            "a DLPack tensor must have a dtype of at least one lane, but lanes is 0");
  producer.managed.dl_tensor.dtype.lanes = 1;
  producer.managed.dl_tensor.byte_offset = 3;  // of floats, which lie at multiples of 4
  EXPECT_EQ(failure(opd_tensor_from_dlpack(&producer.managed, &tensor)).message,
            "the elements of a DLPack tensor, float32[2, 3] on cpu:0, must be aligned to 4 bytes, but start 3 bytes "
            "after a multiple of 4 (byte_offset is 3); copy the tensor");
  producer.dims[0] = -1;
  EXPECT_EQ(failure(opd_tensor_from_dlpack(&producer.managed, &tensor)).code, OPD_INVALID_ARGUMENT);
  producer.managed.dl_tensor.shape = nullptr;
  EXPECT_EQ(failure(opd_tensor_from_dlpack(&producer.managed, &tensor)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(failure(opd_tensor_from_dlpack(nullptr, &tensor)).code, OPD_INVALID_ARGUMENT);
  EXPECT_EQ(producer.ended, 0);
  EXPECT_EQ(tensor, nullptr);
}

TEST(DLPack, TensorsAreLentAndOutliveTheirHandle) {
  opd_tensor *tensor = make({4}, kFloat32);
  void *data = opd_tensor_view(tensor)->data;
  DLManagedTensor *managed = nullptr;
  DLManagedTensorVersioned *versioned = nullptr;
  EXPECT_OK(opd_tensor_to_dlpack(tensor, &managed));
  EXPECT_OK(opd_tensor_to_dlpack_versioned(tensor, &versioned));
  EXPECT_EQ(failure(opd_tensor_to_dlpack(tensor, nullptr)).code, OPD_INVALID_ARGUMENT);
  opd_tensor_release(tensor);
  EXPECT_EQ(managed->dl_tensor.data, data);
  EXPECT_EQ(versioned->dl_tensor.data, data);
  EXPECT_EQ(versioned->dl_tensor.shape[0], 4);
  EXPECT_EQ(versioned->version.major, 1u);
  EXPECT_EQ(versioned->version.minor, 3u);
  EXPECT_EQ(versioned->flags, 0u);
  managed->deleter(managed);
  static_cast<float *>(versioned->dl_tensor.data)[3] = 1;  // still there
  versioned->deleter(versioned);
}

TEST(DLPack, ATensorSurvivesARoundTrip) {
  Producer producer;
  opd_tensor *tensor = nullptr, *back = nullptr;
  DLManagedTensor *managed = nullptr;
  EXPECT_OK(opd_tensor_from_dlpack(&producer.managed, &tensor));
  EXPECT_OK(opd_tensor_to_dlpack(tensor, &managed));
  EXPECT_OK(opd_tensor_from_dlpack(managed, &back));
  opd_tensor_release(tensor);
  EXPECT_EQ(opd_tensor_view(back)->data, producer.data);
  EXPECT_EQ(producer.ended, 0);
  opd_tensor_release(back);
  EXPECT_EQ(producer.ended, 1);
}

}  // namespace
