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
  EXPECT_EQ(target_of("C600").name, "c600");
  EXPECT_EQ(target_of("Bow-2000").name, "bow");
  EXPECT_EQ(target_of("bow").clock_ghz, 1.85);
  EXPECT_EQ(target_of("c600").memory(), int64_t{1472} * 638976);
  try {
    target_of("ipu3");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "there is no target 'ipu3'; targets are mk1, mk2, bow, c600");
  }
}

TEST(Targets, HaveTheSizesOfTheirChips) {
  EXPECT_EQ(target_json(target_of("mk1")).dump(),
            R"({"name":"mk1","architecture":"ipu1","tiles":1216,"workers":6,)"
            R"("bytes_per_tile":262144,"plain_bytes":131072,"clock_ghz":1.6,"exchange_bytes":4,)"
            R"("memcpy_bytes":8,"data_path_bytes":8,"load_bytes":8,"half_units":8,)"
            R"("half_float_units":8,"float_units":8,"quarter":false,"link_gbytes":32.0,"links":2,)"
            R"("global_sync":600,"sync":126,"host_gbytes":8.0,"call_milliseconds":0.13})");
  Target mk2;
  mk2.name = "mk2";
  mk2.architecture = "ipu2";
  mk2.clock_ghz = 1.33;
  mk2.quarter = false;
  EXPECT_EQ(target_of("mk2"), mk2);
  mk2.name = "bow";
  mk2.clock_ghz = 1.85;
  EXPECT_EQ(target_of("bow"), mk2);
  EXPECT_EQ(target_of("c600"), Target());
  EXPECT_TRUE(Target().quarter);
  for (const auto& [other, name] : {std::pair("gc2", "mk1"),
                                    {"gc200", "mk2"},
                                    {"m2000", "mk2"},
                                    {"bow2000", "bow"},
                                    {"bow-2000", "bow"}})
    EXPECT_EQ(target_of(other).name, name);
}

TEST(Targets, JsonTakesTheGreatestSizes) {
  const auto message_for = [](const nlohmann::json& json) -> std::string {
    try {
      target_from_json(json);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      return e.message();
    }
    return "taken";
  };
  EXPECT_EQ(message_for({{"tiles", 1 << 20}, {"workers", 64}}), "taken");
  EXPECT_EQ(message_for({{"host_gbytes", 1e12}, {"bytes_per_tile", 1000000000000}}), "taken");
  const std::string most = "target: at most 1048576 tiles and 64 workers are possible";
  EXPECT_EQ(message_for({{"tiles", (1 << 20) + 1}}), most);
  EXPECT_EQ(message_for({{"workers", 65}}), most);
  EXPECT_EQ(message_for({{"links", 0}}), "target: links is 0; it must be above 0 and at most 1e12");
  EXPECT_TRUE(message_for({{"sync", 1000000000001}}).starts_with("target: sync is "));
  EXPECT_EQ(message_for({{"quarter", 1}}), "target: quarter has a value of another type, 1");
  EXPECT_EQ(message_for({{"tiles", 1.5}}), "target: tiles has a value of another type, 1.5");
  EXPECT_EQ(message_for({{"name", 2}}), "target: name has a value of another type, 2");
  EXPECT_EQ(message_for({{"clock_ghz", "2"}}),
            "target: clock_ghz has a value of another type, \"2\"");
  EXPECT_EQ(message_for({{"clock_ghz", 2}}), "taken");
  EXPECT_EQ(message_for({{"base", 3}}), "target: base is not a text");
  EXPECT_TRUE(message_for({{"tyles", 3}})
                  .starts_with("target: there is no field 'tyles'; expected one of base name "));
  EXPECT_TRUE(message_for({{"tyles", 3}}).ends_with(" host_gbytes call_milliseconds"));
  EXPECT_EQ(message_for(3), "target: expected a JSON object");
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
  EXPECT_EQ(target_from_json({{"base", "bow"}}).name, "bow");
  EXPECT_EQ(target_from_json({{"base", "bow"}, {"tiles", 736}}).name, "bow (changed)");
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
  for (const DType type : {DType::s64, DType::u64, DType::f64}) {
    EXPECT_EQ(chip_bytes(type, 3), 12);
    EXPECT_EQ(vector_width(target_of("mk2"), type), 2);
  }
  for (const DType type : {DType::string, DType::undefined}) {
    EXPECT_EQ(chip_bytes(type, 3), 0);
    EXPECT_EQ(vector_width(target_of("mk2"), type), 8);
  }
  Target narrow;
  narrow.data_path_bytes = 2;
  EXPECT_EQ(vector_width(narrow, DType::f32), 1) << "one element at least";
}

}  // namespace
}  // namespace poprt::ipu
