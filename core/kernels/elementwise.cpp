// elementwise (calls/elementwise.h).
//
// The output is processed in blocks of at most 1024 elements that stay in the L1 cache. Each step
// is one vectorised loop over a block.
#include "kernels/calls/elementwise.h"
#include "kernels/isa/elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/shape.h"
#include "kernels/common/broadcast.h"
#include "kernels/common/elementwise.h"
#include "kernels/isa/quantize.h"
#include "kernels/kernel.h"

namespace poprt::kernels::elementwise_kernel {
namespace {

using Op = ElementwiseOp;
constexpr size_t kMaxInputs = kElementwiseMaxInputs;
constexpr size_t kMaxValues =
    kElementwiseMaxInputs + kElementwiseMaxConstants + kElementwiseMaxSteps;
constexpr int64_t kBlocksPerTask = 16;
// Results of this size do not stay in a cache until they are read, so they are stored with
// instructions that bypass the caches and do not fetch the line.
constexpr int64_t kStreamedElements = int64_t{8} << 20;
constexpr int64_t kRepeated = 16;  // number of copies of a value that is the same in a whole block

// Bytes q that represent (q - zero) * scale.
struct Quantization {
  bool used = false;
  isa::Whole byte{};
  float scale = 1, zero = 0;
};

struct Input {
  Quantization quantization;
  int dtype = 0;
  size_t element_bytes = 4;
  bool linear = false, scalar = false;
  bool direct = false;  // linear f32 that is read in place
  int64_t slot = -1;    // otherwise the scratch block
};

struct BoundStep {
  int64_t op = 0;
  int arity = 1;
  std::array<int32_t, 3> from{};  // value indices
  int64_t slot = -1;              // the scratch block of the result; -1 if there is none
  int32_t output = -1;            // the f32 output to which the step writes directly; -1: none
};

struct Output {
  Quantization quantization;
  int dtype = 0;
  size_t element_bytes = 4;
  int32_t value = 0;
  bool direct = false;
};

struct Params {
  const isa::ElementwiseTable* table = nullptr;
  const isa::QuantizeTable* quantize = nullptr;
  Broadcast walk;
  int64_t block = 0;
  std::vector<Input> inputs;
  std::vector<float> constants;
  std::vector<BoundStep> steps;
  std::vector<Output> outputs;
  int64_t constant_slot = 0;  // of the first constant
  bool streams = false;       // results are larger than caches
};

// The values of one call of run(): the first float of each value, and whether sixteen equal floats
// represent a block of it. Values are inputs, then constants, then steps.
struct Block {
  Block(const Params& params, void* const* memory, std::byte* scratch)
      : p(params),
        table(*params.table),
        data(memory),
        registers(reinterpret_cast<float*>(scratch)),
        size(params.block),
        inputs(params.inputs.size()),
        constants(params.constants.size()) {}

  const Params& p;
  const isa::ElementwiseTable& table;
  void* const* const data;
  float* const registers;
  const int64_t size;
  const size_t inputs, constants;
  std::array<const float*, kMaxValues> at;
  std::array<bool, kMaxValues> repeats{};

