#include "ops/common/sequence_places.h"

#include <algorithm>

namespace poprt::ops {

using ir::Value;

SequencePlaces sequence_places(Expansion& e, Value* sums, int64_t batch, int64_t tokens) {
  SequencePlaces p;
  p.batch = batch;
  p.tokens = tokens;
  Value* all = e.cast(sums, DType::s64);
  p.begins = e.slice(all, 0, 0, batch);
  Value* ends = e.slice(all, 0, 1, batch + 1);
  p.lengths = e.add("Sub", {ends, p.begins});
  // The sequence of a token is the number of sequences that end at or before it.
  Value* token = e.reshape(e.iota(tokens), {tokens, 1});
  Value* before =
      e.cast(e.add("Not", {e.add("Less", {token, e.reshape(ends, {1, batch})})}), DType::s64);
  Value* count = e.newest("ReduceSum", {before, e.ints({1})}, {{"keepdims", int64_t{0}}});
  p.sequence = e.add("Min", {count, e.number(DType::s64, static_cast<double>(batch - 1))});
  p.begin = e.add("Gather", {p.begins, p.sequence});
  p.local = e.add("Sub", {e.iota(tokens), p.begin});
  return p;
}

Value* first_rows(Expansion& e, Value* rows, const SequencePlaces& p, Value* counts, int64_t count,
                  double filler) {
  Value* local = e.reshape(e.iota(count), {1, count});
  Value* place = e.add("Add", {e.reshape(p.begins, {p.batch, 1}), local});
  place = e.add("Min", {place, e.number(DType::s64, static_cast<double>(p.tokens - 1))});
  Value* most = e.add("Min", {e.cast(counts, DType::s64), p.lengths});
  Value* real = e.add("Less", {local, e.reshape(most, {p.batch, 1})});
  Shape wide(std::max<size_t>(e.shape_of(rows).size() + 1, 2), 1);
  wide[0] = p.batch;
  wide[1] = count;
  return e.add("Where", {e.reshape(real, wide), e.add("Gather", {rows, place}),
                         e.number(rows->dtype(), filler)});
}

}  // namespace poprt::ops
