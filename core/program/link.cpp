#include "program/link.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <unordered_map>

#include "base/checked.h"
#include "program/control.h"
#include "program/shards.h"

namespace poprt::program {
namespace {

// Weights that are stored together because their buffers overlap.
struct Interval {
  uint64_t begin, end;
  uint64_t to = 0;    // offset in the linked program
  bool whole = true;  // false if it is the beginning of longer stored bytes
};

void add_interval(std::vector<Interval>& list, uint64_t offset, uint64_t bytes) {
  if (bytes) list.push_back({offset / kAlignment * kAlignment, checked_add(offset, bytes)});
}

std::vector<Interval> used_weights(const Program& p) {
  std::vector<Interval> found;
  for (const Buffer& b : p.buffers)
    if (b.space == Space::weights) add_interval(found, b.offset, b.bytes);
  for (const Anchor& a : p.inputs)
    if (a.data != kNoData) add_interval(found, a.data, a.bytes());
  std::sort(found.begin(), found.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::vector<Interval> merged;
  for (const Interval& i : found) {
    if (!merged.empty() && i.begin < merged.back().end)
      merged.back().end = std::max(merged.back().end, i.end);
    else
      merged.push_back(i);
  }
  return merged;
}

// Equal for equal bytes. It reads only a part of long bytes.
uint64_t fingerprint(std::span<const std::byte> bytes) {
  uint64_t hash = 1469598103934665603u ^ bytes.size();
  const size_t step = std::max<size_t>(1, bytes.size() / 8 / 512) * 8;
  for (size_t at = 0; at < bytes.size(); at += step) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
    hash = (hash ^ word) * 1099511628211u;
    hash ^= hash >> 29;
  }
  return hash;
}

// The number of bytes that fingerprint_of_beginning() reads. By this fingerprint, the linker finds
// stored bytes that begin with the bytes of a weight and are longer.
constexpr size_t kBeginning = 64;
uint64_t fingerprint_of_beginning(std::span<const std::byte> bytes) {
  return fingerprint(bytes.first(std::min(bytes.size(), kBeginning)));
}

// One shard of a variant; the whole variant if it is for one IPU.
struct Piece {
  int64_t ipu = 0;
  uint64_t arena_begin = 0, arena_bytes = 0, state_bytes = 0;
  size_t begin = 0, end = 0;  // range of instructions of main
  size_t slot = 0;            // index of its slot in the linked program
  uint64_t state_to = 0;      // offset of its state in the memory of the slot
};

// One shard of the linked program: at most one piece of each variant, all of them for the same IPU.
// The pieces share memory except for their state.
struct Slot {
  int64_t ipu = 0;
  uint64_t arena_begin = 0, state_bytes = 0, other_bytes = 0;
  std::vector<Instruction> body;
};

// A place of transfers. Only one variant runs at a time, so transfers of different variants that
// come from the same slot share a place.
struct Place {
  size_t from = 0;  // the slot that writes it
  Transfer transfer;
};

struct Layout {
  std::vector<Piece> pieces;
  std::vector<Transfer> transfers;
  std::vector<size_t> places;  // by transfer
};

Layout layout_of(const Program& p) {
  Layout layout;
  const Shards shards = shards_of(p);
  layout.transfers = shards.transfers;
  for (const Shard& s : shards.shards)
    layout.pieces.push_back({s.ipu, s.arena_begin, s.arena_bytes, s.state_bytes, s.begin, s.end});
  if (shards.shards.empty())
    layout.pieces.push_back({0, 0, p.arena_bytes, p.state_bytes, 0, p.main.size()});
  return layout;
}

class Linker {
 public:
  Linker(std::span<const Variant> variants, bool share_anchors, bool unite_anchors = false)
      : variants_(variants), share_(share_anchors), unite_(unite_anchors) {}

