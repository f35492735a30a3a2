#include "compiler/chip_remedies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>

#include "base/error.h"
#include "core/compiler/chip_models.h"

namespace poprt::compiler {
namespace {

TEST(ChipRemedies, NamesOnlyOptionsWithWhichTheProgramFits) {
  chip_models::Transformer t;
  t.batch = 18;
  t.layers = 24;
  t.hidden = 1024;
  t.heads = 16;
  t.inner = 4096;
  const auto m = chip_models::transformer(t);
  EstimateOptions o;
  o.target = ipu::target_of("c600");
  o.weights = m.weights;
  ASSERT_FALSE(ipu::estimate_of(chip_program(*m.graph, o), o.target, o.chip).fits());
  const auto remedies = find_remedies(*m.graph, o);
  ASSERT_FALSE(remedies.empty());
  EXPECT_LE(remedies.size(), 3u);
  for (size_t i = 1; i < remedies.size(); i++)
    EXPECT_LE(remedies[i - 1].cycles, remedies[i].cycles);  // all of one batch size
  for (const ipu::Remedy& r : remedies) {                   // a new estimate with each option fits
    EstimateOptions changed = o;
    std::istringstream words(r.text);
    for (std::string name, value, joint; words >> name >> value; words >> joint) {
      if (name == "available_memory_proportion")
        changed.chip.available_memory_proportion = std::stod(value);
      else if (name == "num_ipus")
        changed.chip.num_ipus = std::stoll(value);
      else if (name == "precision")
        changed.precision = value == "fp8" ? Precision::fp8 : Precision::fp16;
      else
        FAIL() << r.text;
    }
    const auto e = ipu::estimate_of(chip_program(*m.graph, changed), changed.target, changed.chip);
    EXPECT_TRUE(e.fits()) << r.text;
    EXPECT_EQ(e.cycles, r.cycles) << r.text;
  }
  const auto lower = std::ranges::find_if(remedies, [](const ipu::Remedy& r) {
    return r.text.starts_with("available_memory_proportion");
  });
  ASSERT_NE(lower, remedies.end());
  o.chip.available_memory_proportion = std::stod(lower->text.substr(lower->text.find(' ')));
  EXPECT_TRUE(ipu::estimate_of(chip_program(*m.graph, o), o.target, o.chip).fits());
}

// Of a chip with little memory, only a smaller batch fits: the image is large, and the product has
// one weight.
TEST(ChipRemedies, TriesSmallerBatchesAndNamesTheLargestThatFits) {
  const auto made = [](int64_t batch) {
    auto g = std::make_unique<ir::Graph>();
    g->opsets[""] = 17;
    ir::Value* x = g->add_input("x", ir::ValueType::of(DType::f16, {batch, 1 << 16}));
    ir::Node* exp = g->add_node("Exp", "", {x});
    exp->output()->type = x->type;
    g->add_output(exp->output());
    return g;
  };
  EstimateOptions o;
  o.target = ipu::target_of("mk2");
  o.target.tiles = 8;
  o.target.bytes_per_tile = 250'000;
  const auto fits = [&](int64_t batch) {
    return ipu::estimate_of(chip_program(*made(batch), o), o.target, o.chip).fits();
  };
  ASSERT_FALSE(fits(16));
  ASSERT_TRUE(fits(4));
  std::vector<int64_t> tried;
  const auto remedies = find_remedies(*made(16), o, [&](int64_t batch) {
    tried.push_back(batch);
    return made(batch);
  });
  const std::string batch = fits(8) ? "batch_size 8" : "batch_size 4";
  EXPECT_TRUE(std::ranges::any_of(remedies, [&](const auto& r) { return r.text == batch; }));
  EXPECT_EQ(tried.front(), 8);
  // A model whose batch size is fixed has other remedies only.
  const auto fixed = find_remedies(*made(16), o, [](int64_t) -> std::unique_ptr<ir::Graph> {
    fail(ErrorCode::invalid_argument, "the dimension is fixed");
  });
  for (const ipu::Remedy& r : fixed) EXPECT_FALSE(r.text.starts_with("batch_size")) << r.text;
}

}  // namespace
}  // namespace poprt::compiler
