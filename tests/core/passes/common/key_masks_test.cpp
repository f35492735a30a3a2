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
const %values : f32[4,2] = fill 0.5
const %key : s64[2] = [1, 2]
const %query : s64[2] = [1, 3]
)";
constexpr const char* kChain = "%u = Unsqueeze(%tokens, %key)\n%c = Cast(%u) {to = 1}\n";
constexpr const char* kLow = "%i = Sub(%one, %c)\n%m = Mul(%i, %low)\n";
constexpr const char* kAdded = "%y = Add(%scores, %m)\n";
constexpr const char* kAttention = "%p = Softmax(%y)\n%o = MatMul(%p, %values)\noutput %o\n";

// "VALUE of INPUT: kept, dropped" for each mask that is found, with "pairs" after those of pairs.
// Also compares the simplest graph of each with the mask.
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

TEST(KeyMasks, AreFoundByTheirComputation) {
  const std::string inputs = kInputs, chain = kChain, low = kLow, added = kAdded;
  const std::pair<std::string, const char*> rows[] = {
      {chain + low + added, "m of tokens: 0, -10000"},
      {chain + "%b = Cast(%c) {to = 9}\n%m = Where(%b, %zero, %low)\n" + added,
       "m of tokens: 0, -10000"},
      {chain + "%m = Cast(%c) {to = 9}\n%y = Where(%m, %scores, %low)\n", "m of tokens: 1, 0"},
      {chain + "%b = Cast(%c) {to = 9}\n%m = Not(%b)\n%y = Where(%m, %low, %scores)\n",
       "m of tokens: 0, 1"},
      // Key and query have a token.
      {chain +
           "%v = Unsqueeze(%tokens, %query)\n%d = Cast(%v) {to = 1}\n%e = Mul(%c, %d)\n"
           "%i = Sub(%one, %e)\n%m = Mul(%i, %low)\n" +
           added,
       "m of tokens: 0, -10000 pairs"},
      {chain + "%v = Unsqueeze(%tokens, %query)\n%d = Cast(%v) {to = 9}\n"
               "%e = Cast(%c) {to = 9}\n%b = And(%e, %d)\n%m = Not(%b)\n"
               "%y = Where(%m, %low, %scores)\n",
       "m of tokens: 0, 1 pairs"},
      // Heads and queries that are alike.
      {chain +
           "const %all : s64[4] = [2, 3, 4, 4]\n%i = Sub(%one, %c)\n%l = Mul(%i, %low)\n"
           "%m = Expand(%l, %all)\n" +
           added,
       "m of tokens: 0, -10000"},
      // Two masks are made of one input.
      {chain + low + added +
           "const %lower : f32[] = -20000.0\n%n = Mul(%i, %lower)\n%z = Add(%n, %scores)\n"
           "%q = Softmax(%z)\n%r = MatMul(%q, %values)\noutput %r\n",
       "m of tokens: 0, -10000; n of tokens: 0, -20000"},
      // The mask is subtracted.
      {chain + "%m = Mul(%c, %low)\n%y = Sub(%scores, %m)\n", "m of tokens: -10000, 0"},
      // The scores are multiplied by the tokens first.
      {chain + "const %high : f32[] = 10000.0\n%s = Mul(%scores, %c)\n%i = Sub(%one, %c)\n"
               "%m = Mul(%i, %high)\n%y = Sub(%s, %m)\n",
       "m of tokens: 0, 10000"},
      // There is also a mask from another input.
      {chain + "input %seen : bool[4,4]\n%m = Cast(%c) {to = 9}\n%both = And(%m, %seen)\n"
               "%y = Where(%both, %scores, %low)\n",
       "m of tokens: 1, 0"},
      {chain + "input %bias : f32[3,4,4]\n" + low + "%b = Add(%m, %bias)\n%y = Add(%scores, %b)\n",
       "m of tokens: 0, -10000"},
      // The mask selects weights after Softmax.
      {chain + "%m = Cast(%c) {to = 9}\n%w = Softmax(%scores)\n%x = Where(%m, %w, %zero)\n"
               "%z = MatMul(%x, %values)\noutput %z\n%y = Neg(%scores)\n",
       "m of tokens: 1, 0"},
      // The scores have three or five dimensions.
      {"input %s : f32[2,4,4]\nconst %mid : s64[1] = [1]\n%u = Unsqueeze(%tokens, %mid)\n"
       "%c = Cast(%u) {to = 1}\n" +
           low + "%y = Add(%s, %m)\n",
       "m of tokens: 0, -10000"},
      {"input %s : f32[2,1,3,4,4]\nconst %mid : s64[3] = [1, 2, 3]\n"
       "%u = Unsqueeze(%tokens, %mid)\n%c = Cast(%u) {to = 1}\n" +
           low + "%y = Add(%s, %m)\n",
       "m of tokens: 0, -10000"},
  };
  for (const auto& [text, found] : rows)
    EXPECT_EQ(masks(inputs + text + kAttention), found) << text;
}

