#include "program/control.h"

#include <algorithm>

#include "base/checked.h"

namespace poprt::program {
namespace {

class Checker {
 public:
  Checker(const Program& program, std::string_view flow) : program_(program), flow_(flow) {}

  void check(bool ok, size_t position, std::string_view what) const {
    if (!ok) fail(ErrorCode::data_loss, "{} instruction {}: {}", flow_, position, what);
  }

  // Checks that operand i exists (or is missing, if optional) and is one element of `dtype`.
  void scalar(const Instruction& in, size_t position, size_t i, DType dtype, bool optional) const {
    const uint32_t id = in.operands[i];
    if (id == kNoBuffer) return check(optional, position, "a control operand is missing");
    check(id < program_.buffers.size(), position, "a control operand is out of range");
    const Buffer& b = program_.buffers[id];
    check(b.dtype == dtype && element_count(b.shape) == 1, position,
          "a control operand is not a scalar of the right type");
  }

 private:
  const Program& program_;
  std::string_view flow_;
};

}  // namespace

std::optional<Control> control_of(std::string_view kernel) {
  if (!kernel.starts_with("control.")) return std::nullopt;
  if (kernel == kControlIf) return Control::if_region;
  if (kernel == kControlLoop) return Control::loop;
  if (kernel == kControlEnd) return Control::end;
  if (kernel == kControlCase) return Control::case_region;
  if (kernel == kControlShard) return Control::shard;
  if (kernel == kControlTransfer) return Control::transfer;
  return std::nullopt;
}

ControlNumbers encode(ControlIf call) { return {{call.when}, {}}; }
ControlNumbers encode(ControlLoop call) {
  // Older libraries read one integer only. A second one is written only if it is needed, so that
  // most programs run on them: for `limit`, and for a bound that decode_loop() would take for that
  // of an older program.
  if (!call.limit && call.most != kOldMostRounds) return {{call.most}, {}};
  return {{call.most, call.limit}, {}};
}
ControlNumbers encode(ControlCase call) { return {{call.number}, {}}; }
ControlNumbers encode(ControlShard c) {
  return {{c.ipu, c.stage, c.arena_begin, c.arena_bytes, c.state_bytes}, {}};
}
ControlNumbers encode(ControlTransfer call) { return {{call.from}, {}}; }
ControlNumbers encode(ControlEnd) { return {}; }

ControlIf decode_if(const Instruction& instruction) { return {instruction.ints.at(0) != 0}; }
ControlLoop decode_loop(const Instruction& in) {
  const int64_t most = in.ints.at(0);
  const bool old_limit = most == kOldMostRounds && in.operands.at(1) != kNoBuffer;
  const bool limit = in.ints.size() > 1 ? in.ints[1] != 0 : old_limit;
  return {most, limit || in.operands[0] != kNoBuffer};
}
ControlCase decode_case(const Instruction& instruction) { return {instruction.ints.at(0)}; }
ControlShard decode_shard(const Instruction& in) {
  return {in.ints.at(0), in.ints.at(1), in.ints.at(2), in.ints.at(3), in.ints.at(4)};
}
ControlTransfer decode_transfer(const Instruction& instruction) { return {instruction.ints.at(0)}; }

std::optional<std::string> describe_control(std::string_view kernel,
                                            std::span<const int64_t> ints) {
  const std::optional<Control> control = control_of(kernel);
  if (!control) return std::nullopt;
  std::vector<std::string_view> names;
  switch (*control) {
    case Control::if_region: names = {"when"}; break;
    case Control::loop:
      names = {"most", "limit"};
      names.resize(std::clamp<size_t>(ints.size(), 1, names.size()));
      break;
    case Control::case_region: names = {"number"}; break;
    case Control::shard:
      names = {"ipu", "stage", "arena_begin", "arena_bytes", "state_bytes"};
      break;
    case Control::transfer: names = {"from"}; break;
    case Control::end: break;
  }
  if (names.size() != ints.size()) return std::nullopt;
  std::string text;
  for (size_t i = 0; i < ints.size(); i++) text += fmt::format(" {}={}", names[i], ints[i]);
  return text;
}

std::vector<uint32_t> match_regions(const Program& program, const std::vector<Instruction>& list,
                                    std::string_view flow) {
  const Checker c(program, flow);
  std::vector<std::optional<Control>> kinds;
  for (const std::string& name : program.kernels) kinds.push_back(control_of(name));
  std::vector<uint32_t> other(list.size());
  std::vector<uint32_t> open;  // positions of open regions
  for (uint32_t i = 0; i < list.size(); i++) {
    const Instruction& in = list[i];
    other[i] = i;
    c.check(in.kernel < kinds.size(), i, "its kernel is out of range");
    if (!kinds[in.kernel]) continue;
    switch (*kinds[in.kernel]) {
      case Control::if_region:
        c.check(in.operands.size() == 1 && in.ints.size() == 1, i,
                "control.if takes one operand and one integer");
        c.scalar(in, i, 0, DType::boolean, false);
        open.push_back(i);
        break;
      case Control::case_region:
        c.check(in.operands.size() == 1 && in.ints.size() == 1, i,
                "control.case takes one operand and one integer");
        c.scalar(in, i, 0, DType::u32, false);
        c.check(in.ints[0] >= 0 && in.ints[0] <= int64_t{UINT32_MAX}, i,
                "the number of a case is out of range");
        open.push_back(i);
        break;
      case Control::loop: {
        c.check(in.operands.size() == 3 && (in.ints.size() == 1 || in.ints.size() == 2), i,
                "control.loop takes three operands and one or two integers");
        c.scalar(in, i, 0, DType::s64, true);
        c.scalar(in, i, 1, DType::boolean, true);
        c.scalar(in, i, 2, DType::s64, false);
        const Space space = program.buffers[in.operands[2]].space;
        c.check(space == Space::arena || space == Space::output, i,
                "the index of a loop cannot be written");
        const int64_t most = decode_loop(in).most;
        c.check(most >= 0, i, "the number of rounds is out of range");
        open.push_back(i);
        break;
      }
      // shards_of() checks the other properties.
      case Control::shard:
        c.check(in.operands.empty() && in.ints.size() == 5, i,
                "control.shard takes no operand and five integers");
        open.push_back(i);
        break;
      case Control::transfer:
        c.check(in.operands.size() == 1 && in.ints.size() == 1, i,
                "control.transfer takes one operand and one integer");
        break;
      case Control::end:
        c.check(in.operands.empty(), i, "control.end takes no operand");
        c.check(!open.empty(), i, "control.end without a beginning");
        other[i] = open.back();
        other[open.back()] = i;
        open.pop_back();
        break;
    }
    c.check(open.size() <= kMaxControlDepth, i, "control flow is nested too deep");
  }
  if (!open.empty()) c.check(false, open.back(), "its control.end is missing");
  return other;
}

}  // namespace poprt::program
