// What TVM wrote down of a function's parameters for its error messages, which also compiled functions keep.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/support/face.h"
#include "cli/tensors/dim.h"

namespace opd::cli {

struct AnnotatedTensor {
  std::string dtype;
  std::vector<Dim> dims;  // an expression is a name
};

struct Annotation {
  std::string kind;                      // tensor, tuple, shape; "" for others
  std::vector<AnnotatedTensor> tensors;  // of a tuple, all
};

// By the function and the parameter's place. Empty if the program keeps none.
using Annotations = std::map<std::pair<std::string, int64_t>, Annotation>;
Annotations read_annotations(const Executable &executable);

// Of one text: "ErrorContext(fn=decode, loc=param[0], param=x, annotation=R.Tensor((b, 1, 64), dtype="float32"))".
// Returns whether it is such a text.
bool read_annotation(std::string_view text, Annotations &annotations);

}  // namespace opd::cli
