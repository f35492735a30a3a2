#include "ipu/planner.h"

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "ipu/numbers.h"
#include "ipu/plan_cost.h"

namespace poprt::ipu {
namespace {

constexpr std::array kMethods = {Method::amp, Method::slic, Method::vmac, Method::outer_product,
                                 Method::hmac};

// Returns the numbers of parts that result in different sizes of parts. Any other number has the
// same size of parts as a smaller number.
std::vector<int64_t> parts_of(int64_t size, int64_t limit) {
  std::vector<int64_t> parts;
  for (int64_t p = 1; p <= std::min(size, limit);) {
    parts.push_back(p);
    const int64_t length = ceil_div(size, p);
    if (length == 1) break;
    p = ceil_div(size, length - 1);
  }
  return parts;
}

bool is_possible(const Target& t, const Product& p, Method method) {
  switch (method) {
    case Method::amp: return amp_shape(t, p.inputs, p.partials).units > 0;
    case Method::slic:
      return p.groups > 1 && p.in <= 4 && p.out <= 4 && p.inputs == DType::f16 &&
             p.stride_width <= 2 && p.dilation_width == 1;
    case Method::vmac: return p.groups > 1 && p.in == 1 && p.out == 1;
    case Method::hmac: return p.field() * p.out * p.groups <= 65536 && p.inputs != DType::undefined;
    case Method::outer_product: return p.in == 1 && p.taps() == 1;
  }
  return false;
}

// Searches the splits of one product.
class Search {
 public:
  Search(const Target& t, const PlanOptions& o)
      : target_(t), options_(o), tiles_(o.tiles ? o.tiles : t.tiles) {
    bound_ = static_cast<int64_t>(o.memory_proportion * static_cast<double>(t.bytes_per_tile));
  }

  // `loops` has the serial splits.
  void run(const Product& p, Change change, const Split& loops) {
    for (const Method method : kMethods)
      if (is_possible(target_, p, method)) splits(p, method, change, loops);
  }

  // The best plan within the bound, or the one with the least memory.
  Plan result() const {
    const int64_t plain = plain_.cost.total, looped = looped_.cost.total;
    Plan plan = looped && (!plain || looped < plain) ? looped_ : plain ? plain_ : least_;
    plan.within_memory = plain || looped;
    return plan;
  }

 private:
  void splits(const Product& p, Method method, Change change, const Split& loops);
  void fields(const Product& p, Method method, Change change, const Split& channels);
  void consider(const Product& p, Method method, Change change, const Split& s);

