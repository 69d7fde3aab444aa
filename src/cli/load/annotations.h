// TVM's descriptions of a function's parameters for its error messages. Compiled functions keep them, too.
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
  std::vector<AnnotatedTensor> tensors;  // all tensors of a tuple
};

// Keyed by function and index of the parameter. Empty if the program has no descriptions.
using Annotations = std::map<std::pair<std::string, int64_t>, Annotation>;
Annotations read_annotations(const Executable &executable);

// Reads one text: "ErrorContext(fn=decode, loc=param[0], param=x, annotation=R.Tensor((b, 1, 64), dtype="float32"))".
// Returns false if it is another text.
bool read_annotation(std::string_view text, Annotations &annotations);

}  // namespace opd::cli