  float* slot(int64_t i) const { return registers + i * size; }
  void fill_repeated(size_t value, int64_t slot_index, float with);
  void fill_constants();
  void load(int64_t from, int64_t n);
  void gather(int64_t from, int64_t n);
  void load_rows(const Input& in, float* to, const std::byte* from, int64_t step, bool same,
                 int64_t rows, int64_t width) const;
  void compute(int64_t from, int64_t n);
  void store(int64_t from, int64_t n) const;
};

void Block::fill_repeated(size_t value, int64_t slot_index, float with) {
  table.fill(slot(slot_index), with, kRepeated);
  at[value] = slot(slot_index);
  repeats[value] = true;
}

// Fills scalars and constants. They are the same for all blocks.
void Block::fill_constants() {
  for (size_t i = 0; i < inputs; i++) {
    if (!p.inputs[i].scalar) continue;
    float value = 0;
    table.load(p.inputs[i].dtype, &value, data[i], 1);
    fill_repeated(i, p.inputs[i].slot, value);
  }
  for (size_t k = 0; k < constants; k++)
    fill_repeated(inputs + k, p.constant_slot + static_cast<int64_t>(k), p.constants[k]);
}

void Block::load(int64_t from, int64_t n) {
  bool gathers = false;
  for (size_t i = 0; i < inputs; i++) {
    const Input& in = p.inputs[i];
    if (in.direct) {
      at[i] = static_cast<const float*>(data[i]) + from;
    } else if (in.linear) {
      const auto* source =
          static_cast<const std::byte*>(data[i]) + static_cast<size_t>(from) * in.element_bytes;
      if (const Quantization& q = in.quantization; q.used)
        p.quantize->dequantize(q.byte, slot(in.slot), source, &q.scale, &q.zero, false, n);
      else
        table.load(in.dtype, slot(in.slot), source, n);
      at[i] = slot(in.slot);
    } else if (!in.scalar) {
      gathers = true;
    }
  }
  if (gathers) gather(from, n);
}

// Reads inputs that are broadcast, run by run.
void Block::gather(int64_t from, int64_t n) {
  const size_t outer = p.walk.dims.size() < 2 ? 0 : p.walk.dims.size() - 2;
  for_each_rows<kMaxInputs>(
      p.walk, inputs, from, from + n,
      [&](const int64_t* offsets, int64_t e, int64_t rows, int64_t count) {
        for (size_t i = 0; i < inputs; i++) {
          const Input& in = p.inputs[i];
          if (in.linear || in.scalar) continue;
          const bool same = p.walk.strides[i].back() == 0;
          const std::byte* source = static_cast<const std::byte*>(data[i]) +
                                    offsets[i] * static_cast<int64_t>(in.element_bytes);
          if (in.dtype == static_cast<int>(DType::f32) && !same && count == n) {
            at[i] = reinterpret_cast<const float*>(source);  // the whole block is in one run
            continue;
          }
          at[i] = slot(in.slot);
          repeats[i] = same && count == n;
          float* piece = slot(in.slot) + (e - from);
          const int64_t step = rows > 1 ? p.walk.strides[i][outer] : 0;
          if (in.dtype == static_cast<int>(DType::f32) && !repeats[i])
            table.rows(piece, reinterpret_cast<const float*>(source), step, same, rows, count);
          else
            load_rows(in, piece, source, step, same, rows, repeats[i] ? kRepeated : count);
        }
      });
}

// The same as ElementwiseTable::rows for any type.
void Block::load_rows(const Input& in, float* to, const std::byte* from, int64_t step, bool same,
                      int64_t rows, int64_t width) const {
  for (int64_t r = 0; r < rows; r++, to += width) {
    const std::byte* row = from + r * step * static_cast<int64_t>(in.element_bytes);
    if (same) {
      float value = 0;
      table.load(in.dtype, &value, row, 1);
      table.fill(to, value, width);
    } else {
      table.load(in.dtype, to, row, width);
    }
  }
}

void Block::compute(int64_t from, int64_t n) {
  for (size_t s = 0; s < p.steps.size(); s++) {
    const BoundStep& step = p.steps[s];
    float* to = step.output >= 0
                    ? static_cast<float*>(data[inputs + static_cast<size_t>(step.output)]) + from
                    : slot(step.slot);
    const auto [a, b, c] = step.from;
    table.step(step.op, to, at[static_cast<size_t>(a)], at[static_cast<size_t>(b)],
               at[static_cast<size_t>(c)], n,
               (p.streams && step.output >= 0 ? isa::kElementwiseStream : 0) |
                   static_cast<uint32_t>(repeats[static_cast<size_t>(a)]) |
                   static_cast<uint32_t>(repeats[static_cast<size_t>(b)]) << 1 |
                   static_cast<uint32_t>(repeats[static_cast<size_t>(c)]) << 2);
    at[inputs + constants + s] = to;
  }
}

void Block::store(int64_t from, int64_t n) const {
  for (size_t o = 0; o < p.outputs.size(); o++) {
    const Output& out = p.outputs[o];
    if (out.direct) continue;
    auto* to =
        static_cast<std::byte*>(data[inputs + o]) + static_cast<size_t>(from) * out.element_bytes;
    const float* value = at[static_cast<size_t>(out.value)];
    if (const Quantization& q = out.quantization; q.used)
      p.quantize->quantize(q.byte, to, value, &q.scale, &q.zero, false, n);
    else
      table.store(out.dtype, to, value, n);
  }
}

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t first = begin * kBlocksPerTask * p.block;
  const int64_t last = std::min(end * kBlocksPerTask * p.block, p.walk.count);
  if (first >= last) return;

