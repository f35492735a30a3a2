#include <gtest/gtest.h>

#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

OPS_SAMPLE(TfIdfVectorizer) {
  // The unigrams 2 and 7, and the bigrams 5 6 and 7 8 with up to one token between.
  samples.add("TfIdfVectorizer", 9)
      .input(Tensor::of<int32_t>({2, 6}, {7, 1, 8, 5, 6, 7, 2, 2, 5, 2, 6, 2}))
      .attr("mode", std::string("TFIDF"))
      .attr("min_gram_length", int64_t{1})
      .attr("max_gram_length", int64_t{2})
      .attr("max_skip_count", int64_t{1})
      .attr("ngram_counts", std::vector<int64_t>{0, 2})
      .attr("ngram_indexes", std::vector<int64_t>{3, 0, 1, 2})
      .attr("pool_int64s", std::vector<int64_t>{2, 7, 5, 6, 7, 8})
      .attr("weights", std::vector<float>{1, 2, 4, 8})
      .shape({2, 4})
      .dtype(DType::f32)
      .reference([](const SampleValues&) { return SampleValues{{4, 4, 8, 0, 0, 4, 0, 4}}; });
}

}  // namespace
}  // namespace poprt::ops::sampled
