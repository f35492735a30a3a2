// poprt.Bifurcation (src_tokens [S], cur_tokens [C], prev_suffix_match_idx, pred_tokens? [P]): the
// results of com.microsoft BifurcationDetector with fixed sizes. Outputs: cur_tokens and
// pred_tokens [C + P], the number of tokens that count, an s64 scalar, and suffix_match_idx, an s64
// scalar.
#include "ops/common/expansion.h"

namespace poprt::ops::poprt_bifurcation_op {
namespace {

constexpr int64_t kMostNgram = 256;

class Bifurcation {
 public:
  explicit Bifurcation(Expansion& expansion) : e_(expansion) {}

  void run() {
    e_.check(e_.shape(0).size() == 1 && e_.shape(1).size() == 1 && element_count(e_.shape(2)) == 1,
             "tokens must have one dimension and prev_suffix_match_idx one element");
    source_ = e_.shape(0)[0];
    e_.check(source_ > 0, "src_tokens must not be empty");
    tokens_ = e_.in(1);
    length_ = number(e_.shape(1)[0]);
    if (e_.has(3)) append();
    e_.out(0, e_.add("Identity", {tokens_}));
    e_.out(1, length_);
    e_.out(2, suffix());
  }

 private:
  ir::Value* number(int64_t v) { return e_.number(DType::s64, static_cast<double>(v)); }
  ir::Value* sum(ir::Value* truths) {
    return e_.newest("ReduceSum", {e_.cast(truths, DType::s64), e_.ints({0})},
                     {{"keepdims", int64_t{0}}});
  }

  void append() {
    const Shape p = e_.shape(3);
    e_.check(p.size() == 1 && p[0] > 0 && p[0] <= source_ + 1,
             "pred_tokens must have src_tokens + 1 - prev_suffix_match_idx elements");
    const int64_t compared = p[0] - 1;
    tokens_ = e_.concat({e_.in(1), e_.in(3)}, 0);
    ir::Value* equal = number(0);
    if (compared > 0) {
      ir::Value* from = e_.add("Add", {e_.reshape(e_.in(2), {1}), e_.iota(compared)});
      ir::Value* differ = e_.add("Not", {e_.add("Equal", {e_.slice(e_.in(3), 0, 0, compared),
                                                          e_.add("Gather", {e_.in(0), from})})});
      ir::Value* before = e_.newest("CumSum", {e_.cast(differ, DType::s64), number(0)});
      equal = sum(e_.add("Equal", {before, number(0)}));
    }
    length_ = e_.add("Add", {equal, number(e_.shape(1)[0] + 1)});
  }

  ir::Value* suffix() {
    const int64_t least = e_.node.int_attr("min_ngram_size", 1);
    const int64_t most = e_.node.int_attr("max_ngram_size", 3);
    e_.check(least > 0 && least <= most && most <= kMostNgram,
             "min_ngram_size must be in 1 to max_ngram_size, which is at most 256");
    ir::Value *found = number(-1), *active = e_.number(DType::boolean, 1);
    for (int64_t n = least; n <= most && n <= source_; n++) {
      const int64_t starts = source_ - n + 1;
      ir::Value* match = nullptr;
      for (int64_t j = 0; j < n; j++) {
        // If this place would be in front of the first token, the match does not count, because
        // `active` becomes false.
        ir::Value* at = e_.add("Max", {e_.add("Add", {length_, number(j - n)}), number(0)});
        ir::Value* token = e_.add("Gather", {tokens_, at});
        ir::Value* same = e_.add("Equal", {e_.slice(e_.in(0), 0, j, j + starts), token});
        match = match ? e_.add("And", {match, same}) : same;
      }
      ir::Value* count = sum(match);
      ir::Value* first = e_.newest("ArgMax", {e_.cast(match, DType::s32)},
                                   {{"axis", int64_t{0}}, {"keepdims", int64_t{0}}});
      active = e_.add("And", {active, e_.add("Greater", {count, number(0)})});
      active = e_.add("And", {active, e_.add("Not", {e_.add("Less", {length_, number(n)})})});
      ir::Value* end = e_.add("Add", {first, number(n)});
      ir::Value* at_end = e_.add("Not", {e_.add("Less", {end, number(source_)})});
      ir::Value* once = e_.add("Or", {at_end, e_.add("Equal", {count, number(1)})});
      found = e_.add("Where", {active, e_.add("Where", {once, end, number(-1)}), found});
      active = e_.add("And", {active, e_.add("Not", {at_end})});
    }
    return found;
  }

  Expansion& e_;
  int64_t source_ = 0;
  ir::Value *tokens_ = nullptr, *length_ = nullptr;  // the first length_ of tokens_ count
};

void expand(Expansion& e) { Bifurcation(e).run(); }

}  // namespace
}  // namespace poprt::ops::poprt_bifurcation_op

POPRT_EXPANSION_WITH_FACTS(poprt_bifurcation_op, "poprt", "Bifurcation", expand,
                           .trial = {"T[4]; T[4]; T[1]; T[4]", "", 3})