// A value that is added, selected or compared elsewhere may have any numbers. It is not a mask,
// even if it has one number for tokens 0 and another one for tokens 1.
TEST(KeyMasks, AreNotFoundIfNoKeysOfAnAttentionAreDropped) {
  const std::string inputs = kInputs, chain = kChain, low = kLow, added = kAdded;
  const std::string mask = chain + low + added, attention = kAttention;
  const std::string rows[] = {
      // There is no Softmax; nothing is summed after it, or without another operand.
      mask + "%o = MatMul(%y, %values)\noutput %o\n",
      mask + "%p = Softmax(%y)\noutput %p\n",
      mask + "const %axes : s64[1] = [3]\n%p = Softmax(%y)\n%o = ReduceSum(%p, %axes)\noutput %o\n",
      // Softmax over the queries; a sum over them.
      mask + "%p = Softmax(%y) {axis = 2}\n%o = MatMul(%p, %values)\noutput %o\n",
      mask +
          "%p = Softmax(%y)\n%t = Transpose(%p) {perm = [0, 1, 3, 2]}\n"
          "%o = MatMul(%t, %values)\noutput %o\n",
      // A bias of the keys; one that is too small; one that drops where tokens are.
      chain + "%y = Add(%scores, %c)\n" + attention,
      chain + "%i = Sub(%c, %one)\n%y = Add(%scores, %i)\n" + attention,
      chain + "%m = Mul(%c, %low)\n" + added + attention,
      // Scores of 0 are not dropped.
      chain + "%y = Mul(%scores, %c)\n" + attention,
      // Rows that are selected.
      "input %x : f32[3,2]\ninput %k : s64[1]\nconst %mid : s64[1] = [1]\n"
      "%u = Unsqueeze(%x, %mid)\n%y = Gather(%u, %k)\noutput %y\n",
  };
  for (const std::string& text : rows) EXPECT_EQ(masks(inputs + text), "") << text;
}

