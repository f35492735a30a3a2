#include "passes/common/key_masks.h"

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

constexpr const char* kInputs = R"(
input %tokens : s64[2,4]
input %scores : f32[2,3,4,4]
const %one : f32[] = 1.0
const %zero : f32[] = 0.0
const %low : f32[] = -10000.0
const %key : s64[2] = [1, 2]
const %query : s64[2] = [1, 3]
)";
constexpr const char* kChain = "%u = Unsqueeze(%tokens, %key)\n%c = Cast(%u) {to = 1}\n";
constexpr const char* kAdded = "%y = Add(%scores, %m)\noutput %y\n";

// "VALUE of INPUT: kept, dropped" for each mask that is found, "pairs" behind those of pairs; also
// holds what is made of it in the plainest way against the mask.
std::string masks(const std::string& text) {
  const auto graph = parsed(text);
  std::string all;
  for (const passes::KeyMask& mask : passes::find_key_masks(*graph)) {
    all += fmt::format("{}{} of {}: {}, {}{}", all.empty() ? "" : "; ", mask.value->name(),
                       mask.input->name(), mask.kept + 0.0, mask.dropped + 0.0,
                       mask.pairs ? " pairs" : "");
    const auto copy = graph->clone();
    passes::KeyMask same = mask;
    same.value = copy->find(mask.value->name());
    same.input = copy->find(mask.input->name());
    const std::string name = mask.value->name();
    ir::Value* plain = passes::plain_key_mask(*same.value->producer(), same);
    while (!copy->outputs().empty()) copy->remove_output(0);
    const std::string plain_name = plain->name();
    copy->add_output(same.value);
    copy->add_output(plain);
    copy->sort();
    auto feeds = random_feeds(*copy);
    std::vector<double> ones = feeds.at(mask.input->name()).to_doubles();
    for (size_t i = 0; i < ones.size(); i++) ones[i] = i % 3 != 1;
    feeds[mask.input->name()] = passes::tensor_of(mask.input->dtype(), mask.input->shape(), ones);
    const auto results = evaluate_graph(*copy, feeds);
    const Tensor &want = results.at(name), &got = results.at(plain_name);
    EXPECT_EQ(want.dtype(), got.dtype()) << text;
    const std::vector<double> a = want.to_doubles(), b = got.to_doubles();
    // Heads and queries that are alike need not be there.
    EXPECT_EQ(a.size() % b.size(), 0u);
    const auto keys = static_cast<size_t>(want.shape().back());
    const size_t rows = static_cast<size_t>(want.shape()[0]);
    for (size_t r = 0; r < rows; r++)
      for (size_t k = 0; k < keys; k++)
        EXPECT_EQ(a[r * a.size() / rows + k] + 0.0, b[r * b.size() / rows + k] + 0.0) << text;
  }
  return all;
}

TEST(KeyMasks, AreFoundByWhatTheyCompute) {
  const std::string inputs = kInputs, chain = kChain, added = kAdded;
  const std::pair<std::string, const char*> rows[] = {
      {chain + "%i = Sub(%one, %c)\n%m = Mul(%i, %low)\n" + added, "m of tokens: 0, -10000"},
      {chain + "%m = Mul(%c, %low)\n" + added, "m of tokens: -10000, 0"},
      {chain + "%b = Cast(%c) {to = 9}\n%m = Where(%b, %zero, %low)\n" + added,
       "m of tokens: 0, -10000"},
      {chain + "%m = Cast(%c) {to = 9}\n%y = Where(%m, %scores, %low)\noutput %y\n",
       "m of tokens: 1, 0"},
      {chain + "%b = Cast(%c) {to = 9}\n%m = Not(%b)\n%y = Where(%m, %low, %scores)\noutput %y\n",
       "m of tokens: 0, 1"},
      // Key and query have a token.
      {chain + "%v = Unsqueeze(%tokens, %query)\n%d = Cast(%v) {to = 1}\n%m = Mul(%c, %d)\n" +
           added,
       "m of tokens: 1, 0 pairs"},
      {chain + "%v = Unsqueeze(%tokens, %query)\n%d = Cast(%v) {to = 9}\n"
               "%e = Cast(%c) {to = 9}\n%b = And(%e, %d)\n%m = Not(%b)\n"
               "%y = Where(%m, %low, %scores)\noutput %y\n",
       "m of tokens: 0, 1 pairs"},
      // Heads and queries that are alike.
      {chain + "const %all : s64[4] = [2, 3, 4, 4]\n%m = Expand(%c, %all)\n" + added,
       "m of tokens: 1, 0"},
      // Two of one input, and one that is read twice.
      {chain + "%m = Mul(%c, %low)\n%n = Neg(%c)\n%z = Add(%n, %scores)\noutput %z\n" + added,
       "m of tokens: -10000, 0; n of tokens: -1, 0"},
      {chain + "%m = Mul(%c, %low)\n%z = Sub(%scores, %m)\noutput %z\n" + added,
       "m of tokens: -10000, 0"},
      // With three dimensions and five.
      {"input %s : f32[2,4,4]\nconst %mid : s64[1] = [1]\n%u = Unsqueeze(%tokens, %mid)\n"
       "%m = Cast(%u) {to = 1}\n%y = Add(%s, %m)\noutput %y\n",
       "m of tokens: 1, 0"},
      {"input %s : f32[2,1,3,4,4]\nconst %mid : s64[3] = [1, 2, 3]\n"
       "%u = Unsqueeze(%tokens, %mid)\n%m = Cast(%u) {to = 1}\n%y = Add(%s, %m)\noutput %y\n",
       "m of tokens: 1, 0"},
  };
  for (const auto& [text, found] : rows) EXPECT_EQ(masks(inputs + text), found) << text;
}

