// Networks at several shapes: a padded request has the results that the model has at the size of
// the request, or it is refused.
#include "compiler/bucket_padding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compiler/driver.h"
#include "compiler/padding.h"
#include "compiler/variants.h"
#include "core/compiler/flow/support.h"
#include "ir/text.h"
#include "program/link.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

enum class Way { proven, masked, exact };

struct Network {
  const char* name;
  Way way;
  std::string body;    // nodes on tensors with the dimension N
  bool fused = false;  // whether attention is fused
};

// An attention with two heads; `mask` makes %m of the scores %s. Lengths are up to 9.
std::string heads(const std::string& inputs, const std::string& mask) {
  return "input %x : f32[2,N,4]\n" + inputs +
         " const %h : s64[4] = [0, 0, 2, 2]\n%r = Reshape(%x, %h)\n"
         "%q = Transpose(%r) {perm = [0, 2, 1, 3]}\n%k = Transpose(%r) {perm = [0, 2, 3, 1]}\n"
         "%s = MatMul(%q, %k)\n%shape = Shape(%x)\n const %place : s64[1] = [1]\n"
         "%n = Gather(%shape, %place)\n const %from : s64[1] = [0]\n" +
         mask +
         "%p = Softmax(%m) {axis = -1}\n%c = MatMul(%p, %q)\n"
         "%b = Transpose(%c) {perm = [0, 2, 1, 3]}\n const %f : s64[3] = [0, 0, 4]\n"
         "%y = Reshape(%b, %f)\noutput %y\n";
}

// A constant [1,1,9,9]: `kept` on and below the diagonal, `other` above it.
std::string triangle(const char* type, const std::string& kept, const std::string& other) {
  std::string text = fmt::format("const %table : {}[1,1,9,9] = [", type);
  for (int i = 0; i < 81; i++) text += (i ? ", " : "") + (i % 9 <= i / 9 ? kept : other);
  return text + "]\n";
}

const std::string kBothAxes =
    " const %two : s64[1] = [2]\n const %three : s64[1] = [3]\n"
    "%starts = Concat(%from, %from) {axis = 0}\n%ends = Concat(%n, %n) {axis = 0}\n"
    "%along = Concat(%two, %three) {axis = 0}\n%part = Slice(%table, %starts, %ends, %along)\n";
const std::string kKeys = "const %ones : s64[2] = [1, 2]\n%keys = Unsqueeze(%given, %ones)\n";

// Weights that several of the networks have.
constexpr const char* kWeights = R"(
  const %w : f32[4,4] = [0.5, -1, 0.25, 2, 1, 0.75, -0.5, 0.1, 0.3, -0.2, 1.5, 1, -1, 0.6, 0.4, 0.9]
  const %zero : s64[] = 0
  const %one : s64[] = 1
  const %minus : s64[] = -1
)";

