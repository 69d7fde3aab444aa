// The recorded calls of the models of tests/interop, as model_cases.py writes them for both sides.
#pragma once
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "harness.h"

namespace bench {

struct ModelArgument {
  enum class Kind { kTensor, kInt, kBool, kFloat } kind = Kind::kInt;
  int code = 0, bits = 0;  // of a tensor's dtype, as DLPack has them
  std::vector<int64_t> dims;
  std::string bytes;
  int64_t integer = 0;
  double number = 0;
};
struct ModelCall {
  std::string function;
  std::vector<ModelArgument> args;
};
struct ModelCalls {
  std::string library;
  std::vector<ModelCall> calls;
};

inline ModelArgument read_argument(std::istream &file) {
  ModelArgument argument;
  std::string kind;
  file >> kind;
  if (kind == "tensor") {
    size_t num_dims = 0, size = 0;
    file >> argument.code >> argument.bits >> num_dims;
    argument.kind = ModelArgument::Kind::kTensor;
    argument.dims.resize(num_dims);
    for (int64_t &dim : argument.dims) file >> dim;
    file >> size;
    file.get();  // the end of the line
    argument.bytes.resize(size);
    file.read(argument.bytes.data(), static_cast<std::streamsize>(size));
  } else if (kind == "float") {
    argument.kind = ModelArgument::Kind::kFloat;
    file >> argument.number;
  } else {
    argument.kind = kind == "bool" ? ModelArgument::Kind::kBool : ModelArgument::Kind::kInt;
    file >> argument.integer;
  }
  return argument;
}

inline ModelCalls read_calls(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  ModelCalls model;
  std::getline(file, model.library);
  for (std::string word; file >> word;) {
    size_t num_args = 0;
    ModelCall &call = model.calls.emplace_back();
    file >> call.function >> num_args;
    for (size_t i = 0; i < num_args; ++i) call.args.push_back(read_argument(file));
  }
  if (model.calls.empty()) throw std::runtime_error(path + " has no call");
  return model;
}

// A row "c_NAME" for each NAME.calls in the directory of programs.
inline void add_model_rows(Sampler (*set_up)(const ModelCalls &)) {
  if (settings().programs.empty()) return;
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(settings().programs))
    if (entry.path().extension() == ".calls") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const auto &path : paths)
    AddRow("c_" + path.stem().string(), "us", [=] { return set_up(read_calls(path.string())); });
}

}  // namespace bench
