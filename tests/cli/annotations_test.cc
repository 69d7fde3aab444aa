// What TVM's texts for errors tell of parameters. The texts are those of TVM 0.25 to 0.27, or damaged.
#include "cli/load/annotations.h"

#include <gtest/gtest.h>

namespace opd::cli {
namespace {

Annotation annotation_of(const std::string &text) {
  Annotations annotations;
  return read_annotation(text, annotations) ? annotations.begin()->second : Annotation{"none", {}};
}

std::string shapes(const Annotation &annotation) {
  std::string text = annotation.kind;
  for (const AnnotatedTensor &tensor : annotation.tensors) text += cat(" ", tensor.dtype, dims_text(tensor.dims));
  return text;
}

std::string type(const std::string &annotation) {
  return shapes(annotation_of(cat("ErrorContext(fn=f, loc=param[0], param=x, annotation=", annotation, ") ")));
}

TEST(Annotations, FunctionAndPlaceAreTheKey) {
  Annotations annotations;
  EXPECT_TRUE(read_annotation("ErrorContext(fn=decode, loc=param[2], param=w, annotation=R.Shape([n])) ", annotations));
  ASSERT_EQ(annotations.size(), 1U);
  EXPECT_EQ(annotations.begin()->first, (std::pair<std::string, int64_t>("decode", 2)));
}

TEST(Annotations, TensorsHaveNumbersNamesAndExpressions) {
  EXPECT_EQ(type("R.Tensor((b, 1, 64), dtype=\"float32\")"), "tensor float32[b, 1, 64]");
  EXPECT_EQ(type("R.Tensor((T.int64(4), n * 2), dtype=\"float16\")"), "tensor float16[4, n * 2]");
  EXPECT_EQ(type("R.Tensor((64,), dtype=\"int32\")"), "tensor int32[64]");
  EXPECT_EQ(type("R.Tensor((), dtype=\"bool\")"), "tensor bool[]");
  EXPECT_EQ(type("R.Tensor((T.max(n, 1), 3), dtype=\"int8\")"), "tensor int8[T.max(n, 1), 3]");
}

TEST(Annotations, TuplesHaveAllTheirTensors) {
  EXPECT_EQ(type("T.Tuple(R.Tensor((T.int64(97), T.int64(64)), dtype=\"float32\"), R.Tensor((T.int64(64),), "
                 "dtype=\"uint32\"))"),
            "tuple float32[97, 64] uint32[64]");
  EXPECT_EQ(type("R.Tuple(R.Tensor((2,), dtype=\"float32\"))"), "tuple float32[2]");
}

TEST(Annotations, OtherTypesHaveNoTensors) {
  EXPECT_EQ(type("R.Shape([max_batch])"), "shape");
  EXPECT_EQ(type("R.Any"), "");
  EXPECT_EQ(type("R.Tensor(ndim=2)"), "tensor");
}

TEST(Annotations, OtherTextsHaveNoKind) {
  for (const char *text :
       {"", "global", "ErrorContext(", "ErrorContext(fn=f, loc=return, annotation=R.Any) ",
        "ErrorContext(fn=f, loc=param[x], param=x, annotation=R.Any) ", "ErrorContext(fn=f, loc=param[0], param=x) ",
        "ErrorContext(fn=, loc=param[0], annotation=R.Any) ", "annotation=R.Tensor((1,), dtype=\"int8\")"})
    EXPECT_EQ(annotation_of(text).kind, "none") << text;
}

TEST(Annotations, ATruncatedTextIsHarmless) {
  const std::string whole =
      "ErrorContext(fn=f, loc=param[0], param=x, annotation=T.Tuple(R.Tensor((T.int64(97), n), dtype=\"float32\"))) ";
  for (size_t size = 0; size < whole.size(); ++size) {
    const Annotation annotation = annotation_of(whole.substr(0, size));
    EXPECT_LE(annotation.tensors.size(), 1U);
  }
  EXPECT_EQ(type("R.Tensor((T.int64(99999999999999999999), )), )))))"), "tensor [T.int64(99999999999999999999)]");
}

}  // namespace
}  // namespace opd::cli