const Network kNetworks[] = {
    {"perceptron over a batch", Way::proven,
     "input %x : f32[N,4]\n%h = MatMul(%x, %w)\n%y = Relu(%h)\noutput %y\n"},
    {"softmax over classes of a batch", Way::proven,
     "input %x : f32[N,4]\n%h = MatMul(%x, %w)\n%y = Softmax(%h) {axis = 1}\noutput %y\n"},
    {"rows that Reshape with a computed shape keeps", Way::proven,
     "input %x : f32[N,4]\n%s = Shape(%x)\n%n = Gather(%s, %zero)\n const %t : s64[1] = [0]\n"
     "%u = Unsqueeze(%n, %t)\n const %r : s64[2] = [2, 2]\n%p = Concat(%u, %r) {axis = 0}\n"
     "%y = Reshape(%x, %p)\noutput %y\n"},
    {"tokens with position embeddings", Way::proven,
     "input %x : f32[2,N,4]\n%s = Shape(%x)\n%n = Gather(%s, %one)\n%p = Range(%zero, %n, %one)\n"
     "%q = Cast(%p) {to = 1}\n const %a : s64[1] = [1]\n%r = Unsqueeze(%q, %a)\n%y = Add(%x, %r)\n"
     "output %y\n"},
    {"layer normalisation of tokens", Way::proven,
     "input %x : f32[2,N,4]\n const %g : f32[4] = [1, 2, 0.5, 1]\n"
     "%y = LayerNormalization(%x, %g) {axis = -1}\noutput %y\n"},
    {"tokens that change places with features", Way::proven,
     "input %x : f32[2,N,4]\n%t = Transpose(%x) {perm = [0, 2, 1]}\n%y = Neg(%t)\noutput %y\n"},
    {"batch normalisation", Way::proven,
     "input %x : f32[N,2,3]\n const %a : f32[2] = [1, 2]\n const %b : f32[2] = [0, 1]\n"
     "%y = BatchNormalization(%x, %a, %b, %b, %a)\noutput %y\n"},
    {"convolution of a batch", Way::proven,
     "input %x : f32[N,1,5,5]\n const %k : f32[2,1,3,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 8, 7, 6, "
     "5, "
     "4, 3, 2, 1]\n%y = Conv(%x, %k)\noutput %y\n"},
    {"a table that tokens look up", Way::proven,
     "input %i : s64[2,N]\n%y = Gather(%w, %i) {axis = 0}\noutput %y\n"},
    {"the largest class of each sample", Way::proven,
     "input %x : f32[N,4]\n%y = ArgMax(%x) {axis = 1, keepdims = 0}\noutput %y\n"},
    {"mean over time", Way::masked,
     "input %x : f32[2,N,4]\n%y = ReduceMean(%x) {axes = [1], keepdims = 0}\noutput %y\n"},
    {"the last places of a sequence", Way::masked,
     "input %x : f32[2,N]\n const %f : s64[1] = [-6]\n const %e : s64[1] = [99]\n"
     "const %a : s64[1] = [1]\n%y = Slice(%x, %f, %e, %a)\noutput %y\n"},
    {"places in the middle of a sequence", Way::masked,
     "input %x : f32[2,N]\n const %f : s64[1] = [1]\n const %e : s64[1] = [6]\n"
     "const %a : s64[1] = [1]\n%y = Slice(%x, %f, %e, %a)\noutput %y\n"},
    {"places up to an end that only one shape reaches", Way::masked,
     "input %x : f32[2,N]\n const %f : s64[1] = [0]\n const %e : s64[1] = [6]\n"
     "const %a : s64[1] = [1]\n%y = Slice(%x, %f, %e, %a)\noutput %y\n"},
    {"every third place from the end", Way::masked,
     "input %x : f32[2,N]\n const %f : s64[1] = [-1]\n const %e : s64[1] = [-99]\n"
     "const %a : s64[1] = [1]\n const %by : s64[1] = [-3]\n"
     "%y = Slice(%x, %f, %e, %a, %by)\noutput %y\n"},
    {"a last place that ScatterND replaces", Way::masked,
     "input %x : f32[N,4]\n const %i : s64[1,1] = [-1]\n const %u : f32[1,4] = [9, 8, 7, 6]\n"
     "%y = ScatterND(%x, %i, %u)\noutput %y\n"},
    {"a first place that ScatterND replaces", Way::proven,
     "input %x : f32[N,4]\n const %i : s64[1,1] = [0]\n const %u : f32[1,4] = [9, 8, 7, 6]\n"
     "%y = ScatterND(%x, %i, %u)\noutput %y\n"},
    {"last places that ScatterElements increases", Way::masked,
     "input %x : f32[2,N]\n const %i : s64[2,1] = [-1, -2]\n const %u : f32[2,1] = [9, 8]\n"
     "%y = ScatterElements(%x, %i, %u) {axis = 1, reduction = \"add\"}\noutput %y\n"},
    {"a first place that ScatterElements replaces", Way::proven,
     "input %x : f32[2,N]\n const %i : s64[2,1] = [0, 1]\n const %u : f32[2,1] = [9, 8]\n"
     "%y = ScatterElements(%x, %i, %u) {axis = 1}\noutput %y\n"},
    {"places of maxima in padded channels", Way::exact,
     "input %x : f32[2,N,4]\n%m, %y = MaxPool(%x) {kernel_shape = [2]}\noutput %y\n"},
    {"places of maxima in a batch", Way::proven,
     "input %x : f32[N,2,4]\n%m, %y = MaxPool(%x) {kernel_shape = [2]}\noutput %y\n"},
    {"a branch for a length between the shapes", Way::masked,
     "input %x : f32[2,N]\n const %six : s64[] = 6\n%s = Shape(%x)\n%n = Gather(%s, %one)\n"
     "%c = Equal(%n, %six)\n%y = If(%c) { then_branch = graph \"t\" {\n%a = Neg(%x)\n"
     "output %a\n}, else_branch = graph \"e\" {\n%b = Exp(%x)\noutput %b\n} }\noutput %y\n"},
    {"a length that is an output", Way::masked,
     "input %x : f32[2,N]\n const %three : s64[] = 3\n%s = Shape(%x)\n%n = Gather(%s, %one)\n"
     "%c = Equal(%n, %three)\n%y = Cast(%c) {to = 1}\n%z = Relu(%x)\noutput %y\noutput %z\n"},
    {"maximum over time", Way::masked,
     "input %x : f32[2,N,4]\n%y = ReduceMax(%x) {axes = [1], keepdims = 0}\noutput %y\n"},
    {"sum over a batch", Way::masked,
     "input %x : f32[N,4]\n%y = ReduceSum(%x) {keepdims = 0}\noutput %y\n"},
    {"softmax over time", Way::masked,
     "input %x : f32[2,N]\n%y = Softmax(%x) {axis = 1}\noutput %y\n"},
    {"attention of an encoder without a mask", Way::masked,
     "input %x : f32[2,N,4]\n%q = MatMul(%x, %w)\n%t = Transpose(%x) {perm = [0, 2, 1]}\n"
     "%s = MatMul(%q, %t)\n%p = Softmax(%s) {axis = -1}\n%y = MatMul(%p, %x)\noutput %y\n"},
    {"attention with heads", Way::masked,
     "input %x : f32[2,N,4]\n const %h : s64[4] = [0, 0, 2, 2]\n%r = Reshape(%x, %h)\n"
     "%q = Transpose(%r) {perm = [0, 2, 1, 3]}\n%k = Transpose(%r) {perm = [0, 2, 3, 1]}\n"
     "%s = MatMul(%q, %k)\n%p = Softmax(%s) {axis = -1}\n%c = MatMul(%p, %q)\n"
     "%b = Transpose(%c) {perm = [0, 2, 1, 3]}\n const %f : s64[3] = [0, 0, 4]\n%y = Reshape(%b, "
     "%f)\n"
     "output %y\n",
     true},
    {"heads with a mask that is added", Way::masked,
     heads("input %given : f32[2,N]\n", kKeys + "%m = Add(%s, %keys)\n"), true},
    {"heads with a mask of all keys", Way::masked,
     heads("input %given : f32[2,N]\n",
           kKeys + "const %much : f32[] = 5\nconst %low : f32[] = -3.4e38\n"
                   "%some = Greater(%keys, %much)\n%m = Where(%some, %s, %low)\n"),
     true},
    {"heads with a mask that hides little", Way::masked,
     heads("input %given : f32[2,N]\n",
           kKeys + "const %much : f32[] = 5\nconst %low : f32[] = -1\n"
                   "%some = Greater(%keys, %much)\n%m = Where(%some, %s, %low)\n")},
    {"a causal mask cut along both axes", Way::masked,
     heads(triangle("bool", "true", "false"),
           kBothAxes + "const %low : f32[] = -10000\n%m = Where(%part, %s, %low)\n"),
     true},
    {"a causal mask cut as GPT does", Way::masked,
     heads(triangle("f32", "1", "0"),
           "%first = Sub(%n, %n)\n const %two : s64[1] = [2]\n const %three : s64[1] = [3]\n"
           "%rows = Slice(%table, %first, %n, %two)\n%part = Slice(%rows, %from, %n, %three)\n"
           "%kept = Cast(%part) {to = 9}\nconst %low : f32[] = -10000\n"
           "%m = Where(%kept, %s, %low)\n"),
     true},
    {"a table that is added to scores", Way::masked,
     heads(triangle("f32", "0.5", "-0.25"), kBothAxes + "%m = Add(%s, %part)\n"), true},
    {"a table that is added to sums", Way::proven,
     "input %x : f32[N,1]\nconst %from : s64[1] = [0]\n%shape = Shape(%x)\n"
     "%n = Gather(%shape, %from)\n" +
         triangle("f32", "0.5", "-0.25") + kBothAxes +
         "const %rank : s64[2] = [0, 1]\n"
         "%z = Unsqueeze(%x, %rank)\n%y = Add(%z, %part)\noutput %y\n"},
    {"an encoder with a mask and positions of its length", Way::masked,
     "input %x : f32[2,N,4]\ninput %m : f32[2,N]\n%s = Shape(%x)\n"
     "const %two : s64[1] = [1]\n%l = Gather(%s, %two)\n%f = Cast(%l) {to = 1}\n"
     "const %limit : f32[1] = [9999]\n%g = Min(%f, %limit)\n%e = Cast(%g) {to = 7}\n"
     "const %places : f32[9,4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, "
     "4, 5, 6, "
     "7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n const %from : s64[1] = [0]\n"
     "%p = Slice(%places, %from, %e, %from)\n%h = Add(%x, %p)\n"
     "%t = Transpose(%h) {perm = [0, 2, 1]}\n%c = MatMul(%h, %t)\n const %row : s64[1] = [1]\n"
     "%a = Unsqueeze(%m, %row)\n%d = Add(%c, %a)\n%r = Softmax(%d) {axis = -1}\n"
     "%y = MatMul(%r, %h)\noutput %y\n"},
    {"a decoder that appends to its cache", Way::masked,
     "input %c : f32[1,N,4]\ninput %x : f32[1,1,4]\n%k = Concat(%c, %x) {axis = 1}\n"
     "%t = Transpose(%k) {perm = [0, 2, 1]}\n%s = MatMul(%x, %t)\n%p = Softmax(%s) {axis = -1}\n"
     "%y = MatMul(%p, %k)\noutput %y\n"},
    {"a cache that is appended to and returned", Way::masked,
     "input %c : f32[1,N,4]\ninput %x : f32[1,1,4]\n%y = Concat(%c, %x) {axis = 1}\noutput %y\n"},
    {"the last token", Way::masked,
     "input %x : f32[2,N,4]\n%y = Gather(%x, %minus) {axis = 1}\noutput %y\n"},
    {"the best places", Way::masked,
     "input %x : f32[N]\n const %k : s64[1] = [2]\n%y, %i = TopK(%x, %k)\noutput %y\noutput %i\n"},
    {"a mean that divides by the length", Way::masked,
     "input %x : f32[N]\n%t = ReduceSum(%x) {keepdims = 0}\n%s = Size(%x)\n%n = Cast(%s) {to = 1}\n"
     "%y = Div(%t, %n)\noutput %y\n"},
    {"values that are scaled by the length", Way::masked,
     "input %x : f32[N,4]\n%s = Shape(%x)\n%l = Gather(%s, %zero)\n%n = Cast(%l) {to = 1}\n"
     "%y = Mul(%x, %n)\noutput %y\n"},
    {"running sums from the end", Way::masked,
     "input %x : f32[N]\n%y = CumSum(%x, %zero) {reverse = 1}\noutput %y\n"},
    {"tokens before the end", Way::masked,
     "input %x : f32[N,4]\n const %a : s64[1] = [0]\n const %b : s64[1] = [-1]\n"
     "%y = Slice(%x, %a, %b, %a)\noutput %y\n"},
    {"samples in one row", Way::proven,
     "input %x : f32[N,2,2]\n const %r : s64[2] = [-1, 4]\n%y = Reshape(%x, %r)\noutput %y\n"},
    {"time in the rows of a batch", Way::masked,
     "input %x : f32[2,N,4]\n const %r : s64[2] = [-1, 4]\n%z = Reshape(%x, %r)\n"
     "%y = ReduceMax(%z) {axes = [0], keepdims = 0}\noutput %y\n"},
    {"a convolution along time", Way::exact,
     "input %x : f32[1,2,N]\n const %k : f32[2,2,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 8, 7]\n"
     "%y = Conv(%x, %k) {pads = [1, 1]}\noutput %y\n"},
    {"pooling of images", Way::exact,
     "input %x : f32[1,1,N,8]\n%y = GlobalAveragePool(%x)\noutput %y\n"},
    {"a recurrent cell over time", Way::exact,
     "input %x : f32[N,1,4]\n const %a : f32[1,2,4] = [1, 2, 3, 4, 5, 6, 7, 8]\n"
     "const %r : f32[1,2,2] = [0.5, 0.25, -0.5, 1]\n%y, %h = RNN(%x, %a, %r) {hidden_size = 2}\n"
     "output %h\n"},
    {"a length that is normalised", Way::exact,
     "input %x : f32[2,N]\n%y = LpNormalization(%x) {axis = 1}\noutput %y\n"},
    {"images that are resized", Way::exact,
     "input %x : f32[1,1,N,4]\n const %s : f32[4] = [1, 1, 2, 2]\n"
     "%y = Resize(%x, _, %s) {mode = \"linear\"}\noutput %y\n"},
    {"what a loop makes of all tokens", Way::masked,
     "input %x : f32[N,4]\n const %most : s64[] = 3\n%y = Loop(%most, _, %x) { body = graph "
     "\"b\" {\n"
     "input %i : s64[]\ninput %c : bool[]\ninput %s : f32[?,4]\n"
     "%m = ReduceMax(%s) {axes = [0], keepdims = 1}\n%n = Sub(%s, %m)\noutput %c\noutput %n } }\n"
     "output %y\n"},
};

