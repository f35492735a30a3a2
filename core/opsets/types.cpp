#include "opsets/types.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace poprt::opsets {
namespace {

struct TypeSet {
  char letter;
  std::string_view types;
};
constexpr TypeSet kSets[] = {
#include "opsets/type_sets.inc"
};

struct Row {
  std::string_view op;
  int64_t since;
  std::string_view inputs, outputs;
};
// Sorted by operator and opset.
constexpr Row kRows[] = {
#include "opsets/types.inc"
};
constexpr bool row_before(const Row& a, const Row& b) { return a.op < b.op; }
static_assert(std::is_sorted(std::begin(kRows), std::end(kRows), row_before));

uint64_t bit(DType dtype) { return uint64_t{1} << static_cast<int>(dtype); }

// The masks by letter.
std::array<uint64_t, 128> make_masks() {
  std::array<uint64_t, 128> masks{};
  for (const TypeSet& set : kSets)
    for (std::string_view rest = set.types; !rest.empty();) {
      const size_t end = std::min(rest.find(' '), rest.size());
      if (const auto dtype = dtype_from_name(rest.substr(0, end)))
        masks[static_cast<size_t>(set.letter)] |= bit(*dtype);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  masks['*'] = ~uint64_t{0};
  return masks;
}

// `word` has the letter of a set for each position. A + at its end means that the last letter is
// also for all further positions.
bool allows(std::string_view word, size_t i, DType dtype) {
  static const std::array<uint64_t, 128> masks = make_masks();
  const bool list = word.ends_with('+');
  if (list) word.remove_suffix(1);
  if (word.empty()) return true;
  if (i >= word.size()) {
    if (!list) return true;
    i = word.size() - 1;
  }
  return (masks[static_cast<size_t>(word[i])] & bit(dtype)) != 0;
}

const Row* row_of(std::string_view op, int64_t opset) {
  const auto [begin, end] =
      std::equal_range(std::begin(kRows), std::end(kRows), Row{op, 0, {}, {}}, row_before);
  const auto next = std::find_if(begin, end, [&](const Row& r) { return r.since > opset; });
  return next == begin ? nullptr : next - 1;
}

}  // namespace

bool input_allows(std::string_view op, int64_t opset, size_t i, DType dtype) {
  const Row* row = row_of(op, opset);
  return !row || dtype == DType::undefined || allows(row->inputs, i, dtype);
}

bool output_allows(std::string_view op, int64_t opset, size_t i, DType dtype) {
  const Row* row = row_of(op, opset);
  return !row || dtype == DType::undefined || allows(row->outputs, i, dtype);
}

bool has_types(std::string_view op) {
  return std::binary_search(std::begin(kRows), std::end(kRows), Row{op, 0, {}, {}}, row_before);
}

}  // namespace poprt::opsets
