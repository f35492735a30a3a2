#include "ipu/target.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"

namespace poprt::ipu {
namespace {

TEST(Targets, AreFoundByEachOfTheirNames) {
  EXPECT_EQ(target_of("ipu21").name, "c600");
  EXPECT_EQ(target_of("ipu2").name, "mk2");
  EXPECT_EQ(target_of("ipu1").tiles, 1216);
  EXPECT_EQ(target_of("bow").clock_ghz, 1.85);
  EXPECT_EQ(target_of("c600").memory(), int64_t{1472} * 638976);
  try {
    target_of("ipu3");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "there is no target 'ipu3'; targets are mk1, mk2, bow, c600");
  }
}

TEST(Targets, JsonKeepsEveryField) {
  for (const Target& t : targets())
    EXPECT_EQ(target_from_json(nlohmann::json::parse(target_json(t).dump())), t) << t.name;
}

TEST(Targets, JsonChangesFieldsOfABase) {
  const Target t = target_from_json({{"base", "bow"}, {"name", "half"}, {"tiles", 736}});
  EXPECT_EQ(t.name, "half");
  EXPECT_EQ(t.tiles, 736);
  EXPECT_EQ(t.clock_ghz, 1.85);
}

TEST(Targets, JsonRefusesFieldsAndValuesThatDoNotFit) {
  EXPECT_THROW(target_from_json({{"tyles", 4}}), Error);
  EXPECT_THROW(target_from_json({{"tiles", 0}}), Error);
  EXPECT_THROW(target_from_json({{"tiles", "many"}}), Error);
  EXPECT_THROW(target_from_json({{"clock_ghz", -1}}), Error);
  EXPECT_THROW(target_from_json({{"base", 3}}), Error);
  EXPECT_THROW(target_from_json(nlohmann::json::array()), Error);
  EXPECT_THROW(target_from_json({{"workers", 100}}), Error);
}

TEST(Targets, TheChipHasNo64BitNumbers) {
  EXPECT_EQ(chip_bytes(DType::s64, 10), 40);
  EXPECT_EQ(chip_bytes(DType::f16, 10), 20);
  EXPECT_EQ(chip_bytes(DType::boolean, 10), 10);
  EXPECT_EQ(vector_width(target_of("mk2"), DType::f16), 4);
  EXPECT_EQ(vector_width(target_of("mk2"), DType::f32), 2);
}

}  // namespace
}  // namespace poprt::ipu
