// A kernel as users of tvm-ffi write them: inline C++ that reads, changes and makes the objects of whoever loads it.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>

namespace ffi = tvm::ffi;

static void add_one(ffi::TensorView x, ffi::TensorView y) {
  if (x.ndim() != 1 || x.size(0) != y.size(0)) TVM_FFI_THROW(ValueError) << "x and y must have one size";
  for (int64_t i = 0; i < x.size(0); ++i)
    static_cast<float *>(y.data_ptr())[i] = static_cast<const float *>(x.data_ptr())[i] + 1;
}

static int64_t sum(const ffi::Array<int64_t> &numbers) {
  int64_t result = 0;
  for (int64_t number : numbers) result += number;
  return result;
}

// The array is not shared, then it is: pushed to in place, and to a copy.
static ffi::Array<ffi::Any> appended(ffi::Array<ffi::Any> items, ffi::Any item) {
  items.push_back(item);
  return items;
}

static ffi::Any look_up(const ffi::Map<ffi::Any, ffi::Any> &map, const ffi::Any &key) {
  return map.count(key) ? map.at(key) : ffi::Any(nullptr);
}

// Puts more into a map than opdyno made it for, and takes one entry out.
static ffi::Map<ffi::Any, ffi::Any> grown(ffi::Map<ffi::Any, ffi::Any> map, int64_t count) {
  for (int64_t i = 0; i < count; ++i) map.Set(i, ffi::String("entry " + std::to_string(i)));
  map.erase(int64_t{0});
  return map;
}

static ffi::String greeting(const ffi::String &name) { return "hello " + name; }
static ffi::Shape doubled(const ffi::Shape &shape) {
  std::vector<int64_t> dims;
  for (int64_t dim : shape) dims.push_back(2 * dim);
  return ffi::Shape(dims);
}
static ffi::Any apply(const ffi::Function &function, const ffi::Any &argument) { return function(argument); }
static ffi::Function adder(int64_t more) {
  return ffi::Function::FromTyped([more](int64_t x) { return x + more; });
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, add_one)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(sum, sum)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(appended, appended)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(look_up, look_up)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(grown, grown)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(greeting, greeting)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(doubled, doubled)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(apply, apply)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(adder, adder)
