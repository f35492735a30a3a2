// Compares text generation with plain loops over the same small decoder: its logits are the row of
// a table for the last token, plus a term with the sum of all tokens, which it keeps in its cache.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>

#include "core/compiler/flow/support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

constexpr int64_t kVocabulary = 9, kPad = 8;

using Text = std::vector<int32_t>;

const std::string kDecoder = R"(graph "decoder" {
      input %input_ids : s32[b,s]
      input %position_ids : s32[b,s]
      input %attention_mask : s32[b,t]
      input %past_0 : f32[2,b,1,p,1]
      const %places : s64[3] = [0, 2, 4]
      const %all : s64[4] = [0, 2, 3, 4]
      const %last : s64[2] = [1, 2]
      %f : ? = Cast(%input_ids) {to = 1}
      %u : ? = Unsqueeze(%f, %places)
      %new : ? = Concat(%u, %u) {axis = 0}
      %present : ? = Concat(%past_0, %new) {axis = 3}
      %sum : ? = ReduceSum(%present, %all) {keepdims = 0}
      %wide : ? = Unsqueeze(%sum, %last)
      %sin : ? = Sin(%wide)
      %more : ? = Mul(%sin, %direction)
      %row : ? = Gather(%table, %input_ids)
      %logits : ? = Add(%row, %more)
      output %logits
      output %present
    })";

struct Toy {
  Tensor table, direction, ids;
  explicit Toy(uint32_t seed, int64_t batch, int64_t prompt) {
    table = floats({kVocabulary, kVocabulary}, seed);
    direction = floats({kVocabulary}, seed + 1);
    ids = Tensor::zeros(DType::s32, {batch, prompt});
    std::mt19937 rng(seed + 2);
    for (int32_t& x : ids.mutable_values<int32_t>())
      x = std::uniform_int_distribution<int32_t>(0, 6)(rng);
  }
  Values feeds() const { return {{"table", table}, {"direction", direction}, {"ids", ids}}; }
  Text prompt(int64_t row) const {
    const auto all = ids.values<int32_t>();
    const auto length = static_cast<size_t>(ids.shape()[1]);
    const auto begin = all.begin() + row * ids.shape()[1];
    return Text(begin, begin + static_cast<ptrdiff_t>(length));
  }
  std::vector<float> logits(const Text& text) const {
    float sum = 0;
    for (const int32_t t : text) sum += 2 * static_cast<float>(t);
    std::vector<float> out;
    for (int64_t v = 0; v < kVocabulary; v++)
      out.push_back(table.values<float>()[static_cast<size_t>(text.back() * kVocabulary + v)] +
                    std::sin(sum) * direction.values<float>()[static_cast<size_t>(v)]);
    return out;
  }
};

// `inputs`: lines that make the node's inputs; `names` are those after the prompt.
std::string model(const std::string& op, const Toy& toy, const std::string& inputs,
                  const std::string& names, const std::string& attributes,
                  const std::string& outputs = "%y : ?") {
  std::string text = "graph \"g\" opset {\"\": 17, \"com.microsoft\": 1} {\n";
  text += "input %table : f32[9,9]\ninput %direction : f32[9]\n";
  text += "input %ids : s32" + shape_string(toy.ids.shape()) + "\n" + inputs;
  text += outputs + " = com.microsoft." + op + "(%ids, " + names + ") {pad_token_id = 8, " +
          attributes + ", decoder = " + kDecoder + "}\n";
  for (const char name : {'y', 'z'})
    if (outputs.find(std::string("%") + name) != std::string::npos)
      text += std::string("output %") + name + "\n";
  return text + "}\n";
}

std::string scalar(const std::string& name, const std::string& type, const std::string& value) {
  return "const %" + name + " : " + type + "[1] = [" + value + "]\n";
}

Text row_of(const Tensor& t, int64_t row, int64_t length) {
  const auto all = t.values<int32_t>();
  return Text(all.begin() + row * length, all.begin() + (row + 1) * length);
}

Text greedy(const Toy& toy, int64_t row, size_t length, int32_t end) {
  Text text = toy.prompt(row);
  while (text.size() < length) {
    const auto l = toy.logits(text);
    const auto next = static_cast<int32_t>(std::max_element(l.begin(), l.end()) - l.begin());
    if (next == end) break;
    text.push_back(next);
  }
  text.resize(length, kPad);
  return text;
}