std::unique_ptr<ir::Graph> graph_of(const Network& n) {
  return ir::parse_text(graph_text(std::string(kWeights) + n.body));
}

// Returns inputs of a length, with random values. Indices are small.
Values inputs_at(const ir::Graph& graph, int64_t length) {
  Values feeds;
  uint32_t seed = 3;
  for (const ir::Value* v : graph.inputs()) {
    Shape shape;
    for (const int64_t d : v->shape()) shape.push_back(d == kUnknownDim ? length : d);
    if (v->dtype() == DType::f32) {
      feeds[v->name()] = floats(shape, seed++);
      continue;
    }
    Tensor t = Tensor::zeros(v->dtype(), shape);
    int64_t next = 0;
    for (int64_t& x : t.mutable_values<int64_t>()) x = next++ % 4;
    feeds[v->name()] = t;
  }
  return feeds;
}

// Returns a tensor of shape `to` that begins with `t`. The rest is NaN, or 3 for indices.
Tensor padded(const Tensor& t, const Shape& to) {
  Tensor out = Tensor::zeros(t.dtype(), to);
  if (t.dtype() == DType::f32)
    for (float& x : out.mutable_values<float>()) x = std::numeric_limits<float>::quiet_NaN();
  else
    for (int64_t& x : out.mutable_values<int64_t>()) x = 3;
  const uint64_t element = dtype_bytes(t.dtype(), 1);
  for (int64_t i = 0; i < t.count(); i++) {
    int64_t rest = i, at = 0, stride = 1;
    for (size_t d = to.size(); d-- > 0;) {
      at += rest % t.shape()[d] * stride;
      rest /= t.shape()[d];
      stride *= to[d];
    }
    std::memcpy(static_cast<std::byte*>(out.mutable_data()) + static_cast<uint64_t>(at) * element,
                static_cast<const std::byte*>(t.data()) + static_cast<uint64_t>(i) * element,
                element);
  }
  return out;
}

