// Graphs with control flow, sizes that depend on data, sequences, text and searches, which several
// tests compile, run and record.
#pragma once

#include <string>

#include "base/error.h"

namespace poprt::test {

struct FlowBody {
  const char* name;
  const char* text;
  int opset = 21, ml = 3;
  bool whole = true;  // results are whole numbers in every precision
};

inline const FlowBody kFlowBodies[] = {
    {"flex attention", R"(input %q : f32[1,2,2,3]
input %k : f32[1,1,4,3]
input %v : f32[1,1,4,2]
%y : ? = ai.onnx.preview.FlexAttention(%q, %k, %v) {scale = 0.5, score_mod = graph "s" { input %s : ? %t : ? = Abs(%s) output %t }, prob_mod = graph "p" { input %a : ? %b : ? = Neg(%a) output %b }}
output %y)"},
    {"flex attention of doubles", R"(input %q : f64[1,2,2,3]
input %k : f64[1,2,4,3]
input %v : f64[1,2,4,2]
%y : ? = ai.onnx.preview.FlexAttention(%q, %k, %v)
output %y)"},
    {"flex attention of halves", R"(input %q : f16[1,4,1,2]
input %k : f16[1,2,2,2]
input %v : f16[1,2,2,1]
%y : ? = ai.onnx.preview.FlexAttention(%q, %k, %v) {softmax_precision = 10}
output %y)"},
    {"flex attention that changes shapes", R"(input %q : f32[1,1,2,3]
input %k : f32[1,1,4,3]
input %v : f32[1,1,4,2]
%y : ? = ai.onnx.preview.FlexAttention(%q, %k, %v) {score_mod = graph "s" { input %s : ? %t : ? = ReduceMax(%s) output %t }}
output %y)"},
    {"flex attention without dimensions", R"(input %q : f32[2,3]
input %k : f32[4,3]
input %v : f32[4,2]
%y : ? = ai.onnx.preview.FlexAttention(%q, %k, %v)
output %y)"},
    {"loop", R"(input %m : s64[]
input %x : f32[2]
%last : ? = Loop(%m, _, %x) {body = graph "b" { input %i : s64[] input %c : bool[] input %a : ? const %one : f32[] = 1.0 %n : ? = Add(%a, %one) output %c output %n }}
output %last)"},
    {"loop of known rounds", R"(const %m : s64[] = 3
input %x : f32[2]
%last : ?, %all : ? = Loop(%m, _, %x) {body = graph "b" { input %i : s64[] input %c : bool[] input %a : ? const %two : f32[] = 2.0 %n : ? = Mul(%a, %two) %copy : ? = Identity(%n) output %c output %n output %copy }}
output %last
output %all)"},
    {"loop that stops", R"(const %m : s64[] = 6
const %yes : bool[] = true
input %x : f32[2]
%last : ?, %all : ? = Loop(%m, %yes, %x) {body = graph "b" { input %i : s64[] input %c : bool[] input %a : ? const %three : s64[] = 3 %go : ? = Less(%i, %three) %n : ? = Neg(%a) %copy : ? = Identity(%n) output %go output %n output %copy }}
output %last
output %all)"},
    {"branches", R"(input %c : bool[]
input %x : f32[2,2]
%y : ? = If(%c) {then_branch = graph "t" { %a : ? = Abs(%x) output %a }, else_branch = graph "e" { const %s : s64[2] = [2, 2] %n : ? = Neg(%x) %b : ? = Reshape(%n, %s) output %b }}
output %y)"},
    {"branches of two sizes", R"(input %c : bool[]
input %x : f32[4]
const %zero : s64[1] = [0]
const %two : s64[1] = [2]
%y : ? = If(%c) {then_branch = graph "t" { %a : ? = Abs(%x) output %a }, else_branch = graph "e" { %b : ? = Slice(%x, %zero, %two) output %b }}
%s : ? = ReduceSum(%y) {keepdims = 0}
output %y
output %s)"},
    {"scan", R"(input %s : f32[2]
input %x : f32[2,3]
%t : ?, %y : ? = Scan(%s, %x) {num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1], scan_output_axes = [1], scan_output_directions = [1], body = graph "b" { input %a : ? input %b : ? %c : ? = Add(%a, %b) %d : ? = Identity(%c) output %c output %d }}
output %t
output %y)"},
    {"sizes", R"(input %x : f32[2,3]
%at : ? = NonZero(%x)
%rows : ? = Transpose(%at) {perm = [1, 0]}
%picked : ? = GatherND(%x, %rows)
%sum : ? = ReduceSum(%picked) {keepdims = 0}
%most : ? = ReduceMax(%picked) {keepdims = 0}
%mean : ? = ReduceMean(%picked) {keepdims = 0}
%n : ? = Size(%picked)
output %rows
output %picked
output %sum
output %most
output %mean
output %n)"},
    {"compressed", R"(input %x : f32[3,2]
input %c : bool[3]
%y : ? = Compress(%x, %c) {axis = 0}
%z : ? = Concat(%y, %x) {axis = 0}
const %first : s64[1] = [0]
%least : ? = ReduceMin(%y, %first) {keepdims = 1}
%product : ? = ReduceProd(%y, %first) {keepdims = 0}
%shape : ? = Shape(%y)
%twice : ? = Add(%y, %y)
%soft : ? = Softmax(%y) {axis = 0}
output %z
output %least
output %product
output %shape
output %twice
output %soft)"},
    {"unique", R"(input %x : s64[6]
%y : ?, %first : ?, %inverse : ?, %counts : ? = Unique(%x) {sorted = 1}
const %axis : s64[1] = [0]
%flat : ? = Unsqueeze(%y, %axis)
%square : ? = Mul(%counts, %counts)
%most : ? = ReduceMax(%square) {keepdims = 0}
output %most
output %y
output %counts
output %flat)"},
    {"range", R"(input %n : s64[]
const %zero : s64[] = 0
const %four : s64[] = 4
const %one : s64[] = 1
%bounded : ? = Min(%n, %four)
%y : ? = Range(%zero, %bounded, %one)
output %y)"},
    {"top", R"(input %x : f32[5]
%k : ? = Shape(%x)
const %two : s64[1] = [2]
%less : ? = Sub(%k, %two)
%v : ?, %i : ? = TopK(%x, %less) {axis = 0, largest = 0}
output %v
output %i)"},
    {"sequences", R"(input %a : f32[2]
input %b : f32[3]
const %zero : s64[] = 0
const %one : s64[] = 1
%s : ? = SequenceConstruct(%a, %b)
%t : ? = SequenceInsert(%s, %b, %zero)
%u : ? = SequenceErase(%t, %one)
%n : ? = SequenceLength(%t)
%y : ? = ConcatFromSequence(%t) {axis = 0}
%z : ? = SequenceAt(%u, %one)
output %y
output %n
output %u
output %z)"},
    {"split", R"(input %x : f32[5,2]
const %two : s64[] = 2
%s : ? = SplitToSequence(%x, %two) {axis = 0, keepdims = 1}
%last : s64[] = SequenceLength(%s)
const %minus : s64[] = -1
%y : ? = SequenceAt(%s, %minus)
%m : ? = SequenceMap(%s) {body = graph "b" { input %e : ? %f : ? = Neg(%e) output %f }}
%z : ? = ConcatFromSequence(%m) {axis = 0, new_axis = 0}
output %y
output %z
output %last)"},
    {"optional", R"(input %x : f32[2]
%o : ? = Optional(%x)
%h : ? = OptionalHasElement(%o)
%y : ? = OptionalGetElement(%o)
%none : ? = OptionalHasElement()
output %h
output %y
output %none)"},
    {"text", R"(const %t : string[3] = ["b", "a", "b"]
input %x : f32[3]
%u : ?, %i : ?, %r : ?, %n : ? = Unique(%t)
%l : ? = ai.onnx.ml.LabelEncoder(%t) {keys_strings = ["a", "b"], values_int64s = [7, 9], default_int64 = 1}
%f : ? = Cast(%l) {to = 1}
%y : ? = Add(%x, %f)
output %y
output %n)"},
    {"labels", R"(input %x : f32[3,2]
%label : ?, %scores : ? = ai.onnx.ml.LinearClassifier(%x) {coefficients = [1.0, 0.0, 0.0, 1.0, -1.0, -1.0], intercepts = [0.0, 0.0, 0.0], classlabels_strings = ["cat", "dog", "cow"]}
%map : ? = ai.onnx.ml.ZipMap(%scores) {classlabels_strings = ["cat", "dog", "cow"]}
output %label
output %map)"},
    {"text that is not constant", R"(input %t : string[2]
%y : ? = StringNormalizer(%t) {case_change_action = "UPPER"}
output %y)"},
    {"numbers of text", R"(input %t : string[2]
%y : ? = Abs(%t)
output %y)"},
    {"words", R"(const %t : string[4] = ["b", "c", "b", ""]
input %x : f32[2]
%y : ? = TfIdfVectorizer(%t) {mode = "TF", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0, ngram_counts = [0], ngram_indexes = [0, 1], pool_strings = ["a", "b"]}
%z : ? = Add(%x, %y)
output %z)"},
    {"an image", R"(input %b : u8[40]
%y : ? = ImageDecoder(%b)
output %y)"},
    {"branches with sequences", R"(input %c : bool[]
input %x : f32[2]
const %zero : s64[] = 0
%s : ? = If(%c) {then_branch = graph "t" { %a : ? = SequenceConstruct(%x, %x) output %a }, else_branch = graph "e" { %b : ? = SequenceConstruct(%x) output %b }}
%y : ? = SequenceAt(%s, %zero)
output %y)"},
    {"branches with equal sequences", R"(input %c : bool[]
input %x : f32[2]
const %one : s64[] = 1
%s : ? = If(%c) {then_branch = graph "t" { %a : ? = SequenceConstruct(%x, %x) output %a }, else_branch = graph "e" { %n : ? = Neg(%x) %b : ? = SequenceConstruct(%x, %n) output %b }}
%y : ? = SequenceAt(%s, %one)
output %y)"},
    {"attention with a mask", R"(input %q : f64[1,2,3,2]
input %k : f64[1,2,4,2]
input %v : f64[1,2,4,2]
input %m : f64[3,4]
%y : ? = Attention(%q, %k, %v, %m)
output %y)",
     23},
    {"attention with a mask of rows", R"(input %q : f64[1,1,3,2]
input %k : f64[1,1,4,2]
input %v : f64[1,1,4,2]
input %m : f64[1,1,3,1]
%y : ? = Attention(%q, %k, %v, %m) {is_causal = 1}
output %y)",
     23},
    {"attention with a short mask", R"(input %q : f64[1,1,3,2]
input %k : f64[1,1,4,2]
input %v : f64[1,1,4,2]
input %m : f64[3,2]
%y : ? = Attention(%q, %k, %v, %m)
output %y)",
     24},
    {"attention with a mask of booleans", R"(input %q : f32[1,2,3,2]
input %k : f32[1,2,4,2]
input %v : f32[1,2,4,2]
input %m : bool[3,4]
%y : ? = Attention(%q, %k, %v, %m)
output %y)",
     23},
    {"trees", R"(input %x : f32[3,2]
%y : ? = ai.onnx.ml.TreeEnsemble(%x) {n_targets = 2, aggregate_function = 1, post_transform = 0, tree_roots = [0, 2], nodes_modes = u8[3] [0, 1, 4], nodes_splits = f32[3] [0.5, 1.0, 2.0], nodes_featureids = [0, 1, 1], nodes_truenodeids = [1, 0, 2], nodes_trueleafs = [0, 1, 1], nodes_falsenodeids = [1, 2, 3], nodes_falseleafs = [1, 1, 1], leaf_targetids = [0, 1, 1, 0], leaf_weights = f32[4] [1.0, 2.0, 4.0, 8.0]}
output %y)",
     21, 5},
    {"state", R"(input %x : f32[2,1,3]
const %w : f32[1,8,3] = fill 0.5
const %r : f32[1,8,2] = fill 0.25
%y : ?, %h : ?, %c : ? = LSTM(%x, %w, %r) {hidden_size = 2}
output %h
output %c)"},
    {"loop that ends on data", R"(const %m : s64[] = 5
const %yes : bool[] = true
input %x : f32[2]
input %k : f32[]
%a : ?, %b : ?, %u : ?, %v : ? = Loop(%m, %yes, %x, %k) {body = graph "b" {
input %i : s64[]
input %c : bool[]
input %s : ?
input %t : ?
const %one : f32[] = 1.0
const %four : f32[] = 4.0
%t2 : ? = Add(%t, %one)
%go : ? = Less(%t2, %four)
%s2 : ? = Neg(%s)
%p : ? = Mul(%s, %t2)
%q : ? = Identity(%t2)
output %go
output %s2
output %t2
output %p
output %q
}} "steps"
%sum : ? = ReduceSum(%u) {keepdims = 0}
output %a
output %b
output %u
output %v
output %sum)"},
    {"loop that is never entered", R"(const %m : s64[] = 3
const %no : bool[] = false
input %x : f32[2]
%last : ?, %all : ? = Loop(%m, %no, %x) {body = graph "b" { input %i : s64[] input %c : bool[] input %a : ? %n : ? = Neg(%a) %copy : ? = Abs(%n) output %c output %n output %copy }}
output %last
output %all)"},
    {"loop that goes on while a condition holds", R"(input %yes : bool[]
input %x : f32[1]
%last : ? = Loop(_, %yes, %x) {body = graph "b" { input %i : s64[] input %c : bool[] input %a : ? const %limit : f32[1] = [40.0] %n : ? = Add(%a, %a) %go : ? = Less(%n, %limit) output %go output %n }} "while"
output %last)"},
    {"loop whose states change places", R"(input %m : s64[]
input %x : f32[4]
input %z : f32[4]
const %square : s64[2] = [2, 2]
const %flat : s64[1] = [4]
%p : ?, %q : ?, %r : ? = Loop(%m, _, %x, %z, %x) {body = graph "b" { input %i : s64[] input %c : bool[] input %u : ? input %v : ? input %w : ? %s : ? = Reshape(%v, %square) %t : ? = Reshape(%s, %flat) %n : ? = Add(%u, %w) %k : ? = Identity(%w) output %c output %t output %n output %k }} "turn"
output %p
output %q
output %r)"},
    {"loop of parts", R"(input %m : s64[]
input %x : f32[2,4]
%p : ? = Loop(%m, _, %x) {body = graph "b" { input %i : s64[] input %c : bool[] input %u : ? %s : ?, %t : ? = Split(%u) {axis = 0} %n : ? = Neg(%t) %j : ? = Concat(%n, %s) {axis = 0} output %c output %j }}
output %p)"},
    {"loop in a loop", R"(input %m : s64[]
input %x : f32[3]
%outer : ? = Abs(%x)
%y : ? = Loop(%m, _, %x) {body = graph "b" {
input %i : s64[]
input %c : bool[]
input %a : ?
const %three : s64[] = 600
%f : ? = Cast(%i) {to = 1}
%d : ? = Loop(%three, _, %a) {body = graph "inner" { input %j : s64[] input %jc : bool[] input %e : ? const %half : f32[] = 0.5 %g : ? = Mul(%e, %half) %h : ? = Add(%g, %outer) output %jc output %h }}
%k : ? = Add(%d, %f)
output %c
output %k
}}
output %y)"},
    {"loop of sequences", R"(const %m : s64[] = 3
input %x : f32[2]
%s : ? = SequenceEmpty()
%all : ? = Loop(%m, _, %s) {body = graph "b" { input %i : s64[] input %c : bool[] input %q : ? %f : ? = Cast(%i) {to = 1} %n : ? = Add(%x, %f) %q2 : ? = SequenceInsert(%q, %n) output %c output %q2 }}
%y : ? = ConcatFromSequence(%all) {axis = 0, new_axis = 1}
output %y
output %all)"},
    {"branches in a loop", R"(input %m : s64[]
input %x : f32[2]
%y : ? = Loop(%m, _, %x) {body = graph "b" {
input %i : s64[]
input %c : bool[]
input %a : ?
const %one : s64[] = 1
%first : ? = Less(%i, %one)
%n : ? = If(%first) {then_branch = graph "t" { %p : ? = Neg(%a) output %p }, else_branch = graph "e" { %q : ? = Add(%a, %x) output %q }} "choice"
output %c
output %n
}}
output %y)"},
    {"branches in branches", R"(input %c : bool[]
input %d : bool[]
input %x : f32[4]
%u : ?, %v : ? = If(%c) {then_branch = graph "t" {
%a : ? = Abs(%x)
%i : ? = If(%d) {then_branch = graph "tt" { %n : ? = Neg(%a) output %n }, else_branch = graph "te" { %e : ? = Exp(%a) output %e }}
output %a
output %i
}, else_branch = graph "e" {
const %k : f32[4] = [1.0, 2.0, 3.0, 4.0]
%same : ? = Identity(%x)
output %same
output %k
}}
output %u
output %v)"},
    {"branches that are empty in one", R"(input %c : bool[]
input %x : f32[2,3]
const %none : f32[0,5] = []
%y : ? = If(%c) {then_branch = graph "t" { %a : ? = Identity(%none) output %a }, else_branch = graph "e" { %b : ? = Neg(%x) output %b }}
output %y)"},
    {"scan of two without a direction", R"(input %s : f32[2]
input %x : f32[3,2]
input %y : f32[3,2]
%t : ?, %p : ?, %q : ? = Scan(%s, %x, %y) {num_scan_inputs = 2, scan_output_directions = [0, 1], body = graph "b" { input %a : ? input %u : ? input %v : ? %m : ? = Mul(%u, %v) %c : ? = Sub(%a, %m) %d : ? = Neg(%u) output %c output %d output %m }}
output %t
output %p
output %q)"},
    {"scan of a batch", R"(const %lengths : s64[2] = [3, 1]
input %s : f32[2,2]
input %x : f32[2,3,2]
%t : ?, %y : ? = Scan(%lengths, %s, %x) {num_scan_inputs = 1, directions = [1], body = graph "b" { input %a : ? input %b : ? %c : ? = Add(%a, %b) %d : ? = Neg(%c) output %c output %d }}
output %t
output %y)",
     8},
    {"map of two sequences", R"(input %a : f32[2]
input %b : f32[3]
input %k : f32[1]
%s : ? = SequenceConstruct(%a, %b)
%t : ? = SequenceConstruct(%b, %a)
%m : ?, %n : ? = SequenceMap(%s, %t, %k) {body = graph "b" { input %p : ? input %q : ? input %r : ? %u : ? = Concat(%p, %q, %r) {axis = 0} %v : ? = Neg(%p) output %u output %v }}
output %m
output %n)"},
    {"sequences that are edited at a place of the run", R"(input %a : f32[2]
input %b : f32[2]
input %i : s64[]
const %minus : s64[] = -1
%n : ? = Neg(%b)
%d : ? = Add(%b, %b)
%s : ? = SequenceConstruct(%a, %n, %a)
%k : ? = Mul(%i, %minus)
%t : ? = SequenceErase(%s, %i)
%u : ? = SequenceInsert(%t, %d, %i)
%v : ? = SequenceInsert(%s, %d, %k)
%y : ? = SequenceAt(%u, %k)
output %t
output %u
output %v
output %y)"},
    {"call", R"(input %x : f32[2]
%y : ?, %z : ? = ai.graphcore.Call(%x, %x) {callee = graph "c" { input %a : f32[2] input %b : f32[2] %sum : ? = Add(%a, %b) %less : ? = Neg(%sum) output %less output %sum }} "called"
output %y
output %z)"},
    {"labels that meet", R"(input %x : f32[3,2]
const %list : string[3] = ["no", "yes", "no"]
const %yes : string[1] = ["yes"]
%i : ? = ArgMax(%x) {axis = 1, keepdims = 0}
%j : ? = ArgMin(%x) {axis = 1, keepdims = 0}
%a : ? = Gather(%list, %i)
%b : ? = ai.onnx.ml.LabelEncoder(%j) {keys_int64s = [0, 1], values_strings = ["maybe", "yes"], default_string = "none"}
%same : ? = Equal(%a, %b)
%is_yes : ? = Equal(%yes, %a)
%c : ? = Concat(%a, %b, %yes) {axis = 0}
%n : ? = ai.onnx.ml.LabelEncoder(%b) {keys_strings = ["none", "yes"], values_int64s = [4, 6], default_int64 = 9}
output %same
output %is_yes
output %c
output %n)"},
    {"labels of tables", R"(input %x : s64[4]
%t : ? = ai.onnx.ml.LabelEncoder(%x) {keys_tensor = s64[3] [0, 1, 2], values_tensor = string[3] ["a", "b", "a"], default_tensor = string[1] ["c"]}
%n : ? = ai.onnx.ml.LabelEncoder(%t) {keys_tensor = string[2] ["c", "a"], values_tensor = f32[2] [0.5, 1.5], default_tensor = f32[1] [2.5]}
output %t
output %n)",
     21, 4},
    {"boxes", R"(input %x : f32[5,4]
input %c : bool[5]
const %to : s64[3] = [1, -1, 4]
const %across : s64[1] = [1]
const %row : s64[3] = [1, 1, -1]
const %most : s64[1] = [3]
const %two : s64[] = 2
%z : ? = Compress(%x, %c) {axis = 0}
%boxes : ? = Reshape(%z, %to)
%sum : ? = ReduceSum(%z, %across) {keepdims = 0}
%scores : ? = Reshape(%sum, %row)
%kept : ? = NonMaxSuppression(%boxes, %scores, %most)
%at : ? = Gather(%kept, %two) {axis = 1}
%y : ? = Gather(%z, %at) {axis = 0}
output %kept
output %y)"},
    {"shapes of sizes", R"(input %x : f32[2,4]
input %c : bool[4]
const %one : s64[1] = [1]
const %three : s64[1] = [3]
const %last : s64[1] = [-1]
%z : ? = Compress(%x, %c) {axis = 1}
%s : ? = Shape(%z)
%n : ? = Gather(%s, %one)
%m : ? = Mul(%n, %three)
%to : ? = Concat(%m, %one) {axis = 0}
%ones : ? = ConstantOfShape(%to) {value = f32[1] [2.0]}
%flat : ? = Reshape(%z, %last)
%tiled : ? = Tile(%flat, %three)
const %seven : f32[1,1] = [7.0]
%wide : ? = Expand(%seven, %to)
%part : ? = Slice(%flat, %one, %m)
%all : ? = Concat(%flat, %part) {axis = 0}
output %ones
output %tiled
output %wide
output %all)"},
    {"greedy search", R"(input %table : f32[5,5]
input %direction : f32[5]
input %ids : s32[2,2]
const %max : s32[1] = [5]
const %min : s32[1] = [4]
const %penalty : f32[1] = [2.0]
const %words : s32[5] = [1, 1, 0, 1, 1]
%y : ? = com.microsoft.GreedySearch(%ids, %max, %min, %penalty, %words) {eos_token_id = 4, pad_token_id = 3, no_repeat_ngram_size = 2, decoder = graph "decoder" {
input %input_ids : s32[b,s]
input %position_ids : s32[b,s]
input %attention_mask : s32[b,t]
input %past_0 : f32[2,b,1,p,1]
const %places : s64[3] = [0, 2, 4]
const %all_but : s64[4] = [0, 2, 3, 4]
const %behind : s64[2] = [1, 2]
const %two : s64[1] = [2]
const %one : s64[1] = [1]
%f : ? = Cast(%input_ids) {to = 1}
%u : ? = Unsqueeze(%f, %places)
%new : ? = Concat(%u, %u) {axis = 0}
%present : ? = Concat(%past_0, %new) {axis = 3}
%sum : ? = ReduceSum(%present, %all_but) {keepdims = 0}
%wide : ? = Unsqueeze(%sum, %behind)
%place : ? = Cast(%position_ids) {to = 1}
%places_of : ? = Unsqueeze(%place, %two)
%real : ? = Cast(%attention_mask) {to = 1}
%count : ? = ReduceSum(%real, %one)
%counts : ? = Unsqueeze(%count, %two)
%most : ? = Sub(%places_of, %counts)
%rest : ? = Add(%most, %wide)
%more : ? = Mul(%rest, %direction)
%row : ? = Gather(%table, %input_ids)
%logits : ? = Add(%row, %more)
output %logits
output %present
}} "search"
output %y)",
     21, 3, false},
    {"beam search", R"(input %table : f32[5,5]
input %direction : f32[5]
input %ids : s32[2,2]
const %max : s32[1] = [5]
const %min : s32[1] = [0]
const %beams : s32[1] = [3]
const %returned : s32[1] = [2]
const %lp : f32[1] = [0.5]
const %first : s32[2,5] = [1, 1, 0, 1, 1, 0, 1, 1, 1, 1]
%y : ?, %scores : ?, %all : ? = com.microsoft.BeamSearch(%ids, %max, %min, %beams, %returned, %lp, _, _, %first) {eos_token_id = 4, pad_token_id = 3, decoder = graph "decoder" {
input %input_ids : s32[b,s]
input %position_ids : s32[b,s]
input %attention_mask : s32[b,t]
input %past_0 : f32[2,b,1,p,1]
const %places : s64[3] = [0, 2, 4]
const %all_but : s64[4] = [0, 2, 3, 4]
const %behind : s64[2] = [1, 2]
const %two : s64[1] = [2]
const %one : s64[1] = [1]
%f : ? = Cast(%input_ids) {to = 1}
%u : ? = Unsqueeze(%f, %places)
%new : ? = Concat(%u, %u) {axis = 0}
%present : ? = Concat(%past_0, %new) {axis = 3}
%sum : ? = ReduceSum(%present, %all_but) {keepdims = 0}
%wide : ? = Unsqueeze(%sum, %behind)
%place : ? = Cast(%position_ids) {to = 1}
%places_of : ? = Unsqueeze(%place, %two)
%real : ? = Cast(%attention_mask) {to = 1}
%count : ? = ReduceSum(%real, %one)
%counts : ? = Unsqueeze(%count, %two)
%most : ? = Sub(%places_of, %counts)
%rest : ? = Add(%most, %wide)
%more : ? = Mul(%rest, %direction)
%row : ? = Gather(%table, %input_ids)
%logits : ? = Add(%row, %more)
output %logits
output %present
}} "search"
output %y
output %scores
output %all)",
     21, 3, false},
    {"sampling", R"(input %table : f32[5,5]
input %direction : f32[5]
input %ids : s32[2,2]
const %max : s32[1] = [5]
const %there : s32[2,5] = [0, 0, 1, 0, 0, 1, 0, 0, 0, 0]
const %seed : s32[1] = [7]
%y : ? = com.microsoft.Sampling(%ids, %max, _, _, _, _, _, %there, %seed) {eos_token_id = 4, pad_token_id = 3, temperature = 2.0, top_p = 0.75, presence_penalty = 3.0, min_tokens_to_keep = 2, decoder = graph "decoder" {
input %input_ids : s32[b,s]
input %position_ids : s32[b,s]
input %attention_mask : s32[b,t]
input %past_0 : f32[2,b,1,p,1]
const %places : s64[3] = [0, 2, 4]
const %all_but : s64[4] = [0, 2, 3, 4]
const %behind : s64[2] = [1, 2]
const %two : s64[1] = [2]
const %one : s64[1] = [1]
%f : ? = Cast(%input_ids) {to = 1}
%u : ? = Unsqueeze(%f, %places)
%new : ? = Concat(%u, %u) {axis = 0}
%present : ? = Concat(%past_0, %new) {axis = 3}
%sum : ? = ReduceSum(%present, %all_but) {keepdims = 0}
%wide : ? = Unsqueeze(%sum, %behind)
%place : ? = Cast(%position_ids) {to = 1}
%places_of : ? = Unsqueeze(%place, %two)
%real : ? = Cast(%attention_mask) {to = 1}
%count : ? = ReduceSum(%real, %one)
%counts : ? = Unsqueeze(%count, %two)
%most : ? = Sub(%places_of, %counts)
%rest : ? = Add(%most, %wide)
%more : ? = Mul(%rest, %direction)
%row : ? = Gather(%table, %input_ids)
%logits : ? = Add(%row, %more)
output %logits
output %present
}} "draw"
output %y)",
     21, 3, false},
    {"sampling of the most likely", R"(input %table : f32[5,5]
input %direction : f32[5]
input %ids : s32[2,2]
const %max : s32[1] = [5]
%y : ? = com.microsoft.Sampling(%ids, %max) {eos_token_id = 4, pad_token_id = 3, custom = 1, top_p = 0.5, decoder = graph "decoder" {
input %input_ids : s32[b,s]
input %position_ids : s32[b,s]
input %attention_mask : s32[b,t]
input %past_0 : f32[2,b,1,p,1]
const %places : s64[3] = [0, 2, 4]
const %all_but : s64[4] = [0, 2, 3, 4]
const %behind : s64[2] = [1, 2]
const %two : s64[1] = [2]
const %one : s64[1] = [1]
%f : ? = Cast(%input_ids) {to = 1}
%u : ? = Unsqueeze(%f, %places)
%new : ? = Concat(%u, %u) {axis = 0}
%present : ? = Concat(%past_0, %new) {axis = 3}
%sum : ? = ReduceSum(%present, %all_but) {keepdims = 0}
%wide : ? = Unsqueeze(%sum, %behind)
%place : ? = Cast(%position_ids) {to = 1}
%places_of : ? = Unsqueeze(%place, %two)
%real : ? = Cast(%attention_mask) {to = 1}
%count : ? = ReduceSum(%real, %one)
%counts : ? = Unsqueeze(%count, %two)
%most : ? = Sub(%places_of, %counts)
%rest : ? = Add(%most, %wide)
%more : ? = Mul(%rest, %direction)
%row : ? = Gather(%table, %input_ids)
%logits : ? = Add(%row, %more)
output %logits
output %present
}}
output %y)",
     21, 3, false},
};

inline std::string in_graph(const std::string& text, const FlowBody& body) {
  return fmt::format(
      "graph \"g\" opset {{\"\": {}, \"ai.onnx.ml\": {}, \"ai.onnx.preview\": 1, \"ai.graphcore\": "
      "1, \"com.microsoft\": 1}} {{\n{}\n}}",
      body.opset, body.ml, text);
}

}  // namespace poprt::test