  Linked run(std::string_view index_name) {
    if (variants_.empty()) fail(ErrorCode::invalid_argument, "there is nothing to link");
    for (const Variant& b : variants_) check(b);
    arrange();
    for (size_t i = 0; i < variants_.size(); i++) map_anchors(i);
    index_ = add_index_input({std::string(index_name), DType::u32, {1}});
    Buffer index{Space::input, index_, 0, 4, DType::u32, {1}};
    p_.buffers.push_back(index);
    place_weights();
    has_input_.resize(p_.inputs.size());
    for (size_t i = 0; i < variants_.size(); i++) append(i);
    assemble();
    out_.program = std::move(p_);
    verify(out_.program);
    if (sharded_) shards_of(out_.program);
    return std::move(out_);
  }

 private:
  // Assigns the pieces of each variant to slots, and the memory in them.
  void arrange() {
    for (const Variant& b : variants_) {
      sharded_ |= has_shards(*b.program);
      pipelined_ |= shards_of(*b.program).pipelined;
      Layout& layout = layouts_.emplace_back(layout_of(*b.program));
      // Takes the pieces in order; each goes to the next free slot of its IPU.
      size_t next = 0;
      for (Piece& piece : layout.pieces) {
        while (next < slots_.size() && slots_[next].ipu != piece.ipu) next++;
        if (next == slots_.size()) slots_.push_back({piece.ipu, 0, 0, 0, {}});
        Slot& slot = slots_[piece.slot = next++];
        piece.state_to = slot.state_bytes;
        slot.state_bytes = checked_add(slot.state_bytes, align_up(piece.state_bytes, kAlignment));
        slot.other_bytes = std::max(slot.other_bytes, piece.arena_bytes - piece.state_bytes);
      }
      share_places(layout);
    }
    uint64_t at = 0;
    for (Place& place : places_) {
      place.transfer.offset = at;
      place.transfer.from = static_cast<uint32_t>(place.from);
      at = align_up(checked_add(at, place.transfer.bytes), kAlignment);
    }
    for (Slot& slot : slots_) {
      slot.arena_begin = at;
      p_.arena_bytes = checked_add(at, checked_add(slot.state_bytes, slot.other_bytes));
      at = align_up(p_.arena_bytes, kAlignment);
    }
    if (!sharded_) p_.state_bytes = slots_[0].state_bytes;
  }

  void share_places(Layout& layout) {
    std::vector<bool> taken(places_.size());
    for (const Transfer& t : layout.transfers) {
      const size_t from = layout.pieces[t.from].slot;
      size_t at = 0;
      while (at < taken.size() && (taken[at] || places_[at].from != from)) at++;
      if (at == taken.size()) {
        taken.push_back(false);
        places_.push_back({from, t});
      }
      taken[at] = true;
      layout.places.push_back(at);
      Transfer& shared = places_[at].transfer;
      shared.bytes = std::max(shared.bytes, t.bytes);
      if (shared.dtype == t.dtype && shared.shape == t.shape) continue;
      shared.dtype = DType::u8;
      shared.shape = {static_cast<int64_t>(shared.bytes)};
    }
  }

  // The offset in the linked program's arena of a buffer in a variant's arena.
  uint64_t moved_in_arena(const Layout& layout, const Buffer& b) const {
    if (b.bytes == 0) return 0;
    for (size_t t = 0; t < layout.transfers.size(); t++) {
      const Transfer& own = layout.transfers[t];
      if (b.offset >= own.offset && b.offset - own.offset < own.bytes)
        return places_[layout.places[t]].transfer.offset + (b.offset - own.offset);
    }
    for (const Piece& piece : layout.pieces) {
      if (b.offset < piece.arena_begin || b.offset - piece.arena_begin >= piece.arena_bytes)
        continue;
      const uint64_t at = b.offset - piece.arena_begin;
      const Slot& slot = slots_[piece.slot];
      return slot.arena_begin + (at < piece.state_bytes
                                     ? piece.state_to + at
                                     : slot.state_bytes + (at - piece.state_bytes));
    }
    fail(ErrorCode::data_loss, "memory at {} of the arena belongs to no IPU", b.offset);
  }

