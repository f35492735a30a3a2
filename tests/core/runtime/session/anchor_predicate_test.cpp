#include "runtime/session/anchor_predicate.h"

#include <gtest/gtest.h>

namespace poprt::runtime::predicate_factory::anchor_callbacks {
namespace {

popef::Anchor anchor(popef::Anchor::Programs programs) {
  return {"a", "h", {popef::DataType::F32, {1}}, popef::TensorType::INPUT, std::move(programs)};
}

popef::ProgramFlow flow() {
  popef::ProgramFlow f;
  f.setLoad({0, 1});
  f.setMain({5});
  f.setSave({7});
  return f;
}

TEST(AnchorPredicate, FlowsAcceptTheAnchorsOfTheirPrograms) {
  struct {
    popef::Anchor::Programs programs;
    AnchorCallbackPolicy load, main, save, none;
  } rows[] = {
      {{}, kEmpty, kEmpty, kEmpty, kUser},      {{0}, kUser, kEmpty, kEmpty, kEmpty},
      {{1}, kUser, kEmpty, kEmpty, kEmpty},     {{5}, kEmpty, kUser, kEmpty, kEmpty},
      {{7}, kEmpty, kEmpty, kUser, kEmpty},     {{5, 7}, kEmpty, kUser, kUser, kEmpty},
      {{0, 5, 7}, kUser, kUser, kUser, kEmpty}, {{9}, kEmpty, kEmpty, kEmpty, kEmpty},
  };
  for (const auto& row : rows) {
    const popef::Anchor a = anchor(row.programs);
    EXPECT_EQ(pred_program_flow_load(flow())(a), row.load);
    EXPECT_EQ(pred_program_flow_main(flow())(a), row.main);
    EXPECT_EQ(pred_program_flow_save(flow())(a), row.save);
    EXPECT_EQ(pred_program_not_assigned()(a), row.none);
    EXPECT_EQ(pred_program_flow_main(flow(), kEmpty, kUser)(a), row.main == kUser ? kEmpty : kUser);
    EXPECT_EQ(default_predicate(flow())(a),
              row.main == kUser || row.none == kUser ? kUser : kEmpty);
    EXPECT_EQ(pred_program_index({9, 0})(a), a.usedBy({9}) || a.usedBy({0}) ? kUser : kEmpty);
  }
}

TEST(AnchorPredicate, CombinatorsFollowTheTruthTable) {
  const AnchorCallbackPredicate yes = [](const popef::Anchor&) { return kUser; };
  const AnchorCallbackPredicate no = [](const popef::Anchor&) { return kEmpty; };
  const popef::Anchor a = anchor({});
  for (const auto& p : {yes, no})
    for (const auto& q : {yes, no}) {
      const bool x = p(a) == kUser, y = q(a) == kUser;
      EXPECT_EQ(or_bind(kUser, kEmpty, {p, q})(a), x || y ? kUser : kEmpty);
      EXPECT_EQ(and_bind(kUser, kEmpty, {p, q})(a), x && y ? kUser : kEmpty);
    }
  EXPECT_EQ(or_bind(kUser, kEmpty, {})(a), kEmpty);
  EXPECT_EQ(and_bind(kUser, kEmpty, {})(a), kUser);
}

}  // namespace
}  // namespace poprt::runtime::predicate_factory::anchor_callbacks
