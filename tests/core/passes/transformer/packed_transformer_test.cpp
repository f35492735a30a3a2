#include <nlohmann/json.hpp>

#include "base/error.h"
#include "core/passes/transformer/packed_cases.h"

namespace poprt::test {
namespace {

constexpr int64_t kItems = 4;

passes::PassCall packed_call(const std::string& longest) {
  return {&passes::pass_of("packed_transformer"),
          {{"max_valid_num", std::to_string(kItems)}, {"segment_max_size", longest}}};
}

size_t count_of(const ir::Graph& g, std::string_view op) {
  size_t n = 0;
  for (const ir::Node* node : g.nodes()) n += node->op_type == op;
  return n;
}

// Packs sequences, and compares every item with the original model on that sequence.
std::unique_ptr<ir::Graph> expect_as_alone(const std::string& text, const std::string& longest,
                                           std::vector<size_t> lengths,
                                           const std::string& reference = "") {
  const auto original = parsed(reference.empty() ? text : reference);
  auto packed = parsed(text);
  const std::vector<passes::PassCall> calls{packed_call(longest)};
  passes::run_passes(*packed, calls);
  auto feeds = random_feeds(*original);
  const auto sequences = random_sequences(lengths, 7);
  auto packed_feeds = feeds;
  std::vector<size_t> at;
  std::vector<int64_t> ones(sequences.size(), 1);
  std::vector<int32_t> info(kItems);
  size_t next = 0;
  for (size_t k = 0; k < sequences.size(); k++) {
    at.push_back(next);
    next += sequences[k].size();
    info[k] = static_cast<int32_t>(sequences[k].size());
  }
  feed_sequences(packed_feeds, sequences, at, ones);
  packed_feeds["unpack_info"] = Tensor::of<int32_t>({kItems, 1}, info);
  const Tensor y = evaluate_graph(*packed, packed_feeds).at("y");
  EXPECT_EQ(y.shape()[0], kItems);
  const std::vector<double> values = y.to_doubles();
  const size_t item = values.size() / kItems;
  for (size_t k = 0; k < sequences.size(); k++) {
    const std::vector<double> want = alone(*original, feeds, sequences[k]);
    const size_t count = y.shape().size() == 3 ? sequences[k].size() * kPackHidden : item;
    expect_item(values, k * item, want, count, k);
  }
  return packed;
}

TEST(PackedTransformer, BertCrossesRows) {
  const auto g =
      expect_as_alone(transformer({bert_embedding(), chain_mask(), added()}), "8", {5, 6, 1, 4});
  EXPECT_EQ(g->find("unpack_info")->shape(), (Shape{kItems, 1}));
  EXPECT_EQ(g->find("y")->shape(), (Shape{kItems, 8, kPackHidden}));
  // Unpacked are q, k, v, the mask and the output; packed again are the result of attention and the
  // position embeddings.
  EXPECT_EQ(count_of(*g, "Unpack"), 5u) << ir::to_text(*g);
  EXPECT_EQ(count_of(*g, "Repack"), 2u);
}

TEST(PackedTransformer, ItemsMayBeShorterThanRows) {
  const auto g =
      expect_as_alone(transformer({bert_embedding(), chain_mask(), added()}), "5", {5, 5, 5, 1});
  EXPECT_EQ(g->find("y")->shape(), (Shape{kItems, 5, kPackHidden}));
}

TEST(PackedTransformer, PositionIdsAsInput) {
  expect_as_alone(transformer({position_ids_embedding(), chain_mask(), added()}), "8", {8, 7, 1});
}

TEST(PackedTransformer, TodaysBertLooksEveryPlaceOfTheMaskUp) {
  expect_as_alone(transformer({bert_embedding(), gathered_mask(), added()}), "6", {6, 2, 3, 5});
}

TEST(PackedTransformer, TypesOfTokensThatAreNotGiven) {
  expect_as_alone(transformer({typed_embedding(), chain_mask(), added()}), "8", {5, 6, 1, 4});
}

TEST(PackedTransformer, RobertaCountsItsPositions) {
  expect_as_alone(transformer({roberta_embedding(), gathered_mask(), added()}), "7", {7, 3, 6});
}

TEST(PackedTransformer, DebertaMasksPairsAndEmbeddings) {
  expect_as_alone(transformer({masked_embedding(), outer_mask(), where()}), "8", {3, 8, 5});
}

// The distances are a constant with the rows and the length of the unpacked model.
TEST(PackedTransformer, DebertaThatChoosesScoresByDistanceIsRefused) {
  const auto graph = parsed(transformer({masked_embedding(), outer_mask(), disentangled()}));
  const std::vector<passes::PassCall> calls{packed_call("8")};
  try {
    passes::run_passes(*graph, calls);
    FAIL() << "it is packed";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'both' combines tokens"), std::string::npos) << e.what();
  }
}

TEST(PackedTransformer, AModelWithoutAMaskGetsOne) {
  expect_as_alone(transformer({bert_embedding(), "", "%sm = Identity(%s)\n"}), "8", {8, 4, 4},
                  transformer({bert_embedding(), chain_mask(), added()}));
}

TEST(PackedTransformer, PoolingGivesOneRowAnItem) {
  const Writing w{bert_embedding(), chain_mask(), added(),
                  "const %first : s64[] = 0\n%cls = Gather(%out, %first) {axis = 1}\n"
                  "%y = MatMul(%cls, %wo)"};
  const auto g = expect_as_alone(transformer(w), "8", {2, 6, 8});
  EXPECT_EQ(g->find("y")->shape(), (Shape{kItems, kPackHidden}));
}

TEST(PackedTransformer, HeadPatternUnpacksTheNamedNodes) {
  const std::string text = transformer({bert_embedding(), chain_mask(), added()});
  const auto graph = parsed(text);
  auto call = packed_call("8");
  call.arguments["head_pattern"] = "'s:0->Gather:1->Add:2->LayerNormalization:3->e:4'";
  const std::vector<passes::PassCall> calls{call};
  passes::run_passes(*graph, calls);
  for (const ir::Node* n : graph->nodes())
    if (n->op_type == "LayerNormalization") EXPECT_EQ(n->output()->shape()[0], kItems);
  const std::vector<passes::PassCall> none{
      {call.pass, {{"max_valid_num", "4"}, {"segment_max_size", "8"}, {"head_pattern", "Conv:1"}}}};
  EXPECT_THROW(passes::run_passes(*parsed(text), none), Error);
}

TEST(PackedTransformer, PlacesSegmentsOneAfterTheOther) {
  // Two parts of an item, 3 and 5 places at most: the second begins at place 3.
  const auto original = parsed(transformer({bert_embedding(), chain_mask(), added()}));
  const auto packed = parsed(transformer({bert_embedding(), chain_mask(), added()}));
  const std::vector<passes::PassCall> calls{packed_call("3+5")};
  passes::run_passes(*packed, calls);
  EXPECT_EQ(packed->find("unpack_info")->shape(), (Shape{kItems, 2}));
  auto feeds = random_feeds(*original);
  auto packed_feeds = feeds;
  const auto both = random_sequences({2, 4}, 3);
  const std::vector<size_t> at{0, 2}, apart{0, 3};
  const std::vector<int64_t> ones{1, 1};
  feed_sequences(packed_feeds, both, at, ones);
  packed_feeds["unpack_info"] =
      Tensor::of<int32_t>({kItems, 2}, std::vector<int32_t>{2, 4, 0, 0, 0, 0, 0, 0});
  feed_sequences(feeds, both, apart, ones);
  const auto want = evaluate_graph(*original, feeds).at("y").to_doubles();
  const auto got = evaluate_graph(*packed, packed_feeds).at("y").to_doubles();
  for (const size_t place : {0, 1, 3, 4, 5, 6})
    for (size_t i = place * kPackHidden; i < (place + 1) * kPackHidden; i++)
      EXPECT_NEAR(got[i], want[i], 1e-5 * (1 + std::abs(want[i]))) << i;
}

TEST(PackedTransformer, DescribesInputsOfAnyName) {
  const auto g = parsed(transformer({bert_embedding(), chain_mask(), added()}));
  const std::string odd = "a \"quoted\\\" name\tand a\nline";
  g->rename(g->find("ids"), odd);
  const std::vector<passes::PassCall> calls{packed_call("3+5")};
  passes::run_passes(*g, calls);
  const auto config = nlohmann::json::parse(g->metadata.at("prop.PackRunnerConfig"));
  EXPECT_EQ(config["unpack_info"], "unpack_info");
  EXPECT_EQ(config["max_valid_num"], kItems);
  EXPECT_EQ(config["segment_max_size"], (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(config["dynamic"], (std::vector<std::string>{odd, "mask"}));
}

// Numbers of all digits up to 2^20; the message about the model follows them.
TEST(PackedTransformer, NumbersAreWholeAndNotTooLarge) {
  const auto message_for = [](const char* items, const char* longest) {
    const auto graph = parsed("input %x : s64[2,3]\n%y = Neg(%x)\noutput %y");
    const std::vector<passes::PassCall> calls{
        {&passes::pass_of("packed_transformer"),
         {{"max_valid_num", items}, {"segment_max_size", longest}}}};
    try {
      passes::run_passes(*graph, calls);
    } catch (const Error& e) {
      return e.message().substr(0, e.message().find(", but input"));
    }
    return std::string();
  };
  EXPECT_EQ(message_for("1048576", "90"),
            "pass packed_transformer: segment_max_size has 90 places in total");
  const std::string range = "expected a whole number from 1 to 1048576, found ";
  EXPECT_EQ(message_for("1048577", "2"),
            "pass packed_transformer: max_valid_num: " + range + "'1048577'");
  EXPECT_EQ(message_for("0", "2"), "pass packed_transformer: max_valid_num: " + range + "'0'");
  EXPECT_EQ(message_for("2", "1:"), "pass packed_transformer: segment_max_size: " + range + "'1:'");
  EXPECT_EQ(message_for("2", "1/"), "pass packed_transformer: segment_max_size: " + range + "'1/'");
}

TEST(PackedTransformer, RefusesInOneLine) {
  const auto message = [](const std::string& text, passes::Arguments arguments) {
    const std::vector<passes::PassCall> calls{
        {&passes::pass_of("packed_transformer"), std::move(arguments)}};
    try {
      passes::run_passes(*parsed(text), calls);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const std::string bert = transformer({bert_embedding(), chain_mask(), added()});
  const auto has = [](const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(message(bert, {{"max_valid_num", "4"}, {"segment_max_size", "9"}}), "rows of 8");
  has(message(bert, {{"max_valid_num", "0"}, {"segment_max_size", "8"}}), "max_valid_num");
  has(message(bert, {{"max_valid_num", "4"}, {"segment_max_size", "3+x"}}), "segment_max_size");
  has(message(bert, {{"max_valid_num", "4"}}), "segment_max_size");
  has(message(bert,
              {{"max_valid_num", "4"}, {"segment_max_size", "8"}, {"dynamic_groups", "[[x]]"}}),
      "no input 'x'");
  has(message(
          bert,
          {{"max_valid_num", "4"}, {"segment_max_size", "8"}, {"dynamic_groups", "[[ids,wq]]"}}),
      "expected [2,8,...]");
  has(message(bert, {{"max_valid_num", "4"}, {"segment_max_size", "8"}, {"dynamic_groups", "ids"}}),
      "expected [[INPUT,...],...]");
  has(message("input %x : f32[2,8]\n%y = Relu(%x)\noutput %y\n",
              {{"max_valid_num", "4"}, {"segment_max_size", "8"}}),
      "no node of the model");
}

}  // namespace
}  // namespace poprt::test