  // Makes main from the instructions of all slots. append() must have added those of every variant.
  void assemble() {
    if (!sharded_) {
      p_.main = std::move(slots_[0].body);
      return;
    }
    for (const Place& place : places_) {
      const Transfer& t = place.transfer;
      p_.buffers.push_back({Space::arena, 0, t.offset, t.bytes, t.dtype, t.shape});
      p_.main.push_back({kernel(kControlTransfer),
                         {static_cast<uint32_t>(p_.buffers.size() - 1)},
                         program::encode(t),
                         {},
                         t.name});
    }
    for (size_t s = 0; s < slots_.size(); s++) {
      Slot& slot = slots_[s];
      const Shard shard{slot.ipu,
                        pipelined_ ? static_cast<int64_t>(s) : -1,
                        slot.arena_begin,
                        slot.state_bytes + slot.other_bytes,
                        slot.state_bytes,
                        0,
                        0};
      const std::string name = fmt::format("ipu{}", slot.ipu);
      p_.main.push_back({kernel(kControlShard), {}, program::encode(shard), {}, name});
      std::ranges::move(slot.body, std::back_inserter(p_.main));
      p_.main.push_back({kernel(kControlEnd), {}, {}, {}, name});
    }
  }

  static void check_weights(const Program& p, std::span<const std::byte> weights) {
    if (weights.size() < p.weights_bytes)
      fail(ErrorCode::data_loss, "a variant needs {} bytes of weights, {} are there",
           p.weights_bytes, weights.size());
  }

  void check(const Variant& b) const {
    const Program& p = *b.program;
    if (!b.load) check_weights(p, b.weights);
    if (std::count(p.kernels.begin(), p.kernels.end(), kControlCase))
      fail(ErrorCode::invalid_argument,
           "a model that is several variants already (fused, or with several shapes) cannot become "
           "a variant");
    uint64_t state = p.state_bytes;
    for (const Shard& s : shards_of(p).shards) state = checked_add(state, s.state_bytes);
    if (share_ && state)
      fail(ErrorCode::unimplemented,
           "the model keeps {} bytes of state from run to run, which several shapes of it would "
           "not share: compile it for one shape",
           state);
    const bool several = std::ranges::any_of(
        variants_, [](const Variant& other) { return has_shards(*other.program); });
    if (several && (!p.load.empty() || !p.save.empty()))
      fail(ErrorCode::unimplemented,
           "a model with load or save programs runs on one IPU, and so must those that it is fused "
           "with");
  }

  uint32_t add_index_input(Anchor anchor) {
    for (const Anchor& a : p_.inputs)
      if (a.name == anchor.name)
        fail(ErrorCode::invalid_argument, "two inputs would be called '{}'", a.name);
    p_.inputs.push_back(std::move(anchor));
    return static_cast<uint32_t>(p_.inputs.size() - 1);
  }

  // Maps the anchors of variant `i` to those of the linked program.
  void map_anchors(size_t i) {
    const Program& p = *variants_[i].program;
    inputs_.push_back(map(p.inputs, p_.inputs, variants_[i].prefix, i, "input"));
    outputs_.push_back(map(p.outputs, p_.outputs, variants_[i].prefix, i, "output"));
  }

  std::vector<uint32_t> map(const std::vector<Anchor>& from, std::vector<Anchor>& to,
                            const std::string& prefix, size_t variant, std::string_view direction) {
    std::vector<uint32_t> places;
    for (const Anchor& a : from) {
      const std::string name = prefix + a.name;
      const auto same =
          std::find_if(to.begin(), to.end(), [&](const Anchor& t) { return t.name == name; });
      places.push_back(static_cast<uint32_t>(same - to.begin()));
      if (same == to.end() && (!share_ || unite_ || variant == 0)) {
        to.push_back({name, a.dtype, a.shape});
      } else if (!share_) {
        fail(ErrorCode::invalid_argument, "two {}s would be called '{}'", direction, name);
      } else {
        if (same == to.end() || same->dtype != a.dtype || same->shape.size() != a.shape.size())
          fail(ErrorCode::invalid_argument,
               "{} '{}' is {} {} at one of the shapes and {} at another: a bucket differs in sizes "
               "only",
               direction, name, dtype_name(a.dtype), shape_string(a.shape),
               same == to.end()
                   ? std::string("missing")
                   : fmt::format("{} {}", dtype_name(same->dtype), shape_string(same->shape)));
        for (size_t d = 0; d < a.shape.size(); d++)
          same->shape[d] = std::max(same->shape[d], a.shape[d]);
      }
    }
    if (share_ && !unite_ && from.size() != to.size())
      fail(ErrorCode::invalid_argument,
           "the model has {} {}s at one of the shapes and {} at another", to.size(), direction,
           from.size());
    return places;
  }

