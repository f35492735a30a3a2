// Compares the search for overlapping boxes of every instruction set that this CPU has with plain
// loops.
#include "kernels/isa/boxes.h"

#include <array>
#include <random>

#include "core/kernels/isa/conv_case.h"

namespace poprt::kernels::test {
namespace {

// The part of the union of two boxes that both cover, in double.
double overlap(const float* a, const float* b) {
  const auto edge = [](const float* box, int i) { return static_cast<double>(box[i]); };
  const double h = std::min(edge(a, 2), edge(b, 2)) - std::max(edge(a, 0), edge(b, 0)),
               w = std::min(edge(a, 3), edge(b, 3)) - std::max(edge(a, 1), edge(b, 1));
  if (h <= 0 || w <= 0) return 0;
  const auto area = [&](const float* box) {
    return (edge(box, 2) - edge(box, 0)) * (edge(box, 3) - edge(box, 1));
  };
  return h * w / (area(a) + area(b) - h * w);
}

TEST(Boxes, FindsTheFirstThatOverlaps) {
  std::mt19937 rng(3);
  std::uniform_real_distribution<float> place(0, 8), size(0, 3);
  for (const int64_t n : {0, 1, 15, 16, 17, 40})
    for (const float least : {0.0f, 0.2f, 0.5f, 1.0f})
      for (int round = 0; round < 20; round++) {
        std::vector<std::array<float, 5>> boxes(static_cast<size_t>(n) + 1);
        for (auto& b : boxes) {
          const float y = place(rng), x = place(rng), h = size(rng), w = rng() % 8 ? size(rng) : 0;
          b = {y, x, y + h, x + w, 0};
          b[4] = (b[2] - b[0]) * (b[3] - b[1]);
        }
        const float* one = boxes.back().data();
        const int64_t stride = n + 16;
        std::vector<float> numbers(static_cast<size_t>(stride * 5), 4);  // also after the last
        for (int64_t k = 0; k < n; k++)
          for (int64_t i = 0; i < 5; i++)
            numbers[static_cast<size_t>(i * stride + k)] =
                boxes[static_cast<size_t>(k)][static_cast<size_t>(i)];
        for (const auto* table : POPRT_BUILDS(boxes))
          for (int64_t from = 0; from <= n; from++) {
            const int64_t got = table->overlapping(numbers.data(), stride, from, n, one, least);
            ASSERT_GE(got, from);
            ASSERT_LE(got, n);
            const auto of = [&](int64_t k) {
              return overlap(one, boxes[static_cast<size_t>(k)].data());
            };
            // No overlapping box is missing, and all found boxes overlap, except for rounding.
            const double limit = static_cast<double>(least);
            for (int64_t k = from; k < got; k++) ASSERT_LE(of(k), limit * 1.00001) << k;
            if (got < n) {
              ASSERT_GT(of(got), limit * 0.999);
            }
          }
      }
}

}  // namespace
}  // namespace poprt::kernels::test
