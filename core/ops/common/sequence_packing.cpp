#include "ops/common/sequence_packing.h"

#include <algorithm>

#include "base/checked.h"

namespace poprt::ops {
namespace {

constexpr int64_t kMostPlaces = 1 << 24;  // limit of segments, places of a sample, and packed rows

}  // namespace

SequencePacking sequence_packing(Expansion& e) {
  SequencePacking p;
  p.samples = e.node.int_attr("max_valid_num", 0);
  p.room = e.node.ints_attr("segment_max_size");
  e.check(p.samples > 0, "`max_valid_num` must be positive");
  e.check(!p.room.empty() && *std::min_element(p.room.begin(), p.room.end()) > 0,
          "segment_max_size must contain positive sizes");
  const Shape info = e.shape(1);
  if (info != Shape{p.samples, static_cast<int64_t>(p.room.size())})
    e.fail_input("unpack_info is {}, expected [{},{}]", shape_string(info), p.samples,
                 p.room.size());
  for (const int64_t r : p.room) p.width = checked_add<int64_t>(p.width, r);
  if (p.samples > kMostPlaces / static_cast<int64_t>(p.room.size()) || p.width > kMostPlaces)
    e.fail_unsupported("{} samples of {} places exceed the limit of {} segments and places",
                       p.samples, p.width, kMostPlaces);
  std::vector<int64_t> most;
  for (int64_t k = 0; k < p.samples; k++) most.insert(most.end(), p.room.begin(), p.room.end());
  // A length that exceeds segment_max_size is clamped.
  ir::Value* given = e.cast(e.reshape(e.in(1), {p.segments()}), DType::s64);
  p.lengths = e.newest("Min", {e.newest("Max", {given, e.number(DType::s64, 0)}), e.ints(most)});
  p.starts = e.newest("CumSum", {p.lengths, e.number(DType::s64, 0)}, {{"exclusive", int64_t{1}}});
  return p;
}

ir::Value* flat_rows(Expansion& e, ir::Value* x, size_t rank) {
  const Shape from = e.shape_of(x);
  Shape to{1};
  for (size_t d = 0; d < from.size(); d++)
    if (d < rank)
      to[0] = checked_mul<int64_t>(to[0], from[d]);
    else
      to.push_back(from[d]);
  return e.reshape(x, to);
}

ir::Value* rows_or_zero(Expansion& e, ir::Value* from, ir::Value* index, ir::Value* valid) {
  const int64_t rows = e.shape_of(from)[0];
  e.check(rows > 0, "the tensor has no rows");
  ir::Value* inside = e.newest("Min", {e.newest("Max", {index, e.number(DType::s64, 0)}),
                                       e.number(DType::s64, static_cast<double>(rows - 1))});
  ir::Value* taken = e.newest("Gather", {from, inside}, {{"axis", int64_t{0}}});
  Shape wide = e.shape_of(valid);
  wide.resize(e.shape_of(taken).size(), 1);
  return e.newest("Where", {e.reshape(valid, wide), taken, e.number(from->dtype(), 0)});
}

void expand_pack(Expansion& e) {
  const SequencePacking p = sequence_packing(e);
  const Shape x = e.shape(0);
  if (x.size() < 2 || x[0] != p.samples || x[1] != p.width)
    e.fail_input("the data is {}, expected [{},{},...]", shape_string(x), p.samples, p.width);
  const auto tail = x.size() - 2;
  int64_t rows = x[0] * x[1];
  if (e.has(2)) {
    const Shape reference = e.shape(2);
    e.check(reference.size() > tail, "the reference has too few dimensions");
    rows = 1;
    for (size_t d = 0; d + tail < reference.size(); d++)
      rows = checked_mul<int64_t>(rows, reference[d]);
  }
  if (rows > kMostPlaces) e.fail_unsupported("{} rows exceed the limit of {}", rows, kMostPlaces);
  // The place at which each segment starts in the unpacked rows.
  std::vector<int64_t> homes;
  for (int64_t k = 0; k < p.samples; k++) {
    int64_t at = k * p.width;
    for (const int64_t r : p.room) {
      homes.push_back(at);
      at += r;
    }
  }
  // Row r belongs to the segment that follows all segments that end at r or before.
  ir::Value* row = e.iota(rows);
  ir::Value* ends = e.newest("Add", {p.starts, p.lengths});
  ir::Value* over =
      e.newest("LessOrEqual", {e.reshape(ends, {1, p.segments()}), e.reshape(row, {rows, 1})});
  ir::Value* count =
      e.newest("ReduceSum", {e.cast(over, DType::s64), e.ints({1})}, {{"keepdims", int64_t{0}}});
  const auto last = static_cast<double>(p.segments() - 1);
  ir::Value* valid = e.newest("LessOrEqual", {count, e.number(DType::s64, last)});
  ir::Value* segment = e.newest("Min", {count, e.number(DType::s64, last)});
  ir::Value* place = e.newest("Sub", {row, e.newest("Gather", {p.starts, segment})});
  ir::Value* index = e.newest("Add", {e.newest("Gather", {e.ints(homes), segment}), place});
  e.out(0, rows_or_zero(e, flat_rows(e, e.in(0), 2), index, valid));
}

}  // namespace poprt::ops
