#include "program/link.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "base/checked.h"
#include "program/control.h"
#include "program/shards.h"

namespace poprt::program {
namespace {

constexpr uint64_t kAlignment = 64;

// Weights that are stored together: those of buffers that overlap.
struct Interval {
  uint64_t begin, end;
  uint64_t to = 0;  // where it is in the linked program
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

// Equal for equal bytes. Reads a part of long ones only.
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

class Linker {
 public:
  Linker(std::span<const Branch> branches, bool share_anchors)
      : branches_(branches), share_(share_anchors) {}

  Linked run(std::string_view index_name) {
    if (branches_.empty()) fail(ErrorCode::invalid_argument, "there is nothing to link");
    for (const Branch& b : branches_) check(b);
    for (const Branch& b : branches_) p_.state_bytes = checked_add(p_.state_bytes, state_of(b));
    for (size_t i = 0; i < branches_.size(); i++) map_anchors(i);
    index_ = builder_anchor({std::string(index_name), DType::u32, {1}});
    Buffer index{Space::input, index_, 0, 4, DType::u32, {1}};
    p_.buffers.push_back(index);
    p_.arena_bytes = p_.state_bytes;
    for (size_t i = 0; i < branches_.size(); i++) append(i);
    out_.program = std::move(p_);
    verify(out_.program);
    return std::move(out_);
  }

 private:
  static uint64_t state_of(const Branch& b) { return align_up(b.program->state_bytes, kAlignment); }

  void check(const Branch& b) const {
    const Program& p = *b.program;
    if (!b.load && b.weights.size() < p.weights_bytes)
      fail(ErrorCode::data_loss, "a branch needs {} bytes of weights, {} are there",
           p.weights_bytes, b.weights.size());
    if (std::count(p.kernels.begin(), p.kernels.end(), kControlCase))
      fail(ErrorCode::invalid_argument,
           "a model that is several branches already (fused, or with several shapes) cannot become "
           "a branch");
    if (has_shards(p))
      fail(ErrorCode::unimplemented,
           "a model that is cut for several IPUs cannot become a branch (of a fused model, or one "
           "of "
           "several shapes): compile it by itself, or for one IPU");
    if (share_ && p.state_bytes)
      fail(ErrorCode::unimplemented,
           "the model keeps {} bytes of state from run to run, which several shapes of it would "
           "not share: compile it for one shape",
           p.state_bytes);
  }

  uint32_t builder_anchor(Anchor anchor) {
    for (const Anchor& a : p_.inputs)
      if (a.name == anchor.name)
        fail(ErrorCode::invalid_argument, "two inputs would be called '{}'", a.name);
    p_.inputs.push_back(std::move(anchor));
    return static_cast<uint32_t>(p_.inputs.size() - 1);
  }

  // Where the anchors of branch `i` are in the linked program.
  void map_anchors(size_t i) {
    const Program& p = *branches_[i].program;
    inputs_.push_back(map(p.inputs, p_.inputs, branches_[i].prefix, i, "input"));
    outputs_.push_back(map(p.outputs, p_.outputs, branches_[i].prefix, i, "output"));
  }

