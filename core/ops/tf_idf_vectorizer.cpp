// Tokens are [C] or [N, C]: integers, or constant strings (ops/common/strings.h).
#include <algorithm>

#include "kernels/calls/tf_idf.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/op.h"

namespace poprt::ops::tf_idf_vectorizer_op {
namespace {

int64_t results_of(const ir::Node& node) {
  int64_t results = 0;
  for (const int64_t i : node.ints_attr("ngram_indexes")) {
    if (i < 0 || i >= (int64_t{1} << 32))
      fail(ErrorCode::invalid_argument, "{}: ngram_indexes contains {}", node.describe(), i);
    results = std::max(results, i + 1);
  }
  return results;
}

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  const bool words = ctx.node.find_attr("pool_strings") != nullptr;
  if (x.dtype != DType::undefined && !(x.dtype == DType::string && words) &&
      x.dtype != DType::s32 && x.dtype != DType::s64)
    ctx.fail_unsupported("tokens are {}, supported are s32 and s64", dtype_name(x.dtype));
  if (!x.has_shape) return ctx.out_dtype(0, DType::f32);
  if (x.shape.empty() || x.shape.size() > 2)
    ctx.fail_input("input {} must have one or two dimensions", shape_string(x.shape));
  Shape y = x.shape;
  y.back() = results_of(ctx.node);
  ctx.out(0, DType::f32, std::move(y));
}

void lower(LowerContext& ctx) {
  const Shape& x = ctx.in_shape(0);
  if (ctx.in_dtype(0) == DType::string)
    ctx.fail_unsupported("the device has no strings: its input must be constant");
  const std::string mode = ctx.node.string_attr("mode", "TF");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") ctx.fail_unsupported("mode '{}'", mode);
  ctx.emit(calls::TfIdf{.rows = x.size() == 2 ? x[0] : 1,
                        .columns = x.back(),
                        .min = ctx.node.int_attr("min_gram_length", 1),
                        .max = ctx.node.int_attr("max_gram_length", 1),
                        .skips = ctx.node.int_attr("max_skip_count", 0),
                        .mode = mode == "TF"    ? calls::TfIdfMode::tf
                                : mode == "IDF" ? calls::TfIdfMode::idf
                                                : calls::TfIdfMode::tf_idf,
                        .results = results_of(ctx.node),
                        .starts = ctx.node.ints_attr("ngram_counts"),
                        .index = ctx.node.ints_attr("ngram_indexes"),
                        .pool = ctx.node.ints_attr("pool_int64s"),
                        .weights = ctx.node.floats_attr("weights")},
           {ctx.in(0), ctx.out(0)});
}

void map_axes(AxesContext& ctx) {
  if (ctx.in(0).size() == 2) axes::batch(ctx);
}

}  // namespace

extern const OpDef def;
const OpDef def = {
    .name = "TfIdfVectorizer",
    .since = 9,
    .infer = infer,
    .lower = lower,
    .axes = map_axes,
    .cost = cost::tf_idf,
    .facts = {
        .trial = {"T[4]",
                  R"(mode = "TF", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0,
               ngram_counts = [0], ngram_indexes = [0, 1], pool_int64s = [1, 2])"}}};

}  // namespace poprt::ops::tf_idf_vectorizer_op
