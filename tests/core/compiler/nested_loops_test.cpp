// The memory of values in nested loops: random programs, whose loops read values of all enclosing
// graphs, have the results of an interpreter with separate memory for every value.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/compiler/flow/support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

using Numbers = std::vector<double>;

constexpr int kInputs = 3, kCounts = 3, kDeepest = 3;

struct Block;

// One statement. Values are numbered; value v is printed as %v.
struct Step {
  enum class Kind { neg, abs, mean, half_difference, softmax, swap_halves, loop } kind = Kind::neg;
  std::vector<int> in;
  std::vector<int> out;
  int count = 0;  // of a loop: the input with its trip count
  std::shared_ptr<Block> body;
};

struct Block {
  std::vector<int> states;   // values that receive the loop-carried states
  std::vector<int> results;  // their next values
  std::vector<Step> steps;
};

class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed) : random_(seed) {
    std::vector<int> scope;
    for (int i = 0; i < kInputs; i++) scope.push_back(make(size_t{16} * below(3) + 16));
    inputs_ = scope;
    root_ = block(scope, 0);
    for (int i = 0; i < 3; i++) root_.results.push_back(scope[below(scope.size())]);
    root_.results.push_back(scope.back());
  }

  std::string text() const {
    std::string s;
    for (int m = 0; m < kCounts; m++) s += fmt::format("input %m{} : s64[]\n", m);
    for (const int v : inputs_) s += fmt::format("input %v{} : f32[{}]\n", v, size(v));
    s += text_of(root_);
    for (size_t i = 0; i < root_.results.size(); i++)
      s += fmt::format("%y{} : ? = Identity(%v{})\noutput %y{}\n", i, root_.results[i], i);
    return s;
  }

  Values feeds(uint32_t seed) {
    Values f;
    std::mt19937 random(seed);
    for (int m = 0; m < kCounts; m++)
      f[fmt::format("m{}", m)] = Tensor::of<int64_t>({}, {static_cast<int64_t>(random() % 4)});
    for (const int v : inputs_)
      f[fmt::format("v{}", v)] = floats({static_cast<int64_t>(size(v))}, seed++);
    return f;
  }

  std::vector<Numbers> interpret(const Values& feeds) const {
    std::map<int, Numbers> values;
    std::vector<int64_t> counts;
    for (int m = 0; m < kCounts; m++)
      counts.push_back(feeds.at(fmt::format("m{}", m)).to_int64s().at(0));
    for (const int v : inputs_) values[v] = feeds.at(fmt::format("v{}", v)).to_doubles();
    run_steps(root_, counts, values);
    std::vector<Numbers> results;
    for (const int v : root_.results) results.push_back(values.at(v));
    return results;
  }

 private:
  size_t below(size_t n) { return random_() % n; }
  size_t size(int v) const { return sizes_[static_cast<size_t>(v)]; }
  int make(size_t size) {
    sizes_.push_back(size);
    return static_cast<int>(sizes_.size()) - 1;
  }

  // Chooses a value of this size from the scope, newer values more often.
  int choose(const std::vector<int>& scope, size_t of_size) {
    std::vector<int> fit;
    for (const int v : scope)
      if (size(v) == of_size) fit.push_back(v);
    return fit[fit.size() - 1 - std::min(below(fit.size()), below(fit.size()))];
  }

  Block block(std::vector<int>& scope, int depth) {
    Block b;
    const size_t count = 2 + below(5);
    for (size_t i = 0; i < count; i++) {
      const bool loops = depth < kDeepest && below(depth == 0 ? 2 : 3) == 0;
      b.steps.push_back(loops ? loop(scope, depth) : simple(scope));
      for (const int v : b.steps.back().out) scope.push_back(v);
    }
    return b;
  }

  Step simple(const std::vector<int>& scope) {
    Step s;
    s.kind = static_cast<Step::Kind>(below(static_cast<size_t>(Step::Kind::loop)));
    s.in.push_back(scope[below(scope.size())]);
    const size_t n = size(s.in[0]);
    if (s.kind == Step::Kind::mean || s.kind == Step::Kind::half_difference)
      s.in.push_back(choose(scope, n));
    s.out.push_back(make(n));
    return s;
  }

  Step loop(const std::vector<int>& scope, int depth) {
    Step s;
    s.kind = Step::Kind::loop;
    s.count = static_cast<int>(below(kCounts));
    s.body = std::make_shared<Block>();
    std::vector<int> inner = scope, states;
    for (size_t i = 0; i < 1 + below(2); i++) {
      s.in.push_back(scope[below(scope.size())]);
      states.push_back(make(size(s.in.back())));
      inner.push_back(states.back());
    }
    *s.body = block(inner, depth + 1);
    s.body->states = states;
    for (const int state : states) {
      s.body->results.push_back(choose(inner, size(state)));
      s.out.push_back(make(size(state)));
    }
    return s;
  }

  std::string text_of(const Block& b) const {
    std::string s;
    for (const Step& step : b.steps) s += text_of(step);
    return s;
  }

  std::string text_of(const Step& s) const {
    const int y = s.out[0], a = s.in[0], b = s.in.back();
    switch (s.kind) {
      case Step::Kind::neg: return fmt::format("%v{} : ? = Neg(%v{})\n", y, a);
      case Step::Kind::abs: return fmt::format("%v{} : ? = Abs(%v{})\n", y, a);
      case Step::Kind::mean: return fmt::format("%v{} : ? = Mean(%v{}, %v{})\n", y, a, b);
      case Step::Kind::half_difference:
        return fmt::format("%n{0} : ? = Neg(%v{2})\n%v{0} : ? = Mean(%v{1}, %n{0})\n", y, a, b);
      case Step::Kind::softmax: return fmt::format("%v{} : ? = Softmax(%v{}) {{axis = 0}}\n", y, a);
      case Step::Kind::swap_halves:
        return fmt::format(
            "%p{0} : ?, %q{0} : ? = Split(%v{1}) {{axis = 0}}\n"
            "%v{0} : ? = Concat(%q{0}, %p{0}) {{axis = 0}}\n",
            y, a);
      case Step::Kind::loop: break;
    }
    std::string s_out, s_in, inputs, results;
    for (size_t i = 0; i < s.out.size(); i++) {
      s_out += fmt::format("{}%v{} : ?", i ? ", " : "", s.out[i]);
      s_in += fmt::format(", %v{}", s.in[i]);
      inputs += fmt::format("input %v{} : f32[{}]\n", s.body->states[i], size(s.body->states[i]));
      // A body must not return a value of an outer graph, or one value twice.
      results +=
          fmt::format("%r{0} : ? = Identity(%v{1})\n", s.body->states[i], s.body->results[i]);
    }
    results += fmt::format("output %c{}\n", y);
    for (const int state : s.body->states) results += fmt::format("output %r{}\n", state);
    return fmt::format(
        "{} = Loop(%m{}, _{}) {{body = graph \"b{}\" {{\ninput %i{} : s64[]\ninput %c{} : bool[]\n"
        "{}{}{}}}}}\n",
        s_out, s.count, s_in, y, y, y, inputs, text_of(*s.body), results);
  }

  static void run_steps(const Block& b, const std::vector<int64_t>& counts,
                        std::map<int, Numbers>& values) {
    for (const Step& s : b.steps) {
      if (s.kind != Step::Kind::loop) {
        values[s.out[0]] = result_of(s, values);
        continue;
      }
      std::vector<Numbers> states;
      for (const int v : s.in) states.push_back(values.at(v));
      for (int64_t i = 0; i < counts[static_cast<size_t>(s.count)]; i++) {
        for (size_t k = 0; k < states.size(); k++) values[s.body->states[k]] = states[k];
        run_steps(*s.body, counts, values);
        for (size_t k = 0; k < states.size(); k++) states[k] = values.at(s.body->results[k]);
      }
      for (size_t k = 0; k < states.size(); k++) values[s.out[k]] = states[k];
    }
  }

  static Numbers result_of(const Step& s, const std::map<int, Numbers>& values) {
    Numbers y = values.at(s.in[0]);
    const Numbers& b = values.at(s.in.back());
    double sum = 0;
    for (size_t i = 0; i < y.size(); i++) sum += std::exp(b[i]);
    const Numbers x = y;
    for (size_t i = 0; i < y.size(); i++) switch (s.kind) {
        case Step::Kind::neg: y[i] = -x[i]; break;
        case Step::Kind::abs: y[i] = std::abs(x[i]); break;
        case Step::Kind::mean: y[i] = (x[i] + b[i]) / 2; break;
        case Step::Kind::half_difference: y[i] = (x[i] - b[i]) / 2; break;
        case Step::Kind::softmax: y[i] = std::exp(x[i]) / sum; break;
        default: y[i] = x[(i + y.size() / 2) % y.size()]; break;
      }
    return y;
  }

  std::mt19937 random_;
  std::vector<size_t> sizes_;  // by value
  std::vector<int> inputs_;
  Block root_;
};

TEST(NestedLoops, GiveTheResultsOfSeparateMemoryForEachValue) {
  size_t nested = 0;
  for (uint32_t seed = 1; seed <= 1000; seed++) {
    SCOPED_TRACE(seed);
    RandomProgram p(seed);
    const std::string text = p.text();
    nested += text.find("= Loop") != text.rfind("= Loop");
    const Executable e = compile_body(text);
    for (uint32_t round = 0; round < 2; round++) {
      const Values feeds = p.feeds(seed * 10 + round), got = run(e, feeds);
      const std::vector<Numbers> wanted = p.interpret(feeds);
      for (size_t o = 0; o < wanted.size(); o++) {
        const Numbers y = got.at(fmt::format("y{}", o)).to_doubles();
        ASSERT_EQ(y.size(), wanted[o].size());
        for (size_t i = 0; i < y.size(); i++)
          ASSERT_NEAR(y[i], wanted[o][i], 1e-5) << "output " << o << " at " << i << "\n" << text;
      }
    }
  }
  EXPECT_GT(nested, 300u);
}

}  // namespace
}  // namespace poprt::compiler
