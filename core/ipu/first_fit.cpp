#include "ipu/first_fit.h"

#include <algorithm>
#include <iterator>

#include "ipu/numbers.h"

namespace poprt::ipu {

FirstFit::FirstFit(size_t operations) {
  while (leaves_ < operations) leaves_ *= 2;
  whole_.resize(2 * leaves_);
  part_.resize(2 * leaves_);
}

void FirstFit::add(Runs& runs, int64_t begin, int64_t end) {
  auto next = runs.upper_bound(begin);
  if (next != runs.begin())
    if (const auto before = std::prev(next); before->second >= begin) {
      begin = before->first;
      next = before;
    }
  while (next != runs.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = runs.erase(next);
  }
  runs.emplace(begin, end);
}

FirstFit::Nodes FirstFit::nodes_of(size_t first, size_t last) const {
  Nodes nodes;
  size_t low = first + leaves_, high = last + leaves_;
  for (size_t a = low / 2, b = high / 2; a > 0; a /= 2, b /= 2) {
    nodes.edges.push_back(a);
    if (b != a) nodes.edges.push_back(b);
  }
  for (high++; low < high; low /= 2, high /= 2) {
    if (low % 2) nodes.parts.push_back(low++);
    if (high % 2) nodes.parts.push_back(--high);
  }
  return nodes;
}

int64_t FirstFit::place(size_t first, size_t last, int64_t bytes) {
  const Nodes nodes = nodes_of(first, last);
  // The blocks that exist during a part of the interval, and those that exist during the whole of a
  // larger range.
  std::vector<const Runs*> taken;
  for (const size_t node : nodes.parts) taken.push_back(&part_[node]);
  for (const size_t node : nodes.edges) taken.push_back(&whole_[node]);
  std::erase_if(taken, [](const Runs* runs) { return runs->empty(); });

  int64_t begin = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (const Runs* runs : taken) {
      // The first run that ends after `begin`.
      auto run = runs->upper_bound(begin);
      if (run != runs->begin() && std::prev(run)->second > begin) --run;
      if (run == runs->end() || run->first - begin >= bytes) continue;
      begin = run->second;
      moved = true;
    }
  }
  const int64_t end = begin + round_up(bytes, 8);
  if (end == begin) return begin;
  for (const size_t node : nodes.parts) {
    add(whole_[node], begin, end);
    add(part_[node], begin, end);
  }
  for (const size_t node : nodes.edges) add(part_[node], begin, end);
  return begin;
}

}  // namespace poprt::ipu
