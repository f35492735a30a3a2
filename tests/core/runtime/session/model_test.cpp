#include "runtime/session/model.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/copy_model.h"

namespace poprt::runtime {
namespace {

template <class F>
void expect_refused(F&& change, ErrorCode code, std::string_view part) {
  testing::CopyModel copy(4);
  change(copy.b.program());
  try {
    make_model("m", copy.image());
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_NE(std::string_view(e.what()).find(part), std::string_view::npos) << e.what();
  }
}

TEST(Model, RefusesWhatSessionsCannotServe) {
  using P = program::Program;
  expect_refused([](P& p) { p.outputs.clear(); }, ErrorCode::data_loss, "anchor 0 of 0");
  expect_refused(
      [](P& p) {
        p = P();
        p.inputs.push_back({"x", DType::f32, {1}});
      },
      ErrorCode::data_loss, "no outputs");
  expect_refused([](P& p) { p.outputs[1].name = "y"; }, ErrorCode::data_loss,
                 "two output anchors are called 'y'");
  expect_refused([](P& p) { p.inputs[0].name = ""; }, ErrorCode::data_loss,
                 "an input anchor has no name");
  expect_refused([](P& p) { p.load = {p.main[0]}; }, ErrorCode::unimplemented,
                 "load instruction 'first' uses caller memory");
}

TEST(Model, KeepsNameAndAnchors) {
  testing::CopyModel copy(4);
  const auto model = make_model("m", copy.image());
  EXPECT_EQ(model->name, "m");
  EXPECT_EQ(model->inputs()[0].name, "x");
  EXPECT_EQ(model->outputs()[1].name, "c");
}

}  // namespace
}  // namespace poprt::runtime
