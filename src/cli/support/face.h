// The names of the library's C++ API that the program uses.
#pragma once
#include <opdyno/opdyno.hpp>

namespace opd::cli {

using opdyno::Array;
using opdyno::Benchmark;
using opdyno::CancelToken;
using opdyno::Collector;
using opdyno::Evaluator;
using opdyno::Executable;
using opdyno::Function;
using opdyno::KvState;
using opdyno::Module;
using opdyno::Params;
using opdyno::Profile;
using opdyno::Report;
using opdyno::ReportBuilder;
using opdyno::Shape;
using opdyno::string_of;
using opdyno::Tensor;
using opdyno::Trace;
using opdyno::Value;
using opdyno::Vm;

inline std::vector<opd_value> views_of(const std::vector<Value> &values) {
  std::vector<opd_value> views;
  for (const Value &value : values) views.push_back(value.view());
  return views;
}

}  // namespace opd::cli
