#include <gtest/gtest.h>

#include "core/ops/sample.h"

namespace poprt::ops::sampled {
namespace {

OPS_SAMPLE(BoundedNonZero) {
  samples.add("NonZero", 1, "poprt")
      .input(Tensor::of<float>({2, 3}, {0, 1, 0, -2, 0, 3}))
      .shape({2, 6})
      .dtype(DType::s64)
      .reference([](const SampleValues& in) {
        std::vector<double> rows(6, -1), columns(6, -1);
        size_t n = 0;
        for (size_t i = 0; i < 6; i++)
          if (in[0][i] != 0) {
            rows[n] = static_cast<double>(i / 3);
            columns[n++] = static_cast<double>(i % 3);
          }
        rows.insert(rows.end(), columns.begin(), columns.end());
        return SampleValues{rows};
      });
}

}  // namespace
}  // namespace poprt::ops::sampled
