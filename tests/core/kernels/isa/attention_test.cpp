// Compares heads of every instruction set that this CPU has with loops in double: queries, keys and
// columns of every length of the tail, masks with any strides, and queries that see no key.
#include "kernels/isa/attention.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/kernels/isa/conv_case.h"

namespace poprt::kernels {
namespace {

enum class Mask { none, floats, booleans };

struct Case {
  int64_t queries = 1, keys = 1, size = 1;
  Mask mask = Mask::none;
  bool by_query = true, by_key = true;  // whether the mask depends on these
  int64_t key_stride = 1;
  bool causal = false;
  int64_t first_position = 0;
};

constexpr int64_t kGap = 3;  // between rows

void expect_right(const isa::AttentionTable& t, const Case& c, std::mt19937& rng) {
  const auto floats = [&](int64_t count) {
    std::vector<float> v(static_cast<size_t>(count));
    for (float& x : v) x = static_cast<float>(static_cast<int>(rng() % 129) - 64) / 32;
    return v;
  };
  const int64_t stride = c.size + kGap;
  const auto q = floats(c.queries * stride), k = floats(c.keys * stride),
             v = floats(c.keys * stride);
  const int64_t row = c.keys * c.key_stride;
  std::vector<float> mask = floats(c.queries * row);
  std::vector<uint8_t> flags;
  for (int64_t i = 0; i < c.queries * row; i++) flags.push_back(rng() % 4 != 0);
  std::vector<float> y(static_cast<size_t>(c.queries * stride), 77);
  isa::AttentionHead h{};
  h.q = q.data(), h.k = k.data(), h.v = v.data();
  h.q_stride = h.k_stride = h.v_stride = h.out_stride = stride;
  h.out = y.data();
  h.queries = c.queries, h.keys = c.keys, h.size = c.size;
  h.scale = 0.5f;
  if (c.mask == Mask::floats) h.mask = mask.data();
  if (c.mask == Mask::booleans) h.mask_bool = flags.data();
  h.mask_query_stride = c.by_query ? row : 0;
  h.mask_key_stride = c.by_key ? c.key_stride : 0;
  h.mask_value = -3;
  h.causal = c.causal;
  h.first_position = c.first_position;
  std::vector<float> scratch(
      static_cast<size_t>(isa::attention_scratch_floats(c.keys, c.size)) + 16,
      std::numeric_limits<float>::quiet_NaN());
  const auto place = reinterpret_cast<uintptr_t>(scratch.data());
  t.head(h, scratch.data() + (64 - place % 64) % 64 / sizeof(float));
  for (int64_t i = 0; i < c.queries; i++) {
    const int64_t seen =
        c.causal ? std::clamp<int64_t>(c.first_position + i + 1, 0, c.keys) : c.keys;
    std::vector<double> weights;
    double most = -1e300, sum = 0;
    for (int64_t j = 0; j < seen; j++) {
      double s = 0;
      for (int64_t d = 0; d < c.size; d++)
        s += static_cast<double>(q[static_cast<size_t>(i * stride + d)]) *
             static_cast<double>(k[static_cast<size_t>(j * stride + d)]);
      s *= 0.5;
      const auto at = static_cast<size_t>(i * h.mask_query_stride + j * h.mask_key_stride);
      if (c.mask == Mask::floats) s += static_cast<double>(mask[at]);
      if (c.mask == Mask::booleans && !flags[at]) s = -3;
      weights.push_back(s);
      most = std::max(most, s);
    }
    for (double& w : weights) sum += w = std::exp(w - most);
    for (int64_t d = 0; d < c.size; d++) {
      double want = 0;
      for (int64_t j = 0; j < seen; j++)
        want += weights[static_cast<size_t>(j)] / sum *
                static_cast<double>(v[static_cast<size_t>(j * stride + d)]);
      ASSERT_NEAR(static_cast<double>(y[static_cast<size_t>(i * stride + d)]), want, 1e-5)
          << c.queries << " queries " << c.keys << " keys of " << c.size << ", mask "
          << static_cast<int>(c.mask) << ": " << i << " " << d;
    }
    for (int64_t d = c.size; d < stride; d++)
      ASSERT_EQ(y[static_cast<size_t>(i * stride + d)], 77) << i << " " << d;
  }
}

TEST(AttentionHeads, AnySizesMasksAndSight) {
  std::mt19937 rng(1);
  for (const isa::AttentionTable* t : test::POPRT_BUILDS(attention))
    for (int round = 0; round < 150 && !testing::Test::HasFailure(); round++) {
      const auto one_of = [&](std::initializer_list<int64_t> values) {
        return values.begin()[rng() % values.size()];
      };
      Case c;
      c.queries = one_of({1, 2, 3, 4, 5, 6, 7, 8, 24, 25, 29});
      c.keys = one_of({1, 5, 15, 16, 17, 33, 63, 64, 65, 80});
      c.size = one_of({1, 4, 15, 16, 17, 31, 40, 64, 65, 70});
      c.mask = static_cast<Mask>(rng() % 3);
      c.by_query = rng() % 3 != 0;
      c.by_key = rng() % 3 != 0;
      c.key_stride = one_of({1, 1, 2});
      c.causal = rng() % 2;
      c.first_position = one_of({-3, -1, 0, 2, 16, 70});
      expect_right(*t, c, rng);
    }
}

TEST(AttentionHeads, ScoresAndMixes) {
  std::mt19937 rng(2);
  for (const isa::AttentionTable* t : test::POPRT_BUILDS(attention))
    for (const int64_t size : {1, 15, 16, 17, 48, 63, 64, 65, 130})
      for (const int64_t keys : {0, 1, 15, 16, 17, 35}) {
        const int64_t stride = size + kGap;
        std::vector<float> q(static_cast<size_t>(size)), w(static_cast<size_t>(keys)),
            k(static_cast<size_t>(std::max<int64_t>(keys, 1) *
                                  stride));  // the address of no keys is valid
        for (auto* list : {&q, &k, &w})
          for (float& x : *list) x = static_cast<float>(rng() % 9) / 4 - 1;
        std::vector<float> scores(static_cast<size_t>(keys) + 1, 77),
            y(static_cast<size_t>(size) + 1, 77);
        // A prefetch has no effect on results, and its rows need not be readable.
        const isa::RowsAhead ahead = {k.data(), keys % 2 ? 1000 : 0};
        t->scores(q.data(), k.data(), stride, keys, size, 2, scores.data(), ahead);
        t->mix({k.data(), stride, keys, size, ahead}, 1, w.data(), 0, 2, y.data(), 0);
        for (int64_t j = 0; j < keys; j++) {
          float want = 0;
          for (int64_t d = 0; d < size; d++)
            want += q[static_cast<size_t>(d)] * k[static_cast<size_t>(j * stride + d)];
          ASSERT_EQ(scores[static_cast<size_t>(j)], 2 * want) << keys << " of " << size;
        }
        for (int64_t d = 0; d < size; d++) {
          float want = 0;
          for (int64_t j = 0; j < keys; j++)
            want += w[static_cast<size_t>(j)] * k[static_cast<size_t>(j * stride + d)];
          ASSERT_EQ(y[static_cast<size_t>(d)], 2 * want) << keys << " of " << size;
        }
        ASSERT_EQ(scores.back(), 77) << keys << " of " << size;
        ASSERT_EQ(y.back(), 77) << keys << " of " << size;
      }
}

// So a text has the same tokens, however the threads divide the heads.
TEST(AttentionHeads, HeadsTogetherHaveTheBitsOfEachAlone) {
  std::mt19937 rng(4);
  std::normal_distribution<float> normal;
  for (const isa::AttentionTable* t : test::POPRT_BUILDS(attention))
    for (int64_t heads = 1; heads <= isa::kHeadsTogether; heads++)
      for (const int64_t size : {1, 16, 17, 48, 72, 130})
        for (const int64_t keys : {0, 1, 2, 37}) {
          const int64_t stride = keys + 1, y_stride = size + 1;
          std::vector<float> w(static_cast<size_t>(heads * stride)),
              v(static_cast<size_t>((keys + 1) * size));
          for (auto* list : {&w, &v})
            for (float& x : *list) x = normal(rng);
          const isa::SharedRows rows = {v.data(), size, keys, size, {v.data(), keys}};
          std::vector<float> y(static_cast<size_t>(heads * y_stride), 77), alone = y;
          t->mix(rows, heads, w.data(), stride, 0.3f, y.data(), y_stride);
          for (int64_t h = 0; h < heads; h++)
            t->mix(rows, 1, &w[static_cast<size_t>(h * stride)], 0, 0.3f,
                   &alone[static_cast<size_t>(h * y_stride)], 0);
          ASSERT_EQ(y, alone) << heads << " heads, " << keys << " keys of " << size;
          ASSERT_EQ(y.back(), 77) << heads << " heads, " << keys << " keys of " << size;
        }
}

// Compares rows of bytes with the numbers that they represent, also for sizes with a tail.
TEST(AttentionHeads, RowsOfBytesHaveTheErrorOfTheirScale) {
  std::mt19937 rng(3);
  std::normal_distribution<float> normal;
  for (const isa::AttentionTable* t : test::POPRT_BUILDS(attention))
    for (const int64_t size : {1, 15, 16, 17, 48, 63, 64, 65, 130})
      for (const int64_t keys : {0, 1, 15, 16, 17, 35}) {
        const int64_t stride = size + isa::kRowScaleBytes + kGap;
        std::vector<float> q(static_cast<size_t>(size)), w(static_cast<size_t>(keys)),
            k(static_cast<size_t>(std::max<int64_t>(keys, 1) * size));
        for (auto* list : {&q, &w, &k})
          for (float& x : *list) x = normal(rng);
        std::vector<int8_t> bytes(static_cast<size_t>(std::max<int64_t>(keys, 1) * stride), 99);
        t->quantize_rows(k.data(), keys, size, bytes.data(), stride);
        std::vector<float> wide(k.size() + 1, 77), scores(static_cast<size_t>(keys) + 1, 77),
            y(static_cast<size_t>(size) + 1, 77);
        t->dequantize_rows(bytes.data(), stride, keys, size, wide.data());
        for (int64_t j = 0; j < keys; j++) {
          float most = 0;
          for (int64_t d = 0; d < size; d++)
            most = std::max(most, std::abs(k[static_cast<size_t>(j * size + d)]));
          for (int64_t d = 0; d < size; d++)
            ASSERT_LE(std::abs(wide[static_cast<size_t>(j * size + d)] -
                               k[static_cast<size_t>(j * size + d)]),
                      most / 254 * 1.0001f);
          for (int64_t d = size + isa::kRowScaleBytes; d < stride; d++)
            ASSERT_EQ(bytes[static_cast<size_t>(j * stride + d)], 99) << "after the row";
        }
        t->byte_scores(q.data(), bytes.data(), stride, keys, size, 2, scores.data());
        t->byte_mix(w.data(), bytes.data(), stride, keys, size, 2, y.data());
        const auto at = [&](int64_t j, int64_t d) {
          return static_cast<double>(wide[static_cast<size_t>(j * size + d)]);
        };
        for (int64_t j = 0; j < keys; j++) {
          double want = 0;
          for (int64_t d = 0; d < size; d++)
            want += 2 * static_cast<double>(q[static_cast<size_t>(d)]) * at(j, d);
          ASSERT_NEAR(static_cast<double>(scores[static_cast<size_t>(j)]), want, 1e-4);
        }
        for (int64_t d = 0; d < size; d++) {
          double want = 0;
          for (int64_t j = 0; j < keys; j++)
            want += 2 * static_cast<double>(w[static_cast<size_t>(j)]) * at(j, d);
          ASSERT_NEAR(static_cast<double>(y[static_cast<size_t>(d)]), want, 1e-4);
        }
        ASSERT_EQ(scores.back(), 77) << keys << " of " << size;
        ASSERT_EQ(y.back(), 77) << keys << " of " << size;
        ASSERT_EQ(wide[static_cast<size_t>(keys * size)], 77) << keys << " of " << size;
      }
}

TEST(AttentionHeads, RowsOfBytesKeepZerosAndMarkWhatIsNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const isa::AttentionTable* t : test::POPRT_BUILDS(attention))
    for (const int64_t size : {3, 16, 35}) {
      std::vector<float> row(static_cast<size_t>(size)), wide(row.size());
      std::vector<int8_t> bytes(static_cast<size_t>(size + isa::kRowScaleBytes));
      const auto converted = [&] {
        t->quantize_rows(row.data(), 1, size, bytes.data(), 0);
        t->dequantize_rows(bytes.data(), 0, 1, size, wide.data());
        return wide;
      };
      for (const float x : converted()) EXPECT_EQ(x, 0);
      row[1] = 1e-38f;  // its reciprocal is not finite
      for (const float x : converted()) EXPECT_EQ(x, 0);
      row[1] = 3e38f;
      row.back() = -3e38f;
      EXPECT_NEAR(converted()[1] / 3e38f, 1, 1e-6);
      EXPECT_NEAR(converted().back() / 3e38f, -1, 1e-6);
      for (const float bad : {nan, kInfinity, -kInfinity}) {
        row.back() = bad;
        for (const float x : converted()) EXPECT_TRUE(std::isnan(x)) << bad;
      }
    }
}

}  // namespace
}  // namespace poprt::kernels