TEST(KeyMasks, AreNoneWhenAnythingElseDecides) {
  const std::string inputs = kInputs, chain = kChain, added = kAdded;
  const std::string rows[] = {
      // Nothing else meets it.
      chain + "%m = Mul(%c, %low)\noutput %m\n",
      // It says nothing; two numbers that are one.
      chain + "%m = Mul(%c, %zero)\n" + added,
      // A place looks at its neighbour, or from the other end; a row at the other row.
      chain + "const %back : s64[4] = [1, 2, 3, 0]\n%m = Gather(%c, %back) {axis = 3}\n" + added,
      chain + "const %back : s64[4] = [3, 2, 1, 0]\n%m = Gather(%c, %back) {axis = 3}\n" + added,
      chain + "const %back : s64[2] = [1, 0]\n%m = Gather(%c, %back) {axis = 0}\n" + added,
      chain + "const %back : s64[2] = [0, 0]\n%m = Gather(%c, %back) {axis = 0}\n" + added,
      // A triangle besides; heads that differ; a place that is dropped in any case.
      chain +
          "const %t : f32[4,4] = [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, "
          "1.0, 1.0, 1.0, 1.0]\n%m = Mul(%c, %t)\n" +
          added,
      chain + "const %t : f32[3,1,1] = [1.0, 1.0, 2.0]\n%m = Mul(%c, %t)\n" + added,
      chain + "const %t : f32[4] = [1.0, 1.0, 1.0, 0.0]\n%m = Mul(%c, %t)\n" + added,
      // The query alone; either of them.
      chain + "%v = Unsqueeze(%tokens, %query)\n%m = Cast(%v) {to = 1}\n" + added,
      chain + "%v = Unsqueeze(%tokens, %query)\n%d = Cast(%v) {to = 1}\n%m = Max(%c, %d)\n" + added,
      // A running sum; whole numbers; two dimensions; two inputs.
      chain + "const %last : s64[] = 3\n%m = CumSum(%c, %last)\n" + added,
      "input %s : s64[2,3,4,4]\n%m = Unsqueeze(%tokens, %key)\n%y = Add(%s, %m)\noutput %y\n",
      "input %s : f32[2,4]\n%m = Cast(%tokens) {to = 1}\n%y = Add(%s, %m)\noutput %y\n",
      "input %s : f32[1,2,1,1,1,4]\nconst %mid : s64[4] = [0, 2, 3, 4]\n"
      "%u = Unsqueeze(%tokens, %mid)\n%m = Cast(%u) {to = 1}\n%y = Add(%s, %m)\noutput %y\n",
      "input %more : s64[2,4]\n%both = Mul(%tokens, %more)\n%u = Unsqueeze(%both, %key)\n"
      "%m = Cast(%u) {to = 1}\n" +
          added,
      // Inputs of one place, of no row, of three dimensions, of unknown size; a mask turned round.
      "input %t : s64[2,1]\ninput %s : f32[2,3,4,1]\n%u = Unsqueeze(%t, %key)\n"
      "%m = Cast(%u) {to = 1}\n%y = Add(%s, %m)\noutput %y\n",
      "input %t : s64[2,1,4]\nconst %mid : s64[1] = [1]\n%u = Unsqueeze(%t, %mid)\n"
      "%m = Cast(%u) {to = 1}\n" +
          added,
      "input %t : s64[0,4]\ninput %s : f32[0,3,4,4]\n%u = Unsqueeze(%t, %key)\n"
      "%m = Cast(%u) {to = 1}\n%y = Add(%s, %m)\noutput %y\n",
      "input %t : s64[2,N]\n%u = Unsqueeze(%t, %key)\n%m = Cast(%u) {to = 1}\n" + added,
      "input %t : s64[4,2]\ninput %s : f32[2,3,4,4]\n%r = Transpose(%t)\n%u = Unsqueeze(%r, %key)\n"
      "%m = Cast(%u) {to = 1}\n%y = Add(%s, %m)\noutput %y\n",
      // Three of four queries.
      chain +
          "const %all : s64[4] = [2, 1, 3, 4]\ninput %s : f32[2,3,3,4]\n%m = Expand(%c, %all)\n"
          "%y = Add(%s, %m)\noutput %y\n",
      // What is not the same each time.
      chain + "%r = RandomUniformLike(%c)\n%m = Mul(%c, %r)\n" + added,
  };
  for (const std::string& text : rows) EXPECT_EQ(masks(inputs + text), "") << text;
}

}  // namespace
}  // namespace poprt::test
