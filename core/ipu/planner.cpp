#include "ipu/planner.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/error.h"
#include "ipu/calibration.h"
#include "ipu/numbers.h"
#include "ipu/vertices.h"

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
  // Parts of similar sizes are left out if there are many.
  constexpr size_t kMost = 60;
  if (parts.size() <= kMost) return parts;
  std::vector<int64_t> fewer;
  double next = 1;
  const double ratio = 1.06;
  for (size_t i = 0; i < parts.size(); i++)
    if (static_cast<double>(parts[i]) >= next || i + 1 == parts.size()) {
      fewer.push_back(parts[i]);
      next = std::max(next * ratio, static_cast<double>(parts[i]) + 0.5);
    }
  return fewer;
}

struct Grain {
  int64_t groups = 1, in = 1, out = 1;
};

Grain grain_of(const Target& t, const Product& p, Method method) {
  switch (method) {
    case Method::amp: {
      const AmpShape shape = amp_shape(t, p.inputs, p.partials);
      return {1, std::max<int64_t>(shape.group, 1), std::max<int64_t>(shape.units, 1)};
    }
    case Method::slic: return {4, 4, 4};
    case Method::vmac: return {p.inputs == DType::f16 ? 8 : 4, 1, 1};
    case Method::hmac: return {1, vector_width(t, p.inputs), 1};
    case Method::outer_product: return {1, 1, vector_width(t, p.inputs)};
  }
  return {};
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

struct Evaluation {
  const Target& target;
  const Product& product;
  const PlanOptions& options;

  TileWork work_of(Method method, const Split& s) const {
    const Product& p = product;
    const Grain g = grain_of(target, p, method);
    TileWork w;
    w.groups = std::min(p.groups, ceil_div(ceil_div(p.groups, g.groups), s.groups) * g.groups);
    w.rows = ceil_div(p.batch, s.batch) * ceil_div(p.rows, s.rows);
    w.width = ceil_div(p.width, s.width);
    w.in = std::min(p.in, ceil_div(ceil_div(p.in, g.in), s.in) * g.in);
    const int64_t out = ceil_div(ceil_div(p.out, g.out), s.serial_out);
    w.out = std::min(p.out, ceil_div(out, s.out) * g.out);
    w.kernel_rows = p.kernel_rows;
    w.kernel_width = p.kernel_width;
    w.stride = p.stride_width;
    w.inputs = p.inputs;
    w.partials = p.partials;
    w.wide_loads = options.wide_loads;
    return w;
  }

  // Elements of the inputs that the busiest tile reads, with the border of its field.
  int64_t input_elements(const TileWork& w, const Split& s) const {
    const Product& p = product;
    const int64_t rows = ceil_div(p.rows, s.rows);
    const int64_t in_rows =
        p.kernel_rows == 1 ? rows
                           : (rows - 1) * p.stride_rows + (p.kernel_rows - 1) * p.dilation_rows + 1;
    const int64_t in_width = p.kernel_width == 1 ? w.width
                                                 : (w.width - 1) * p.stride_width +
                                                       (p.kernel_width - 1) * p.dilation_width + 1;
    return w.groups * w.in * ceil_div(p.batch, s.batch) * in_rows * in_width;
  }

  int64_t exchange(int64_t bytes, bool shared) const {
    const Calibration& c = calibration();
    const double rate = static_cast<double>(target.exchange_bytes) * (shared ? 2 : 1);
    return bytes ? static_cast<int64_t>(
                       static_cast<double>(bytes) / (rate * c.exchange_efficiency) + 0.5)
                 : 0;
  }

  // Returns false if the method cannot compute the part of a tile.
  bool cost(Method method, const Split& s, TileWork& w, PlanCost& c) const;
};

bool Evaluation::cost(Method method, const Split& s, TileWork& w, PlanCost& c) const {
  const Product& p = product;
  w = work_of(method, s);
  const int64_t compute = vertex_cycles(target, method, w);
  if (compute < 0) return false;
  const auto sync = static_cast<int64_t>(calibration().sync);
  const int64_t outputs = w.groups * w.field() * w.out;
  const bool spreads = s.batch * s.rows * s.width > 1;
  c.input_bytes = chip_bytes(p.inputs, input_elements(w, s));
  c.weight_bytes = chip_bytes(p.inputs, w.groups * w.taps() * w.in * w.out);
  c.partial_bytes = chip_bytes(p.partials, outputs);
  c.shared_input = s.out % 2 == 0;
  const bool stays = p.resident_inputs && s.out == 1 && s.serial_out == 1;
  c.input_exchange = stays ? 0 : exchange(c.input_bytes, c.shared_input) + sync;
  c.weight_exchange = spreads || s.serial_out > 1 || p.computed_weights
                          ? exchange(c.weight_bytes, false) + sync
                          : 0;
  c.compute = compute;
  const bool widened = p.partials != p.result;
  int64_t reduced_bytes = 0;
  if (s.in > 1) {
    const int64_t share = ceil_div(outputs, s.in);
    c.reduce_bytes = chip_bytes(p.partials, share) * s.in;
    c.reduce_exchange = exchange(chip_bytes(p.partials, share) * (s.in - 1), false) + sync;
    c.reduce = reduce_add_cycles(target, p.partials, share, s.in, options.fast_reduce);
    reduced_bytes = c.reduce_bytes;
  }
  if (widened) {
    const int64_t share = ceil_div(outputs, s.in);
    c.cast = cast_cycles(target, p.partials, p.result, share) + sync;
  }
  if (s.serial_out > 1) {
    c.slice = copy_cycles(target, c.weight_bytes, 8) + sync;
    c.update = copy_cycles(target, chip_bytes(p.result, ceil_div(outputs, s.in)), 8) + sync;
  }
  c.total = s.serial_out * (c.slice + c.input_exchange + c.weight_exchange + c.compute +
                            c.reduce_exchange + c.reduce + c.cast + c.update) +
            c.transform;
  const bool partials_are_temporary = widened || s.in > 1 || s.serial_out > 1;
  c.temporary_bytes = std::max(c.input_bytes + (c.weight_exchange ? c.weight_bytes : 0) +
                                   (partials_are_temporary ? c.partial_bytes : 0),
                               reduced_bytes ? c.partial_bytes + reduced_bytes : 0);
  return true;
}

// Searches the splits of one product.
class Search {
 public:
  Search(const Target& t, const PlanOptions& o)
      : target_(t), options_(o), tiles_(o.tiles ? o.tiles : t.tiles) {
    bound_ = static_cast<int64_t>(o.memory_proportion * static_cast<double>(t.bytes_per_tile));
  }

  void run(const Product& p, bool swapped, bool flattened, int64_t serial) {
    for (const Method method : kMethods)
      if (is_possible(target_, p, method)) splits(p, method, swapped, flattened, serial);
  }

  bool found() const { return best_.cost.total > 0; }
  // The best plan within the bound, or the one with the least memory.
  Plan result() const {
    Plan plan = found() ? best_ : least_;
    plan.within_memory = found();
    return plan;
  }

 private:
  void splits(const Product& p, Method method, bool swapped, bool flattened, int64_t serial);
  void consider(const Evaluation& e, Method method, const Split& s, bool swapped, bool flattened);

  const Target& target_;
  const PlanOptions& options_;
  int64_t tiles_, bound_ = 0;
  Plan best_, least_;
};

void Search::consider(const Evaluation& e, Method method, const Split& s, bool swapped,
                      bool flattened) {
  TileWork work;
  PlanCost cost;
  if (!e.cost(method, s, work, cost)) return;
  if (flattened) {
    // Neighbours become channels: every input is copied to the places of all taps that read it.
    cost.transform =
        copy_cycles(target_, cost.input_bytes, 4) + static_cast<int64_t>(calibration().sync);
    cost.total += cost.transform;
    cost.temporary_bytes += cost.input_bytes;
  }
  const auto store = [&](Plan& plan) {
    plan = Plan{method, s, swapped, flattened, true, e.product, work, cost};
  };
  if (cost.temporary_bytes <= bound_ &&
      (!found() || cost.total < best_.cost.total ||
       (cost.total == best_.cost.total && cost.temporary_bytes < best_.cost.temporary_bytes)))
    store(best_);
  if (!least_.cost.total || cost.temporary_bytes < least_.cost.temporary_bytes) store(least_);
}

void Search::splits(const Product& p, Method method, bool swapped, bool flattened, int64_t serial) {
  const Evaluation e{target_, p, options_};
  const Grain g = grain_of(target_, p, method);
  const auto groups = parts_of(ceil_div(p.groups, g.groups), tiles_);
  const auto outs = parts_of(ceil_div(ceil_div(p.out, g.out), serial), tiles_);
  const auto ins = parts_of(ceil_div(p.in, g.in), tiles_);
  const auto batches = parts_of(p.batch, tiles_), rows = parts_of(p.rows, tiles_),
             widths = parts_of(p.width, tiles_);
  // The largest number of parts that is at most `limit`.
  const auto at_most = [](const std::vector<int64_t>& parts, int64_t limit) {
    return *std::prev(std::ranges::upper_bound(parts, std::max<int64_t>(limit, 1)));
  };
  Split s;
  s.serial_out = serial;
  for (const int64_t pg : groups) {
    s.groups = pg;
    for (const int64_t po : outs) {
      s.out = po;
      for (const int64_t pi : ins) {
        s.in = pi;
        const int64_t rest = tiles_ / (pg * po * pi);
        if (rest < 1) break;
        for (const int64_t pw : widths) {
          if (pw > rest) break;
          for (const int64_t pr : rows) {
            if (pr * pw > rest) break;
            s.width = pw;
            s.rows = pr;
            s.batch = at_most(batches, rest / (pw * pr));
            consider(e, method, s, swapped, flattened);
          }
        }
      }
    }
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

}  // namespace

Plan plan_product(const Target& target, const Product& product, const PlanOptions& options) {
  check(product);
  Search search(target, options);
  const int64_t most = std::max<int64_t>(1, product.out / 16);
  for (int64_t serial = 1; serial <= std::min<int64_t>(most, 64); serial *= 2) {
    search.run(product, false, false, serial);
    if (product.matmul) {
      Product other = product;
      std::swap(other.batch, other.out);
      other.resident_inputs = !product.computed_weights;
      other.computed_weights = !product.resident_inputs;
      search.run(other, true, false, serial);
    }
    if (product.taps() > 1 && product.groups == 1 && product.in * product.taps() <= 256)
      search.run(flattened(product), false, true, serial);
    for (int64_t factor = 2; !product.matmul && product.in * factor <= 16; factor *= 2)
      if (product.groups % factor == 0) search.run(combined(product, factor), false, false, serial);
    if (search.found()) break;
  }
  return search.result();
}

Plan plan_with(const Target& target, const Product& product, const PlanOptions& options,
               Method method, const Split& split) {
  check(product);
  const Evaluation e{target, product, options};
  Plan plan{method, split, false, false, true, product, {}, {}};
  if (!e.cost(method, split, plan.work, plan.cost))
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
