// Every struct of core/kernels/calls/: decode() reads the output of encode(), hostile integers are
// refused, and the order of the fields is the order in existing files.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <kernel_calls.h>  // generated: AllCalls, a CallList of all
#include "kernels/kernel.h"
#include "support/recorded_lines.h"

namespace poprt::kernels::calls {
namespace {

// Sets every field to a value in its range, and records the ranges in the order of the file. A
// sample may violate conditions on several fields; see `holds`.
class Sampler : public Fields {
 public:
  struct Range {
    std::string name;
    int64_t least, most;
  };

  explicit Sampler(std::mt19937_64& random) : random_(random), spread_(one_in(2) ? 1 : 4) {}
  void require(bool fulfilled, std::string_view) override { holds &= fulfilled; }
  bool has_optional(bool, size_t) override {
    open_ints = true;
    return one_in(2);
  }

  std::vector<Range> ranges;
  bool holds = true;
  bool open_ints = false, open_floats = false;  // the number of them is not fixed by the others

 protected:
  bool one_in(uint64_t n) { return random_() % n == 0; }
  int64_t between(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  // Values are mostly small and close, so that sizes are often multiples of each other or equal.
  void visit(std::string_view name, int64_t& value, int64_t least, int64_t most) override {
    ranges.push_back({std::string(name), least, most});
    if (least > most) {
      holds = false;
      return;
    }
    const int64_t low = least < -4 ? std::clamp<int64_t>(-4, least, most) : least;
    const uint64_t distance = static_cast<uint64_t>(most) - static_cast<uint64_t>(low);
    const int64_t high = distance < static_cast<uint64_t>(spread_) ? most : low + spread_;
    value = one_in(16) ? between(least, most) : between(low, high);
  }
  void visit(std::string_view, float& value) override {
    value = static_cast<float>(between(-8, 8)) / 4;
  }
  size_t items(std::string_view, size_t count) override {
    if (count <= kMostItems) return count;
    holds = false;
    return 0;
  }
  size_t rest_items(std::string_view, size_t, size_t, size_t most) override {
    open_ints = true;
    return static_cast<size_t>(between(0, static_cast<int64_t>(std::min(most, kMostItems))));
  }
  size_t rest_floats(std::string_view, size_t, size_t most) override {
    open_floats = true;
    return static_cast<size_t>(between(0, static_cast<int64_t>(std::min(most, kMostItems))));
  }

  static constexpr size_t kMostItems = 64;
  std::mt19937_64& random_;
  const int64_t spread_;
};

// Also keeps the conditions, and sometimes takes the largest value of a field.
class Noter final : public Sampler {
 public:
  using Sampler::Sampler;
  void require(bool fulfilled, std::string_view what) override {
    Sampler::require(fulfilled, what);
    required.emplace_back(what, fulfilled);
  }

  std::vector<std::pair<std::string, bool>> required;

 private:
  using Sampler::visit;
  void visit(std::string_view name, int64_t& value, int64_t least, int64_t most) override {
    Sampler::visit(name, value, least, most);
    if (least <= most && one_in(16)) value = most;
  }
};

// Collects the names in the order of the file. Floats are marked, and a list has one item.
class Outline final : public Fields {
 public:
  explicit Outline(std::string_view kernel) : text(kernel) { text += ':'; }
  void require(bool, std::string_view) override {}
  bool has_optional(bool, size_t) override {
    text += " [later:]";
    return true;
  }

  std::string text;

 private:
  void visit(std::string_view name, int64_t& value, int64_t least, int64_t most) override {
    text += ' ';
    text += name;
    value = std::clamp<int64_t>(1, least, std::max(least, most));
  }
  void visit(std::string_view name, float& value) override {
    text += ' ';
    text += name;
    text += "(float)";
    value = 1;
  }
  size_t items(std::string_view, size_t count) override { return count; }
  size_t rest_items(std::string_view name, size_t, size_t, size_t) override {
    text += " ...";
    text += name;
    return 1;
  }
  size_t rest_floats(std::string_view, size_t, size_t) override {
    text += " ...";
    return 1;
  }
};

template <class C>
class Calls : public ::testing::Test {
 protected:
  struct Sample {
    Encoded encoded;
    std::vector<Sampler::Range> ranges;  // of encoded.ints
    bool open_ints = false, open_floats = false;
  };

  Sample sample() {
    for (int attempt = 0; attempt < 200000; attempt++) {
      C call;
      Sampler sampler(random_);
      call.fields(sampler);
      if (!sampler.holds) continue;
      Sample s{encode(call), std::move(sampler.ranges), sampler.open_ints, sampler.open_floats};
      // An optional field that has its default is not written.
      if (s.ranges.size() >= s.encoded.ints.size()) {
        s.ranges.resize(s.encoded.ints.size());
        return s;
      }
    }
    ADD_FAILURE() << "no values of " << C::kKernel << " fulfil what it requires";
    return {};
  }