  Block block(p, data, scratch);
  block.fill_constants();
  for (int64_t from = first; from < last; from += p.block) {
    const int64_t n = std::min(p.block, last - from);
    block.load(from, n);
    block.compute(from, n);
    block.store(from, n);
  }
  if (p.streams) p.table->finish_stream();
}

bool is_loadable(DType t) {
  switch (t) {
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::boolean:
    case DType::s8:
    case DType::u8:
    case DType::s32:
    case DType::s64: return true;
    default: return false;
  }
}

// A rough estimate of the nanoseconds for one element on one core.
double cost(int64_t code) {
  switch (static_cast<Op>(code)) {
    case Op::exp:
    case Op::log:
    case Op::erf:
    case Op::tanh:
    case Op::sigmoid:
    case Op::softplus:
    case Op::gelu_erf:
    case Op::gelu_tanh:
    case Op::silu:
    case Op::elu:
    case Op::celu:
    case Op::selu:
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan: return 0.6;
    case Op::mish: return 1.5;
    case Op::sinh:
    case Op::cosh:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::pow:
    case Op::mod:
    case Op::fmod: return 10;
    default: return 0.06;
  }
}

// The program of the call. A Rewriter moves conversions between bytes and floats from the steps to
// loads and stores, and joins other steps.
struct Program {
  std::vector<std::array<int64_t, 4>> steps;  // op, a, b, c
  std::vector<int64_t> outputs;               // codes of the values that are outputs
};

// Returns whether the type is a byte, and stores its vectorised form.
bool byte_type(DType t, isa::Whole* byte) {
  *byte = t == DType::s8 ? isa::Whole::s8 : isa::Whole::u8;
  return t == DType::s8 || t == DType::u8;
}

constexpr int64_t kFirstStep = kElementwiseMaxInputs;

class Rewriter {
 public:
  Rewriter(Program& program, std::span<const float> constants)
      : p_(program), constants_(constants), readers_(program.steps.size() + kFirstStep) {
    for (const auto& s : p_.steps)
      for (int k = 0; k < elementwise_arity(s[0]); k++)
        if (s[static_cast<size_t>(k + 1)] >= 0)
          readers_[static_cast<size_t>(s[static_cast<size_t>(k + 1)])]++;
    for (const int64_t v : p_.outputs) readers_[static_cast<size_t>(v)]++;
  }

  // Matches (input - zero) * scale if the intermediate values are not read elsewhere.
  Quantization load(int64_t input) {
    int64_t at = input;
    Quantization q;
    if (const auto s = only_reader(at, Op::sub)) {
      q.zero = constant(p_.steps[*s][2]);
      dead_.push_back(*s);
      at = kFirstStep + static_cast<int64_t>(*s);
    }
    const auto s = only_reader(at, Op::mul);
    if (!s || is_output(kFirstStep + static_cast<int64_t>(*s))) {
      if (at != input) dead_.pop_back();
      return {};
    }
    q.scale = constant(p_.steps[*s][2]);
    q.used = true;
    dead_.push_back(*s);
    replace(kFirstStep + static_cast<int64_t>(*s), input);
    return q;
  }