TEST(KeyMasks, AreNotFoundIfOtherValuesDecide) {
  const std::string inputs = kInputs, chain = kChain;
  const std::string low = "%n = Sub(%one, %m)\n%k = Mul(%n, %low)\n";
  const std::string added = low + "%y = Add(%scores, %k)\n", to_s = low + "%y = Add(%s, %k)\n";
  const std::string rows[] = {
      // Nothing else is combined with it.
      chain + "%m = Mul(%c, %low)\n%y = Neg(%scores)\noutput %m\n",
      // The mask drops nothing; the two numbers are equal.
      chain + "%m = Mul(%c, %zero)\n" + added,
      // The mask reads the neighbour, the reversed places, or the other row.
      chain + "const %back : s64[4] = [1, 2, 3, 0]\n%m = Gather(%c, %back) {axis = 3}\n" + added,
      chain + "const %back : s64[4] = [3, 2, 1, 0]\n%m = Gather(%c, %back) {axis = 3}\n" + added,
      chain + "const %back : s64[2] = [1, 0]\n%m = Gather(%c, %back) {axis = 0}\n" + added,
      chain + "const %back : s64[2] = [0, 0]\n%m = Gather(%c, %back) {axis = 0}\n" + added,
      // These add a triangle; make heads differ; always drop a position.
      chain +
          "const %t : f32[4,4] = [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, "
          "1.0, 1.0, 1.0, 1.0]\n%m = Mul(%c, %t)\n" +
          added,
      chain + "const %t : f32[3,1,1] = [1.0, 1.0, 2.0]\n%m = Mul(%c, %t)\n" + added,
      chain + "const %t : f32[4] = [1.0, 1.0, 1.0, 0.0]\n%m = Mul(%c, %t)\n" + added,
      // The mask depends on the query alone; on the query or the key.
      chain + "%v = Unsqueeze(%tokens, %query)\n%m = Cast(%v) {to = 1}\n" + added,
      chain + "%v = Unsqueeze(%tokens, %query)\n%d = Cast(%v) {to = 1}\n%m = Max(%c, %d)\n" + added,
      // A running sum; whole numbers; two dimensions; two inputs.
      chain + "const %last : s64[] = 3\n%m = CumSum(%c, %last)\n" + added,
      "input %s : s64[2,3,4,4]\nconst %less : s64[] = -10000\n"
      "%m = Unsqueeze(%tokens, %key)\n%k = Mul(%m, %less)\n%z = Sub(%s, %k)\n"
      "%y = Cast(%z) {to = 1}\n",
      "input %s : f32[2,4]\n%m = Cast(%tokens) {to = 1}\n" + to_s,
      "input %s : f32[1,2,1,1,1,4]\nconst %mid : s64[4] = [0, 2, 3, 4]\n"
      "%u = Unsqueeze(%tokens, %mid)\n%m = Cast(%u) {to = 1}\n" +
          to_s,
      "input %more : s64[2,4]\n%both = Mul(%tokens, %more)\n%u = Unsqueeze(%both, %key)\n"
      "%m = Cast(%u) {to = 1}\n" +
          added,
      // Inputs of one place, of no row, of three dimensions, of unknown size; a mask turned round.
      "input %t : s64[2,1]\ninput %s : f32[2,3,4,1]\n%u = Unsqueeze(%t, %key)\n"
      "%m = Cast(%u) {to = 1}\n" +
          low +
          "%z = Add(%s, %k)\nconst %w : f32[1,2] = fill 0.5\n%q = Softmax(%z)\n"
          "%r = MatMul(%q, %w)\noutput %r\n%y = Neg(%scores)\n",
      "input %t : s64[2,1,4]\nconst %mid : s64[1] = [1]\n%u = Unsqueeze(%t, %mid)\n"
      "%m = Cast(%u) {to = 1}\n" +
          added,
      "input %t : s64[0,4]\ninput %s : f32[0,3,4,4]\n%u = Unsqueeze(%t, %key)\n"
      "%m = Cast(%u) {to = 1}\n" +
          to_s,
      "input %t : s64[2,N]\n%u = Unsqueeze(%t, %key)\n%m = Cast(%u) {to = 1}\n" + added,
      "input %t : s64[4,2]\ninput %s : f32[2,3,4,4]\n%r = Transpose(%t)\n%u = Unsqueeze(%r, %key)\n"
      "%m = Cast(%u) {to = 1}\n" +
          to_s,
      // Three of four queries.
      chain +
          "const %all : s64[4] = [2, 1, 3, 4]\ninput %s : f32[2,3,3,4]\n%m = Expand(%c, %all)\n" +
          to_s,
      // Values that differ from run to run.
      chain + "%r = RandomUniformLike(%c)\n%m = Mul(%c, %r)\n" + added,
  };
  for (const std::string& text : rows) EXPECT_EQ(masks(inputs + text + kAttention), "") << text;
}

// Each mask is read twice by the next one: there are 2^40 paths to the scores.
TEST(KeyMasks, AreFoundThroughManyPaths) {
  const auto found = [](int depth) {
    std::string text = std::string(kInputs) + R"(
    const %none : f32[] = -10000.0
    %u = Unsqueeze(%tokens, %key)
    %m0 = Cast(%u) {to = 9}
)";
    for (int i = 0; i < depth; i++) text += fmt::format("%m{} = And(%m{}, %m{})\n", i + 1, i, i);
    text += fmt::format("%y = Where(%m{}, %scores, %none)\n", depth) + kAttention;
    return !passes::find_key_masks(*parsed(text)).empty();
  };
  EXPECT_EQ(found(40), found(1));
}

}  // namespace
}  // namespace poprt::test
