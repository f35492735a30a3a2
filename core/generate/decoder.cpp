#include "generate/decoder.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/checked.h"
#include "base/error.h"

namespace poprt::generate {

void Decoder::Free::operator()(std::byte* p) const { std::free(p); }

// The memory is zeroed: attention multiplies places without a token by 0, so they must not be NaN.
Decoder::Memory Decoder::allocate(uint64_t bytes) {
  constexpr uint64_t kAlignment = 64;
  const uint64_t size = align_up(std::max<uint64_t>(bytes, 1), kAlignment);
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
  if (!memory) fail(ErrorCode::resource_exhausted, "a cache of {} bytes does not fit", bytes);
  std::memset(memory, 0, size);
  return Memory(memory);
}

void Decoder::Input::put(size_t index, int64_t value) {
  const auto store = [&](auto v) { std::memcpy(bytes.data() + index * sizeof v, &v, sizeof v); };
  switch (dtype) {
    case DType::s64: return store(value);
    case DType::s32: return store(static_cast<int32_t>(value));
    case DType::u32: return store(static_cast<uint32_t>(value));
    case DType::boolean: return store(static_cast<uint8_t>(value != 0));
    default: return store(static_cast<float>(value));
  }
}

Decoder::Input Decoder::input_of(size_t anchor) const {
  const program::Anchor& a = session_.model().inputs()[anchor];
  return {std::vector<std::byte>(a.bytes()), a.dtype};
}

Decoder::Decoder(std::shared_ptr<const runtime::Model> model, const device::LoadOptions& load)
    : session_(std::move(model), {.load = load, .exclusive = true, .of_generator = true}),
      d_(read_description(session_.model())),
      lengths_(static_cast<size_t>(d_.slots)),
      ids_(input_of(d_.ids)),
      variant_(input_of(d_.variant)),
      logits_(static_cast<size_t>(d_.slots * d_.vocabulary)) {
  const auto& in = session_.model().inputs();
  inputs_.resize(in.size());
  outputs_.resize(session_.model().outputs().size());
  inputs_[d_.ids] = ids_.bytes.data();
  inputs_[d_.variant] = variant_.bytes.data();
  const auto optional = [&](const std::optional<size_t>& anchor, Input& to) {
    if (!anchor) return;
    to = input_of(*anchor);
    inputs_[*anchor] = to.bytes.data();
  };
  optional(d_.last, last_);
  optional(d_.mask, mask_);
  optional(d_.positions, positions_);
  optional(d_.position, position_);
  optional(d_.valid, valid_);
  const auto slots = static_cast<uint64_t>(d_.slots);
  for (const Cache& c : d_.caches) {
    caches_.push_back(allocate(checked_mul(c.row_bytes, slots)));
    copies_.push_back(c.in_place ? nullptr : allocate(c.row_bytes * slots));
    inputs_[c.input] = caches_.back().get();
    outputs_[c.output] = caches_.back().get();
  }
  for (const State& s : d_.states) {
    states_.push_back(allocate(checked_mul(s.row_bytes, slots)));
    new_states_.push_back(allocate(checked_mul(s.row_bytes, slots)));
    inputs_[s.input] = states_.back().get();
    outputs_[s.output] = new_states_.back().get();
  }
  if (d_.encoder) prepare_encoder();
  outputs_[d_.logits] = logits_.data();
  for (size_t i = 0; i < in.size(); i++)
    if (!inputs_[i] && in[i].data == program::kNoData)
      fail(ErrorCode::data_loss, "input '{}' has no meaning for a generator", in[i].name);
  session_.run_load_programs();
}

void Decoder::prepare_encoder() {
  const EncoderDescription& e = *d_.encoder;
  source_lengths_.resize(static_cast<size_t>(d_.slots));
  sources_.resize(static_cast<size_t>(d_.slots));
  for (const auto& [anchor, to] :
       {std::pair(e.ids, &source_ids_), std::pair(e.mask, &source_mask_),
        std::pair(e.features, &features_), std::pair(e.memory_mask, &memory_mask_)}) {
    if (!anchor) continue;
    *to = input_of(*anchor);
    inputs_[*anchor] = to->bytes.data();
  }
  for (const Cross& c : e.cross) {
    cross_.push_back(allocate(checked_mul(c.row_bytes, static_cast<uint64_t>(d_.slots))));
    inputs_[c.input] = cross_.back().get();
    outputs_[c.output] = cross_.back().get();
  }
}

std::byte* Decoder::cross_row(size_t i, size_t slot) const {
  return cross_[i].get() + slot * d_.encoder->cross[i].row_bytes;
}

void Decoder::encode(size_t slot, std::span<const int64_t> tokens,
                     std::span<const float> features) {
  if (!d_.encoder) fail(ErrorCode::invalid_argument, "the model has no encoder");
  const EncoderDescription& e = *d_.encoder;
  size_t program = e.lengths.size() - 1;
  if (e.ids) {
    if (tokens.empty() || static_cast<int64_t>(tokens.size()) > e.lengths.back() ||
        !features.empty())
      fail(ErrorCode::invalid_argument,
           "the encoder takes 1 to {} tokens, {} and {} features given", e.lengths.back(),
           tokens.size(), features.size());
    while (program > 0 && e.lengths[program - 1] >= static_cast<int64_t>(tokens.size())) program--;
    for (size_t i = 0; i < static_cast<size_t>(e.lengths[program]); i++) {
      source_ids_.put(i, i < tokens.size() ? tokens[i] : 0);
      if (e.mask) source_mask_.put(i, i < tokens.size());
    }
  } else {
    const uint64_t bytes = features_.bytes.size();
    if (!tokens.empty() || features.size_bytes() != bytes)
      fail(ErrorCode::invalid_argument, "the encoder takes {} features, {} and {} tokens given",
           bytes / sizeof(float), features.size(), tokens.size());
    std::memcpy(features_.bytes.data(), features.data(), bytes);
    if (e.mask)
      for (size_t i = 0;
           i < static_cast<size_t>(element_count(session_.model().inputs()[*e.mask].shape)); i++)
        source_mask_.put(i, 1);
  }
  roll_back(slot, 0);
  for (size_t i = 0; i < cross_.size(); i++) outputs_[e.cross[i].output] = cross_row(i, slot);
  variant_.put(0, static_cast<int64_t>(d_.shapes.size() + program));
  session_.run_main_programs(inputs_.data(), outputs_.data());
  source_lengths_[slot] = e.ids ? static_cast<int64_t>(tokens.size()) : e.places;
  sources_[slot] = ++last_source_;
}

void Decoder::roll_back(size_t slot, int64_t length) {
  if (length < 0 || length > lengths_[slot])
    fail(ErrorCode::invalid_argument, "slot {} has {} tokens, cannot keep {}", slot, lengths_[slot],
         length);
  if (length == lengths_[slot]) return;
  if (length > 0 && !d_.states.empty())
    fail(ErrorCode::failed_precondition,
         "slot {} has {} tokens, cannot keep {}: the model has recurrent states, which can only be "
         "reset; copy the slot before the tokens that may be removed",
         slot, lengths_[slot], length);
  if (length > 0 && d_.ring && lengths_[slot] >= d_.ring)
    fail(ErrorCode::failed_precondition,
         "slot {} has {} tokens, cannot keep {}: its caches are rings of {} places, which do not "
         "have the first tokens; copy the slot before the tokens that may be removed",
         slot, lengths_[slot], length, d_.ring);
  for (size_t i = 0; i < states_.size(); i++)
    std::memset(states_[i].get() + slot * d_.states[i].row_bytes, 0, d_.states[i].row_bytes);
  lengths_[slot] = length;
}

// After a run for the slots from `first_slot` on: keeps the new states of those with a token.
void Decoder::keep_states(size_t first_slot, std::span<const int64_t> tokens) {
  if (tokens.size() == lengths_.size() &&
      std::ranges::none_of(tokens, [](int64_t token) { return token < 0; }))
    return states_.swap(new_states_);
  for (size_t i = 0; i < states_.size(); i++)
    for (size_t row = 0; row < tokens.size(); row++) {
      const uint64_t bytes = d_.states[i].row_bytes, at = (first_slot + row) * bytes;
      if (tokens[row] >= 0) std::memcpy(states_[i].get() + at, new_states_[i].get() + at, bytes);
    }
}

void Decoder::copy(size_t from, size_t to) {
  if (from == to) return;
  for (size_t i = 0; i < caches_.size(); i++) {
    const uint64_t bytes = d_.caches[i].row_bytes;
    std::memcpy(caches_[i].get() + to * bytes, caches_[i].get() + from * bytes, bytes);
  }
  for (size_t i = 0; i < states_.size(); i++) {
    const uint64_t bytes = d_.states[i].row_bytes;
    std::memcpy(states_[i].get() + to * bytes, states_[i].get() + from * bytes, bytes);
  }
  lengths_[to] = lengths_[from];
  if (!d_.encoder || sources_[to] == sources_[from]) return;
  for (size_t i = 0; i < cross_.size(); i++)
    std::memcpy(cross_row(i, to), cross_row(i, from), d_.encoder->cross[i].row_bytes);
  source_lengths_[to] = source_lengths_[from];
  sources_[to] = sources_[from];
}

template <class Visit>
void Decoder::each_part(size_t slot, int64_t length, const Visit& visit) const {
  for (size_t i = 0; i < caches_.size(); i++) {
    const Cache& c = d_.caches[i];
    const uint64_t stride = c.place_bytes * static_cast<uint64_t>(d_.places());
    for (uint64_t o = 0; o < c.outer; o++)
      visit(caches_[i].get() + slot * c.row_bytes + o * stride,
            c.place_bytes * static_cast<uint64_t>(used_places(length)));
  }
  for (size_t i = 0; i < states_.size(); i++)
    visit(states_[i].get() + slot * d_.states[i].row_bytes, d_.states[i].row_bytes);
  for (size_t i = 0; i < cross_.size(); i++)
    visit(cross_row(i, slot), d_.encoder->cross[i].row_bytes);
}

// The sum of the sizes of each_part(). Any thread may call it, so it does not read the addresses of
// states, which change with each step.
uint64_t Decoder::saved_bytes(int64_t length) const {
  uint64_t sum = 0;
  for (const Cache& c : d_.caches)
    sum += c.outer * c.place_bytes * static_cast<uint64_t>(used_places(length));
  for (const State& s : d_.states) sum += s.row_bytes;
  for (size_t i = 0; i < cross_.size(); i++) sum += d_.encoder->cross[i].row_bytes;
  return sum;
}

std::vector<std::byte> Decoder::save(size_t slot) const {
  std::vector<std::byte> saved(saved_bytes(lengths_[slot]));
  std::byte* to = saved.data();
  each_part(slot, lengths_[slot], [&](const std::byte* part, uint64_t bytes) {
    if (bytes) std::memcpy(to, part, bytes);
    to += bytes;
  });
  return saved;
}

void Decoder::restore(size_t slot, int64_t length, int64_t source_length,
                      std::span<const std::byte> bytes) {
  if (length < 0 || length >= d_.max_length || bytes.size() != saved_bytes(length))
    fail(ErrorCode::data_loss, "a slot with {} tokens has {} bytes, {} are given", length,
         length < 0 ? 0 : saved_bytes(std::min(length, d_.max_length)), bytes.size());
  const std::byte* from = bytes.data();
  each_part(slot, length, [&](std::byte* part, uint64_t size) {
    if (size) std::memcpy(part, from, size);
    from += size;
  });
  lengths_[slot] = length;
  if (!d_.encoder) return;
  source_lengths_[slot] = source_length;
  sources_[slot] = ++last_source_;
}

int64_t Decoder::source_length(size_t slot) const { return d_.encoder ? source_lengths_[slot] : 0; }

// Returns the program for the next tokens of a slot, among those whose tokens fit the cache. If the
// tokens fill the largest of these, or if the model has recurrent states, it is the largest one
// that needs no padding. Otherwise it is the one with which all of the tokens are estimated to cost
// least, where the last run may have padding. Several tokens must not replace earlier ones in a
// ring, which the first of them attends to.
size_t Decoder::shape_for(int64_t length, size_t tokens) const {
  // Reading the weights in each run takes about as long as computing this number of tokens.
  constexpr int64_t kRunTokens = 4;
  const auto wanted = static_cast<int64_t>(tokens);
  std::optional<size_t> longest, cheapest;  // without padding; with padding of the last piece
  int64_t most = 0, least = 0;
  for (size_t i = 0; i < d_.shapes.size(); i++) {
    const auto& [batch, count] = d_.shapes[i];
    if (batch != 1 || (count > 1 && length + count > d_.places())) continue;
    const int64_t cost = (wanted + count - 1) / count * (count + kRunTokens);
    if (!cheapest || cost < least) {
      cheapest = i;
      least = cost;
    }
    if (count <= wanted && (!longest || count > d_.shapes[*longest].tokens)) longest = i;
    most = std::max(most, count);
  }
  POPRT_ASSERT(longest && cheapest);  // the shape [1, 1]
  // Padding would change recurrent states. Whole pieces of the largest size need none.
  if (!d_.states.empty() || wanted >= most) return *longest;
  return *cheapest;
}

// Fills the inputs of one sequence that has `length` tokens before the new ones. Tokens after the
// given ones are padding. Their keys are in places after the sequence, which later runs overwrite.
void Decoder::set_row(const ProgramShape& shape, size_t row, std::span<const int64_t> tokens,
                      int64_t length) {
  const auto count = static_cast<size_t>(shape.tokens);
  for (size_t i = 0; i < count; i++) {
    ids_.put(row * count + i, i < tokens.size() ? tokens[i] : 0);
    if (d_.positions)
      positions_.put(row * count + i,
                     std::min(length + static_cast<int64_t>(i), d_.max_length - 1));
  }
  if (d_.position) position_.put(row, length);
  // The places in use include those of the new tokens, which are the last ones.
  if (d_.valid) valid_.put(row, used_places(length + shape.tokens));
  if (!d_.mask) return;
  if (d_.mask_of_new_tokens) {
    for (size_t i = 0; i < count; i++) mask_.put(row * count + i, 1);
    return;
  }
  // The mask covers the cache, which contains the old tokens. With `grows`, the places of the new
  // tokens follow it; otherwise they are in the cache, because the program writes them first.
  const auto width = static_cast<size_t>(d_.places() + (d_.grows ? shape.tokens : 0));
  const auto valid = static_cast<size_t>(length + (d_.grows ? 0 : shape.tokens));
  const size_t added = width - (d_.grows ? count : 0);
  for (size_t i = 0; i < width; i++) mask_.put(row * width + i, i < valid || i >= added);
}

void Decoder::run(size_t shape, size_t first_slot) {
  variant_.put(0, static_cast<int64_t>(shape));
  const auto rows = static_cast<uint64_t>(d_.shapes[shape].batch);
  for (size_t i = 0; i < cross_.size(); i++)
    inputs_[d_.encoder->cross[i].input] = cross_row(i, first_slot);
  if (d_.encoder && d_.encoder->memory_mask) {
    const auto places = static_cast<size_t>(d_.encoder->places);
    for (size_t r = 0; r < rows; r++)
      for (size_t p = 0; p < places; p++)
        memory_mask_.put(r * places + p,  // a slot without a source also reads one place
                         p == 0 || static_cast<int64_t>(p) < source_lengths_[first_slot + r]);
  }
  for (size_t i = 0; i < caches_.size(); i++) {
    const Cache& c = d_.caches[i];
    std::byte* const memory = caches_[i].get() + first_slot * c.row_bytes;
    inputs_[c.input] = memory;
    outputs_[c.output] = c.in_place ? memory : copies_[i].get();
  }
  for (size_t i = 0; i < states_.size(); i++) {
    const uint64_t at = first_slot * d_.states[i].row_bytes;
    inputs_[d_.states[i].input] = states_[i].get() + at;
    outputs_[d_.states[i].output] = new_states_[i].get() + at;
  }
  session_.run_main_programs(inputs_.data(), outputs_.data());
  for (size_t i = 0; i < caches_.size(); i++)
    if (copies_[i])
      std::memcpy(caches_[i].get() + first_slot * d_.caches[i].row_bytes, copies_[i].get(),
                  d_.caches[i].row_bytes * rows);
}

size_t Decoder::prefill(size_t slot, std::span<const int64_t> tokens) {
  const int64_t length = lengths_[slot];
  if (tokens.empty() || length + static_cast<int64_t>(tokens.size()) >= d_.max_length)
    fail(ErrorCode::failed_precondition, "slot {} has {} of {} tokens, cannot append {}", slot,
         length, d_.max_length, tokens.size());
  const size_t shape = shape_for(length, tokens.size());
  const size_t count = std::min(tokens.size(), static_cast<size_t>(d_.shapes[shape].tokens));
  set_row(d_.shapes[shape], 0, tokens.first(count), length);
  if (d_.last) last_.put(0, static_cast<int64_t>(count) - 1);
  run(shape, slot);
  keep_states(slot, tokens.first(1));
  lengths_[slot] += static_cast<int64_t>(count);
  return count;
}

void Decoder::decode(std::span<const int64_t> tokens) {
  // The program computes a token for every slot. The key of a slot without one is written to the
  // place after its sequence, where the next run overwrites it.
  for (size_t slot = 0; slot < tokens.size(); slot++) {
    const int64_t token = std::max<int64_t>(tokens[slot], 0);
    if (tokens[slot] >= 0 && lengths_[slot] + 1 >= d_.max_length)
      fail(ErrorCode::failed_precondition, "slot {} has {} tokens and no place for a further one",
           slot, lengths_[slot]);
    set_row(d_.shapes[0], slot, std::span(&token, 1), lengths_[slot]);
  }
  if (d_.last) last_.put(0, 0);
  run(0, 0);
  keep_states(0, tokens);
  for (size_t slot = 0; slot < tokens.size(); slot++)
    if (tokens[slot] >= 0) lengths_[slot]++;
}

uint64_t Decoder::cache_bytes() const {
  uint64_t bytes = 0;
  for (const Cache& c : d_.caches) bytes += c.row_bytes;
  if (d_.encoder)
    for (const Cross& c : d_.encoder->cross) bytes += c.row_bytes;
  return bytes * static_cast<uint64_t>(d_.slots);
}

std::span<float> Decoder::logits(size_t row) {
  const auto n = static_cast<size_t>(d_.vocabulary);
  return std::span(logits_).subspan(row * n, n);
}

}  // namespace poprt::generate