  // For shapes, starts with the last variant, which is usually the largest: some weights of the
  // others are the beginning of its weights, such as a table of positions for a shorter sequence.
  void place_weights() {
    weights_.resize(variants_.size());
    for (size_t i = 0; i < variants_.size(); i++) {
      const size_t at = share_ ? variants_.size() - 1 - i : i;
      const Variant& b = variants_[at];
      weights_[at] = used_weights(*b.program);
      if (b.load) {
        const LoadedProgram loaded = b.load();
        check_weights(*b.program, loaded.weights);
        place(weights_[at], loaded.weights, true);
      } else {
        place(weights_[at], b.weights, false);
      }
      add_narrow_entries(b, weights_[at]);
    }
  }

  // Stores weights that are not stored yet, and sets Interval::to.
  void place(std::vector<Interval>& intervals, std::span<const std::byte> weights, bool keep) {
    for (Interval& i : intervals) {
      std::span<const std::byte> bytes = weights.subspan(i.begin, i.end - i.begin);
      if (find_stored(bytes, i)) continue;
      i.to = p_.weights_bytes;
      p_.weights_bytes = align_up(checked_add<uint64_t>(i.to, bytes.size()), kAlignment);
      std::shared_ptr<std::byte[]> kept;
      if (keep) {
        kept = std::make_shared_for_overwrite<std::byte[]>(bytes.size());
        std::memcpy(kept.get(), bytes.data(), bytes.size());
        bytes = {kept.get(), bytes.size()};
      }
      out_.weights.push_back({i.to, bytes.size(), [bytes, kept](std::span<std::byte> to) {
                                std::memcpy(to.data(), bytes.data(), bytes.size());
                              }});
      stored_.emplace(fingerprint(bytes), Stored{bytes, i.to});
      if (share_) beginnings_.emplace(fingerprint_of_beginning(bytes), Stored{bytes, i.to});
    }
  }

  // Finds equal bytes or, for shapes, longer bytes that begin equally.
  bool find_stored(std::span<const std::byte> bytes, Interval& i) const {
    const auto begins = [&](const auto& entry) {
      const std::span<const std::byte> there = entry.second.bytes;
      return there.size() >= bytes.size() &&
             std::memcmp(there.data(), bytes.data(), bytes.size()) == 0;
    };
    const auto [first, last] = stored_.equal_range(fingerprint(bytes));
    const auto same = std::find_if(first, last, [&](const auto& entry) {
      return entry.second.bytes.size() == bytes.size() && begins(entry);
    });
    if (same != last) {
      i.to = same->second.offset;
      return true;
    }
    if (!share_ || bytes.size() < kBeginning) return false;
    const auto [from, until] = beginnings_.equal_range(fingerprint_of_beginning(bytes));
    const auto longer = std::find_if(from, until, begins);
    if (longer == until) return false;
    i.to = longer->second.offset;
    i.whole = false;
    return true;
  }

  static uint64_t moved(const std::vector<Interval>& intervals, uint64_t offset, uint64_t bytes) {
    if (bytes == 0) return 0;
    const auto after = std::upper_bound(intervals.begin(), intervals.end(), offset,
                                        [](uint64_t o, const Interval& i) { return o < i.begin; });
    return std::prev(after)->to + (offset - std::prev(after)->begin);
  }