  // Matches round(value / scale) + zero if the intermediate values are not read elsewhere and zero
  // is an integer, because the fused form does not round the sum.
  Quantization store(int64_t& output) {
    Quantization q;
    std::vector<size_t> taken;
    const auto take = [&](Op op, int64_t value) -> const std::array<int64_t, 4>* {
      if (value < kFirstStep || readers_[static_cast<size_t>(value)] != 1) return nullptr;
      const auto& s = p_.steps[static_cast<size_t>(value - kFirstStep)];
      if (s[0] != static_cast<int64_t>(op) || (elementwise_arity(s[0]) > 1 && s[2] >= 0))
        return nullptr;
      taken.push_back(static_cast<size_t>(value - kFirstStep));
      return &s;
    };
    int64_t value = output;
    if (const auto* add = take(Op::add, value)) {
      q.zero = constant((*add)[2]);
      if (q.zero != std::nearbyint(q.zero)) return {};
      value = (*add)[1];
    }
    const auto* round = take(Op::round, value);
    const auto* div = round ? take(Op::div, (*round)[1]) : nullptr;
    if (!div || (*div)[1] < kFirstStep) return {};
    q.scale = constant((*div)[2]);
    q.used = true;
    output = (*div)[1];
    dead_.insert(dead_.end(), taken.begin(), taken.end());
    return q;
  }

  // Joins a b + c to one step if a b is not read elsewhere.
  void join_products() {
    for (auto& s : p_.steps) {
      if (s[0] != static_cast<int64_t>(Op::add)) continue;
      for (const size_t k : {1, 2}) {
        if (s[k] < kFirstStep || readers_[static_cast<size_t>(s[k])] != 1) continue;
        const auto at = static_cast<size_t>(s[k] - kFirstStep);
        const auto product = p_.steps[at];
        if (product[0] != static_cast<int64_t>(Op::mul)) continue;
        s = {static_cast<int64_t>(Op::mul_add), product[1], product[2], s[3 - k]};
        dead_.push_back(at);
        break;
      }
    }
  }

  // Removes steps that are not used any more, and renumbers the others.
  void finish() {
    std::vector<int64_t> place(p_.steps.size(), 0);
    std::vector<std::array<int64_t, 4>> kept;
    for (size_t i = 0; i < p_.steps.size(); i++) {
      if (std::find(dead_.begin(), dead_.end(), i) != dead_.end()) continue;
      place[i] = kFirstStep + static_cast<int64_t>(kept.size());
      kept.push_back(p_.steps[i]);
    }
    const auto renumber = [&](int64_t& v) {
      if (v >= kFirstStep) v = place[static_cast<size_t>(v - kFirstStep)];
    };
    for (auto& s : kept)
      for (int k = 1; k <= elementwise_arity(s[0]); k++) renumber(s[static_cast<size_t>(k)]);
    for (int64_t& v : p_.outputs) renumber(v);
    p_.steps = std::move(kept);
  }

 private:
  float constant(int64_t code) const { return constants_[static_cast<size_t>(-1 - code)]; }
  bool is_output(int64_t value) const {
    return std::find(p_.outputs.begin(), p_.outputs.end(), value) != p_.outputs.end();
  }
  // The only step that reads `value`, if `value` is its first operand and the second is a constant.
  std::optional<size_t> only_reader(int64_t value, Op op) const {
    if (readers_[static_cast<size_t>(value)] != 1) return std::nullopt;
    for (size_t i = 0; i < p_.steps.size(); i++) {
      const auto& s = p_.steps[i];
      if (s[0] == static_cast<int64_t>(op) && s[1] == value && s[2] < 0) return i;
    }
    return std::nullopt;
  }
  void replace(int64_t value, int64_t by) {
    for (auto& s : p_.steps)
      for (int k = 1; k <= elementwise_arity(s[0]); k++)
        if (s[static_cast<size_t>(k)] == value) s[static_cast<size_t>(k)] = by;
    readers_[static_cast<size_t>(by)] = readers_[static_cast<size_t>(value)];
  }

  Program& p_;
  std::span<const float> constants_;
  std::vector<int> readers_;
  std::vector<size_t> dead_;
};

// Creates the plan of a call: where operands are stored, which steps are computed, and the block of
// scratch for each value.
class Planner {
 public:
  explicit Planner(const Call& call)
      : operands_(call.operands), c_(calls::decode<calls::Elementwise>(call)) {}

  Plan plan() {
    check_operands();
    place_inputs();
    rewrite();
    add_steps();
    add_outputs();
    share_scratch();
    return finish();
  }