TEST(Search, GreedyWritesBestTokensThenPadding) {
  size_t ended = 0;
  for (uint32_t seed = 0; seed < 12; seed++) {
    const Toy toy(seed * 10, 3, 2);
    const Executable e = test::compile_text(
        model("GreedySearch", toy, scalar("max", "s32", "11"), "%max", "eos_token_id = 5"));
    const Tensor y = run(e, toy.feeds()).at("y");
    ASSERT_EQ(y.shape(), (Shape{3, 11}));
    for (int64_t b = 0; b < 3; b++) {
      const Text want = greedy(toy, b, 11, 5);
      EXPECT_EQ(row_of(y, b, 11), want) << seed;
      ended += want.back() == kPad;
    }
  }
  EXPECT_GT(ended, 3U);
}

TEST(Search, TheFirstOpsetThatItsRoundsAreMadeOfIsEnough) {
  const Toy toy(3, 2, 2);
  const auto at_opset = [&](const std::string& opset) {
    std::string text =
        model("GreedySearch", toy, scalar("max", "s32", "8"), "%max", "eos_token_id = 5");
    for (const auto& [now, then] :
         {std::pair("\"\": 17", "\"\": " + opset),
          std::pair("Unsqueeze(%f, %places)", std::string("Unsqueeze(%f) {axes = [0, 2, 4]}")),
          std::pair("ReduceSum(%present, %all) {",
                    std::string("ReduceSum(%present) {axes = [0, 2, 3, 4], ")),
          std::pair("Unsqueeze(%sum, %last)", std::string("Unsqueeze(%sum) {axes = [1, 2]}"))})
      text = replaced(text, now, then);
    return run(test::compile_text(text), toy.feeds()).at("y");
  };
  const Tensor y = at_opset("11");
  for (int64_t b = 0; b < 2; b++) EXPECT_EQ(row_of(y, b, 8), greedy(toy, b, 8, 5));
  try {
    at_opset("10");
    ADD_FAILURE() << "opset 10 is taken";
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("the model imports opset 10 of ai.onnx, expected 11 or newer"),
              std::string::npos)
        << e.what();
  }
}

TEST(Search, RoundsAfterTheFirstAreConditional) {
  const Toy toy(1, 2, 3);
  const Executable e = test::compile_text(
      model("GreedySearch", toy, scalar("max", "s32", "10"), "%max", "eos_token_id = 5"));
  int64_t branches = 0;
  for (const program::Instruction& i : e.program.main)
    branches += e.program.kernels[i.kernel] == "control.if";
  EXPECT_EQ(branches, 2 * (10 - 3 - 1));
}

// The weights of all rounds are stored once, in the form that kernels read.
TEST(Search, WeightsDoNotGrowWithTheLength) {
  constexpr int64_t kInner = 3000;
  const auto weights_of = [&](const std::string& length) {
    const Toy toy(3, 1, 2);
    std::string text =
        model("GreedySearch", toy, scalar("max", "s32", length), "%max", "eos_token_id = 5");
    const auto constant = [&](const std::string& name, const std::string& shape) {
      std::string values = "0.5";
      for (int64_t i = 1; i < kVocabulary * kInner; i++) values += i % 2 ? ", 0.25" : ", -0.5";
      return "const %" + name + " : f32[" + shape + "] = [" + values + "]\n";
    };
    const auto replace = [&](const std::string& from, const std::string& to) {
      const size_t at = text.find(from);
      ASSERT_NE(at, std::string::npos) << from;
      text.replace(at, from.size(), to);
    };
    replace("input %table", constant("a", "9,3000") + constant("b", "3000,9") + "input %table");
    replace("%logits : ? = Add(%row, %more)",
            "%c : ? = MatMul(%row, %a)\n%d : ? = MatMul(%c, %b)\n%logits : ? = Add(%d, %more)");
    return test::compile_text(text).program.weights_bytes;
  };
  const uint64_t one = kVocabulary * kInner * sizeof(float);
  EXPECT_GT(weights_of("6"), 2 * one);
  EXPECT_LT(weights_of("26"), weights_of("6") + one / 4);
}

