#include "compiler/chip_remedies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

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
    EXPECT_LE(remedies[i - 1].cycles, remedies[i].cycles);
  for (const ipu::Remedy& r : remedies) {  // a new estimate with each option fits
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

}  // namespace
}  // namespace poprt::compiler