  const Target& target_;
  const PlanOptions& options_;
  int64_t tiles_, bound_ = 0;
  // Within the bound, without and with a loop; a plan of which the total is 0 does not exist.
  Plan plain_, looped_;
  Plan least_;
};

void Search::consider(const Product& p, Method method, Change change, const Split& s) {
  TileWork work;
  PlanCost cost;
  // The objective counts no syncs, which a loop repeats, so that plans with a loop are compared by
  // their total.
  const bool loops = s.rounds() > 1;
  const auto key = [loops](const PlanCost& c) { return loops ? c.total : c.objective; };
  Plan& best = loops ? looped_ : plain_;
  int64_t most = INT64_MAX;
  if (best.cost.total) most = key(best.cost);
  if (loops && plain_.cost.total) most = std::min(most, plain_.cost.total);
  if (!try_plan_cost(target_, p, options_, method, s, change, work, cost, most)) return;
  const auto store = [&](Plan& plan) {
    plan = Plan{method, s, change.swapped, change.flattened, true, p, work, cost};
  };
  if (cost.bound_bytes <= bound_ &&
      (!best.cost.total ||
       std::pair(key(cost), cost.bound_bytes) < std::pair(key(best.cost), best.cost.bound_bytes)))
    store(best);
  if (!least_.cost.total || cost.bound_bytes < least_.cost.bound_bytes) store(least_);
}

// Considers the splits of the field, with the other splits as they are in `channels`.
void Search::fields(const Product& p, Method method, Change change, const Split& channels) {
  const int64_t rest = tiles_ / channels.tiles();
  const auto rows = parts_of(p.rows, rest), widths = parts_of(p.width, rest);
  Split s = channels;
  for (const int64_t pw : widths)
    for (const int64_t pr : rows) {
      if (pr * pw > rest) break;
      s.width = pw;
      s.rows = pr;
      // The smallest number of parts of the batch that gives the same size of parts as the largest
      // number.
      const int64_t most = std::min(p.batch, rest / (pw * pr));
      s.batch = ceil_div(p.batch, ceil_div(p.batch, most));
      consider(p, method, change, s);
    }
}

void Search::splits(const Product& p, Method method, Change change, const Split& loops) {
  const Grain g = grain_of(target_, p, method);
  const auto groups = parts_of(ceil_div(p.groups, g.groups), tiles_);
  const auto outs = parts_of(ceil_div(ceil_div(p.out, g.out), loops.serial_out), tiles_);
  const auto ins = parts_of(ceil_div(ceil_div(p.in, g.in), loops.serial_in), tiles_);
  const auto kernels = parts_of(p.kernel_rows, tiles_);
  Split s = loops;
  for (const int64_t pg : groups)
    for (const int64_t pk : kernels)
      for (const int64_t po : outs)
        for (const int64_t pi : ins) {
          if (pg * pk * po * pi > tiles_) break;
          s.groups = pg;
          s.kernel = pk;
          s.out = po;
          s.in = pi;
          fields(p, method, change, s);
        }
}

Product flattened(const Product& p) {
  Product f = p;
  f.in = p.in * p.taps();
  f.kernel_rows = f.kernel_width = 1;
  f.stride_rows = f.stride_width = f.dilation_rows = f.dilation_width = 1;
  return f;
}

// Joins `factor` groups to one, whose weights are zero outside the blocks on the diagonal.
Product combined(const Product& p, int64_t factor) {
  Product c = p;
  c.groups = p.groups / factor;
  c.in = p.in * factor;
  c.out = p.out * factor;
  return c;
}

void check(const Product& p) {
  for (const int64_t size : {p.groups, p.batch, p.rows, p.width, p.in, p.out, p.kernel_rows,
                             p.kernel_width, p.stride_rows, p.stride_width})
    if (size < 1)
      fail(ErrorCode::invalid_argument, "a product with a size of {} cannot be planned", size);
}

// Searches plans for the product, and for equivalent products: with swapped operands, with the taps
// as channels, or with merged groups.
void search_equivalents(Search& search, const Product& product, const Split& loops) {
  search.run(product, {}, loops);
  if (product.matmul) {
    Product other = product;
    std::swap(other.batch, other.out);
    other.resident_inputs = !product.computed_weights;
    other.computed_weights = !product.resident_inputs;
    search.run(other, {.swapped = true}, loops);
  }
  if (product.taps() > 1 && product.groups == 1 && product.in * product.taps() <= 256 &&
      loops.serial_in == 1)
    search.run(flattened(product), {.flattened = true}, loops);
  for (int64_t factor = 2; !product.matmul && product.in * factor <= 16; factor *= 2)
    if (product.groups % factor == 0) search.run(combined(product, factor), {}, loops);
}

// Rounds of the loops that are considered.
constexpr std::array<int64_t, 11> kRounds = {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

}  // namespace

Plan plan_product(const Target& target, const Product& product, const PlanOptions& options) {
  check(product);
  Search search(target, options);
  search_equivalents(search, product, {});
  for (const int64_t rounds : kRounds) {
    if (rounds <=
        std::max<int64_t>(1, std::max(product.out, product.matmul ? product.batch : 1) / 16))
      search_equivalents(search, product, {.serial_out = rounds});
    // The rounds of a loop over input channels are equal, so that one program computes them.
    if (product.in % rounds == 0 && product.groups == 1)
      search_equivalents(search, product, {.serial_in = rounds});
  }
  return search.result();
}

Plan plan_with(const Target& target, const Product& product, const PlanOptions& options,
               Method method, const Split& split) {
  check(product);
  Plan plan{method, split, false, false, true, product, {}, {}};
  if (!try_plan_cost(target, product, options, method, split, {}, plan.work, plan.cost))
    fail(ErrorCode::invalid_argument, "method {} cannot compute the product", method_name(method));
  return plan;
}

struct PlanCache::Entry {
  Product product;
  PlanOptions options;
  std::unique_ptr<Plan> plan;
};

PlanCache::PlanCache(const Target& target, PlanOptions options)
    : target_(target), options_(options) {}
PlanCache::~PlanCache() = default;
size_t PlanCache::size() const { return entries_.size(); }

const Plan& PlanCache::plan(const Product& product) { return plan(product, options_); }

const Plan& PlanCache::plan(const Product& product, const PlanOptions& options) {
  for (const Entry& e : entries_)
    if (e.product == product && e.options == options) return *e.plan;
  entries_.push_back(
      {product, options, std::make_unique<Plan>(plan_product(target_, product, options))});
  return *entries_.back().plan;
}

}  // namespace poprt::ipu
