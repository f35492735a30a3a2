// max_pool_bytes (calls/max_pool_bytes.h). A task is one line of pixels.
#include <algorithm>
#include <array>

#include "kernels/calls/max_pool_bytes.h"
#include "kernels/common/operands.h"
#include "kernels/isa/pool.h"

namespace poprt::kernels::max_pool_bytes_kernel {
namespace {

struct Axis : calls::WindowAxis {
  int64_t at(int64_t o, int64_t k) const { return o * stride - pad + k * dilation; }
  // The taps [first, end) of window o that are inside the input.
  std::pair<int64_t, int64_t> taps(int64_t o) const {
    const int64_t origin = at(o, 0);
    const auto below = [&](int64_t limit) {
      return std::clamp<int64_t>((limit - origin + dilation - 1) / dilation, 0, kernel);
    };
    const int64_t first = below(0);
    return {first, std::max(first, below(in))};
  }
};
struct Params {
  const isa::PoolTable* table;
  bool is_signed;
  int64_t channels;
  std::array<Axis, 3> axis;
};

// Computes the element-wise maximum of many pieces of n bytes, several at a time.
class Largest {
 public:
  Largest(const Params& p, uint8_t* to, int64_t n) : p_(p), to_(to), n_(n) {}
  void add(const uint8_t* piece) {
    pieces_[static_cast<size_t>(count_++)] = piece;
    if (count_ == kPieces) join();
  }
  void finish() {
    if (count_ || first_) join();
  }

 private:
  static constexpr int64_t kPieces = 32;
  void join() {
    p_.table->max_bytes(p_.is_signed, first_, to_, pieces_.data(), count_, n_);
    first_ = false;
    count_ = 0;
  }
  const Params& p_;
  uint8_t* to_;
  int64_t n_, count_ = 0;
  bool first_ = true;
  std::array<const uint8_t*, kPieces> pieces_;
};

// Lines of pixels are combined first, then the pixels of the results.
void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto& [az, ay, ax] = p.axis;
  auto* joined = reinterpret_cast<uint8_t*>(scratch);
  const int64_t line_bytes = ax.in * p.channels;
  for (int64_t line = begin; line < end; line++) {
    const int64_t oy = line % ay.out, oz = line / ay.out % az.out, n = line / ay.out / az.out;
    const auto* x = static_cast<const uint8_t*>(data[0]) + n * az.in * ay.in * line_bytes;
    auto* y = static_cast<uint8_t*>(data[1]) + line * ax.out * p.channels;
    const auto [z0, z1] = az.taps(oz);
    const auto [y0, y1] = ay.taps(oy);
    Largest lines(p, joined, line_bytes);
    for (int64_t kz = z0; kz < z1; kz++)
      for (int64_t ky = y0; ky < y1; ky++)
        lines.add(x + (az.at(oz, kz) * ay.in + ay.at(oy, ky)) * line_bytes);
    lines.finish();
    for (int64_t ox = 0; ox < ax.out; ox++, y += p.channels) {
      const auto [x0, x1] = ax.taps(ox);
      Largest pixels(p, y, p.channels);
      for (int64_t kx = x0; kx < x1; kx++) pixels.add(joined + ax.at(ox, kx) * p.channels);
      pixels.finish();
    }
  }
}

Plan prepare(const Call& call) {
  const Operands r("max_pool_bytes", call, 2);
  const auto [n, channels, axes] = calls::decode<calls::MaxPoolBytes>(call);
  const size_t rank = axes.size();
  auto p = std::make_shared<Params>();
  p->channels = channels;
  double taps = 1;
  int64_t in = Operands::product({n, p->channels}), out = in, lines = n;
  for (size_t d = 0; d < rank; d++) {
    const Axis a = {axes[d]};
    p->axis[3 - rank + d] = a;
    in = checked_mul(in, a.in);
    out = checked_mul(out, a.out);
    if (d + 1 < rank) lines = checked_mul(lines, a.out);
    taps *= static_cast<double>(a.kernel);
  }
  const DType type = r.dtype(0);
  if (type != DType::u8 && type != DType::s8) r.fail_dtype(0);
  r.needs(0, type, {in});
  r.needs(1, type, {out});
  r.check(in > 0 || out == 0, "windows of an empty input");
  p->is_signed = type == DType::s8;
  p->table = &POPRT_SELECT_ISA(pool);
  Plan plan;
  plan.run = run;
  plan.tasks = out == 0 ? 0 : lines;
  if (out > 0) plan.scratch_bytes = static_cast<size_t>(p->axis[2].in * p->channels);
  plan.work = static_cast<double>(out) * taps * 0.02 +
              static_cast<double>(out) / static_cast<double>(std::max<int64_t>(1, p->channels)) * 8;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"max_pool_bytes", prepare};

}  // namespace poprt::kernels::max_pool_bytes_kernel