  // The message of decode(), or an empty text. A decoded call must have the encoded values.
  static std::string refusal(const Encoded& encoded) {
    try {
      const C call = decode<C>(encoded.ints, encoded.floats);
      EXPECT_EQ(encode(call), encoded) << C::kKernel << " reads integers that it does not keep";
      return {};
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << e.what();
      EXPECT_NE(std::string(e.what()).find("kernel " + std::string(C::kKernel) + ": "),
                std::string::npos)
          << e.what();
      return e.what();
    }
  }

  std::mt19937_64 random_{1};
};
template <class... C>
testing::Types<C...> types_of(CallList<C...>);
using TestedCalls = decltype(types_of(AllCalls{}));
TYPED_TEST_SUITE(Calls, TestedCalls);

TYPED_TEST(Calls, DecodesItsEncoding) {
  for (int i = 0; i < 100; i++) EXPECT_EQ(this->refusal(this->sample().encoded), "");
}

TYPED_TEST(Calls, RefusesIntegersOutsideTheirRange) {
  constexpr auto kLeast = std::numeric_limits<int64_t>::min(),
                 kMost = std::numeric_limits<int64_t>::max();
  for (int round = 0; round < 10; round++) {
    const auto sample = this->sample();
    for (size_t i = 0; i < sample.ranges.size(); i++) {
      const auto& [name, least, most] = sample.ranges[i];
      std::set<int64_t> bad;
      if (least != kLeast) bad.insert({kLeast, least - 1});
      if (most != kMost) bad.insert({kMost, most + 1});
      for (const int64_t value : bad) {
        Encoded hostile = sample.encoded;
        hostile.ints[i] = value;
        EXPECT_NE(this->refusal(hostile).find(name + " is " + std::to_string(value)),
                  std::string::npos)
            << TypeParam::kKernel << ": " << name << " = " << value;
      }
    }
  }
}

// The call of this kernel has a field of each kind.
struct Several {
  static constexpr std::string_view kKernel = "several";
  int64_t n = 0;
  std::vector<int64_t> list;
  std::vector<std::array<int64_t, 2>> pairs;
  float scale = 0;
  std::vector<float> weights;
  void fields(Fields& f) {
    f.integer("n", n, -2, 5);
    f.length("list", list, 1, 3);
    f.sizes("item", list);
    f.rest("pairs", pairs, 2, 2);
    for (auto& pair : pairs)
      for (int64_t& v : pair) f.integer("pair", v);
    f.real("scale", scale);
    f.rest("weights", weights, 2);
  }
};

std::string message_of_several(std::vector<int64_t> ints, std::vector<float> floats) {
  try {
    decode<Several>(ints, floats);
  } catch (const Error& e) {
    return e.message();
  }
  return "";
}

TEST(KernelCalls, ErrorsNameTheField) {
  const auto message_for = message_of_several;
  EXPECT_EQ(message_for({5, 1, 7}, {1}), "");
  EXPECT_EQ(message_for({-2, 3, 7, 8, 9}, {1, 2, 3}), "");
  EXPECT_EQ(message_for({0, 1, 7, 1, 2, 3, 4}, {1}), "");
  EXPECT_EQ(message_for({}, {1}), "kernel several: n is missing, there are only 0 integers");
  EXPECT_EQ(message_for({0}, {1}), "kernel several: list is missing, there are only 1 integers");
  EXPECT_EQ(message_for({6, 1, 7}, {1}), "kernel several: n is 6, expected -2 to 5");
  EXPECT_EQ(message_for({-3, 1, 7}, {1}), "kernel several: n is -3, expected -2 to 5");
  EXPECT_EQ(message_for({0, 2, 7}, {1}), "kernel several: list is 2, but only 1 integers follow");
  EXPECT_EQ(message_for({0, 1, 7, 1}, {1}),
            "kernel several: 1 integers of pairs follow, expected a multiple of 2 up to 4");
  EXPECT_EQ(message_for({0, 1, 7, 1, 2, 3, 4, 5, 6}, {1}),
            "kernel several: 6 integers of pairs follow, expected a multiple of 2 up to 4");
  EXPECT_EQ(message_for({0, 1, 7}, {}),
            "kernel several: scale is missing, there are only 0 floats");
  EXPECT_EQ(message_for({0, 1, 7}, {1, 2, 3, 4}),
            "kernel several: 3 floats of weights, expected 2 at most");
  const auto c = decode<Several>(std::vector<int64_t>{3, 2, 7, 8, 1, 2}, std::vector<float>{4, 5});
  EXPECT_EQ(c.list, (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(c.pairs, (std::vector<std::array<int64_t, 2>>{{1, 2}}));
  EXPECT_EQ(c.scale, 4);
  EXPECT_EQ(c.weights, std::vector<float>{5});
}

// A list without a length, or optional fields, may take other numbers; then they are kept.
TYPED_TEST(Calls, RefusesAnotherNumberOfIntegersOrFloats) {
  for (int round = 0; round < 10; round++) {
    const auto sample = this->sample();
    const auto refused = [&](auto change, bool may_be_kept) {
      Encoded other = sample.encoded;
      change(other);
      const std::string message = this->refusal(other);
      EXPECT_TRUE(may_be_kept || !message.empty()) << TypeParam::kKernel;
    };
    for (size_t i = 0; i < sample.encoded.ints.size(); i++)
      refused([&](Encoded& e) { e.ints.resize(i); }, sample.open_ints);
    refused([](Encoded& e) { e.ints.push_back(1); }, sample.open_ints);
    if (!sample.encoded.floats.empty())
      refused([](Encoded& e) { e.floats.pop_back(); }, sample.open_floats);
    refused([](Encoded& e) { e.floats.push_back(1); }, sample.open_floats);
  }
}

TYPED_TEST(Calls, KeepsOrRefusesNoise) {
  constexpr int64_t kValues[] = {
      0,         1,        2, 3, 4, 7, 16, -1, -2, 64, 1 << 20, int64_t{1} << 31, int64_t{1} << 40,
      INT64_MAX, INT64_MIN};
  for (int i = 0; i < 3000; i++) {
    Encoded noise;
    noise.ints.resize(this->random_() % 32);
    for (int64_t& v : noise.ints) v = kValues[this->random_() % std::size(kValues)];
    noise.floats.resize(this->random_() % 8);
    this->refusal(noise);
  }
}

template <class... C>
std::vector<std::string> outlines(CallList<C...>) {
  const auto outline = []<class Call>(Call call) {
    Outline o(Call::kKernel);
    call.fields(o);
    return o.text;
  };
  return {outline(C{})...};
}

// Files are read in this order: a line of kernel_calls.txt may only grow at its end, by fields
// after has_optional().
TEST(KernelCalls, KeepTheOrderOfTheirFields) {
  std::ifstream file(POPRT_TEST_DATA "/kernel_calls.txt");
  std::vector<std::string> recorded;
  for (std::string line; std::getline(file, line);) recorded.push_back(line);
  const std::vector<std::string> found = outlines(AllCalls{});
  for (const std::string& line : found)
    EXPECT_NE(std::find(recorded.begin(), recorded.end(), line), recorded.end())
        << "tests/data/kernel_calls.txt has another line than\n"
        << line;
  EXPECT_EQ(recorded.size(), found.size());
}

// The range of a field in many samples, or how often a condition was fulfilled in them. The sum is
// a digest of the values in all samples.
struct Rule {
  void add(int64_t a, int64_t b) {
    varies |= times > 0 && (a != least || b != most);
    least = a, most = b, held += b != 0, times++;
    for (const int64_t v : {a, b})
      for (int i = 0; i < 64; i += 8)
        sum = (sum ^ (static_cast<uint64_t>(v) >> i & 0xff)) * 0x100000001b3u;
  }
  int64_t least = 0, most = 0;
  int times = 0, held = 0;
  bool varies = false;
  uint64_t sum = 0xcbf29ce484222325u;
};

template <class C>
void add_rules(test::RecordedLines& to) {
  std::mt19937_64 random(7);
  std::map<std::string, Rule> fields, conditions;
  for (int i = 0; i < 1000; i++) {
    C call;
    Noter noter(random);
    call.fields(noter);
    for (const auto& [name, least, most] : noter.ranges) fields[name].add(least, most);
    for (const auto& [what, fulfilled] : noter.required) conditions[what].add(i, fulfilled);
  }
  std::set<std::string>& lines = to[std::string(C::kKernel)];
  for (const auto& [name, r] : fields)
    lines.insert(r.varies ? fmt::format("{}: {:08x} of {}", name, r.sum >> 32, r.times)
                          : fmt::format("{}: {} to {}", name, r.least, r.most));
  for (const auto& [what, r] : conditions)
    lines.insert(
        fmt::format("unless \"{}\": {} of {}, {:08x}", what, r.held, r.times, r.sum >> 32));
  const Encoded made = encode(C{});
  lines.insert(
      fmt::format("as made: [{}] [{}]", fmt::join(made.ints, " "), fmt::join(made.floats, " ")));
}

template <class... C>
test::RecordedLines rules_of(CallList<C...>) {
  test::RecordedLines lines;
  (add_rules<C>(lines), ...);
  return lines;
}

// The range of each field, the conditions on several fields (how many and which of 1000 samples
// fulfil them), and the encoding of a call with default values.
//
//   POPRT_WRITE_RECORDS=1 test_kernels --gtest_filter='KernelCalls.*'   # then read the diff
TEST(KernelCalls, AcceptTheRecordedRanges) {
  test::expect_recorded(rules_of(AllCalls{}), POPRT_TEST_DATA "/kernel_call_rules.txt",
                        "Ranges of the fields of kernels' calls: call_test.cpp.");
}

template <class... C>
std::set<std::string_view> names(CallList<C...>) {
  return {C::kKernel...};
}

TEST(KernelCalls, EveryKernelHasOne) {
  const auto named = names(AllCalls{});
  for (const Kernel* k : all_kernels()) EXPECT_TRUE(named.contains(k->name)) << k->name;
  for (const std::string_view name : named) EXPECT_TRUE(find_kernel(name)) << name;
  EXPECT_EQ(find_kernel("conv_quads"), find_kernel("conv_vnni"));  // in earlier files
}

}  // namespace
}  // namespace poprt::kernels::calls
