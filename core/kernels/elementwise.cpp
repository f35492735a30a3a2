// elementwise: operands [inputs..., outputs...] (all inputs broadcast to the shape that every
// output has). ints: [inputs, steps, outputs, then op, a, b, c of each step, then the value of each
// output]; floats: the constants (codes in common/elementwise.h).
//
// The output is walked in blocks of a few hundred elements that stay in L1: each step is one
// vectorised loop over a block. Inputs: f32 f16 bf16 bool s8 u8 s32 s64; outputs: f32 f16 bf16
// bool.
#include "kernels/isa/elementwise.h"

#include <algorithm>
#include <array>

#include "base/shape.h"
#include "kernels/common/broadcast.h"
#include "kernels/common/elementwise.h"
#include "kernels/kernel.h"

namespace poprt::kernels {
namespace {

using Op = ElementwiseOp;
constexpr size_t kMaxInputs = kElementwiseMaxInputs;
constexpr size_t kMaxValues =
    kElementwiseMaxInputs + kElementwiseMaxConstants + kElementwiseMaxSteps;
constexpr int64_t kBlocksPerTask = 16;
constexpr int64_t kRepeated = 16;  // copies of a value that repeats all over a block

struct Input {
  int dtype = 0;
  size_t element_bytes = 4;
  bool linear = false, scalar = false;
  bool direct = false;  // linear f32: read where it is
  int64_t slot = -1;    // scratch block otherwise
};

struct Step {
  int64_t op = 0;
  int arity = 1;
  std::array<int32_t, 3> from{};  // value indices
  int64_t slot = -1;              // scratch block, or
  int32_t output = -1;            // straight into this f32 output
};

struct Output {
  int dtype = 0;
  size_t element_bytes = 4;
  int32_t value = 0;
  bool direct = false;
};

struct Params {
  const isa::ElementwiseTable* table = nullptr;
  Broadcast walk;
  int64_t block = 0;
  std::vector<Input> inputs;
  std::vector<float> constants;
  std::vector<Step> steps;
  std::vector<Output> outputs;
  int64_t constant_slot = 0;  // of the first constant
};

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const isa::ElementwiseTable& table = *p.table;
  auto* registers = reinterpret_cast<float*>(scratch);
  const int64_t block = p.block;
  const int64_t first = begin * kBlocksPerTask * block;
  const int64_t last = std::min(end * kBlocksPerTask * block, p.walk.count);
  if (first >= last) return;

  // Values: inputs, then constants, then steps.
  std::array<const float*, kMaxValues> at;
  std::array<bool, kMaxValues> repeats{};  // sixteen equal floats stand for the block
  const size_t inputs = p.inputs.size(), constants = p.constants.size();
  for (size_t i = 0; i < inputs; i++) {
    const Input& in = p.inputs[i];
    if (!in.scalar) continue;
    float* to = registers + in.slot * block;
    float value = 0;
    table.load(in.dtype, &value, data[i], 1);
    table.fill(to, value, kRepeated);
    at[i] = to;
    repeats[i] = true;
  }
  for (size_t k = 0; k < constants; k++) {
    float* to = registers + (p.constant_slot + static_cast<int64_t>(k)) * block;
    table.fill(to, p.constants[k], kRepeated);
    at[inputs + k] = to;
    repeats[inputs + k] = true;
  }