TEST(Search, AConvertedModelIsPlainOnnxWithNodesOfDifferentNames) {
  const Toy toy(1, 2, 3);
  const auto graph = ir::parse_text(
      model("GreedySearch", toy, scalar("max", "s32", "10"), "%max", "eos_token_id = 5"));
  Options options;
  options.keep_onnx = true;
  convert(*graph, options);
  std::set<std::string> names;
  const std::function<void(const ir::Graph&)> visit = [&](const ir::Graph& g) {
    for (const ir::Node* n : g.nodes()) {
      EXPECT_EQ(n->domain, "") << n->describe();
      if (!n->name.empty()) EXPECT_TRUE(names.insert(n->name).second) << n->name;
      ir::for_each_subgraph(*n, visit);
    }
  };
  visit(*graph);
  EXPECT_GT(names.size(), 6U);
}

struct Beams {
  int64_t k, returned;
  float length_penalty;
  bool early;
  int32_t end;
};

struct Hypothesis {
  float score;
  Text text;
};

std::vector<float> log_softmax(std::vector<float> x) {
  const double top = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const float v : x) sum += std::exp(v - top);
  for (float& v : x) v = static_cast<float>(v - top - std::log(sum));
  return x;
}

// All texts step by step. Whether one is done depends on the scores that ONNX Runtime reads: the 2
// K best of each text are in one list, and text b reads those from b K on.
std::vector<std::vector<Hypothesis>> plain_beams(const Toy& toy, const Beams& p, size_t length) {
  const auto k = static_cast<size_t>(p.k);
  struct Candidate {
    float score;
    size_t beam;
    int32_t token;
  };
  struct Of {
    std::vector<Hypothesis> beams, ended = {};
    std::vector<Candidate> all = {};
    bool done = false;
  };
  std::vector<Of> texts;
  for (int64_t b = 0; b < toy.ids.shape()[0]; b++) {
    texts.push_back({std::vector<Hypothesis>(k, {-1e9F, toy.prompt(b)})});
    texts.back().beams[0].score = 0;
  }
  const auto by_length = [&](float score, size_t tokens) {
    return score / std::pow(static_cast<float>(tokens), p.length_penalty);
  };
  const auto add = [&](Of& of, float score, const Text& text) {
    of.ended.push_back({by_length(score, text.size()), text});
    std::sort(of.ended.begin(), of.ended.end(),
              [](const auto& a, const auto& b) { return a.score > b.score; });
    of.ended.resize(std::min(of.ended.size(), k));
  };
  const auto goes_on = [](const Of& of) { return !of.done; };
  for (size_t now;
       (now = texts[0].beams[0].text.size()) < length && std::ranges::any_of(texts, goes_on);) {
    std::vector<float> top;
    for (Of& of : texts) {
      of.all.clear();
      for (size_t b = 0; b < k; b++) {
        const auto scores = log_softmax(toy.logits(of.beams[b].text));
        for (size_t v = 0; v < scores.size(); v++)
          of.all.push_back({scores[v] + of.beams[b].score, b, static_cast<int32_t>(v)});
      }
      std::sort(of.all.begin(), of.all.end(),
                [](const auto& a, const auto& b) { return a.score > b.score; });
      for (size_t j = 0; j < 2 * k; j++) top.push_back(of.all[j].score);
    }
    for (size_t b = 0; b < texts.size(); b++) {
      Of& of = texts[b];
      std::vector<Hypothesis> next;
      for (size_t j = 0; j < 2 * k && next.size() < k; j++) {
        const Candidate& c = of.all[j];
        Text text = of.beams[c.beam].text;
        if (c.token == p.end) {
          if (j < k && !of.done) add(of, c.score, text);
          continue;
        }
        text.push_back(c.token);
        next.push_back({c.score, text});
      }
      const auto seen = top.begin() + static_cast<ptrdiff_t>(b * k);
      const float best = by_length(*std::max_element(seen, seen + 2 * p.k), now);
      of.done |= of.ended.size() == k && (p.early || of.ended.back().score >= best);
      of.beams = next;
    }
  }
  std::vector<std::vector<Hypothesis>> results;
  for (Of& of : texts) {
    const std::vector<Hypothesis> open = of.done ? std::vector<Hypothesis>() : of.beams;
    for (const Hypothesis& b : open) add(of, b.score, b.text);
    results.push_back(of.ended);
  }
  return results;
}

