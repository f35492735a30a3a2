// The transforms of a plug-in run at the checkpoints of a compilation.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/compiler/support.h"
#include "plugins/registration.h"

namespace poprt::test {
namespace {

std::vector<std::string> checkpoints_of_transform;

int32_t note_checkpoint(const poprt_graph_host*, poprt_graph*, const char* checkpoint, void*) {
  checkpoints_of_transform.emplace_back(checkpoint);
  return POPRT_OK;
}

TEST(Transforms, RunOnceAtEachCheckpointInOrder) {
  auto library = std::make_unique<plugins::Library>();
  library->name = library->path = "transforms_test";  // the path distinguishes libraries
  library->transforms = {
      {sizeof(poprt_transform), "NoteCheckpoint", "s", note_checkpoint, nullptr}};
  plugins::add(std::move(library));
  const std::vector<std::string> all = {"Fwd0", "Fwd1", "Bwd0", "PreAlias", "MainLoops", "Final"};
  compiler::Options options;
  for (const std::string& checkpoint : all) options.transforms[checkpoint] = {"NoteCheckpoint"};
  checkpoints_of_transform.clear();
  compile_text("graph \"g\" opset {\"\": 17} {\ninput %x : f32[2]\n%y : ? = Relu(%x)\noutput %y\n}",
               options);
  EXPECT_EQ(checkpoints_of_transform, all);
}

}  // namespace
}  // namespace poprt::test
