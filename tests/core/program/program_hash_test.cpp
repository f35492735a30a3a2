#include "program/program_hash.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

#include "support/copy_model.h"

namespace poprt::program {
namespace {

TEST(ProgramHash, EveryFieldChangesIt) {
  test::CopyModel made(8);
  const std::vector<std::string> texts = {"a", "bc"};
  const Program original = made.b.program();
  const std::string hash = program_hash(original, texts);
  EXPECT_EQ(hash.size(), 64u);
  EXPECT_EQ(hash, program_hash(test::CopyModel(8).b.program(), texts)) << "an equal program";
  const std::vector<std::function<void(Program&)>> changes = {
      [](Program& p) { p.arena_bytes++; },
      [](Program& p) { p.state_bytes++; },
      [](Program& p) { p.weights_bytes++; },
      [](Program& p) { p.kernels[0] = "other"; },
      [](Program& p) { p.kernels.emplace_back("more"); },
      [](Program& p) { p.buffers[0].offset++; },
      [](Program& p) { p.buffers[0].bytes++; },
      [](Program& p) { p.buffers[0].index++; },
      [](Program& p) { p.buffers[0].space = Space::output; },
      [](Program& p) { p.buffers[0].dtype = DType::s32; },
      [](Program& p) { p.buffers[0].shape.push_back(1); },
      [](Program& p) { p.main[0].kernel++; },
      [](Program& p) { p.main[0].operands[0]++; },
      [](Program& p) { p.main[0].ints.push_back(1); },
      [](Program& p) { p.main[0].floats.push_back(1); },
      [](Program& p) { p.main[0].name += "x"; },
      [](Program& p) { p.save.push_back(p.main[0]); },
      [](Program& p) { p.load.push_back(p.main[0]); },
      [](Program& p) { p.main.pop_back(); },
      [](Program& p) { p.inputs[0].name = "z"; },
      [](Program& p) { p.inputs[0].dtype = DType::s32; },
      [](Program& p) { p.inputs[0].shape = {4, 2}; },
      [](Program& p) { p.inputs[0].data = 0; },
      [](Program& p) { p.outputs.push_back(p.inputs[0]); },
  };
  std::set<std::string> hashes = {hash, program_hash(original, {}),
                                  program_hash(original, std::vector<std::string>{"ab", "c"})};
  EXPECT_EQ(hashes.size(), 3u) << "texts have their length before them";
  for (const auto& change : changes) {
    Program p = original;
    change(p);
    hashes.insert(program_hash(p, texts));
  }
  EXPECT_EQ(hashes.size(), changes.size() + 3);
}

}  // namespace
}  // namespace poprt::program