// Expects the texts of a plain search. Returns the number of texts that ended before the limit.
size_t expect_plain_beams(uint32_t seed, const Toy& toy, const Beams& p) {
  constexpr int64_t kLength = 9;
  const std::string inputs = scalar("max", "s32", "9") + scalar("min", "s32", "0") +
                             scalar("k", "s32", std::to_string(p.k)) +
                             scalar("n", "s32", std::to_string(p.returned)) +
                             scalar("lp", "f32", p.length_penalty == 1 ? "1.0" : "0.5");
  const bool given = p.length_penalty != 1 || seed % 2 == 0;  // 1 when it is left out
  const Executable e = test::compile_text(model(
      "BeamSearch", toy, inputs, given ? "%max, %min, %k, %n, %lp" : "%max, %min, %k, %n",
      "early_stopping = " + std::to_string(p.early) + ", eos_token_id = " + std::to_string(p.end),
      "%y : ?, %z : ?"));
  const Values got = run(e, toy.feeds());
  const auto wanted = plain_beams(toy, p, kLength);
  size_t ended = 0;
  for (size_t b = 0; b < wanted.size(); b++)
    for (int64_t i = 0; i < p.returned; i++) {
      const Hypothesis& want = wanted[b][static_cast<size_t>(i)];
      const int64_t row = static_cast<int64_t>(b) * p.returned + i;
      Text text = want.text;
      ended += text.size() < static_cast<size_t>(kLength);
      text.resize(kLength, kPad);
      EXPECT_EQ(row_of(got.at("y"), row, kLength), text) << seed << ": text " << b;
      EXPECT_NEAR(got.at("z").values<float>()[static_cast<size_t>(row)], want.score, 1e-4);
    }
  return ended;
}

TEST(Search, BeamsMatchAPlainSearch) {
  size_t ended = 0;
  for (uint32_t seed = 0; seed < 24; seed++)
    ended += expect_plain_beams(
        seed, Toy(seed * 10 + 7, 1, 2),
        {1 + seed % 4, 1 + seed % 2 * (seed % 4 != 0), seed % 3 == 0 ? 0.5F : 1.0F, seed % 5 == 0,
         static_cast<int32_t>(seed % 7)});
  EXPECT_GT(ended, 5U);
}

TEST(Search, BeamsOfSeveralTextsDoNotMix) {
  size_t ended = 0;
  for (uint32_t seed = 0; seed < 9; seed++)
    ended += expect_plain_beams(seed, Toy(seed * 10 + 7, 2 + seed % 2, 2),
                                {1 + seed % 3, 1 + seed % 3, seed % 2 == 0 ? 0.5F : 1.0F,
                                 seed % 4 == 0, static_cast<int32_t>(seed % 7)});
  EXPECT_GT(ended, 5U);
}

TEST(Search, SamplingDrawsByProbability) {
  const Toy toy(3, 50, 1);
  const Executable e = test::compile_text(
      model("Sampling", toy, scalar("max", "s32", "2") + "input %seed : s32[1]\n",
            "%max, _, _, _, _, _, _, %seed", "eos_token_id = 100, top_p = 1.0"));
  // Chi-square test over all rows of equal prompts.
  std::map<int32_t, std::vector<double>> counts;
  std::mt19937 seeds(1);
  for (int i = 0; i < 120; i++) {
    Values feeds = toy.feeds();
    feeds["seed"] = Tensor::of<int32_t>({1}, {static_cast<int32_t>(seeds() >> 1)});
    const Tensor y = test::run_executable(e, feeds).at("y");
    for (int64_t b = 0; b < 50; b++) {
      const Text text = row_of(y, b, 2);
      auto& c = counts[text[0]];
      c.resize(kVocabulary);
      c[static_cast<size_t>(text[1])]++;
    }
  }
  for (const auto& [first, seen] : counts) {
    double total = 0, chi = 0;
    for (const double c : seen) total += c;
    const auto p = log_softmax(toy.logits({first}));
    for (size_t v = 0; v < seen.size(); v++) {
      const double expected = total * std::exp(p[v]);
      chi += (seen[v] - expected) * (seen[v] - expected) / expected;
    }
    EXPECT_LT(chi, 36) << "of 8 degrees of freedom, from token " << first;  // 1 of 50 000
  }
}

