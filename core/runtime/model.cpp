#include "runtime/model.h"

#include <string_view>
#include <unordered_set>

#include "base/error.h"

namespace poprt::runtime {
namespace {

void check_names(const std::vector<program::Anchor>& anchors, std::string_view direction) {
  std::unordered_set<std::string_view> names;
  for (const program::Anchor& a : anchors) {
    if (a.name.empty()) fail(ErrorCode::data_loss, "an {} anchor has no name", direction);
    if (!names.insert(a.name).second)
      fail(ErrorCode::data_loss, "two {} anchors are called '{}'", direction, a.name);
  }
}

}  // namespace

std::shared_ptr<const Model> make_model(std::string name, device::Image image,
                                        std::span<const std::byte> file,
                                        std::span<const std::byte> payload) {
  POPRT_ASSERT(image.program != nullptr);
  const program::Program& p = *image.program;
  program::verify(p);
  if (p.outputs.empty()) fail(ErrorCode::data_loss, "the program has no outputs");
  check_names(p.inputs, "input");
  check_names(p.outputs, "output");
  for (const program::Instruction& in : p.load)
    for (const uint32_t id : in.operands)
      if (id != program::kNoBuffer && (p.buffers[id].space == program::Space::input ||
                                       p.buffers[id].space == program::Space::output))
        fail(ErrorCode::unimplemented,
             "load instruction '{}' uses caller memory; load programs may use weights only",
             in.name);
  return std::make_shared<Model>(
      Model{std::move(name), std::move(image), file, payload, 1, 1, {}, {}});
}

}  // namespace poprt::runtime