  std::vector<uint32_t> map(const std::vector<Anchor>& from, std::vector<Anchor>& to,
                            const std::string& prefix, size_t branch, std::string_view direction) {
    std::vector<uint32_t> places;
    for (const Anchor& a : from) {
      const std::string name = prefix + a.name;
      const auto same =
          std::find_if(to.begin(), to.end(), [&](const Anchor& t) { return t.name == name; });
      places.push_back(static_cast<uint32_t>(same - to.begin()));
      if (same == to.end() && (!share_ || branch == 0)) {
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
    if (share_ && from.size() != to.size())
      fail(ErrorCode::invalid_argument,
           "the model has {} {}s at one of the shapes and {} at another", to.size(), direction,
           from.size());
    return places;
  }

  // Stores what is not there yet; fills Interval::to.
  void place(std::vector<Interval>& intervals, std::span<const std::byte> weights, bool keep) {
    for (Interval& i : intervals) {
      std::span<const std::byte> bytes = weights.subspan(i.begin, i.end - i.begin);
      const uint64_t key = fingerprint(bytes);
      const auto [first, last] = stored_.equal_range(key);
      const auto same = std::find_if(first, last, [&](const auto& s) {
        return s.second.bytes.size() == bytes.size() &&
               std::memcmp(s.second.bytes.data(), bytes.data(), bytes.size()) == 0;
      });
      if (same != last) {
        i.to = same->second.offset;
        continue;
      }
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
      stored_.emplace(key, Stored{bytes, i.to});
    }
  }

  static uint64_t moved(const std::vector<Interval>& intervals, uint64_t offset, uint64_t bytes) {
    if (bytes == 0) return 0;
    const auto after = std::upper_bound(intervals.begin(), intervals.end(), offset,
                                        [](uint64_t o, const Interval& i) { return o < i.begin; });
    return std::prev(after)->to + (offset - std::prev(after)->begin);
  }

  void append(size_t branch) {
    const Branch& b = branches_[branch];
    const Program& p = *b.program;
    std::vector<Interval> weights = used_weights(p);
    if (b.load)
      place(weights, b.load().weights, true);
    else
      place(weights, b.weights, false);
    give_data(branch, weights);
    // Its state has a place of its own, everything else lies behind the states of all.
    const uint64_t state = state_of(b), shared = p_.state_bytes;
    const auto base = static_cast<uint32_t>(p_.buffers.size());
    for (Buffer buffer : p.buffers) {
      switch (buffer.space) {
        case Space::arena:
          buffer.offset = buffer.offset < p.state_bytes ? states_ + buffer.offset
                                                        : shared + (buffer.offset - p.state_bytes);
          break;
        case Space::weights: buffer.offset = moved(weights, buffer.offset, buffer.bytes); break;
        case Space::input: buffer.index = inputs_[branch][buffer.index]; break;
        case Space::output: buffer.index = outputs_[branch][buffer.index]; break;
      }
      p_.buffers.push_back(std::move(buffer));
    }
    p_.arena_bytes = std::max(p_.arena_bytes, checked_add(shared, p.arena_bytes - p.state_bytes));
    states_ += state;
    append(p, p.load, p_.load, base);
    const auto number = static_cast<int64_t>(branch);
    const std::string name = b.prefix.empty() ? fmt::format("bucket{}", branch) : b.prefix;
    p_.main.push_back(
        {kernel(kControlCase), {index_buffer()}, encode(ControlCase{number}).ints, {}, name});
    append(p, p.main, p_.main, base);
    p_.main.push_back({kernel(kControlEnd), {}, {}, {}, name});
    append(p, p.save, p_.save, base);
  }

  static constexpr uint32_t index_buffer() { return 0; }  // the first one that run() makes

  void give_data(size_t branch, const std::vector<Interval>& weights) {
    const std::vector<Anchor>& inputs = branches_[branch].program->inputs;
    for (size_t i = 0; i < inputs.size(); i++) {
      if (inputs[i].data == kNoData) continue;
      Anchor& to = p_.inputs[inputs_[branch][i]];
      const uint64_t data = moved(weights, inputs[i].data, inputs[i].bytes());
      if (share_ && branch > 0 && to.data != data)
        fail(ErrorCode::invalid_argument, "weights '{}' differ from shape to shape", to.name);
      to.data = data;
    }
  }

  void append(const Program& p, const std::vector<Instruction>& from, std::vector<Instruction>& to,
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

  const std::span<const Branch> branches_;
  const bool share_;
  Linked out_;
  Program p_;
  uint32_t index_ = 0;
  uint64_t states_ = 0;  // of the branches so far
  std::vector<std::vector<uint32_t>> inputs_, outputs_;
  std::unordered_multimap<uint64_t, Stored> stored_;
  std::unordered_map<std::string, uint32_t> kernels_;
};

}  // namespace

Linked link_graphs(std::span<const Branch> branches) {
  return Linker(branches, false).run(kGraphIndex);
}

Linked link_buckets(std::span<const Branch> branches) {
  return Linker(branches, true).run(kBucketIndex);
}

}  // namespace poprt::program
