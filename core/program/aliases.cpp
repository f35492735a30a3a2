#include "program/aliases.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "program/control.h"

namespace poprt::program {
namespace {

class AliasCheck {
 public:
  AliasCheck(const Program& p, uint32_t input, uint32_t output)
      : p_(p), input_(input), output_(output) {}

  bool run() {
    return std::ranges::all_of(
        p_.main, [&](const Instruction& in) { return step(in, p_.kernels[in.kernel]); });
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

  struct Region {
    bool is_loop = false;
    std::optional<int64_t> variant;
  };

  // The region that an instruction begins. A linked program has a region for each variant, on each
  // IPU that the variant uses, and only the regions of one variant run. The first control.case
  // determines the buffer that selects the variant; a region that another buffer selects is not a
  // variant.
  Region region_of(const Instruction& in, Control control) {
    Region region{.is_loop = control == Control::loop};
    if (control != Control::case_region) return region;
    if (!index_) index_ = in.operands[0];
    if (*index_ == in.operands[0]) region.variant = decode_case(in).number;
    return region;
  }

  // Whether an instruction that runs together with the current one, and that is before it, writes
  // the output.
  bool is_written() const {
    const auto variant = std::ranges::find_if(regions_, &has_variant);
    if (variant == regions_.end()) return written_ || !written_in_.empty();
    return written_ || written_in_.contains(*variant->variant);
  }
  void set_written() {
    const auto variant = std::ranges::find_if(regions_, &has_variant);
    if (variant == regions_.end())
      written_ = true;
    else
      written_in_.insert(*variant->variant);
  }
  static bool has_variant(const Region& region) { return region.variant.has_value(); }

  // An operand in the output counts as written, because a program does not state which operands a
  // kernel writes. A loop may read the input again after it wrote the output.
  bool step(const Instruction& in, const std::string& kernel) {
    if (kernel == kControlEnd) {
      if (!regions_.empty()) regions_.pop_back();
      return true;
    }
    bool reads = false, writes = false;
    for (size_t i = 0; i < in.operands.size(); i++) {
      reads = reads || is_input(buffer(in, i));
      writes = writes || is_output(buffer(in, i));
    }
    const bool loops = std::ranges::find(regions_, true, &Region::is_loop) != regions_.end();
    const std::optional<Control> control = control_of(kernel);
    if ((reads || writes) && loops) return false;
    if (reads && is_written()) return false;
    if (reads && writes) return copies_in_place(in, kernel);
    if (writes) set_written();
    if (control && control != Control::transfer) regions_.push_back(region_of(in, *control));
    return true;
  }

  // Whether the instruction copies bytes of the input to the same place of the output.
  bool copies_in_place(const Instruction& in, const std::string& kernel) const {
    if (kernel != "copy" || in.operands.size() != 2) return false;
    const Buffer *from = buffer(in, 0), *to = buffer(in, 1);
    return is_input(from) && is_output(to) && from->offset == to->offset;
  }

  const Program& p_;
  const uint32_t input_, output_;
  std::vector<Region> regions_;    // the open regions, the innermost last
  std::optional<uint32_t> index_;  // the buffer that selects the variant
  bool written_ = false;  // whether an instruction outside of the variants writes the output
  std::set<int64_t> written_in_;  // the variants that write the output
};

}  // namespace

bool may_share_memory(const Program& program, uint32_t input, uint32_t output) {
  return AliasCheck(program, input, output).run();
}

}  // namespace poprt::program