// The first bytes of an anchor; it is as large as the largest shape.
Tensor at_anchor(const Tensor& t, const program::Anchor& anchor) {
  Tensor out = Tensor::zeros(anchor.dtype, anchor.shape);
  std::memcpy(out.mutable_data(), t.data(), t.bytes());
  return out;
}

// The size of a dimension of an output with this entry in the note of the variants.
int64_t extent_of(const nlohmann::json& entry, int64_t length, int64_t in_bucket) {
  if (entry.is_null()) return in_bucket;
  if (entry.is_string()) return length;
  const int64_t times = entry["times"], over = entry["over"], plus = entry["plus"];
  return (times * length + over - 1) / over + plus;
}

// Runs one request as a runner does: pads it, makes the masks and crops the results.
Values run_padded(const Executable& e, size_t bucket, const Values& feeds, int64_t length,
                  const Values& wanted) {
  const auto note = nlohmann::json::parse(e.notes.at(kVariants));
  const auto& shapes = note["buckets"][bucket];
  Values all;
  for (const program::Anchor& a : e.program.inputs) {
    if (a.name == program::kBucketIndex) {
      all[a.name] = Tensor::of<uint32_t>({1}, std::vector{static_cast<uint32_t>(bucket)});
      continue;
    }
    const Shape shape = shapes["inputs"][a.name].get<Shape>();
    if (const auto given = feeds.find(a.name); given != feeds.end()) {
      all[a.name] = at_anchor(padded(given->second, shape), a);
      continue;
    }
    EXPECT_TRUE(a.name.starts_with(program::kRealPlaces)) << a.name;
    EXPECT_EQ(note["inputs"][a.name]["pad"], "mask");
    Tensor mask = Tensor::zeros(DType::boolean, a.shape);
    for (int64_t i = 0; i < length; i++) mask.mutable_values<bool>()[static_cast<size_t>(i)] = true;
    all[a.name] = mask;
  }
  Values results = run(e, all), cropped;
  for (const auto& [name, want] : wanted) {
    const Shape shape = shapes["outputs"][name].get<Shape>();
    Shape real;
    for (const auto& extent : note["outputs"][name]["shape"])
      real.push_back(extent_of(extent, length, shape[real.size()]));
    if (const auto size = results.find(name + ":shape"); size != results.end())
      for (size_t d = 0; d < real.size(); d++)
        real[d] = std::min(real[d], size->second.to_int64s()[d]);
    EXPECT_EQ(real, want.shape()) << name;
    Tensor out = Tensor::zeros(want.dtype(), want.shape());
    const uint64_t element = dtype_bytes(want.dtype(), 1);
    for (int64_t i = 0; i < want.count(); i++) {
      int64_t rest = i, at = 0, stride = 1;
      for (size_t d = shape.size(); d-- > 0;) {
        at += rest % real[d] * stride;
        rest /= real[d];
        stride *= shape[d];
      }
      std::memcpy(static_cast<std::byte*>(out.mutable_data()) + static_cast<uint64_t>(i) * element,
                  static_cast<const std::byte*>(results.at(name).data()) +
                      static_cast<uint64_t>(at) * element,
                  element);
    }
    cropped[name] = out;
  }
  return cropped;
}