// Texts draw in turn from one generator of the standard library, round after round.
TEST(Search, SamplingDrawsFromTheStandardGenerator) {
  constexpr int64_t kBatch = 3, kRounds = 3;
  const Toy toy(3, kBatch, 1);
  const Executable e = test::compile_text(
      model("Sampling", toy, scalar("max", "s32", "4") + "input %seed : s32[1]\n",
            "%max, _, _, _, _, _, _, %seed", "eos_token_id = 100, top_p = 1.0"));
  for (const int32_t seed : {1, 2, 12345, 0x7fffffff, 0}) {
    Values feeds = toy.feeds();
    feeds["seed"] = Tensor::of<int32_t>({1}, {seed});
    const Tensor y = test::run_executable(e, feeds).at("y");
    std::minstd_rand0 generator(static_cast<uint32_t>(seed));
    std::uniform_real_distribution<double> uniform;
    std::vector<Text> texts;
    for (int64_t b = 0; b < kBatch; b++) texts.push_back(toy.prompt(b));
    for (int64_t round = 0; round < kRounds; round++)
      for (Text& text : texts) {
        const auto p = log_softmax(toy.logits(text));
        const double wanted = uniform(generator);
        double sum = 0;
        int32_t next = 0;
        while (next < kVocabulary - 1 && (sum += std::exp(p[static_cast<size_t>(next)])) <= wanted)
          next++;
        text.push_back(next);
      }
    for (int64_t b = 0; b < kBatch; b++)
      EXPECT_EQ(row_of(y, b, kRounds + 1), texts[static_cast<size_t>(b)]) << "seed " << seed;
  }
}

TEST(Search, SamplingOfTheBestOneIsGreedy) {
  const Toy toy(4, 3, 2);
  const std::string inputs = scalar("max", "s32", "10");
  const auto texts = [&](const std::string& op, const std::string& more) {
    const Executable e =
        test::compile_text(model(op, toy, inputs, "%max", "eos_token_id = 5" + more));
    return run(e, toy.feeds()).at("y");
  };
  EXPECT_TRUE(texts("GreedySearch", "")
                  .same_as(texts("Sampling", ", top_p = 0.0, min_tokens_to_keep = 1")));
}

TEST(Search, ScalarsMayComeAtRunTime) {
  const Toy toy(5, 2, 2);
  const std::string inputs =
      scalar("max", "s32", "9") + "input %min : s32[1]\ninput %penalty : f32[1]\n";
  const Executable e = test::compile_text(
      model("GreedySearch", toy, inputs, "%max, %min, %penalty", "eos_token_id = 5"));
  std::set<Text> texts;
  for (const auto& [min, penalty] : {std::pair{0, 1.0F}, {0, 3.0F}, {9, 1.0F}}) {
    Values feeds = toy.feeds();
    feeds["min"] = Tensor::of<int32_t>({1}, {min});
    feeds["penalty"] = Tensor::of<float>({1}, {penalty});
    const Tensor y = run(e, feeds).at("y");
    texts.insert(row_of(y, 0, 9));
    if (penalty == 1 && min == 0) EXPECT_EQ(row_of(y, 0, 9), greedy(toy, 0, 9, 5));
  }
  EXPECT_GT(texts.size(), 1U);
}

// The error of a model, "" when it compiles.
std::string error_of(const std::string& text) {
  try {
    test::compile_text(text);
  } catch (const Error& e) {
    return e.message();
  }
  return "";
}

TEST(Search, SizesMustBeConstant) {
  const Toy toy(6, 1, 2);
  const std::string message = error_of(
      model("GreedySearch", toy, "input %longest : s32[1]\n", "%longest", "eos_token_id = 5"));
  EXPECT_NE(message.find("max_length ('longest')"), std::string::npos) << message;
  EXPECT_NE(message.find("poprt_exec run"), std::string::npos) << message;
}

