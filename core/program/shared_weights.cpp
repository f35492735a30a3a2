#include "program/shared_weights.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "program/fill_form.h"
#include "program/shards.h"

namespace poprt::program {
namespace {

// The place of a record after sharing.
struct Moved {
  uint64_t begin, end;  // the place before sharing
  uint64_t to;
  bool shared;
};

const Moved& moved_with(const std::vector<Moved>& list, uint64_t offset, uint64_t bytes) {
  const auto after = std::ranges::upper_bound(list, offset, {}, &Moved::begin);
  if (after == list.begin() || checked_add(offset, bytes) > std::prev(after)->end)
    fail(ErrorCode::internal, "no weight record contains bytes [{}, +{})", offset, bytes);
  return *std::prev(after);
}

}  // namespace

void WeightTable::assign(const Program& program, std::span<const Weight> weights) {
  places_.clear();
  bytes_ = program.weights_bytes;
  for (const Weight& w : weights)
    if (const WeightForm* form = form_of(w))
      places_.emplace(form->fingerprint(), Place{*form, w.offset, w.bytes});
}

std::optional<uint64_t> WeightTable::find(const WeightForm& form, uint64_t bytes) const {
  for (auto [it, end] = places_.equal_range(form.fingerprint()); it != end; ++it)
    if (it->second.bytes == bytes && it->second.form == form) return it->second.offset;
  return std::nullopt;
}

void share_weights(Program& program, std::vector<Weight>& weights, const WeightTable& table) {
  if (has_shards(program)) return;
  // An empty record comes before the record that begins at the same offset, so that moved_with()
  // finds the one with the bytes.
  std::ranges::sort(weights, {}, [](const Weight& w) { return std::pair(w.offset, w.bytes); });
  std::vector<Moved> moved;
  std::vector<Weight> kept;
  uint64_t end = 0;
  for (Weight& w : weights) {
    const WeightForm* form = w.bytes ? form_of(w) : nullptr;
    const std::optional<uint64_t> place = form ? table.find(*form, w.bytes) : std::nullopt;
    moved.push_back({w.offset, w.offset + w.bytes, place.value_or(end), place.has_value()});
    if (place) continue;
    kept.push_back(std::move(w));
    kept.back().offset = end;
    end = align_up(checked_add(end, kept.back().bytes), kAlignment);
  }
  if (kept.size() == weights.size()) {
    weights = std::move(kept);
    for (size_t i = 0; i < weights.size(); i++) weights[i].offset = moved[i].begin;
    return;
  }
  const auto input = static_cast<uint32_t>(program.inputs.size());
  for (Buffer& b : program.buffers) {
    if (b.space != Space::weights) continue;
    const Moved& m = moved_with(moved, b.offset, b.bytes);
    b.offset = m.to + (b.offset - m.begin);
    if (m.shared) {
      b.space = Space::input;
      b.index = input;
    }
  }
  for (Anchor& a : program.inputs)
    if (a.data != kNoData) {
      const Moved& m = moved_with(moved, a.data, a.bytes());
      if (m.shared) fail(ErrorCode::internal, "the value of input '{}' is shared", a.name);
      a.data = m.to + (a.data - m.begin);
    }
  program.inputs.push_back(
      {std::string(kSharedWeights), DType::u8, {static_cast<int64_t>(table.bytes())}, kNoData});
  program.weights_bytes = end;
  weights = std::move(kept);
}

}  // namespace poprt::program