  for (int64_t from = first; from < last; from += block) {
    const int64_t n = std::min(block, last - from);
    bool gather = false;
    for (size_t i = 0; i < inputs; i++) {
      const Input& in = p.inputs[i];
      if (in.direct) {
        at[i] = static_cast<const float*>(data[i]) + from;
      } else if (in.linear) {
        float* to = registers + in.slot * block;
        table.load(
            in.dtype, to,
            static_cast<const std::byte*>(data[i]) + static_cast<size_t>(from) * in.element_bytes,
            n);
        at[i] = to;
      } else if (!in.scalar) {
        gather = true;
      }
    }
    if (gather) {
      for_each_run<kMaxInputs>(
          p.walk, inputs, from, from + n, [&](const int64_t* offsets, int64_t e, int64_t count) {
            for (size_t i = 0; i < inputs; i++) {
              const Input& in = p.inputs[i];
              if (in.linear || in.scalar) continue;
              float* to = registers + in.slot * block;
              const bool same = p.walk.strides[i].back() == 0;
              const std::byte* source = static_cast<const std::byte*>(data[i]) +
                                        offsets[i] * static_cast<int64_t>(in.element_bytes);
              if (in.dtype == static_cast<int>(DType::f32) && !same && count == n) {
                at[i] = reinterpret_cast<const float*>(source);  // the whole block in one run
                continue;
              }
              at[i] = to;
              repeats[i] = same && count == n;
              float* piece = to + (e - from);
              if (same) {
                float value = 0;
                table.load(in.dtype, &value, source, 1);
                table.fill(piece, value, repeats[i] ? kRepeated : count);
              } else {
                table.load(in.dtype, piece, source, count);
              }
            }
          });
    }
    for (size_t s = 0; s < p.steps.size(); s++) {
      const Step& step = p.steps[s];
      float* to = step.output >= 0
                      ? static_cast<float*>(data[inputs + static_cast<size_t>(step.output)]) + from
                      : registers + step.slot * block;
      const auto [a, b, c] = step.from;
      table.step(step.op, to, at[static_cast<size_t>(a)], at[static_cast<size_t>(b)],
                 at[static_cast<size_t>(c)], n,
                 static_cast<uint32_t>(repeats[static_cast<size_t>(a)]) |
                     static_cast<uint32_t>(repeats[static_cast<size_t>(b)]) << 1 |
                     static_cast<uint32_t>(repeats[static_cast<size_t>(c)]) << 2);
      at[inputs + constants + s] = to;
    }
    for (size_t o = 0; o < p.outputs.size(); o++) {
      const Output& out = p.outputs[o];
      if (!out.direct)
        table.store(out.dtype,
                    static_cast<std::byte*>(data[inputs + o]) +
                        static_cast<size_t>(from) * out.element_bytes,
                    at[static_cast<size_t>(out.value)], n);
    }
  }
}

bool loadable(DType t) {
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

// Nanoseconds of one element on one core, roughly.
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

Plan prepare(const Call& call) {
  const auto check = [](bool ok, std::string_view what) { expect(ok, "elementwise", what); };
  const auto& ints = call.ints;
  check(ints.size() >= 3, "the program is too short");
  const int64_t ins = ints[0], steps = ints[1], outs = ints[2];
  check(ins >= 0 && ins <= kElementwiseMaxInputs, "too many inputs");
  check(steps >= 1 && steps <= kElementwiseMaxSteps, "too many steps, or none");
  check(outs >= 1 && outs <= kElementwiseMaxOutputs, "too many outputs, or none");
  check(static_cast<int64_t>(ints.size()) == 3 + 4 * steps + outs, "the program's length is wrong");
  check(static_cast<int64_t>(call.operands.size()) == ins + outs, "wrong number of operands");
  check(static_cast<int64_t>(call.floats.size()) <= kElementwiseMaxConstants, "too many constants");

  auto p = std::make_shared<Params>();
  p->table = &POPRT_SELECT_ISA(elementwise);
  p->constants.assign(call.floats.begin(), call.floats.end());
  const auto constants = static_cast<int64_t>(p->constants.size());

  const auto operands = call.operands;
  std::span<const int64_t> shape;
  bool any = false;
  for (int64_t o = 0; o < outs; o++) {
    const Operand& out = operands[static_cast<size_t>(ins + o)];
    if (!out.present) continue;
    check(!any || std::ranges::equal(shape, out.shape), "outputs differ in shape");
    shape = out.shape;
    any = true;
  }
  check(any, "no output");
  std::vector<std::span<const int64_t>> shapes;
  for (int64_t i = 0; i < ins; i++) {
    const Operand& in = operands[static_cast<size_t>(i)];
    check(in.present && loadable(in.dtype), "an input is missing or has an unsupported type");
    shapes.push_back(in.shape);
  }
  p->walk = make_broadcast("elementwise", shape, shapes);

  int64_t slots = 0;
  double per_element = 0;
  for (int64_t i = 0; i < ins; i++) {
    Input in;
    const DType t = operands[static_cast<size_t>(i)].dtype;
    in.dtype = static_cast<int>(t);
    in.element_bytes = static_cast<size_t>(dtype_bits(t)) / 8;
    in.scalar = p->walk.is_scalar(static_cast<size_t>(i));
    in.linear = !in.scalar && p->walk.is_linear(static_cast<size_t>(i));
    in.direct = in.linear && t == DType::f32;
    if (!in.direct) in.slot = slots++;
    per_element += 0.1;
    p->inputs.push_back(in);
  }
  p->constant_slot = slots;
  slots += constants;

  const auto value_index = [&](int64_t code, int64_t steps_before) {
    if (code < 0) {
      check(-1 - code < constants, "a step reads a constant that is not there");
      return static_cast<int32_t>(ins + (-1 - code));
    }
    if (code < kElementwiseMaxInputs) {
      check(code < ins, "a step reads an input that is not there");
      return static_cast<int32_t>(code);
    }
    check(code - kElementwiseMaxInputs < steps_before, "a step reads a later one");
    return static_cast<int32_t>(ins + constants + code - kElementwiseMaxInputs);
  };
  int64_t last_input_read = -1;
  std::vector<int64_t> last_use(static_cast<size_t>(steps), -1);
  const auto step_of = [&](int32_t value) { return value - static_cast<int32_t>(ins + constants); };
  for (int64_t s = 0; s < steps; s++) {
    const int64_t* q = &ints[static_cast<size_t>(3 + 4 * s)];
    Step step;
    step.op = q[0];
    step.arity = elementwise_arity(q[0]);
    check(step.arity > 0 && !elementwise_is_integer_only(static_cast<Op>(q[0])),
          "unknown operation");
    for (int k = 0; k < step.arity; k++) {
      const int32_t v = value_index(q[k + 1], s);
      step.from[static_cast<size_t>(k)] = v;
      if (v < ins) last_input_read = s;
      if (step_of(v) >= 0) last_use[static_cast<size_t>(step_of(v))] = s;
    }
    for (int k = step.arity; k < 3; k++) step.from[static_cast<size_t>(k)] = step.from[0];
    per_element += cost(step.op);
    p->steps.push_back(step);
  }
  for (int64_t o = 0; o < outs; o++) {
    const Operand& operand = operands[static_cast<size_t>(ins + o)];
    check(operand.present, "an output is missing");
    const DType t = operand.dtype;
    check(t == DType::f32 || t == DType::f16 || t == DType::bf16 || t == DType::boolean,
          "an output has an unsupported type");
    Output out;
    out.dtype = static_cast<int>(t);
    out.element_bytes = static_cast<size_t>(dtype_bits(t)) / 8;
    out.value = value_index(ints[static_cast<size_t>(3 + 4 * steps + o)], steps);
    const int32_t s = step_of(out.value);
    check(s >= 0, "an output is not a step");
    // Output 0 may lie over an input, so a step writes it only when no later step reads inputs.
    Step& step = p->steps[static_cast<size_t>(s)];
    if (t == DType::f32 && step.output < 0 && last_input_read <= s) {
      step.output = static_cast<int32_t>(o);
      out.direct = true;
    }
    last_use[static_cast<size_t>(s)] = steps;
    per_element += 0.1;
    p->outputs.push_back(out);
  }
  // Scratch blocks are reused once their value is dead; a step may write over its own operand.
  std::vector<int64_t> free_slots;
  for (int64_t s = 0; s < steps; s++) {
    Step& step = p->steps[static_cast<size_t>(s)];
    for (int64_t earlier = 0; earlier < s; earlier++) {
      const Step& e = p->steps[static_cast<size_t>(earlier)];
      if (last_use[static_cast<size_t>(earlier)] == s && e.slot >= 0) free_slots.push_back(e.slot);
    }
    if (step.output >= 0) continue;
    if (free_slots.empty()) {
      step.slot = slots++;
    } else {
      step.slot = free_slots.back();
      free_slots.pop_back();
    }
  }

  p->block = slots <= 7 ? 1024 : slots <= 14 ? 512 : 256;
  // A block that is a row has one run of every operand.
  const int64_t row = p->walk.dims.back();
  if (p->walk.dims.size() > 1 && row >= 128 && row < p->block) p->block = row;
  Plan plan;
  plan.outputs = static_cast<size_t>(outs);
  plan.run = run;
  const int64_t per_task = p->block * kBlocksPerTask;
  plan.tasks = std::max<int64_t>(1, (p->walk.count + per_task - 1) / per_task);
  plan.work = static_cast<double>(p->walk.count) * per_element;
  plan.scratch_bytes = static_cast<size_t>(slots * p->block) * sizeof(float);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel elementwise_kernel;
const Kernel elementwise_kernel = {"elementwise", prepare};

}  // namespace poprt::kernels
