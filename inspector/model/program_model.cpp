#include "model/program_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

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

// Disjoint byte ranges: the bytes that the ranges cover together.
uint64_t covered(std::vector<std::pair<uint64_t, uint64_t>>& ranges) {
  std::sort(ranges.begin(), ranges.end());
  uint64_t total = 0, end = 0;
  for (const auto& [from, to] : ranges) {
    if (to > std::max(end, from)) total += to - std::max(end, from);
    end = std::max(end, to);
  }
  return total;
}

}  // namespace

ProgramModel::ProgramModel(const program::Program& program)
    : arena_bytes_(program.arena_bytes), weights_bytes_(program.weights_bytes) {
  add_flow(program, program.main, "main");
  find_intervals(program);
  add_flow(program, program.load, "load");
  add_flow(program, program.save, "save");
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
    if (control && control != program::Control::end) depth++;
    std::set<uint64_t> weights;  // one packed tensor may be several operands
    for (const uint32_t id : instruction.operands) {
      if (id == program::kNoBuffer) continue;
      const program::Buffer& b = p.buffers[id];
      row.operands.push_back({id, space_text(p, b),
                              fmt::format("{} {}", dtype_name(b.dtype), dimensions_text(b.shape)),
                              b.offset, b.bytes});
      if (b.space == program::Space::weights && weights.insert(b.offset).second)
        row.weight_bytes += b.bytes;
    }
    instructions_.push_back(std::move(row));
  }
}

// Buffers with the same or overlapping bytes and touching uses are one interval: views, and results
// written over inputs. A gap between two uses ends an interval only when another buffer begins
// there.
void ProgramModel::find_intervals(const program::Program& p) {
  struct Use {
    int first, last;
  };
  std::map<uint32_t, Use> uses;
  for (size_t i = 0; i < p.main.size(); i++)
    for (const uint32_t id : p.main[i].operands) {
      if (id == program::kNoBuffer || p.buffers[id].space != program::Space::arena) continue;
      const auto [found, fresh] =
          uses.try_emplace(id, Use{static_cast<int>(i), static_cast<int>(i)});
      if (!fresh) found->second.last = static_cast<int>(i);
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
                            printable(p.main[static_cast<size_t>(use.first)].name)});
    ArenaInterval& interval = intervals_[into];
    const uint64_t end = std::max(interval.offset + interval.bytes, b.offset + b.bytes);
    interval.offset = std::min(interval.offset, b.offset);
    interval.bytes = end - interval.offset;
    interval.last = std::max(interval.last, use.last);
    interval.buffers.push_back(id);
    open.emplace(interval.last, into);
  }
  live_bytes_.assign(p.main.size(), 0);
  std::vector<std::vector<size_t>> begins(p.main.size());
  for (size_t i = 0; i < intervals_.size(); i++)
    begins[static_cast<size_t>(intervals_[i].first)].push_back(i);
  std::vector<size_t> alive;
  for (size_t at = 0; at < p.main.size(); at++) {
    std::erase_if(alive, [&](size_t i) { return intervals_[i].last < static_cast<int>(at); });
    alive.insert(alive.end(), begins[at].begin(), begins[at].end());
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (const size_t i : alive)
      ranges.emplace_back(intervals_[i].offset, intervals_[i].offset + intervals_[i].bytes);
    live_bytes_[at] = covered(ranges);
  }
}

size_t ProgramModel::peak() const {
  return static_cast<size_t>(std::max_element(live_bytes_.begin(), live_bytes_.end()) -
                             live_bytes_.begin()) %
         std::max<size_t>(1, live_bytes_.size());
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

std::vector<size_t> ProgramModel::rows(std::string_view filter) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < instructions_.size(); i++)
    if (contains_text(instructions_[i].kernel, filter) ||
        contains_text(instructions_[i].name, filter))
      found.push_back(i);
  return found;
}

std::vector<std::pair<std::string, size_t>> ProgramModel::kernel_counts() const {
  std::map<std::string, size_t> counts;
  for (const InstructionRow& row : instructions_) counts[row.kernel]++;
  std::vector<std::pair<std::string, size_t>> rows(counts.begin(), counts.end());
  stable_order(rows, [](const auto& a, const auto& b) { return a.second > b.second; });
  return rows;
}

}  // namespace poprt::inspector
