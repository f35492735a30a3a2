#include "runtime/runner/pack_layout.h"

#include <algorithm>

namespace poprt::runtime {

PackLayout::PackLayout(uint64_t rows, uint64_t length, PackAlgorithm algorithm, bool across_rows,
                       uint64_t delimiter)
    : rows_(rows),
      length_(length),
      algorithm_(algorithm),
      across_rows_(across_rows),
      delimiter_(delimiter),
      row_(across_rows ? 1 : rows) {}

void PackLayout::clear() {
  std::fill(row_.begin(), row_.end(), Row{});
  current_ = 0;
}

std::optional<PackLayout::Place> PackLayout::place(uint64_t length) {
  const uint64_t room = across_rows_ ? places() : length_;
  const bool scan = !across_rows_ && algorithm_ == PackAlgorithm::first_fit;
  for (uint64_t r = scan ? 0 : current_; r < row_.size(); r++) {
    Row& row = row_[r];
    if (row.items && delimiter_ > room - row.used) continue;
    const uint64_t at = row.items ? row.used + delimiter_ : 0;
    if (length > room - at) continue;
    row.used = at + length;
    row.items++;
    current_ = r;
    return Place{r * length_ + at, across_rows_ ? at / length_ : r, row.items};
  }
  return std::nullopt;
}

}  // namespace poprt::runtime
