// Any operator with any inputs and attributes has a result or throws an Error.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>
#include <random>

#include "base/error.h"
#include "ops/common/evaluate.h"
#include "ops/op.h"

namespace poprt::ops {
namespace {

constexpr DType kTypes[] = {DType::f32, DType::f16, DType::f64, DType::s32,    DType::s64,
                            DType::u8,  DType::s8,  DType::s4,  DType::boolean};
const Shape kShapes[] = {{},        {0},          {1},       {2},       {3},          {2, 3},
                         {3, 2},    {4, 4},       {0, 3},    {1, 2, 3}, {1, 4, 4, 4}, {4, 4, 3, 3},
                         {1, 0, 4}, {1, 1, 2, 2}, {2, 1, 4}, {1, 16, 4}};
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kInts[] = {0, 1, 2, 3, 4, -1, -2, 7, 100, kMax, kMin, int64_t{1} << 31};
const char* const kIntNames[] = {"axis",        "group",         "to",
                                 "keepdims",    "ceil_mode",     "hidden_size",
                                 "num_heads",   "blocksize",     "p",
                                 "size",        "batch_dims",    "largest",
                                 "sorted",      "layout",        "exclusive",
                                 "k",           "block_size",    "select_last_index",
                                 "q_num_heads", "kv_num_heads",  "onesided",
                                 "num_groups",  "output_height", "output_width",
                                 "dtype",       "storage_order", "detect_negative",
                                 "fmod",        "stash_type",    "align_corners"};
const char* const kListNames[] = {
    "axes",  "perm",  "pads",   "strides", "dilations",      "kernel_shape", "split",
    "shape", "sizes", "starts", "ends",    "output_padding", "output_shape"};
const char* const kTextNames[] = {"mode",     "direction", "auto_pad",
                                  "equation", "reduction", "approximate"};
const char* const kTexts[] = {
    "",    "linear", "nearest", "SAME_UPPER", "VALID", "bidirectional", "ij,jk->ik",
    "add", "LEFT",   "reflect", "max",        "none",  "tanh",          "\n"};

class Source {
 public:
  explicit Source(uint32_t seed) : engine_(seed) {}
  size_t below(size_t n) { return engine_() % n; }
  template <class T, size_t N>
  const T& of(const T (&list)[N]) {
    return list[below(N)];
  }
  int64_t number() { return of(kInts); }
  Tensor tensor() {
    const Shape& shape = of(kShapes);
    Tensor t = Tensor::zeros(of(kTypes), shape);
    auto* bytes = static_cast<uint8_t*>(t.mutable_data());
    const size_t kind = below(4);
    for (uint64_t i = 0; i < t.bytes(); i++)
      bytes[i] = t.dtype() == DType::boolean ? static_cast<uint8_t>(below(2))
                 : kind == 0                 ? uint8_t{0}
                 : kind == 1                 ? static_cast<uint8_t>(i % 8 == 0 ? below(4) : 0)
                 : kind == 2                 ? uint8_t{0xff}
                                             : static_cast<uint8_t>(engine_());
    return t;
  }
  void decorate(ir::Node& n) {
    for (size_t i = below(5); i > 0; i--) n.attributes[of(kIntNames)] = number();
    for (size_t i = below(4); i > 0; i--) {
      std::vector<int64_t> list(below(5));
      const bool small = below(2) == 0;
      for (auto& v : list) v = small ? static_cast<int64_t>(below(4)) : number();
      n.attributes[of(kListNames)] = std::move(list);
    }
    if (below(3) == 0) n.attributes[of(kTextNames)] = std::string(of(kTexts));
    if (below(20) == 0) n.attributes[of(kIntNames)] = 1.5f;  // of another type than it should be
  }

 private:
  std::mt19937 engine_;
};

// Infers a random node, and runs it if that is cheap.
void attempt(const OpDef& op, Source& random) {
  ir::Graph g("g");
  g.opsets[std::string(op.domain)] =
      std::min<int64_t>(op.until, op.since + static_cast<int64_t>(random.below(12)));
  std::vector<ir::Value*> in;
  std::vector<Tensor> values;
  for (size_t i = 0, n = random.below(7); i < n; i++) {
    const std::string name = "i" + std::to_string(i);
    values.push_back(random.tensor());
    switch (random.below(8)) {
      case 0: in.push_back(nullptr); break;
      case 1:
      case 2:
      case 3: in.push_back(g.add_constant(name, values[i])); break;
      case 4: in.push_back(g.add_input(name, {values[i].dtype(), false, {}, {}})); break;
      default:
        in.push_back(g.add_input(name, ir::ValueType::of(values[i].dtype(), values[i].shape())));
    }
  }
  ir::Node* n = g.add_node(std::string(op.name), std::string(op.domain), in, 1 + random.below(3));
  random.decorate(*n);
  infer(*n);
  for (const ir::Value* v : n->inputs())
    if (v && !v->type.is_static()) return;
  for (const ir::Value* v : n->outputs())
    if (!v->type.is_static() || v->dtype() == DType::undefined || v->dtype() == DType::string ||
        dtype_bytes(v->dtype(), element_count(v->shape())) > 1 << 20)
      return;
  (void)evaluate(*n, values);
}

TEST(MalformedNodes, GiveAResultOrAnError) {
  constexpr int kRounds = 300;
  int accepted = 0, refused = 0;
  for (const OpDef* op : all_ops()) {
    SCOPED_TRACE(op->name);
    if (std::getenv("POPRT_PRINT")) printf("%s\n", std::string(op->name).c_str()), fflush(stdout);
    Source random(2024);
    for (int round = 0; round < kRounds; round++) try {
        attempt(*op, random);
        accepted++;
      } catch (const Error&) {
        refused++;
      } catch (const std::bad_alloc&) {  // a random size may exceed the memory
        refused++;
      } catch (const std::exception& e) {
        ADD_FAILURE() << op->name << " in round " << round << ": " << e.what();
        break;
      }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace poprt::ops