Values run_alone(const Network& n, const Values& feeds) {
  const auto graph = graph_of(n);
  Options options;
  for (const auto& [name, t] : feeds) options.input_shape[name] = t.shape();
  convert(*graph, options);
  return run(compile(*graph, options), feeds);
}

std::vector<ShapeSet> sets_of(const ir::Graph& graph, const std::vector<int64_t>& lengths) {
  std::vector<ShapeSet> sets;
  for (const int64_t length : lengths)
    for (auto& [name, t] : inputs_at(graph, length)) {
      if (sets.empty() || sets.back().contains(name)) sets.emplace_back();
      sets.back()[name] = t.shape();
    }
  return sets;
}

class PaddedNetworks : public testing::TestWithParam<Network> {};

TEST_P(PaddedNetworks, PaddedResultsEqualUnpaddedOnesOrSizesAreExact) {
  const Network& n = GetParam();
  const auto graph = graph_of(n);
  DriverOptions options;
  options.shapes = sets_of(*graph, {5, 8});
  const PaddingPlan plan = plan_padding(*graph, options.shapes, options);
  EXPECT_EQ(plan.masked.empty() && plan.exact.empty(), n.way == Way::proven) << plan.why;
  EXPECT_EQ(!plan.masked.empty(), n.way == Way::masked) << plan.why;
  EXPECT_EQ(!plan.exact.empty(), n.way == Way::exact);
  const Executable e = compile_model(graph->clone(), options);
  EXPECT_EQ(uses(e, "attention"), n.fused);
  const auto note = nlohmann::json::parse(e.notes.at(kVariants));
  EXPECT_EQ(note.contains("exact"), n.way == Way::exact);
  for (const auto& [bucket, length] : {std::pair<size_t, int64_t>{0, 3}, {0, 5}, {1, 6}, {1, 8}}) {
    if (n.way == Way::exact && length != 5 && length != 8)
      continue;  // runners refuse such requests
    SCOPED_TRACE(fmt::format("{} of shape {}", length, bucket));
    const Values feeds = inputs_at(*graph, length);
    const Values wanted = run_alone(n, feeds);
    for (const auto& [name, got] : run_padded(e, bucket, feeds, length, wanted)) {
      const auto a = got.to_doubles(), b = wanted.at(name).to_doubles();
      for (size_t i = 0; i < a.size(); i++)
        EXPECT_NEAR(a[i], b[i], 1e-5 * (1 + std::abs(b[i]))) << name << " at " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, PaddedNetworks, testing::ValuesIn(kNetworks),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

TEST(BucketPadding, ADimensionOfSeveralInputsIsOne) {
  const auto graph =
      ir::parse_text(graph_text("input %a : f32[N,2]\ninput %b : f32[2,N]\ninput %c : f32[3]\n%y = "
                                "MatMul(%a, %b)\noutput %y\n"));
  const std::vector<ShapeSet> sets = {{{"a", {2, 2}}}, {{"a", {4, 2}}}};
  const auto found = varying_dimensions(*graph, sets, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "N");
  EXPECT_EQ(found[0].sizes, (std::vector<int64_t>{2, 4}));
  ASSERT_EQ(found[0].axes.size(), 2u);
  EXPECT_EQ(found[0].axes[1].input, "b");
  EXPECT_EQ(found[0].axes[1].axis, 1u);
}

// If the rows of the batch are proven to be separate, only the axis of time is masked.
TEST(BucketPadding, OfTwoDimensionsOneMayBeMasked) {
  const auto graph = ir::parse_text(graph_text(
      "input %x : f32[B,N,4]\n%y = ReduceMean(%x) {axes = [1], keepdims = 0}\noutput %y\n"));
  const std::vector<ShapeSet> sets = {{{"x", {1, 4, 4}}}, {{"x", {3, 8, 4}}}};
  const PaddingPlan plan = plan_padding(*graph, sets, {});
  ASSERT_EQ(plan.masked.size(), 1u);
  EXPECT_EQ(plan.masked[0].name, "N");
  EXPECT_TRUE(plan.exact.empty());
}

// Why the padding of axis 2 of %x affects the results of a node with these operands, in the bucket
// and in the request, which has three places of five.
std::string reason_of(const std::string& bucket, const std::string& request) {
  const auto graph = [](int places, const std::string& body) {
    const std::string inputs = fmt::format(
        "input %x : f32[1,2,{},4]\n input %k : f32[1,2,6,4]\n input %v : f32[1,2,6,4]\n", places);
    auto made = ir::parse_text(graph_text(inputs + body, 23));
    ops::infer(*made);
    return made;
  };
  const PaddedAxis padded[] = {{"x", 2}};
  return why_padding_reaches(*graph(5, bucket), *graph(3, request), padded);
}

// The present keys do not depend on the queries, whose tokens are padded.
TEST(BucketPadding, PaddedQueriesDoNotReachThePresentKeys) {
  const std::string body = "%y, %keys, %values = Attention(%x, %k, %v)\noutput %y\noutput %keys\n";
  EXPECT_EQ(reason_of(body, body), "");
}

TEST(BucketPadding, AnOperandThatOnlyOneSizeHasIsADifference) {
  const std::string bound = "const %b : f32[] = 1.0\n",
                    both = bound + "%y = Clip(%x, %b, %b)\noutput %y\n",
                    one = bound + "%y = Clip(%x, _, %b)\noutput %y\n";
  EXPECT_EQ(reason_of(both, both), "");
  EXPECT_EQ(reason_of(one, one), "");
  for (const std::string& why : {reason_of(one, both), reason_of(both, one)})
    EXPECT_NE(why.find("computes with the size itself, as input 1"), std::string::npos) << why;
}

// At the largest size of one dimension, the larger one is the same at all sizes of the other.
TEST(BucketPadding, ComparisonsOfTwoSizesAreComputedWithBoth) {
  for (const char* op : {"Max", "Min", "Equal", "Greater"}) {
    const auto graph = ir::parse_text(graph_text(fmt::format(
        "input %a : f32[H,2]\ninput %b : f32[W,2]\n const %z : s64[] = 0\n%s = Shape(%a)\n"
        "%h = Gather(%s, %z)\n%t = Shape(%b)\n%w = Gather(%t, %z)\n%m = {}(%h, %w)\n"
        "%f = Cast(%m) {{to = 1}}\n%y = Mul(%a, %f)\n%v = Neg(%b)\noutput %y\noutput %v\n",
        op)));
    const std::vector<ShapeSet> sets = {{{"a", {2, 2}}, {"b", {4, 2}}},
                                        {{"a", {5, 2}}, {"b", {40, 2}}}};
    const PaddingPlan plan = plan_padding(*graph, sets, {});
    EXPECT_EQ(plan.masked.size() + plan.exact.size(), 2u) << op;
  }
}

// 2 * N == 80 at size 40 only, which is far from the numbers 2 and 80.
TEST(BucketPadding, EachSizeOfASmallModelIsCompared) {
  const auto graph = ir::parse_text(
      graph_text("input %x : f32[N,2]\n const %z : s64[] = 0\n const %two : s64[] = 2\n"
                 " const %at : s64[] = 80\n%s = Shape(%x)\n%n = Gather(%s, %z)\n"
                 "%d = Mul(%n, %two)\n%e = Equal(%d, %at)\n%f = Cast(%e) {to = 1}\n"
                 "%y = Mul(%x, %f)\noutput %y\n"));
  const PaddingPlan plan = plan_padding(*graph, {{{"x", {16, 2}}}, {{"x", {256, 2}}}}, {});
  EXPECT_EQ(plan.masked.size() + plan.exact.size(), 1u);
}

// A size that a large model compares is found among many small numbers.
TEST(BucketPadding, SizesNearTheNumbersOfALargeModelAreCompared) {
  std::string text =
      "input %x : f32[N,2]\n const %z : s64[] = 0\n const %at : s64[] = 40\n"
      "%s = Shape(%x)\n%n0 = Gather(%s, %z)\n";
  for (int i = 1; i <= 10; i++)
    text += fmt::format("const %c{0} : s64[] = {0}\n%n{0} = Max(%n{1}, %c{0})\n", i, i - 1);
  text += "%e = Equal(%n10, %at)\n%f = Cast(%e) {to = 1}\n%y0 = Mul(%x, %f)\n";
  for (int i = 1; i <= 80; i++) text += fmt::format("%y{} = Neg(%y{})\n", i, i - 1);
  const auto graph = ir::parse_text(graph_text(text + "output %y80\n"));
  const PaddingPlan plan = plan_padding(*graph, {{{"x", {16, 2}}}, {{"x", {256, 2}}}}, {});
  EXPECT_EQ(plan.masked.size() + plan.exact.size(), 1u);
}

// Rows of 4 are kept, and rows of 2 become halves of rows.
TEST(BucketPadding, RowsThatReshapeKeepsAtOneLengthOnlyMatter) {
  const auto graph = ir::parse_text(graph_text(
      "input %x : f32[H,W]\n const %s : s64[2] = [-1, 4]\n%y = Reshape(%x, %s)\noutput %y\n"));
  const std::vector<ShapeSet> sets = {{{"x", {4, 1}}}, {{"x", {8, 4}}}};
  const PaddingPlan plan = plan_padding(*graph, sets, {});
  EXPECT_EQ(plan.masked.size() + plan.exact.size(), 2u) << plan.why;
}

// The mask of W does not contain how many rows of H are padding.
TEST(BucketPadding, ALengthOfTwoDimensionsIsRefusedIfOneHasNoMask) {
  const auto graph = ir::parse_text(graph_text(
      "input %x : f32[H,W]\n const %s : s64[1] = [-1]\n%y = Reshape(%x, %s)\noutput %y\n"));
  DriverOptions options;
  options.shapes = {{{"x", {2, 2}}}, {{"x", {4, 8}}}};
  try {
    compile_model(graph->clone(), options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("follows no size of an input"), std::string::npos) << e.message();
  }
}

TEST(BucketPadding, TwoDimensionsOfOneTensorAreNotMasked) {
  const auto graph = ir::parse_text(
      graph_text("input %x : f32[H,W]\n%y = ReduceMax(%x) {keepdims = 0}\noutput %y\n"));
  const std::vector<ShapeSet> sets = {{{"x", {4, 4}}}, {{"x", {8, 8}}}};
  const PaddingPlan plan = plan_padding(*graph, sets, {});
  EXPECT_EQ(plan.masked.size() + plan.exact.size(), 2u);
  EXPECT_FALSE(plan.exact.empty());
  EXPECT_FALSE(plan.why.empty());
}

TEST(BucketPadding, TheShapesOfAnInputHaveOneRank) {
  const auto graph = ir::parse_text(graph_text("input %x : f32[*]\n%y = Neg(%x)\noutput %y\n"));
  for (const auto& [a, b] : {std::pair(Shape{2, 3, 1}, Shape{4, 4}), {{4, 4}, {2, 3, 1}}}) {
    try {
      varying_dimensions(*graph, {{{"x", a}}, {{"x", b}}}, {});
      FAIL() << "two ranks";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      EXPECT_EQ(e.message(),
                fmt::format("`input_shape`: the shapes {} and {} of input 'x' have {} and {} "
                            "dimensions; all shapes of an input must have one rank",
                            shape_string(a), shape_string(b), a.size(), b.size()));
    }
  }
}

}  // namespace
}  // namespace poprt::compiler
