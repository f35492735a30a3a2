#include "model/program_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "kernels/kernel.h"
#include "model/format.h"
#include "model/stable_order.h"
#include "program/control.h"

namespace poprt::inspector {
namespace {

std::string space_text(const program::Program& p, const program::Buffer& b) {
  switch (b.space) {
    case program::Space::arena: return "arena";
    case program::Space::weights: return "weights";
    case program::Space::input: return "input " + printable(p.inputs[b.index].name);
    case program::Space::output: return "output " + printable(p.outputs[b.index].name);
  }
  return "?";
}

struct Use {
  int first, last;
};

// The loops of main that enclose each instruction.
class Loops {
 public:
  explicit Loops(const program::Program& p) : around_(p.main.size(), -1) {
    // The open control regions, each with the innermost loop that encloses it (-1: none).
    std::vector<std::pair<program::Control, int>> open;
    int inner = -1;
    for (size_t i = 0; i < p.main.size(); i++) {
      const auto control = program::control_of(p.kernels[p.main[i].kernel]);
      const bool begins =
          control && control != program::Control::end && control != program::Control::transfer;
      if (begins) open.emplace_back(*control, inner);
      if (begins && control == program::Control::loop) {
        inner = static_cast<int>(loops_.size());
        loops_.push_back({{static_cast<int>(i), static_cast<int>(i)}, open.back().second});
      }
      around_[i] = inner;
      if (control != program::Control::end || open.empty()) continue;
      if (open.back().first == program::Control::loop)
        loops_[static_cast<size_t>(inner)].place.last = static_cast<int>(i);
      inner = open.back().second;
      open.pop_back();
    }
  }

  // A buffer that is defined before a loop and read in it is needed until the loop ends, because
  // the next iteration reads it again.
  int last_use(const Use& use) const {
    int last = use.last;
    for (int l = around_[static_cast<size_t>(use.last)]; l >= 0;) {
      const Loop& loop = loops_[static_cast<size_t>(l)];
      if (loop.place.first <= use.first) break;
      last = std::max(last, loop.place.last);
      l = loop.parent;
    }
    return last;
  }

 private:
  struct Loop {
    Use place;
    int parent;
  };
  std::vector<Loop> loops_;
  std::vector<int> around_;  // innermost loop of each instruction; -1: none
};

// The number of operands at the end of the list that the instruction writes. A program does not
// state it; the kernel knows it. Of an unknown kernel, every operand counts as written.
size_t written_operands(const program::Program& p, const program::Instruction& in) {
  const std::string& name = p.kernels[in.kernel];
  // The index of a loop; the place of a transfer is written by a kernel.
  if (const auto control = program::control_of(name))
    return *control == program::Control::loop ? 1 : 0;
  const kernels::Kernel* const kernel = kernels::find_kernel(name);
  if (!kernel) return in.operands.size();
  std::vector<kernels::Operand> operands;
  for (const uint32_t id : in.operands) {
    operands.emplace_back();
    if (id == program::kNoBuffer) continue;
    const program::Buffer& b = p.buffers[id];
    operands.back() = {true, b.dtype, b.shape, b.bytes};
  }
  try {
    return std::min(in.operands.size(), kernel->prepare({operands, in.ints, in.floats}).outputs);
  } catch (const std::exception&) {  // a device refuses such a program
    return in.operands.size();
  }
}

// The last instruction that writes each byte of the arena.
class Writers {
 public:
  void write(const program::Buffer& b, int instruction) {
    const uint64_t begin = b.offset, end = begin + b.bytes;
    for (auto at = first_in(begin); at != last_.end() && at->first < end;) {
      const auto [from, written] = *at;
      at = last_.erase(at);
      if (from < begin) last_[from] = {begin, written.by};
      if (end < written.end) last_[end] = written;
    }
    if (begin < end) last_[begin] = {end, instruction};
  }
  // The first of the instructions that the bytes of the buffer are of, or `otherwise` if none
  // writes them.
  int first_of(const program::Buffer& b, int otherwise) const {
    int first = otherwise;
    for (auto at = first_in(b.offset); at != last_.end() && at->first < b.offset + b.bytes; ++at)
      first = std::min(first, at->second.by);
    return first;
  }

