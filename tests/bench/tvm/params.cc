// The peer of ../params.cc.
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/string.h>

#include "../param_file.h"
#include "tvm.h"

namespace {

namespace ffi = tvm::ffi;
using bench::ParamFile;
using Tensors = ffi::Map<ffi::String, ffi::Tensor>;

bench::AddRow row(const char *name, std::function<void()> (*set_up)()) {
  return {name, "ms", [set_up] {
            return bench::timed(1e6, [operation = set_up()](int64_t n) {
              for (int64_t i = 0; i < n; ++i) operation();
            });
          }};
}

ffi::Function global(const char *name) { return ffi::Function::GetGlobalRequired(name); }

const bench::AddRow copied = row("params_copy", [] {
  return std::function<void()>(
      [load = global("runtime.LoadParamsFromFile"), path = ParamFile::get().path] { load(path); });
});

const bench::AddRow loaded = row("params_load_bytes", [] {
  return std::function<void()>([load = global("runtime.LoadParams"),
                                bytes = ffi::Bytes(bench::read_file(ParamFile::get().path))] { load(bytes); });
});

const bench::AddRow saved = row("params_save", [] {
  return std::function<void()>(
      [save = global("runtime.SaveParamsToFile"), path = ParamFile::get().saved(),
       tensors = global("runtime.LoadParamsFromFile")(ParamFile::get().path).cast<Tensors>()] { save(tensors, path); });
});

const bench::AddRow saved_bytes = row("params_save_bytes", [] {
  return std::function<void()>(
      [save = global("runtime.SaveParams"),
       tensors = global("runtime.LoadParamsFromFile")(ParamFile::get().path).cast<Tensors>()] { save(tensors); });
});

}  // namespace