TEST(Search, RefusesUnsupportedSearches) {
  const Toy toy(6, 1, 2);
  const std::string max = scalar("max", "s32", "9"), end = "eos_token_id = 5";
  const auto error = [&](const std::string& attributes, const std::string& value = "9") {
    return error_of(model("GreedySearch", toy, scalar("max", "s32", value), "%max", attributes));
  };
  EXPECT_EQ(error(end), "");
  EXPECT_NE(error(end + ", model_type = 2").find("model_type is 2"), std::string::npos);
  EXPECT_NE(error(end + ", model_type = 1").find("model_type is 1"), std::string::npos);
  EXPECT_NE(error("eos_token_id = -1").find("eos_token_id is -1"), std::string::npos);
  EXPECT_NE(error(end, "2").find("max_length is 2"), std::string::npos);
  EXPECT_NE(error(end, "5000").find("max_length is 5000"), std::string::npos);
  EXPECT_NE(error(end + ", vocab_size = 10").find("logits"), std::string::npos);
  const std::string shared =
      replaced(model("GreedySearch", toy, max, "%max", end), "input %past_0 : f32[2,b,1,p,1]",
               "input %past_sequence_length : s32[1]\n input %past_0 : f32[2,b,1,?,1]");
  EXPECT_NE(error_of(shared).find("past_sequence_length"), std::string::npos);
  const std::string mask =
      model("GreedySearch", toy, max + "input %mask : s32[4]\n", "%max, _, _, %mask", end);
  EXPECT_NE(error_of(mask).find("vocab_mask is s32[4], expected s32[9]"), std::string::npos);
}

TEST(Search, NumbersOfBeamsAreLimited) {
  const Toy toy(6, 1, 2);
  const auto error = [&](const std::string& beams, const std::string& returned) {
    const std::string error_text = error_of(
        model("BeamSearch", toy,
              scalar("max", "s32", "4") + scalar("k", "s32", beams) + scalar("n", "s32", returned),
              "%max, _, %k, %n", "eos_token_id = 5"));
    return error_text.empty() ? error_text : error_text.substr(error_text.find("): ") + 3);
  };
  const auto refusal = [](const char* beams, const char* returned) {
    return fmt::format(
        "num_beams is {}, expected 1 to 128, and num_return_sequences is {}, expected at most "
        "num_beams",
        beams, returned);
  };
  EXPECT_EQ(error("1", "1"), "");
  EXPECT_EQ(error("3", "3"), "");
  EXPECT_EQ(error("128", "1"), "");
  for (const auto& [beams, returned] :
       {std::pair{"0", "1"}, {"129", "1"}, {"3", "4"}, {"3", "0"}, {"-1", "-1"}})
    EXPECT_EQ(error(beams, returned), refusal(beams, returned));
}

TEST(Search, InputsThatDoNotFitAreNamed) {
  const Toy toy(6, 2, 2);
  const std::string end = "eos_token_id = 5", max = scalar("max", "s32", "4");
  const auto error = [&](const std::string& op, const std::string& inputs, const std::string& names,
                         const std::string& outputs = "%y : ?") {
    const std::string error_text =
        error_of(model(op, toy, max + inputs, "%max, " + names, end, outputs));
    return error_text.substr(error_text.find("): ") + 3);
  };
  EXPECT_EQ(error("GreedySearch", "const %p : f32[2] = [1.0, 2.0]\n", "_, %p"),
            "repetition_penalty is f32[2], expected one f32");
  EXPECT_EQ(error("GreedySearch", scalar("p", "s32", "1"), "_, %p"),
            "repetition_penalty is s32[1], expected one f32");
  for (const char* penalty : {"0.0", "-1.5"})
    EXPECT_EQ(error("GreedySearch", scalar("p", "f32", penalty), "_, %p"),
              fmt::format("repetition_penalty is {}, expected more than 0",
                          penalty[0] == '0' ? "0" : "-1.5"));
  EXPECT_EQ(error("GreedySearch", "input %k : s32[9,2]\n", "_, _, _, %k"),
            "prefix_vocab_mask is s32[9,2], expected s32[2,9]");
  EXPECT_EQ(error("GreedySearch", "input %k : s32[2,3]\n", "_, _, _, _, %k"),
            "attention_mask is s32[2,3], expected s32[2,2]");
  EXPECT_EQ(error("Sampling", "", "_", "%y : ?, %z : ?"), "filtered_logits is not computed");
  EXPECT_EQ(error("BeamSearch", scalar("k", "s32", "1") + "input %d : s32[2,1]\n",
                  "_, %k, _, _, _, _, _, _, %d"),
            "decoder_input_ids is supported for model_type 2 (Whisper) only");
  const auto ids = [&](const std::string& type) {
    const std::string error_text = error_of(replaced(model("GreedySearch", toy, max, "%max", end),
                                                     "%ids : s32[2,2]", "%ids : " + type));
    return error_text.substr(error_text.find("): ") + 3);
  };
  EXPECT_EQ(ids("s32[4]"), "input_ids is s32[4], expected s32 of two dimensions");
  EXPECT_EQ(ids("s32[0,2]"), "max_length is 4 for 0 texts of 2 initial tokens");
  EXPECT_EQ(ids("s32[2,0]"), "max_length is 4 for 2 texts of 0 initial tokens");
  EXPECT_EQ(ids("s32[2,4]"), "max_length is 4 for 2 texts of 4 initial tokens");
  EXPECT_EQ(error_of(replaced(model("GreedySearch", toy, max, "%max", end), "%ids : s32[2,2]",
                              "%ids : s32[2,3]")),
            "");
}

