#include "program/aliases.h"

#include <algorithm>

#include "program/control.h"

namespace poprt::program {
namespace {

class AliasCheck {
 public:
  AliasCheck(const Program& p, uint32_t input, uint32_t output)
      : p_(p), input_(input), output_(output) {}

  bool run() {
    for (const Instruction& in : p_.main) {
      const std::string& kernel = p_.kernels[in.kernel];
      if (kernel == kControlCase) written_ = false;  // only one variant runs
      if (!step(in, kernel)) return false;
    }
    return true;
  }

 private:
  const Buffer* buffer(const Instruction& in, size_t operand) const {
    const uint32_t id = in.operands[operand];
    return id == kNoBuffer ? nullptr : &p_.buffers[id];
  }
  bool is_input(const Buffer* b) const {
    return b && b->space == Space::input && b->index == input_;
  }
  bool is_output(const Buffer* b) const {
    return b && b->space == Space::output && b->index == output_;
  }

  // An operand in the output counts as written, because a program does not state which operands a
  // kernel writes. A loop may read the input again after it wrote the output.
  bool step(const Instruction& in, const std::string& kernel) {
    if (kernel == kControlEnd) {
      if (!loops_.empty()) loops_.pop_back();
      return true;
    }
    bool reads = false, writes = false;
    for (size_t i = 0; i < in.operands.size(); i++) {
      reads = reads || is_input(buffer(in, i));
      writes = writes || is_output(buffer(in, i));
    }
    const bool loops = std::ranges::find(loops_, true) != loops_.end();
    if (control_of(kernel)) loops_.push_back(kernel == kControlLoop);
    if ((reads || writes) && loops) return false;
    if (reads && writes) return !written_ && keeps(in, kernel);
    if (reads && written_) return false;
    written_ = written_ || writes;
    return true;
  }

  // Whether the instruction copies bytes of the input to the same place of the output.
  bool keeps(const Instruction& in, const std::string& kernel) const {
    if (kernel != "copy" || in.operands.size() != 2) return false;
    const Buffer *from = buffer(in, 0), *to = buffer(in, 1);
    return is_input(from) && is_output(to) && from->offset == to->offset;
  }

  const Program& p_;
  const uint32_t input_, output_;
  bool written_ = false;
  std::vector<bool> loops_;  // for each open region: whether it is a loop
};

}  // namespace

bool may_share_memory(const Program& program, uint32_t input, uint32_t output) {
  return AliasCheck(program, input, output).run();
}

}  // namespace poprt::program