  void append(size_t variant) {
    const Variant& b = variants_[variant];
    const Program& p = *b.program;
    const std::vector<Interval>& weights = weights_[variant];
    give_data(variant, weights);
    const Layout& layout = layouts_[variant];
    const auto base = static_cast<uint32_t>(p_.buffers.size());
    for (Buffer buffer : p.buffers) {
      switch (buffer.space) {
        case Space::arena: buffer.offset = moved_in_arena(layout, buffer); break;
        case Space::weights: buffer.offset = moved(weights, buffer.offset, buffer.bytes); break;
        case Space::input: buffer.index = inputs_[variant][buffer.index]; break;
        case Space::output: buffer.index = outputs_[variant][buffer.index]; break;
      }
      p_.buffers.push_back(std::move(buffer));
    }
    append(p.load, p, p_.load, base);
    const auto number = static_cast<int64_t>(variant);
    const std::string name = b.prefix.empty() ? fmt::format("bucket{}", variant) : b.prefix;
    for (const Piece& piece : layout.pieces) {
      std::vector<Instruction>& body = slots_[piece.slot].body;
      body.push_back(
          {kernel(kControlCase), {index_buffer()}, encode(ControlCase{number}).ints, {}, name});
      append(std::span(p.main).subspan(piece.begin, piece.end - piece.begin), p, body, base);
      body.push_back({kernel(kControlEnd), {}, {}, {}, name});
    }
    append(p.save, p, p_.save, base);
  }

  // Takes over the entries of the variant's table whose weights are stored as one record, because
  // write_executable() accepts no other entries.
  void add_narrow_entries(const Variant& b, const std::vector<Interval>& weights) {
    for (const NarrowWeights& n : b.narrow) {
      const auto same = std::ranges::find(weights, n.offset, &Interval::begin);
      if (same == weights.end() || !same->whole || same->end != n.offset + n.bytes ||
          std::ranges::count(out_.narrow, same->to, &NarrowWeights::offset))
        continue;
      out_.narrow.push_back(n);
      out_.narrow.back().offset = same->to;
    }
  }

  static constexpr uint32_t index_buffer() { return 0; }  // the first buffer, which run() adds

  void give_data(size_t variant, const std::vector<Interval>& weights) {
    const std::vector<Anchor>& inputs = variants_[variant].program->inputs;
    for (size_t i = 0; i < inputs.size(); i++) {
      Anchor& to = p_.inputs[inputs_[variant][i]];
      const uint64_t data =
          inputs[i].data == kNoData ? kNoData : moved(weights, inputs[i].data, inputs[i].bytes());
      if (share_ && has_input_[inputs_[variant][i]] && to.data != data)
        fail(ErrorCode::invalid_argument, "weights '{}' differ from shape to shape", to.name);
      to.data = data;
    }
    for (const uint32_t place : inputs_[variant]) has_input_[place] = true;
  }

  void append(std::span<const Instruction> from, const Program& p, std::vector<Instruction>& to,
              uint32_t base) {
    for (Instruction in : from) {
      in.kernel = kernel(p.kernels[in.kernel]);
      for (uint32_t& id : in.operands)
        if (id != kNoBuffer) id += base;
      to.push_back(std::move(in));
    }
  }

  uint32_t kernel(std::string_view name) {
    const auto [it, added] =
        kernels_.emplace(std::string(name), static_cast<uint32_t>(p_.kernels.size()));
    if (added) p_.kernels.emplace_back(name);
    return it->second;
  }

  struct Stored {
    std::span<const std::byte> bytes;
    uint64_t offset;
  };

  const std::span<const Variant> variants_;
  const bool share_, unite_;
  Linked out_;
  Program p_;
  uint32_t index_ = 0;
  bool sharded_ = false, pipelined_ = false;
  std::vector<Layout> layouts_;  // by variant
  std::vector<Slot> slots_;
  std::vector<Place> places_;
  std::vector<std::vector<uint32_t>> inputs_, outputs_;
  std::vector<bool> has_input_;                 // by input: whether an appended variant has it
  std::vector<std::vector<Interval>> weights_;  // by variant
  std::unordered_multimap<uint64_t, Stored> stored_, beginnings_;  // by fingerprint
  std::unordered_map<std::string, uint32_t> kernels_;
};

}  // namespace

Linked link_graphs(std::span<const Variant> variants) {
  return Linker(variants, false).run(kGraphIndex);
}

Linked link_buckets(std::span<const Variant> variants) {
  return Linker(variants, true).run(kBucketIndex);
}

Linked link_parts(std::span<const Variant> variants) {
  return Linker(variants, true, true).run(kBucketIndex);
}

}  // namespace poprt::program
