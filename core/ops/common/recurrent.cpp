#include "kernels/calls/recurrent.h"
#include "kernels/calls/copy.h"
#include "kernels/calls/fill.h"
#include "kernels/calls/recurrent_generic.h"
#include "ops/common/recurrent.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "base/checked.h"
#include "kernels/common/pack_matmul.h"
#include "kernels/common/pack_vnni.h"
#include "kernels/isa/recurrent.h"
#include "ops/common/axes.h"
#include "ops/common/check_numbers.h"
#include "ops/common/matmul.h"
#include "ops/common/movement.h"
#include "ops/common/value_range.h"

namespace poprt::ops {
namespace {

using kernels::isa::RecurrentActivation;
using kernels::isa::RecurrentKind;
using program::BufferId;

constexpr BufferId kNone = LowerContext::kNone;
constexpr int64_t kLane = 16;

struct ActivationName {
  std::string_view name;  // lower case
  RecurrentActivation code;
  bool takes_alpha = false, takes_beta = false;
  float alpha = 0, beta = 0;
};

// Defaults are those of the ONNX operators with the same names.
constexpr std::array<ActivationName, 11> kActivations = {{
    {"sigmoid", RecurrentActivation::sigmoid},
    {"tanh", RecurrentActivation::tanh},
    {"relu", RecurrentActivation::relu},
    {"affine", RecurrentActivation::affine, true, true, 1, 0},
    {"leakyrelu", RecurrentActivation::leaky_relu, true, false, 0.01f, 0},
    {"thresholdedrelu", RecurrentActivation::thresholded_relu, true, false, 1, 0},
    {"scaledtanh", RecurrentActivation::scaled_tanh, true, true, 1, 1},
    {"hardsigmoid", RecurrentActivation::hard_sigmoid, true, true, 0.2f, 0.5f},
    {"elu", RecurrentActivation::elu, true, false, 1, 0},
    {"softsign", RecurrentActivation::softsign},
    {"softplus", RecurrentActivation::softplus},
}};

using CellKind = calls::CellActivation;

// The activations of all directions. Those with an alpha or a beta take the next element of the
// attribute.
std::vector<CellKind> activations_of(const ir::Node& node, const RecurrentOp& op,
                                     size_t directions) {
  std::vector<std::string> names;
  if (const auto* a = node.find_attr("activations")) {
    const auto* list = std::get_if<std::vector<std::string>>(a);
    if (!list)
      fail(ErrorCode::invalid_argument, "{}: attribute 'activations' should be a list of strings",
           node.describe());
    names = *list;
  }
  if (names.empty())
    for (size_t d = 0; d < directions; d++)
      names.insert(names.end(), op.activations.begin(), op.activations.end());
  if (names.size() != directions * op.activations.size())
    fail(ErrorCode::invalid_argument, "{}: {} activations, expected {} for each of {} directions",
         node.describe(), names.size(), op.activations.size(), directions);
  const auto alphas = node.floats_attr("activation_alpha"),
             betas = node.floats_attr("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  std::vector<CellKind> result;
  for (std::string name : names) {
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto* found = std::find_if(kActivations.begin(), kActivations.end(),
                                     [&](const ActivationName& a) { return a.name == name; });
    if (found == kActivations.end())
      fail(ErrorCode::unimplemented, "{}: activation '{}' is not supported", node.describe(), name);
    CellKind a{found->code, found->alpha, found->beta};
    if (found->takes_alpha && next_alpha < alphas.size()) a.alpha = alphas[next_alpha++];
    if (found->takes_beta && next_beta < betas.size()) a.beta = betas[next_beta++];
    result.push_back(a);
  }
  return result;
}

int64_t directions_of(const ir::Node& node) {
  const std::string direction = node.string_attr("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    fail(ErrorCode::invalid_argument, "{}: direction '{}' is unknown", node.describe(), direction);
  return direction == "bidirectional" ? 2 : 1;
}

// Sizes of the layer that all parts of lowering use.
struct Layer {
  int64_t steps, batch, input, hidden, directions, gates, blocks;
  int64_t lanes() const { return blocks * kLane; }
  int64_t state() const { return batch * hidden; }
};

// The order of the columns of x * W that a step reads: direction, block, gate, unit.
struct Columns {
  int64_t directions, gates, hidden, input;
  bool operator==(const Columns&) const = default;

  int64_t blocks() const { return (hidden + kLane - 1) / kLane; }
  int64_t count() const { return directions * blocks() * gates * kLane; }

  // Calls `visit` with the column of each gate of each unit, its direction, gate and unit.
  void each(const auto& visit) const {
    for (int64_t d = 0; d < directions; d++)
      for (int64_t g = 0; g < gates; g++)
        for (int64_t u = 0; u < hidden; u++)
          visit(((d * blocks() + u / kLane) * gates + g) * kLane + u % kLane, d, g, u);
  }
  // Packs W into panels.
  void operator()(program::WeightForm::Sources sources, program::WeightForm::Bytes to) const {
    Tensor ordered = Tensor::zeros(DType::f32, {count(), input});
    const float* from = sources[0].values<float>().data();
    float* rows = ordered.mutable_values<float>().data();
    each([&](int64_t column, int64_t d, int64_t g, int64_t u) {
      std::copy_n(from + ((d * gates + g) * hidden + u) * input, input, rows + column * input);
    });
    kernels::pack_matmul(ordered.values<float>(), 1, input, input, count(), 1.0f,
                         program::as_array<float>(to));
  }
  // Adds both halves of B, except the recurrent half of gate 2 if the step itself adds it.
  Tensor bias(const Tensor& b, bool keeps_recurrent) const {
    Tensor ordered = Tensor::zeros(DType::f32, {count()});
    float* to = ordered.mutable_values<float>().data();
    each([&](int64_t column, int64_t d, int64_t g, int64_t u) {
      const float* from = b.values<float>().data() + d * 2 * gates * hidden;
      to[column] = from[g * hidden + u];
      if (g != 2 || !keeps_recurrent) to[column] += from[(gates + g) * hidden + u];
    });
    return ordered;
  }
};

// x * W for all steps, and the strides of the gates in it.
struct Projection {
  BufferId x = kNone;
  int64_t row = 0, block = 0, gate = 0, direction = 0;
  bool has_bias = false;  // the bias is already added
};

// Whether the step adds the recurrent bias of gate 2 itself.
bool keeps_recurrent_bias(const RecurrentOp& op, const ir::Node& node) {
  return op.linear_before_reset && node.int_attr("linear_before_reset", 0) != 0;
}

Projection project(LowerContext& ctx, const RecurrentOp& op, const Layer& l, BufferId x) {
  Projection p;
  if (op.projected) {
    p.x = x;
    p.row = l.input;
    p.block = kLane;
    p.gate = l.hidden;
    p.direction = l.gates * l.hidden;
    return p;
  }
  const int64_t rows = checked_mul(l.steps, l.batch);
  const Tensor* w = ctx.constant(1);
  if (!w) {
    const int64_t columns = l.gates * l.hidden;
    p.x = ctx.temporary(DType::f32, {l.directions, rows, columns});
    p.row = columns;
    p.block = kLane;
    p.gate = l.hidden;
    p.direction = rows * columns;
    StridedMatmul m;
    m.dtype = DType::f32;
    m.m = rows;
    m.n = columns;
    m.k = l.input;
    m.a_row = l.input;
    m.a_k = 1;
    m.b_k = 1;
    m.b_n = l.input;
    m.batch = {{l.directions, 0, columns * l.input}};
    m.a = x;
    m.b = ctx.in(1);
    m.out = p.x;
    lower_strided_matmul(ctx, m);
    return p;
  }
  // Columns are in the order in which the step reads them: direction, block, gate, unit.
  p.gate = kLane;
  p.block = l.gates * kLane;
  p.direction = l.blocks * p.block;
  p.row = l.directions * p.direction;
  const Tensor* b = ctx.has(3) ? ctx.constant(3) : nullptr;
  p.has_bias = b != nullptr;
  const Columns columns = {l.directions, l.gates, l.hidden, l.input};
  p.x = ctx.temporary(DType::f32, {rows, p.row});
  PackedMatmul m;
  m.m = rows;
  m.n = p.row;
  m.k = l.input;
  m.a = x;
  m.panels = pack_panels(ctx, m.k, m.n, {{*w}, columns});
  if (b) m.bias = columns.bias(*b, keeps_recurrent_bias(op, ctx.node));
  m.c = p.x;
  lower_packed_matmul(ctx, m);
  return p;
}

// Packs `gates` matrices [hidden, hidden] from element `origin` of R as [blocks, hidden, gates,
// 16].
struct StepGates {
  int64_t origin, hidden, blocks, gates;
  bool operator==(const StepGates&) const = default;
  void operator()(program::WeightForm::Sources sources, program::WeightForm::Bytes to) const {
    const float* from = sources[0].values<float>().data() + origin;
    float* packed = program::as_array<float>(to).data();
    for (int64_t b = 0; b < blocks; b++)
      for (int64_t k = 0; k < hidden; k++)
        for (int64_t g = 0; g < gates; g++)
          for (int64_t u = b * kLane; u < (b + 1) * kLane; u++)
            *packed++ = u < hidden ? from[(g * hidden + u) * hidden + k] : 0.0f;
  }
};

// The recurrent weights of gates [first, first + count) of one direction, as [blocks, hidden,
// count, 16].
BufferId recurrent_weights(LowerContext& ctx, const Layer& l, int64_t direction, int64_t first,
                           int64_t count) {
  const Shape shape = {l.blocks, l.hidden, count, kLane};
  const int64_t origin = (direction * l.gates + first) * l.hidden * l.hidden;
  if (const Tensor* r = ctx.constant(2))
    return ctx.pack(DType::f32, shape, {{*r}, StepGates{origin, l.hidden, l.blocks, count}});
  const BufferId packed = ctx.temporary(DType::f32, shape);
  const int64_t whole = l.hidden / kLane, rest = l.hidden % kLane;
  if (rest) ctx.emit(calls::Fill{}, {kNone, packed});
  const auto copy = [&](int64_t block, int64_t blocks, int64_t units) {
    if (blocks == 0 || units == 0) return;
    emit_strided_copy(ctx, ctx.in(2), packed, DType::f32,
                      {{blocks, l.hidden, count, units},
                       {kLane * l.hidden, 1, l.hidden * l.hidden, l.hidden},
                       {l.hidden * count * kLane, count * kLane, kLane, 1},
                       origin + block * kLane * l.hidden,
                       block * l.hidden * count * kLane});
  };
  copy(0, whole, kLane);
  copy(whole, 1, rest);
  return packed;
}

// The recurrent bias of the last gate, `hidden` numbers from element `origin` of B, after zeros for
// the other gates.
struct LastGateBias {
  int64_t origin, hidden;
  bool operator==(const LastGateBias&) const = default;
  void operator()(program::WeightForm::Sources sources, program::WeightForm::Bytes to) const {
    const auto floats = program::as_array<float>(to);
    const auto kept = floats.size() - static_cast<size_t>(hidden);
    std::fill_n(floats.data(), kept, 0.0f);
    std::copy_n(sources[0].values<float>().data() + origin, hidden, floats.data() + kept);
  }
};

// R as bytes, in panels of 64 columns for the four gates of each block, with scale and sums.
struct ByteWeights {
  BufferId panels = kNone, sums = kNone, scales = kNone;
};

// The row of R for each column of the panels, or nothing for a column that is padding.
struct ByteColumns {
  int64_t gates, hidden, direction, columns;
  bool operator==(const ByteColumns&) const = default;

  std::optional<int64_t> row_of(int64_t column) const {
    const int64_t unit = column / (gates * kLane) * kLane + column % kLane;
    if (unit >= hidden) return std::nullopt;
    return column / kLane % gates * hidden + unit;
  }
  // R of one direction as [hidden, columns].
  std::vector<std::byte> matrix(const Tensor& r) const {
    const int64_t rows = gates * hidden;
    const auto from = program::bytes_of(r).subspan(static_cast<size_t>(direction * rows * hidden));
    std::vector<std::byte> to(static_cast<size_t>(hidden * columns),
                              r.dtype() == DType::s8 ? std::byte{0} : std::byte{0x80});
    for (int64_t c = 0; c < columns; c++)
      if (const auto row = row_of(c))
        for (int64_t k = 0; k < hidden; k++)
          to[static_cast<size_t>(k * columns + c)] = from[static_cast<size_t>(*row * hidden + k)];
    return to;
  }
};
struct BytePanels {
  ByteColumns of;
  bool operator==(const BytePanels&) const = default;
  void operator()(program::WeightForm::Sources from, program::WeightForm::Bytes to) const {
    kernels::pack_vnni_columns(of.matrix(from[0]), from[0].dtype() == DType::s8, of.hidden,
                               of.columns, to);
  }
};
struct ByteSums {
  ByteColumns of;
  bool operator==(const ByteSums&) const = default;
  void operator()(program::WeightForm::Sources from, program::WeightForm::Bytes to) const {
    kernels::sum_vnni_columns(of.matrix(from[0]), from[0].dtype() == DType::s8, of.hidden,
                              of.columns, program::as_array<int32_t>(to));
  }
};
// Expands a scale for each direction or for each row of R to a scale for each column.
struct ByteScales {
  ByteColumns of;
  bool each;
  bool operator==(const ByteScales&) const = default;
  void operator()(program::WeightForm::Sources from, program::WeightForm::Bytes to) const {
    const auto values = from[0].values<float>();
    const auto scales = program::as_array<float>(to);
    const int64_t rows = of.gates * of.hidden;
    for (int64_t c = 0; c < of.columns; c++) {
      const auto row = of.row_of(c);
      const int64_t at = each ? of.direction * rows + row.value_or(0) : of.direction;
      scales[static_cast<size_t>(c)] = row ? values[static_cast<size_t>(at)] : 0.0f;
    }
  }
};

ByteWeights byte_weights(LowerContext& ctx, const Layer& l, int64_t direction) {
  const Tensor *r = ctx.constant(2), *scale = ctx.has(8) ? ctx.constant(8) : nullptr;
  const int64_t rows = l.gates * l.hidden, columns = l.blocks * l.gates * kLane;
  if (!r || !scale || l.gates * kLane != kernels::kPackedVnniColumns ||
      scale->dtype() != DType::f32 ||
      (scale->count() != l.directions && scale->count() != l.directions * rows))
    ctx.fail_unsupported("R must be constant with an f32 scale if it consists of bytes");
  const ByteColumns of{l.gates, l.hidden, direction, columns};
  const int64_t bytes = kernels::packed_vnni_bytes(l.hidden, columns);
  return {
      ctx.pack(DType::s8, {bytes}, {{*r}, BytePanels{of}}),
      ctx.pack(DType::s32, {columns}, {{*r}, ByteSums{of}}),
      ctx.pack(DType::f32, {columns}, {{*scale}, ByteScales{of, scale->count() != l.directions}})};
}

// The bias that the step itself adds, [2 * gates, hidden], or kNone.
BufferId step_bias(LowerContext& ctx, const RecurrentOp& op, const Layer& l, const Projection& p,
                   int64_t direction) {
  if (!ctx.has(3)) return kNone;
  const int64_t count = 2 * l.gates * l.hidden;
  const auto offset = static_cast<uint64_t>(direction * count) * 4;
  if (!p.has_bias) return ctx.view(ctx.in(3), offset, DType::f32, {2 * l.gates, l.hidden});
  if (l.gates != 3 || !keeps_recurrent_bias(op, ctx.node)) return kNone;
  return ctx.pack(DType::f32, {2 * l.gates, l.hidden},
                  {{*ctx.constant(3)}, LastGateBias{(direction + 1) * count - l.hidden, l.hidden}});
}

BufferId part(LowerContext& ctx, BufferId of, int64_t index, const Layer& l) {
  if (of == kNone) return kNone;
  return ctx.view(of, static_cast<uint64_t>(index * l.state()) * 4, DType::f32,
                  {l.batch, l.hidden});
}

// Converts [a, b, inner] to [b, a, inner].
void swap_axes(LowerContext& ctx, BufferId from, BufferId to, int64_t a, int64_t b, int64_t inner) {
  emit_strided_copy(ctx, from, to, DType::f32,
                    {{b, a, inner}, {inner, b * inner, 1}, {a * inner, inner, 1}, 0, 0});
}

class Lowering {
 public:
  Lowering(LowerContext& ctx, const RecurrentOp& op, const Layer& l)
      : ctx_(ctx), op_(op), l_(l), batch_first_(ctx.node.int_attr("layout", 0) != 0) {}

  void run() {
    const Layer& l = l_;
    BufferId x = ctx_.in(0);
    if (batch_first_) {
      const BufferId time_first = ctx_.temporary(DType::f32, {l.steps, l.batch, l.input});
      swap_axes(ctx_, x, time_first, l.batch, l.steps, l.input);
      x = time_first;
    }
    y_ = result(0, {l.steps, l.directions, l.batch, l.hidden});
    y_h_ = result(1, {l.directions, l.batch, l.hidden});
    y_c_ = op_.has_cell ? result(2, {l.directions, l.batch, l.hidden}) : kNone;
    initial_h_ = initial(5);
    initial_c_ = op_.has_cell ? initial(6) : kNone;
    activations_ = activations_of(ctx_.node, op_, static_cast<size_t>(l.directions));
    if (ctx_.has(4)) {
      const auto lens = ctx_.ints(4);
      const bool full =
          lens && std::all_of(lens->begin(), lens->end(), [&](int64_t n) { return n == l.steps; });
      if (!full) lens_ = ctx_.in(4);
    }
    if (l.steps > 0 && l.batch > 0) {
      projection_ = project(ctx_, op_, l, x);
      for (int64_t d = 0; d < l.directions; d++) lower_direction(d);
    } else {
      keep_initial(initial_h_, y_h_);
      keep_initial(initial_c_, y_c_);
    }
    if (batch_first_) {
      if (y_ != kNone && element_count(ctx_.out_shape(0)) > 0)
        swap_axes(ctx_, y_, ctx_.out(0), l.steps * l.directions, l.batch, l.hidden);
      finish(1, y_h_);
      if (op_.has_cell) finish(2, y_c_);
    }
  }

 private:
  // The buffer for a result: the output itself, or a temporary that finish() transposes.
  BufferId result(size_t i, const Shape& shape) {
    if (i >= ctx_.node.outputs().size() || ctx_.out(i) == kNone) return kNone;
    return batch_first_ ? ctx_.temporary(DType::f32, shape) : ctx_.out(i);
  }
  void finish(size_t i, BufferId made) {
    if (made != kNone && l_.state() > 0)
      swap_axes(ctx_, made, ctx_.out(i), l_.directions, l_.batch, l_.hidden);
  }
  BufferId initial(size_t i) {
    if (!ctx_.has(i)) return kNone;
    if (!batch_first_ || l_.directions == 1) return ctx_.in(i);
    const BufferId turned = ctx_.temporary(DType::f32, {l_.directions, l_.batch, l_.hidden});
    swap_axes(ctx_, ctx_.in(i), turned, l_.batch, l_.directions, l_.hidden);
    return turned;
  }
  void keep_initial(BufferId from, BufferId to) {
    if (to == kNone || l_.state() == 0) return;
    if (from == kNone)
      ctx_.emit(calls::Fill{}, {kNone, to});
    else
      ctx_.emit(calls::Copy{}, {from, to});
  }

  void lower_direction(int64_t d) {
    const Layer& l = l_;
    const bool split = op_.linear_before_reset && ctx_.node.int_attr("linear_before_reset", 0) == 0;
    const bool reverse = ctx_.node.string_attr("direction", "forward") == "reverse" || d == 1;
    const RecurrentKind kind = op_.has_cell              ? RecurrentKind::lstm
                               : split                   ? RecurrentKind::gru_gates
                               : op_.linear_before_reset ? RecurrentKind::gru
                                                         : RecurrentKind::rnn;
    const ByteWeights bytes = is_byte(ctx_.in_dtype(2)) ? byte_weights(ctx_, l, d) : ByteWeights{};
    const BufferId r = bytes.panels != kNone
                           ? bytes.panels
                           : recurrent_weights(ctx_, l, d, 0, split ? 2 : l.gates);
    const BufferId r_state = split ? recurrent_weights(ctx_, l, d, 2, 1) : kNone;
    const BufferId bias = step_bias(ctx_, op_, l, projection_, d);
    BufferId peephole = kNone;
    if (op_.has_cell && ctx_.has(7))
      peephole = ctx_.view(ctx_.in(7), static_cast<uint64_t>(d * 3 * l.hidden) * 4, DType::f32,
                           {3, l.hidden});
    const bool states_in_y = y_ != kNone && lens_ == kNone;
    const int64_t work_rows = (states_in_y ? 0 : 2) + (op_.has_cell ? 1 : 0) + (split ? 2 : 0);
    const BufferId work =
        work_rows ? ctx_.temporary(DType::f32, {work_rows, l.batch, l.hidden}) : kNone;
    const auto n = op_.activations.size();
    std::array<CellKind, 3> a{};
    for (size_t i = 0; i < n; i++) a[i] = activations_[static_cast<size_t>(d) * n + i];
    ctx_.emit(calls::Recurrent{.kind = kind,
                               .steps = l.steps,
                               .batch = l.batch,
                               .hidden = l.hidden,
                               .directions = l.directions,
                               .direction = d,
                               .reverse = reverse,
                               .x_offset = d * projection_.direction,
                               .x_row = projection_.row,
                               .x_block = projection_.block,
                               .x_gate = projection_.gate,
                               .input_forget = ctx_.node.int_attr("input_forget", 0) != 0,
                               .clip = ctx_.node.float_attr("clip", 0),
                               .activations = a},
              {projection_.x, r, r_state, bytes.sums, bytes.scales, bias, peephole, lens_,
               part(ctx_, initial_h_, d, l), part(ctx_, initial_c_, d, l), y_,
               part(ctx_, y_h_, d, l), part(ctx_, y_c_, d, l), work});
  }

  LowerContext& ctx_;
  const RecurrentOp& op_;
  const Layer& l_;
  const bool batch_first_;
  Projection projection_;
  std::vector<CellKind> activations_;
  BufferId y_ = kNone, y_h_ = kNone, y_c_ = kNone, initial_h_ = kNone, initial_c_ = kNone,
           lens_ = kNone;
};

// Kernel recurrent computes in f32 only. This lowering uses kernel recurrent_generic for f64.
void lower_in_double(LowerContext& ctx, const RecurrentOp& op, const Layer& l) {
  const ir::Node& n = ctx.node;
  const auto in = [&](size_t i) { return ctx.has(i) ? ctx.in(i) : kNone; };
  const auto out = [&](size_t i) { return i < n.outputs().size() ? ctx.out(i) : kNone; };
  const RecurrentKind kind = op.has_cell ? RecurrentKind::lstm
                             : op.linear_before_reset && n.int_attr("linear_before_reset", 0) == 0
                                 ? RecurrentKind::gru_gates
                             : op.linear_before_reset ? RecurrentKind::gru
                                                      : RecurrentKind::rnn;
  calls::RecurrentGeneric call{.kind = kind,
                               .steps = l.steps,
                               .batch = l.batch,
                               .input = l.input,
                               .hidden = l.hidden,
                               .directions = l.directions,
                               .reverse = n.string_attr("direction", "forward") == "reverse",
                               .batch_first = n.int_attr("layout", 0) != 0,
                               .input_forget = n.int_attr("input_forget", 0) != 0,
                               .clip = n.float_attr("clip", 0),
                               .activations = {}};
  const auto activations = activations_of(n, op, static_cast<size_t>(l.directions));
  for (size_t d = 0; d < static_cast<size_t>(l.directions); d++)
    for (size_t i = 0; i < 3; i++) {
      const size_t count = op.activations.size();
      call.activations.push_back(i < count ? activations[d * count + i] : CellKind{});
    }
  const BufferId operands[] = {in(0),
                               in(1),
                               in(2),
                               in(3),
                               in(4),
                               in(5),
                               op.has_cell ? in(6) : kNone,
                               op.has_cell ? in(7) : kNone,
                               out(0),
                               out(1),
                               op.has_cell ? out(2) : kNone};
  ctx.emit(std::move(call), operands);
}

}  // namespace

void infer_recurrent(InferContext& ctx, const RecurrentOp& op) {
  const ir::ValueType &x = ctx.in(0), &r = ctx.in(2), &w = op.projected ? r : ctx.in(1);
  const int64_t directions = directions_of(ctx.node);
  const int64_t layout = ctx.node.int_attr("layout", 0);
  if (layout != 0 && layout != 1) ctx.fail_input("layout is {}, expected 0 or 1", layout);
  const bool batch_first = layout != 0;
  activations_of(ctx.node, op, static_cast<size_t>(directions));
  const auto rank = [&](size_t i, size_t wanted) {
    if (ctx.has(i) && ctx.in(i).has_shape && ctx.in(i).shape.size() != wanted)
      ctx.fail_input("input {} should have rank {}, found {}", i, wanted,
                     shape_string(ctx.in(i).shape));
  };
  rank(0, 3);
  rank(1, 3);
  rank(2, 3);
  rank(3, 2);
  rank(4, 1);
  rank(5, 3);
  rank(6, 3);
  rank(7, 2);
  int64_t hidden = ctx.node.int_attr("hidden_size", kUnknownDim);
  if (r.has_shape && r.shape[2] >= 0) {
    if (hidden >= 0 && hidden != r.shape[2])
      ctx.fail_input("hidden_size is {}, R is {}", hidden, shape_string(r.shape));
    hidden = r.shape[2];
  }
  int64_t steps = kUnknownDim, batch = kUnknownDim, input = kUnknownDim;
  if (x.has_shape) {
    steps = x.shape[batch_first ? 1 : 0];
    batch = x.shape[batch_first ? 0 : 1];
    input = x.shape[2];
  }
  // The sizes must be checked because later reads assume them.
  const auto expect_shape = [&](size_t i, const Shape& wanted) {
    if (!ctx.has(i) || !ctx.in(i).has_shape) return;
    const Shape& found = ctx.in(i).shape;
    for (size_t d = 0; d < wanted.size(); d++)
      if (wanted[d] >= 0 && found[d] >= 0 && found[d] != wanted[d])
        ctx.fail_input("input {} should be {}, found {}", i, shape_string(wanted),
                       shape_string(found));
  };
  if (hidden >= 0) {
    if (hidden < 1 || hidden > 1 << 24) ctx.fail_input("hidden size {} is out of range", hidden);
    const Shape weights = {directions, op.gates * hidden, input};
    if (op.projected)
      expect_shape(0, {kUnknownDim, kUnknownDim, weights[0] * weights[1]});
    else
      expect_shape(1, weights);
    expect_shape(2, {directions, op.gates * hidden, hidden});
    expect_shape(3, {directions, 2 * op.gates * hidden});
    expect_shape(4, {batch});
    check_lengths(ctx.node, 4, steps, "sequence length");
    const Shape state =
        batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
    expect_shape(5, state);
    if (op.has_cell) {
      expect_shape(6, state);
      expect_shape(7, {directions, 3 * hidden});
    }
  }
  // The type of X may be unknown until shapes are known, for example if DynamicQuantizeLSTM
  // computes it.
  const bool r_bytes = op.projected && is_byte(r.dtype);
  const bool x_known = x.dtype != DType::undefined || r_bytes;
  const DType dtype = x_known ? x.dtype : w.dtype;
  if (!r_bytes && (w.dtype != dtype || r.dtype != dtype))
    ctx.fail_input("X is {}, W is {}, R is {}", dtype_name(x.dtype), dtype_name(w.dtype),
                   dtype_name(r.dtype));
  ctx.out(0, dtype,
          batch_first ? Shape{batch, steps, directions, hidden}
                      : Shape{steps, directions, batch, hidden});
  for (size_t i = 1; i <= (op.has_cell ? 2u : 1u); i++)
    ctx.out(i, dtype,
            batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden});
}

void lower_recurrent(LowerContext& ctx, const RecurrentOp& op) {
  const DType dtype = ctx.in_dtype(0);
  if (dtype != DType::f32 && dtype != DType::f64)
    ctx.fail_unsupported("computes in f32 or f64, found {}", dtype_name(dtype));
  const bool batch_first = ctx.node.int_attr("layout", 0) != 0;
  const Shape& x = ctx.in_shape(0);
  Layer l{};
  l.steps = x[batch_first ? 1 : 0];
  l.batch = x[batch_first ? 0 : 1];
  l.input = x[2];
  l.hidden = ctx.in_shape(2)[2];
  l.directions = directions_of(ctx.node);
  l.gates = op.gates;
  l.blocks = (l.hidden + kLane - 1) / kLane;
  check_numbers(ctx, 4, calls::Number::sequence_length, l.steps + 1);
  if (dtype == DType::f64) return lower_in_double(ctx, op, l);
  Lowering(ctx, op, l).run();
}

void axes_of_recurrent(AxesContext& ctx) {
  const bool batch_first = ctx.node.int_attr("layout", 0) != 0;
  const int64_t directions = directions_of(ctx.node);
  for (size_t o = 0; o < ctx.output_count(); o++) {
    if (!ctx.makes(o)) continue;
    const size_t batch = batch_first ? 0 : o == 0 ? 2 : 1;
    const size_t direction = batch_first ? (o == 0 ? 2 : 1) : (o == 0 ? 1 : 0);
    ctx.number(o, direction);
    ctx.carry(0, batch_first ? 0 : 1, o, batch);
    for (const size_t i : {1, 2, 3, 7, 8}) ctx.carry(i, 0, o, direction);
    ctx.carry(4, 0, o, batch);
    for (const size_t i : {5, 6}) {
      ctx.carry(i, batch_first ? 0 : 1, o, batch);
      ctx.carry(i, batch_first ? 1 : 0, o, direction);
    }
    // The products of all directions are in input 0 (poprt.ProjectedLSTM).
    if (!ctx.has(1))
      axes::grouped(ctx, {{0, 2}, ctx.in(0)[2] / directions, o, direction, 1, directions});
  }
}

}  // namespace poprt::ops
