#include "model/repeated_layers.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace poprt::inspector {
namespace {

// Comparisons of a search are bounded: periods are shorter in graphs with very many nodes.
constexpr size_t kMostComparisons = 20'000'000;

class Finder {
 public:
  explicit Finder(const std::vector<SequenceNode>& nodes) : nodes_(nodes) {
    std::map<std::string_view, uint32_t> known;
    for (const SequenceNode& n : nodes)
      words_.push_back(
          known.try_emplace(n.label, static_cast<uint32_t>(known.size())).first->second);
    last_reader_.assign(nodes.size(), 0);
    for (size_t i = 0; i < nodes.size(); i++)
      for (const int p : nodes[i].producers)
        if (p >= 0)
          last_reader_[static_cast<size_t>(p)] = std::max(last_reader_[static_cast<size_t>(p)], i);
  }

  void find(size_t begin, size_t end, std::vector<LayerRun>& found) const {
    const LayerRun best = largest(begin, end);
    if (best.count == 0) return;
    find(begin, best.first, found);
    found.push_back(best);
    find(best.first + best.length * best.count, end, found);
  }

 private:
  LayerRun largest(size_t begin, size_t end) const {
    LayerRun best;
    const size_t n = end - begin;
    const size_t longest = std::min(n / 2, kMostComparisons / std::max<size_t>(n, 1));
    for (size_t period = kLeastLayer; period <= longest; period++)
      for (size_t i = begin; i + period < end; i++) {
        size_t equal = 0;
        while (i + equal + period < end && words_[i + equal] == words_[i + equal + period]) equal++;
        if (equal >= period && !has_shorter_period(i, period)) {
          const LayerRun run = with_equal_edges(cut(i, period, equal));
          if (run.count * run.length > best.count * best.length) best = run;
        }
        i += equal;
      }
    return best;
  }

  // Whether the `period` words at `at` repeat a shorter sequence, like a chain of equal nodes.
  bool has_shorter_period(size_t at, size_t period) const {
    for (size_t p = 1; p <= period / 2; p++) {
      if (period % p != 0) continue;
      bool equal = true;
      for (size_t k = 0; equal && k + p < period; k++) equal = words_[at + k] == words_[at + k + p];
      if (equal) return true;
    }
    return false;
  }

  // Number of values that are computed before `at` and read from there on.
  size_t crossing(size_t at) const {
    size_t count = 0;
    for (size_t i = 0; i < at; i++) count += last_reader_[i] >= at;
    return count;
  }

  LayerRun cut(size_t first, size_t period, size_t equal) const {
    LayerRun best{first, period, equal / period + 1};
    size_t fewest = crossing(first + period);
    for (size_t shift = 1; shift <= equal % period; shift++)
      if (const size_t here = crossing(first + shift + period); here < fewest) {
        best.first = first + shift;
        fewest = here;
      }
    return best;
  }

  // Keeps the layers whose edges between their own nodes are those of the first layer.
  LayerRun with_equal_edges(LayerRun run) const {
    const auto same = [&](size_t layer, size_t other) {
      const size_t a = run.first + layer * run.length, b = run.first + other * run.length;
      for (size_t k = 0; k < run.length; k++) {
        const auto &p = nodes_[a + k].producers, &q = nodes_[b + k].producers;
        if (p.size() != q.size()) return false;
        for (size_t i = 0; i < p.size(); i++) {
          const bool inside = p[i] >= static_cast<int>(a), also = q[i] >= static_cast<int>(b);
          if (inside != also ||
              (inside && p[i] - static_cast<int>(a) != q[i] - static_cast<int>(b)))
            return false;
        }
      }
      return true;
    };
    size_t layers = 1;
    while (layers < run.count && same(0, layers)) layers++;
    run.count = layers < 2 ? 0 : layers;
    return run;
  }

  const std::vector<SequenceNode>& nodes_;
  std::vector<uint32_t> words_;
  std::vector<size_t> last_reader_;
};

}  // namespace

std::vector<LayerRun> repeated_layers(const std::vector<SequenceNode>& nodes) {
  std::vector<LayerRun> found;
  Finder(nodes).find(0, nodes.size(), found);
  return found;
}

}  // namespace poprt::inspector