 private:
  static void check(bool ok, std::string_view what) { expect(ok, "elementwise", what); }
  const Operand& input(int64_t i) const { return operands_[static_cast<size_t>(i)]; }
  const Operand& output(int64_t o) const { return operands_[static_cast<size_t>(ins_ + o)]; }
  // The number of a value among inputs, constants and steps.
  int32_t value_index(int64_t code) const {
    return static_cast<int32_t>(code < 0 ? ins_ + (-1 - code)
                                : code < kElementwiseMaxInputs
                                    ? code
                                    : ins_ + constants_ + code - kElementwiseMaxInputs);
  }
  // The step that computes a value; negative for inputs and constants.
  int32_t step_of(int32_t value) const { return value - static_cast<int32_t>(ins_ + constants_); }

  void check_operands() {
    check(static_cast<int64_t>(operands_.size()) == ins_ + outs_, "wrong number of operands");
    std::span<const int64_t> shape;
    bool any = false;
    for (int64_t o = 0; o < outs_; o++) {
      const Operand& out = output(o);
      if (!out.present) continue;
      check(!any || std::ranges::equal(shape, out.shape), "outputs differ in shape");
      shape = out.shape;
      any = true;
    }
    check(any, "no output");
    std::vector<std::span<const int64_t>> shapes;
    for (int64_t i = 0; i < ins_; i++) {
      check(input(i).present && is_loadable(input(i).dtype),
            "an input is missing or has an unsupported type");
      shapes.push_back(input(i).shape);
    }
    p_->table = &POPRT_SELECT_ISA(elementwise);
    p_->quantize = &POPRT_SELECT_ISA(quantize);
    p_->walk = make_broadcast("elementwise", shape, shapes);
    p_->streams = p_->walk.count >= kStreamedElements;
  }

  void place_inputs() {
    for (int64_t i = 0; i < ins_; i++) {
      Input in;
      const DType t = input(i).dtype;
      in.dtype = static_cast<int>(t);
      in.element_bytes = static_cast<size_t>(dtype_bits(t)) / 8;
      in.scalar = p_->walk.is_scalar(static_cast<size_t>(i));
      in.linear = !in.scalar && p_->walk.is_linear(static_cast<size_t>(i));
      in.direct = in.linear && t == DType::f32;
      if (!in.direct) in.slot = slots_++;
      per_element_ += 0.1;
      p_->inputs.push_back(in);
    }
    p_->constants = c_.constants;
    p_->constant_slot = slots_;
    slots_ += constants_;
  }

  // Moves conversions of bytes from steps to loads and stores, and joins other steps.
  void rewrite() {
    for (const calls::ElementwiseStep& s : c_.steps)
      program_.steps.push_back({static_cast<int64_t>(s.op), s.a, s.b, s.c});
    program_.outputs = c_.outputs;
    Rewriter rewriter(program_, c_.constants);
    for (int64_t i = 0; i < ins_; i++) {
      Input& in = p_->inputs[static_cast<size_t>(i)];
      isa::Whole byte;
      if (!in.linear || !byte_type(input(i).dtype, &byte)) continue;
      in.quantization = rewriter.load(i);
      in.quantization.byte = byte;
    }
    bool quantizes = false;
    for (int64_t o = 0; o < outs_; o++) {
      isa::Whole byte;
      if (!output(o).present || !byte_type(output(o).dtype, &byte)) continue;
      quantizes = true;
      Quantization& stored = stored_[static_cast<size_t>(o)];
      stored = rewriter.store(program_.outputs[static_cast<size_t>(o)]);
      stored.byte = byte;
    }
    // A joined step rounds once instead of twice. Near a tie this could change a quantised byte, so
    // products are not joined if results are quantised.
    if (!quantizes) rewriter.join_products();
    rewriter.finish();
  }

  void add_steps() {
    last_use_.assign(program_.steps.size(), -1);
    for (size_t s = 0; s < program_.steps.size(); s++) {
      const auto& q = program_.steps[s];
      BoundStep step;
      step.op = q[0];
      step.arity = elementwise_arity(q[0]);
      for (int k = 0; k < step.arity; k++) {
        const int32_t v = value_index(q[static_cast<size_t>(k + 1)]);
        step.from[static_cast<size_t>(k)] = v;
        if (v < ins_) last_input_read_ = static_cast<int64_t>(s);
        if (step_of(v) >= 0) last_use_[static_cast<size_t>(step_of(v))] = static_cast<int64_t>(s);
      }
      for (int k = step.arity; k < 3; k++) step.from[static_cast<size_t>(k)] = step.from[0];
      per_element_ += cost(step.op);
      p_->steps.push_back(step);
    }
  }