 private:
  struct Written {
    uint64_t end;
    int by;
  };
  // The first range that ends after `begin`.
  std::map<uint64_t, Written>::const_iterator first_in(uint64_t begin) const {
    auto at = last_.upper_bound(begin);
    if (at != last_.begin() && std::prev(at)->second.end > begin) --at;
    return at;
  }
  std::map<uint64_t, Written> last_;  // by the first byte of the range; ranges do not overlap
};

// Sorts the ranges and returns the number of bytes in their union.
uint64_t bytes_of_union(std::vector<std::pair<uint64_t, uint64_t>>& ranges) {
  std::sort(ranges.begin(), ranges.end());
  uint64_t total = 0, end = 0;
  for (const auto& [from, to] : ranges) {
    if (to > std::max(end, from)) total += to - std::max(end, from);
    end = std::max(end, to);
  }
  return total;
}

}  // namespace

ProgramModel::ProgramModel(const program::Program& program, std::span<const std::string> variants,
                           std::span<const program::NarrowWeights> narrow)
    : arena_bytes_(program.arena_bytes),
      weights_bytes_(program.weights_bytes),
      stored_weights_bytes_(
          program::stored_bytes(program::stored_pieces(narrow, program.weights_bytes))) {
  add_flow(program, program.main, "main");
  find_intervals(program);
  find_parts(program, variants);
  count_live(program.main.size());
  for (ProgramPart& part : parts_) measure_part(program, part);
  add_flow(program, program.load, "load");
  add_flow(program, program.save, "save");
  mark_narrow(narrow);
}

void ProgramModel::mark_narrow(std::span<const program::NarrowWeights> narrow) {
  for (InstructionRow& row : instructions_)
    for (OperandRow& o : row.operands) {
      if (o.space != "weights") continue;
      const auto end = std::upper_bound(
          narrow.begin(), narrow.end(), o.offset,
          [](uint64_t offset, const program::NarrowWeights& n) { return offset < n.offset; });
      if (end != narrow.begin() && o.offset < end[-1].offset + end[-1].bytes)
        o.stored = dtype_name(end[-1].dtype);
    }
}

void ProgramModel::add_flow(const program::Program& p,
                            const std::vector<program::Instruction>& list, const char* flow) {
  int depth = 0;
  for (size_t i = 0; i < list.size(); i++) {
    const program::Instruction& instruction = list[i];
    InstructionRow row;
    row.index = i;
    row.flow = flow;
    row.kernel = p.kernels[instruction.kernel];
    row.name = printable(instruction.name);
    const auto control = program::control_of(row.kernel);
    if (control == program::Control::end) depth = std::max(0, depth - 1);
    row.depth = depth;
    if (control && control != program::Control::end && control != program::Control::transfer)
      depth++;
    std::set<uint64_t> weights;  // one packed tensor may be several operands
    for (const uint32_t id : instruction.operands) {
      if (id == program::kNoBuffer) continue;
      const program::Buffer& b = p.buffers[id];
      row.operands.push_back({id,
                              space_text(p, b),
                              fmt::format("{} {}", dtype_name(b.dtype), dimensions_text(b.shape)),
                              b.offset,
                              b.bytes,
                              {}});
      if (b.space == program::Space::weights && weights.insert(b.offset).second)
        row.weight_bytes += b.bytes;
    }
    instructions_.push_back(std::move(row));
  }
}

// A buffer is in use from the instruction that writes it to its last one. A view is another buffer
// with the same bytes, so it is in use from the instruction that writes those. Buffers with
// overlapping bytes form one interval if the use of one begins before that of the other ends, or at
// its last instruction, for example views and results that overwrite inputs.
void ProgramModel::find_intervals(const program::Program& p) {
  std::map<uint32_t, Use> uses;
  Writers writers;
  for (size_t i = 0; i < p.main.size(); i++) {
    const program::Instruction& in = p.main[i];
    const int now = static_cast<int>(i);
    const auto is_in_arena = [&](uint32_t id) {
      return id != program::kNoBuffer && p.buffers[id].space == program::Space::arena;
    };
    if (program::control_of(p.kernels[in.kernel]) == program::Control::transfer) continue;
    const size_t reads = in.operands.size() - written_operands(p, in);
    for (size_t k = 0; k < in.operands.size(); k++) {
      const uint32_t id = in.operands[k];
      if (!is_in_arena(id)) continue;
      const auto found =
          uses.try_emplace(id, Use{k < reads ? writers.first_of(p.buffers[id], now) : now, now});
      found.first->second.last = now;
    }
    for (size_t k = reads; k < in.operands.size(); k++)
      if (is_in_arena(in.operands[k])) writers.write(p.buffers[in.operands[k]], now);
  }
  const Loops loops(p);
  for (auto& [id, use] : uses) {
    use.last = loops.last_use(use);
    // State persists between runs.
    const program::Buffer& b = p.buffers[id];
    if (b.offset < p.state_bytes) use = {0, static_cast<int>(p.main.size()) - 1};
  }
  std::vector<std::pair<uint32_t, Use>> order(uses.begin(), uses.end());
  stable_order(order, [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  std::multimap<int, size_t> open;  // by the last position so far
  for (const auto& [id, use] : order) {
    const program::Buffer& b = p.buffers[id];
    open.erase(open.begin(), open.lower_bound(use.first));
    size_t into = intervals_.size();
    for (auto it = open.begin(); it != open.end(); ++it) {
      const ArenaInterval& at = intervals_[it->second];
      if (b.offset < at.offset + at.bytes && at.offset < b.offset + b.bytes) {
        into = it->second;
        open.erase(it);
        break;
      }
    }
    if (into == intervals_.size())
      intervals_.push_back({b.offset,
                            b.bytes,
                            use.first,
                            use.last,
                            {},
                            printable(p.main[static_cast<size_t>(use.first)].name),
                            p.kernels[p.main[static_cast<size_t>(use.first)].kernel]});
    ArenaInterval& interval = intervals_[into];
    const uint64_t end = std::max(interval.offset + interval.bytes, b.offset + b.bytes);
    interval.offset = std::min(interval.offset, b.offset);
    interval.bytes = end - interval.offset;
    interval.last = std::max(interval.last, use.last);
    interval.buffers.push_back(id);
    open.emplace(interval.last, into);
  }
}

void ProgramModel::count_live(size_t instructions) {
  live_bytes_.assign(instructions, 0);
  own_bytes_.assign(instructions, 0);
  std::vector<std::vector<size_t>> begins(instructions);
  for (size_t i = 0; i < intervals_.size(); i++)
    begins[static_cast<size_t>(intervals_[i].first)].push_back(i);
  std::vector<size_t> alive;
  size_t next_part = 0;
  for (size_t at = 0; at < instructions; at++) {
    std::erase_if(alive, [&](size_t i) { return intervals_[i].last < static_cast<int>(at); });
    alive.insert(alive.end(), begins[at].begin(), begins[at].end());
    while (next_part < parts_.size() && parts_[next_part].last < at) next_part++;
    const bool inside = next_part < parts_.size() && parts_[next_part].first <= at &&
                        !parts_[next_part].is_variant();
    std::vector<std::pair<uint64_t, uint64_t>> ranges, own;
    for (const size_t i : alive) {
      const uint64_t begin = intervals_[i].offset, end = begin + intervals_[i].bytes;
      ranges.emplace_back(begin, end);
      if (!inside) continue;
      const ProgramPart& p = parts_[next_part];
      const uint64_t low = std::max(begin, p.arena_begin),
                     high = std::min(end, p.arena_begin + p.arena_bytes);
      if (low < high) own.emplace_back(low, high);
    }
    live_bytes_[at] = bytes_of_union(ranges);
    own_bytes_[at] = inside ? bytes_of_union(own) : live_bytes_[at];
  }
}

// Finds the top-level regions of variants and shards. Implausible regions are ignored, because a
// device rejects such a program.
void ProgramModel::find_parts(const program::Program& p, std::span<const std::string> variants) {
  int depth = 0;
  std::map<int64_t, int> shards_of;  // by IPU, if the program is not pipelined
  for (size_t i = 0; i < p.main.size(); i++) {
    const program::Instruction& in = p.main[i];
    const auto control = program::control_of(p.kernels[in.kernel]);
    if (!control || control == program::Control::transfer) continue;
    if (control == program::Control::end) {
      depth = std::max(0, depth - 1);
      if (depth == 0 && !parts_.empty() && parts_.back().last == 0) parts_.back().last = i;
      continue;
    }
    if (depth++ > 0) continue;
    ProgramPart part;
    part.first = i;
    if (control == program::Control::case_region && in.ints.size() == 1) {
      const auto number = static_cast<size_t>(program::decode_case(in).number);
      part.name = number < variants.size() ? printable(variants[number]) : printable(in.name);
      while (part.name.ends_with('/')) part.name.pop_back();
      if (part.name.empty()) part.name = fmt::format("variant {}", number);
    } else if (control == program::Control::shard && in.ints.size() == 5) {
      const program::ControlShard shard = program::decode_shard(in);
      part.ipu = std::max<int64_t>(0, shard.ipu);
      part.name = fmt::format("IPU {}", part.ipu);
      if (shard.stage >= 0)
        part.name += fmt::format(", stage {}", shard.stage);
      else if (const int turn = shards_of[part.ipu]++; turn > 0)
        part.name += fmt::format(", turn {}", turn + 1);
      part.arena_begin = static_cast<uint64_t>(std::max<int64_t>(0, shard.arena_begin));
      part.arena_bytes = static_cast<uint64_t>(std::max<int64_t>(0, shard.arena_bytes));
    } else {
      continue;
    }
    parts_.push_back(std::move(part));
  }
  if (!parts_.empty() && parts_.back().last == 0) parts_.pop_back();  // the region has no end
}

void ProgramModel::measure_part(const program::Program& p, ProgramPart& part) const {
  std::map<uint64_t, uint64_t> weights;  // bytes by offset
  for (size_t i = part.first; i <= part.last; i++) {
    part.most_bytes = std::max(part.most_bytes, own_bytes_[i]);
    for (const uint32_t id : p.main[i].operands) {
      if (id == program::kNoBuffer) continue;
      const program::Buffer& b = p.buffers[id];
      if (b.space == program::Space::weights)
        weights[b.offset] = std::max(weights[b.offset], b.bytes);
      if (b.space == program::Space::arena && part.is_variant())
        part.arena_bytes = std::max(part.arena_bytes, b.offset + b.bytes);
    }
  }
  for (const auto& [offset, bytes] : weights) part.weights_bytes += bytes;
}

int ProgramModel::part_of(size_t instruction) const {
  for (size_t i = 0; i < parts_.size(); i++)
    if (parts_[i].first <= instruction && instruction <= parts_[i].last) return static_cast<int>(i);
  return -1;
}

size_t ProgramModel::peak(int part) const {
  if (live_bytes_.empty()) return 0;
  const auto& bytes = part < 0 ? live_bytes_ : own_bytes_;
  auto first = bytes.begin(), last = bytes.end();
  if (part >= 0 && static_cast<size_t>(part) < parts_.size()) {
    const ProgramPart& p = parts_[static_cast<size_t>(part)];
    last = first + static_cast<std::ptrdiff_t>(p.last) + 1;
    first += static_cast<std::ptrdiff_t>(p.first);
  }
  return static_cast<size_t>(std::max_element(first, last) - bytes.begin());
}

std::vector<size_t> ProgramModel::alive_at(int position) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < intervals_.size(); i++)
    if (intervals_[i].first <= position && position <= intervals_[i].last) found.push_back(i);
  stable_order(found,
               [&](size_t a, size_t b) { return intervals_[a].bytes > intervals_[b].bytes; });
  return found;
}

std::vector<size_t> ProgramModel::sharing_with(size_t interval) const {
  const ArenaInterval& it = intervals_[interval];
  std::vector<size_t> found;
  for (size_t i = 0; i < intervals_.size(); i++) {
    const ArenaInterval& o = intervals_[i];
    if (i != interval && o.offset < it.offset + it.bytes && it.offset < o.offset + o.bytes)
      found.push_back(i);
  }
  return found;
}

std::vector<size_t> ProgramModel::rows(std::string_view filter, int part) const {
  std::vector<size_t> found;
  const ProgramPart* only = part >= 0 && static_cast<size_t>(part) < parts_.size()
                                ? &parts_[static_cast<size_t>(part)]
                                : nullptr;
  for (size_t i = 0; i < instructions_.size(); i++) {
    const InstructionRow& row = instructions_[i];
    if (only && (row.flow != "main" || row.index < only->first || row.index > only->last)) continue;
    if (contains_text(row.kernel, filter) || contains_text(row.name, filter)) found.push_back(i);
  }
  return found;
}

std::vector<std::pair<std::string, size_t>> ProgramModel::kernel_counts(int part) const {
  std::map<std::string, size_t> counts;
  for (const size_t row : rows({}, part)) counts[instructions_[row].kernel]++;
  std::vector<std::pair<std::string, size_t>> rows(counts.begin(), counts.end());
  stable_order(rows, [](const auto& a, const auto& b) { return a.second > b.second; });
  return rows;
}

std::vector<std::string> ProgramModel::arena_kernels(int part) const {
  std::map<std::string, double> areas;
  for (const ArenaInterval& v : intervals_) {
    if (part >= 0) {
      const ProgramPart& p = parts_[static_cast<size_t>(part)];
      if (v.last < static_cast<int>(p.first) || v.first > static_cast<int>(p.last)) continue;
    }
    areas[v.kernel] += static_cast<double>(v.bytes) * (v.last - v.first + 1);
  }
  std::vector<std::string> kernels;
  for (const auto& [kernel, area] : areas) kernels.push_back(kernel);
  stable_order(kernels, [&](const auto& a, const auto& b) { return areas.at(a) > areas.at(b); });
  return kernels;
}

}  // namespace poprt::inspector
