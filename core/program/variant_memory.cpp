#include "program/variant_memory.h"

#include <algorithm>
#include <optional>

#include "program/control.h"

namespace poprt::program {
namespace {

void add(AnchorMemory& to, const Program& p, const Instruction& in) {
  for (const uint32_t id : in.operands) {
    if (id == kNoBuffer) continue;
    const Buffer& b = p.buffers[id];
    if (b.space != Space::input && b.space != Space::output) continue;
    uint64_t& end = (b.space == Space::input ? to.inputs : to.outputs)[b.index];
    end = std::max(end, b.offset + b.bytes);
  }
}

void add(AnchorMemory& to, const AnchorMemory& other) {
  for (size_t i = 0; i < to.inputs.size(); i++)
    to.inputs[i] = std::max(to.inputs[i], other.inputs[i]);
  for (size_t i = 0; i < to.outputs.size(); i++)
    to.outputs[i] = std::max(to.outputs[i], other.outputs[i]);
}

}  // namespace

std::vector<AnchorMemory> memory_of_variants(const Program& p, size_t index_input, size_t count) {
  const AnchorMemory none{std::vector<uint64_t>(p.inputs.size()),
                          std::vector<uint64_t>(p.outputs.size())};
  std::vector<AnchorMemory> variants(count, none);
  AnchorMemory every = none;
  std::vector<std::optional<Control>> kinds;
  for (const std::string& name : p.kernels) kinds.push_back(control_of(name));
  const auto reads_index = [&](const Instruction& in) {
    const Buffer& b = p.buffers[in.operands[0]];
    return b.space == Space::input && b.index == index_input;
  };
  // For each open region, the number of the case that it is or that contains it, if there is one.
  std::vector<std::optional<int64_t>> open;
  for (const Instruction& in : p.main) {
    const std::optional<Control> kind = kinds[in.kernel];
    const std::optional<int64_t> outer = open.empty() ? std::nullopt : open.back();
    if (kind == Control::end) {
      open.pop_back();
    } else if (kind == Control::case_region) {
      open.push_back(!outer && reads_index(in) ? decode_case(in).number : outer);
    } else if (kind == Control::if_region || kind == Control::loop || kind == Control::shard) {
      open.push_back(outer);
    }
    if (!outer)
      add(every, p, in);
    else if (static_cast<uint64_t>(*outer) < count)
      add(variants[static_cast<size_t>(*outer)], p, in);
  }
  for (AnchorMemory& v : variants) add(v, every);
  return variants;
}

}  // namespace poprt::program
