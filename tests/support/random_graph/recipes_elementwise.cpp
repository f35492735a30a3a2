#include "support/random_graph/recipes.h"

namespace poprt::test {
namespace {

template <class... Names>
void one_of(Maker& m, const Types& types, Names... names) {
  m.add(m.c.pick({std::string_view(names)...}), {m.any(types)});
}

// Returns `a` and a value that broadcasts with it, in either order.
std::vector<Value*> pair(Maker& m, Value* a) {
  Value* b = m.c.chance(8) ? a : m.operand_for(a);
  return m.c.chance(50) ? std::vector<Value*>{a, b} : std::vector<Value*>{b, a};
}

float some(Maker& m) { return m.c.pick({0.01f, 0.2f, 0.5f, 1.0f, 1.5f, -0.3f, 0.0f}); }

void smooth(Maker& m) {
  one_of(m, kFloats, "Sigmoid", "Tanh", "Erf", "Softplus", "Softsign", "Sin", "Cos", "Atan",
         "Asinh", "Mish", "HardSwish", "Selu");
}
void kinked(Maker& m) {
  one_of(m, kFloats, "Relu", "Relu", "Relu", "Abs", "Neg", "Ceil", "Floor", "Round", "Sign");
}
void partial(Maker& m) {  // not finite everywhere
  one_of(m, kFloats, "Sqrt", "Log", "Reciprocal", "Exp", "Acos", "Asin", "Atanh", "Acosh", "Tan",
         "Sinh", "Cosh");
}
void whole(Maker& m) { one_of(m, kIntegers, "Abs", "Neg", "Sign", "Relu"); }
void parameters(Maker& m) {
  Value* x = m.any(kFloats);
  switch (m.c.below(8)) {
    case 0: m.add("LeakyRelu", {x}, {{"alpha", some(m)}}); break;
    case 1: m.add("Elu", {x}, {{"alpha", some(m)}}); break;
    case 2: m.add("HardSigmoid", {x}, {{"alpha", some(m)}, {"beta", some(m)}}); break;
    case 3: m.add("ThresholdedRelu", {x}, {{"alpha", some(m)}}); break;
    case 4: m.add("Celu", {x}, {{"alpha", 1.5f}}); break;
    case 5: m.add("Shrink", {x}, {{"lambd", 0.5f}, {"bias", some(m)}}); break;
    case 6: m.add("Swish", {x}, {{"alpha", some(m)}}); break;
    default: m.add("Gelu", {x}, {{"approximate", std::string(m.c.chance(50) ? "tanh" : "none")}});
  }
}
void clip(Maker& m) {
  Value* x = m.any(kNumbers);
  if (is_float(x->dtype()) == false && m.opset() < 12) return;
  const auto bound = [&](double at) -> Value* {
    return m.c.chance(25)   ? nullptr
           : m.c.chance(85) ? m.scalar(x->dtype(), at)
                            : m.of(x->dtype(), {});
  };
  Value* low = bound(m.c.pick({0.0, -1.0, -0.5}));
  m.add("Clip", {x, low, bound(m.c.pick({6.0, 1.0, 0.5, 3.0}))});
}
void arithmetic(Maker& m) {
  m.add(m.c.pick<std::string_view>({"Add", "Add", "Sub", "Mul", "Mul", "Div"}),
        pair(m, m.any(kFloats)));
}
void integer_arithmetic(Maker& m) {
  Value* x = m.any(kIntegers);
  if (m.c.chance(25)) {  // by a value that is never zero
    m.add(m.c.pick<std::string_view>({"Div", "Mod"}),
          {x, m.scalar(x->dtype(), m.c.pick({1.0, 2.0, 3.0, 7.0}))});
    return;
  }
  m.add(m.c.pick<std::string_view>({"Add", "Sub", "Mul"}), pair(m, x));
}
void power(Maker& m) {
  Value* x = m.any(kFloats);
  if (m.c.chance(70))
    m.add("Pow", {x, m.scalar(m.opset() < 12 || m.c.chance(80) ? x->dtype() : DType::s64,
                              m.c.pick({2.0, 0.5, 3.0, 1.0, 0.0, -1.0}))});
  else
    m.add("Pow", pair(m, x));
}
void modulo(Maker& m) { m.add("Mod", pair(m, m.any(kFloats)), {{"fmod", int64_t{1}}}); }
void variadic(Maker& m) {
  const auto op = m.c.pick<std::string_view>({"Max", "Min", "Sum", "Mean"});
  Value* x = m.any(op == "Sum" || op == "Mean" ? kFloats : kNumbers);
  std::vector<Value*> inputs{x};
  for (uint64_t n = m.c.below(4); n > 0; n--) inputs.push_back(m.operand_for(x));
  if (inputs.size() > 1 && m.c.chance(50)) std::swap(inputs.front(), inputs.back());
  m.add(op, inputs);
}
void compare(Maker& m) {
  m.add(m.c.pick<std::string_view>({"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"}),
        pair(m, m.any(kNumbers)));
}
void logic(Maker& m) {
  Value* x = m.any({DType::boolean});
  if (m.c.chance(30))
    m.add("Not", {x});
  else
    m.add(m.c.pick<std::string_view>({"And", "Or", "Xor"}), pair(m, x));
}
void bitwise(Maker& m) {
  Value* x = m.any(kIntegers);
  if (m.c.chance(20))
    m.add("BitwiseNot", {x});
  else
    m.add(m.c.pick<std::string_view>({"BitwiseAnd", "BitwiseOr", "BitwiseXor"}), pair(m, x));
}
void shift(Maker& m) {
  Value* x = m.any({DType::u8, DType::u16, DType::u32, DType::u64});
  m.add("BitShift", {x, m.scalar(x->dtype(), static_cast<double>(m.c.below(4)))},
        {{"direction", std::string(m.c.chance(50) ? "LEFT" : "RIGHT")}});
}
void where(Maker& m) {
  Value* x = m.any(kEvery);
  Value* y = m.operand_for(x);
  Value* condition = m.operand_for(x, DType::boolean);
  m.add("Where", m.c.chance(50) ? std::vector{condition, x, y} : std::vector{condition, y, x});
}
void prelu(Maker& m) {
  Value* x = m.any(kFloats);
  Value* slope = m.operand_for(x);
  if (slope->shape().size() <= x->shape().size()) m.add("PRelu", {x, slope});
}
// ONNX numbers of f32 u8 s8 s32 s64 bool f16 f64 bf16 u16 s16 u32 u64.
void cast(Maker& m) {
  const int64_t to = m.c.pick<int64_t>({1, 1, 1, 1, 2, 3, 6, 7, 9, 10, 11, 16, 4, 5, 12, 13});
  m.add("Cast", {m.any(kEvery)}, {{"to", to}});
}
void cast_chain(Maker& m) {
  Value* x = m.any(kEvery);
  for (uint64_t n = 2 + m.c.below(2); x && n > 0; n--)
    x = m.add("Cast", {x}, {{"to", m.c.pick<int64_t>({1, 1, 10, 7, 6, 11, 9, 16})}});
}
void cast_like(Maker& m) { m.add("CastLike", {m.any(kEvery), m.any(kEvery)}); }
void tests(Maker& m) { one_of(m, kReals, "IsInf", "IsNaN"); }
void identity(Maker& m) { one_of(m, kEvery, "Identity"); }
void dropout(Maker& m) { one_of(m, kFloats, "Dropout"); }
void contrib(Maker& m) {
  Value* x = m.ranked(kReals, 1);
  switch (m.c.below(4)) {
    case 0: m.add("Gelu", {x}, {}, 1, "com.microsoft"); break;
    case 1:
      m.add("QuickGelu", {x}, {{"alpha", m.c.pick({1.702f, 1.0f, 0.5f})}}, 1, "com.microsoft");
      break;
    case 2:
      m.add("BiasGelu", {x, m.of(x->dtype(), {x->shape().back()})}, {}, 1, "com.microsoft");
      break;
    default:
      m.add("FastGelu",
            m.c.chance(50) ? std::vector{x} : std::vector{x, m.of(x->dtype(), {x->shape().back()})},
            {}, 1, "com.microsoft");
  }
}
// A chain of one operator, often with constants, which passes may combine.
void constant_chain(Maker& m) {
  Value* x = m.any(kFloats);
  const auto op = m.c.pick<std::string_view>({"Add", "Sub", "Mul", "Div"});
  for (uint64_t n = 2 + m.c.below(3); x && n > 0; n--)
    x = m.add(m.c.chance(80) ? op : "Mul", pair(m, x));
}
// An operator with a constant that leaves x unchanged, or rarely another constant.
void nop(Maker& m) {
  Value* x = m.any(kNumbers);
  const auto op = m.c.pick<std::string_view>({"Add", "Sub", "Mul", "Div", "Pow"});
  const double neutral = op == "Add" || op == "Sub" ? 0 : 1;
  Value* c = m.constant(random_tensor(x->dtype(), Shape(m.c.below(x->shape().size() + 2), 1), m.c));
  if (m.c.chance(80)) {
    const size_t rank = m.c.below(x->shape().size() + 2);
    Tensor t = Tensor::zeros(x->dtype(), Shape(rank, 1));
    const Value* one = m.scalar(x->dtype(), neutral);
    std::memcpy(t.mutable_data(), one->constant().data(), t.bytes());
    c = m.constant(t);
  }
  m.add(op, m.c.chance(50) ? std::vector{x, c} : std::vector{c, x});
}

constexpr Recipe kElementwiseRecipes[] = {
    {"Sigmoid", smooth, 5},
    {"Relu", kinked, 5},
    {"Sqrt", partial, 3},
    {"Neg", whole},
    {"Elu", parameters, 4},
    {"Clip", clip, 2},
    {"Add", arithmetic, 14},
    {"Mod", integer_arithmetic, 3},
    {"Pow", power, 2},
    {"Fmod", modulo},
    {"Max", variadic, 4},
    {"Equal", compare, 3},
    {"And", logic, 2},
    {"BitwiseAnd", bitwise, 1},
    {"BitShift", shift},
    {"Where", where, 4},
    {"PRelu", prelu, 2},
    {"Cast", cast, 4},
    {"CastChain", cast_chain, 2},
    {"CastLike", cast_like},
    {"IsNaN", tests},
    {"Identity", identity, 2},
    {"Dropout", dropout},
    {"Gelu", contrib, 2},
    {"ConstantChain", constant_chain, 3},
    {"Nop", nop, 3},
};

}  // namespace

std::span<const Recipe> elementwise_recipes() { return kElementwiseRecipes; }

}  // namespace poprt::test
