// Options that are recorded in a PopEF file and read back are those of the compilation.
#include "recorded_compile_options.h"

#include <gtest/gtest.h>

#include "engine_options.h"

namespace poprt::capi {
namespace {

std::string read_back(const char* name, const char* value, bool several) {
  const poprt_option option{name, value};
  poprt_compile_options o{};
  o.struct_size = sizeof o;
  o.options = &option;
  o.option_count = 1;
  const RecordedCompileOptions read(engine_options(o, {"m.onnx", "01"}),
                                    {[&](std::string_view, bool& words) {
                                       words = several;
                                       return true;
                                     },
                                     [](std::string_view) { return false; }});
  EXPECT_EQ(read.options.option_count, 1U);
  return read.options.option_count == 1 ? read.options.options[0].value : "";
}

TEST(RecordedCompileOptions, WordsMayContainBlanks) {
  for (const char* value : {"x=1", "x=1\ny=2", "x y=1", "x y=1\nz=2", "z=2\n x y =mask", " ", ""})
    EXPECT_EQ(read_back("pad_values", value, true), value);
}

TEST(RecordedCompileOptions, TextsMayContainBlanks) {
  for (const char* value : {"word", "several words", "ends with a blank "})
    EXPECT_EQ(read_back("estimate_target", value, false), value);
}

}  // namespace
}  // namespace poprt::capi
