#include "program/batch_rows.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace poprt::program {
namespace {

TEST(BatchRows, TheNoteReadsBack) {
  const std::vector<BatchRows> axes = read_batch_rows(
      note_of_batch_rows({{0, 8, {"x", "m"}, ""}, {1, 128, {"x"}, "Softmax combines places"}}));
  ASSERT_EQ(axes.size(), 2u);
  EXPECT_EQ(axes[0].axis, 0u);
  EXPECT_EQ(axes[0].rows, 8);
  EXPECT_EQ(axes[0].inputs, (std::vector<std::string>{"x", "m"}));
  EXPECT_EQ(axes[0].mixed, "");
  EXPECT_EQ(axes[1].rows, 128);
  EXPECT_EQ(axes[1].mixed, "Softmax combines places");
}

TEST(BatchRows, AMalformedNoteIsDamage) {
  for (const char* note : {"", "{", "[{}]", R"([{"axis": -1, "rows": 2, "inputs": []}])", "[3]",
                           R"([{"axis": 0, "rows": 2, "inputs": 3}])",
                           R"([{"axis": 4294967296, "rows": 2, "inputs": []}])",
                           R"([{"axis": 1e300, "rows": 2, "inputs": []}])",
                           R"([{"axis": 0.5, "rows": 2, "inputs": []}])",
                           R"([{"axis": true, "rows": 2, "inputs": []}])"}) {
    try {
      read_batch_rows(note);
      ADD_FAILURE() << note;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::data_loss) << note;
    }
  }
}

}  // namespace
}  // namespace poprt::program
