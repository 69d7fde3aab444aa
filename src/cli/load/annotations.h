// Reads descriptions of parameters from texts in TVM's modules. A program's error messages describe its parameters,
// even those of compiled functions. A module's JSON has the signatures of kernels.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/support/face.h"
#include "cli/tensors/element.h"

namespace opd::cli {

struct AnnotatedTensor {
  std::string dtype;
  std::vector<Dim> dims;  // an expression such as n * 2 is kept as a name
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

using KernelSignature = std::vector<std::optional<AnnotatedTensor>>;

// Reads "add(x: Tensor([T.int64(4), n], float32), size: T.int64)". An argument is empty if it is not a tensor, or if a
// size is neither a number nor a name.
KernelSignature read_kernel_signature(std::string_view text);

}  // namespace opd::cli