  void add_outputs() {
    for (int64_t o = 0; o < outs_; o++) {
      check(output(o).present, "an output is missing");
      const DType t = output(o).dtype;
      check(t == DType::f32 || t == DType::f16 || t == DType::bf16 || t == DType::boolean ||
                t == DType::s8 || t == DType::u8,
            "an output has an unsupported type");
      Output out;
      out.dtype = static_cast<int>(t);
      out.element_bytes = static_cast<size_t>(dtype_bits(t)) / 8;
      out.quantization = stored_[static_cast<size_t>(o)];
      out.value = value_index(program_.outputs[static_cast<size_t>(o)]);
      const int32_t s = step_of(out.value);
      // Output 0 may share memory with an input, so a step writes it directly only if no later step
      // reads inputs.
      BoundStep& step = p_->steps[static_cast<size_t>(s)];
      if (t == DType::f32 && step.output < 0 && last_input_read_ <= s) {
        step.output = static_cast<int32_t>(o);
        out.direct = true;
      }
      last_use_[static_cast<size_t>(s)] = static_cast<int64_t>(p_->steps.size());
      per_element_ += 0.1;
      p_->outputs.push_back(out);
    }
  }

  // Reuses scratch blocks of values that are not read any more. A step may overwrite its own
  // operand.
  void share_scratch() {
    std::vector<int64_t> free_slots;
    for (size_t s = 0; s < p_->steps.size(); s++) {
      BoundStep& step = p_->steps[s];
      for (size_t earlier = 0; earlier < s; earlier++) {
        const BoundStep& e = p_->steps[earlier];
        if (last_use_[earlier] == static_cast<int64_t>(s) && e.slot >= 0)
          free_slots.push_back(e.slot);
      }
      if (step.output >= 0) continue;
      if (free_slots.empty()) {
        step.slot = slots_++;
      } else {
        step.slot = free_slots.back();
        free_slots.pop_back();
      }
    }
  }

  Plan finish() {
    p_->block = slots_ <= 7 ? 1024 : slots_ <= 14 ? 512 : 256;
    // If a block is a row, every operand has one run in it.
    const int64_t row = p_->walk.dims.back();
    if (p_->walk.dims.size() > 1 && row >= 128 && row < p_->block) p_->block = row;
    Plan plan;
    plan.outputs = static_cast<size_t>(outs_);
    plan.run = run;
    const int64_t per_task = p_->block * kBlocksPerTask;
    plan.tasks = std::max<int64_t>(1, (p_->walk.count + per_task - 1) / per_task);
    plan.work = static_cast<double>(p_->walk.count) * per_element_;
    plan.scratch_bytes = static_cast<size_t>(slots_ * p_->block) * sizeof(float);
    plan.params = std::move(p_);
    return plan;
  }

  std::span<const Operand> operands_;
  const calls::Elementwise c_;
  const int64_t ins_ = c_.inputs;
  const int64_t outs_ = static_cast<int64_t>(c_.outputs.size());
  const int64_t constants_ = static_cast<int64_t>(c_.constants.size());
  std::shared_ptr<Params> p_ = std::make_shared<Params>();
  Program program_;
  std::vector<Quantization> stored_ =
      std::vector<Quantization>(c_.outputs.size());  // how each output is stored
  // the last step that reads the result of each step; the number of steps for outputs
  std::vector<int64_t> last_use_;
  int64_t last_input_read_ = -1;  // the last step that reads an input
  int64_t slots_ = 0;             // blocks of scratch
  double per_element_ = 0;        // nanoseconds
};

Plan prepare(const Call& call) { return Planner(call).plan(); }

}  // namespace

extern const Kernel def;
const Kernel def = {"elementwise", prepare};

}  // namespace poprt::kernels::elementwise_kernel