// If the cache of a decoder does not grow, the error is in the round after the prompt.
TEST(Search, ErrorsNameTheRound) {
  const Toy toy(6, 1, 2);
  const std::string text =
      model("GreedySearch", toy, scalar("max", "s32", "9"), "%max", "eos_token_id = 5");
  const auto message_for = [](const std::string& model) -> std::string {
    try {
      test::compile_text(model, {.strict = true});
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  const std::string second = message_for(replaced(text, "f32[2,b,1,p,1]", "f32[2,b,1,0,1]"));
  EXPECT_NE(second.find("round 2 of the 7 required by max_length"), std::string::npos) << second;
  const std::string first = message_for(replaced(text, "f32[2,b,1,p,1]", "f32[2,3,1,p,1]"));
  EXPECT_NE(first.find("round 1 of the 7 required by max_length"), std::string::npos) << first;
}

TEST(Search, SizesAreFoldedFromInputs) {
  const Toy toy(6, 1, 2);
  const auto graph = ir::parse_text(
      model("BeamSearch", toy, "input %max : s32[1]\ninput %min : s32[1]\ninput %k : s32[1]\n",
            "%max, %min, %k", "eos_token_id = 5"));
  const Tensor four = Tensor::of<int32_t>({1}, {4});
  EXPECT_EQ(fold_inputs(*graph, {{"max", four}, {"min", four}, {"k", four}, {"ids", toy.ids}}, 1),
            (std::vector<std::string>{"max", "k"}));
}

// The penalty is subtracted from the scores of the tokens that the mask marks, so a large one
// excludes them.
TEST(Search, SamplingPenalisesTokensThatAreThere) {
  const Toy toy(4, 3, 2);
  std::string mask = "const %there : s32[3,9] = [";
  for (int i = 0; i < 27; i++) mask += (i ? ", " : "") + std::string(i % 9 < 4 ? "1" : "0");
  const std::string inputs = scalar("max", "s32", "10") + mask + "]\n";
  const auto tokens = [&](const std::string& attributes) {
    const Executable e = test::compile_text(
        model("Sampling", toy, inputs, "%max, _, _, _, _, _, %there",
              "eos_token_id = 7, top_p = 0.0, min_tokens_to_keep = 1" + attributes));
    const Tensor y = run(e, toy.feeds()).at("y");
    std::set<int32_t> seen;
    for (int64_t row = 0; row < 3; row++) {
      const Text text = row_of(y, row, 10);
      seen.insert(text.begin() + 2, text.end());
    }
    return seen;
  };
  const auto low = [](const std::set<int32_t>& seen) { return !seen.empty() && *seen.begin() < 4; };
  EXPECT_TRUE(low(tokens("")));
  EXPECT_TRUE(low(tokens(", presence_penalty = 0.0")));
  EXPECT_FALSE(low(tokens(", presence_penalty = 1000.0")));
}

TEST(Search, EveryTextEndsByItself) {
  const Toy toy(11, 4, 2);
  const Executable e = test::compile_text(
      model("GreedySearch", toy, scalar("max", "s32", "30"), "%max", "eos_token_id = 5"));
  const Tensor y = run(e, toy.feeds()).at("y");
  for (int64_t row = 0; row < 4; row++)
    EXPECT_EQ(row_of(y, row, 30), greedy(toy, row, 30, 5)) << row;
}

}  // namespace
}  // namespace poprt::compiler
