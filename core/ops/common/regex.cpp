#include "ops/common/regex.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"

namespace poprt::ops {
namespace {

constexpr size_t kMaxPattern = 4096;
constexpr size_t kMaxStates = 20000;
constexpr int kMaxDepth = 200;
constexpr int kMaxRepeat = 1000;
constexpr int kMaxCopies = 100000;

// The next character of UTF-8 text; a stray byte stands for itself.
uint32_t next_character(std::string_view& s) {
  const auto byte = [&](size_t i) {
    return i < s.size() ? static_cast<uint32_t>(static_cast<unsigned char>(s[i])) : 0;
  };
  const uint32_t c = byte(0);
  const size_t more = c >= 0xF0 && c < 0xF8 ? 3 : c >= 0xE0 ? 2 : c >= 0xC2 ? 1 : 0;
  bool whole = more != 0 && c < 0xF8;
  for (size_t i = 1; whole && i <= more; i++) whole = (byte(i) & 0xC0) == 0x80;
  if (!whole) {
    s.remove_prefix(1);
    return c;
  }
  uint32_t p = c & (0x3Fu >> more);
  for (size_t i = 1; i <= more; i++) p = p << 6 | (byte(i) & 0x3F);
  s.remove_prefix(more + 1);
  return p;
}

bool is_word(uint32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

}  // namespace

// Recursive descent; every part makes the states that lead to a given next state, so parts are
// built from the last to the first.
class RegexCompiler {
 public:
  using State = Regex::State;
  using Range = Regex::Range;
  // Builds a part in front of state `next` and returns its first state.
  using Part = std::function<uint32_t(uint32_t next)>;

  RegexCompiler(Regex& regex, std::string_view pattern)
      : regex_(regex), whole_(pattern), rest_(pattern) {}

  void run() {
    if (whole_.size() > kMaxPattern)
      fail(ErrorCode::resource_exhausted, "a regular expression of {} bytes, the limit is {}",
           whole_.size(), kMaxPattern);
    const Part all = alternatives(0);
    if (!rest_.empty()) bad("a ')' without '('");
    regex_.start_ = all(add({}));
  }

 private:
  [[noreturn]] void bad(std::string_view what) const {
    fail(ErrorCode::invalid_argument, "the regular expression has {} at byte {}", what,
         whole_.size() - rest_.size());
  }

  uint32_t add(State state) {
    if (regex_.states_.size() >= kMaxStates)
      fail(ErrorCode::resource_exhausted, "the regular expression needs more than {} states",
           kMaxStates);
    regex_.states_.push_back(std::move(state));
    return static_cast<uint32_t>(regex_.states_.size() - 1);
  }

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  Part alternatives(int depth) {
    if (depth > kMaxDepth) bad("groups nested too deep");
    std::vector<Part> ways;
    do ways.push_back(sequence(depth));
    while (take('|'));
    if (ways.size() == 1) return ways[0];
    return [this, ways](uint32_t next) {
      uint32_t first = ways.back()(next);
      for (size_t i = ways.size() - 1; i-- > 0;) {
        const uint32_t way = ways[i](next);
        first = add({State::split, way, first, false, {}});
      }
      return first;
    };
  }

  Part sequence(int depth) {
    std::vector<Part> parts;
    while (!rest_.empty() && rest_.front() != '|' && rest_.front() != ')')
      parts.push_back(repeated(atom(depth)));
    return [parts](uint32_t next) {
      for (size_t i = parts.size(); i-- > 0;) next = parts[i](next);
      return next;
    };
  }

  Part single(State state) {
    return [this, state](uint32_t next) {
      State s = state;
      s.next = next;
      return add(std::move(s));
    };
  }

  Part star(Part part) {
    return [this, part = std::move(part)](uint32_t next) {
      const uint32_t split = add({State::split, 0, next, false, {}});
      const uint32_t first = part(split);
      regex_.states_[split].next = first;
      return split;
    };
  }

  Part maybe(Part part) {
    return [this, part = std::move(part)](uint32_t next) {
      const uint32_t first = part(next);
      return add({State::split, first, next, false, {}});
    };
  }

  Part repeated(Part part) {
    for (;;) {
      int low = 0, high = -1;
      if (take('*')) {
      } else if (take('+')) {
        low = 1;
      } else if (take('?')) {
        high = 1;
      } else if (counted(low, high)) {
      } else {
        return part;
      }
      take('?');  // a lazy one matches the same whole texts
      const Part once = part;
      const Part tail = high < 0 ? star(once) : maybe(once);
      const int tails = high < 0 ? 1 : high - low;
      part = [this, once, tail, low, tails](uint32_t next) {
        for (int i = 0; i < tails; i++) next = count(tail(next));
        for (int i = 0; i < low; i++) next = count(once(next));
        return next;
      };
    }
  }

  // Copies of nothing make no states, but take time.
  uint32_t count(uint32_t state) {
    if (++copies_ > kMaxCopies)
      fail(ErrorCode::resource_exhausted, "the regular expression repeats more than {} parts",
           kMaxCopies);
    return state;
  }

  // {m}, {m,} or {m,n}; anything else in braces is literal.
  bool counted(int& low, int& high) {
    if (rest_.empty() || rest_.front() != '{') return false;
    size_t i = 1;
    const auto number = [&](int& value) {
      const size_t begin = i;
      value = 0;
      while (i < rest_.size() && rest_[i] >= '0' && rest_[i] <= '9') {
        value = std::min(value * 10 + (rest_[i++] - '0'), kMaxRepeat + 1);
      }
      return i > begin;
    };
    int a = 0, b = 0;
    if (!number(a)) return false;
    b = a;
    if (i < rest_.size() && rest_[i] == ',') {
      i++;
      if (!number(b)) b = -1;
    }
    if (i >= rest_.size() || rest_[i] != '}') return false;
    if (a > kMaxRepeat || b > kMaxRepeat || (b >= 0 && b < a)) bad("a repeat count out of range");
    rest_.remove_prefix(i + 1);
    low = a;
    high = b;
    return true;
  }

  Part atom(int depth) {
    if (take('(')) {
      if (take('?')) {
        if (take('P') || rest_.starts_with('<')) {
          const size_t end = rest_.find('>');
          if (!take('<') || end == std::string_view::npos) bad("a broken group name");
          rest_.remove_prefix(rest_.find('>') + 1);
        } else if (!take(':')) {
          bad("flags or an assertion, which are not supported,");
        }
      }
      Part group = alternatives(depth + 1);
      if (!take(')')) bad("a missing ')'");
      return group;
    }
    if (take('^')) return single({State::begin, 0, 0, false, {}});
    if (take('$')) return single({State::end, 0, 0, false, {}});
    if (take('.')) return single({State::set, 0, 0, true, {{'\n', '\n'}}});
    if (take('[')) return single(character_class());
    if (rest_.starts_with('*') || rest_.starts_with('+') || rest_.starts_with('?'))
      bad("nothing to repeat");
    State s{State::set, 0, 0, false, {}};
    if (take('\\')) {
      if (take('A')) return single({State::begin, 0, 0, false, {}});
      if (take('z')) return single({State::end, 0, 0, false, {}});
      if (take('b')) return single({State::boundary, 0, 0, false, {}});
      if (take('B')) return single({State::inside, 0, 0, false, {}});
      s.ranges = escape(s.inverted);
    } else {
      const uint32_t c = next_character(rest_);
      s.ranges = {{c, c}};
    }
    return single(std::move(s));
  }

  // After the backslash.
  std::vector<Range> escape(bool& inverted) {
    if (rest_.empty()) bad("a backslash at its end");
    const char c = rest_.front();
    rest_.remove_prefix(1);
    const auto is = [](uint32_t v) { return std::vector<Range>{{v, v}}; };
    switch (c) {
      case 'D': inverted = true; [[fallthrough]];
      case 'd': return {{'0', '9'}};
      case 'W': inverted = true; [[fallthrough]];
      case 'w': return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
      case 'S': inverted = true; [[fallthrough]];
      case 's': return {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
      case 'n': return is('\n');
      case 'r': return is('\r');
      case 't': return is('\t');
      case 'f': return is('\f');
      case 'v': return is('\v');
      case 'a': return is('\a');
      case 'x': {
        uint32_t v = 0;
        size_t digits = 0;
        for (; digits < 2 && digits < rest_.size(); digits++) {
          const char h = rest_[digits];
          const uint32_t d = h >= '0' && h <= '9'   ? static_cast<uint32_t>(h - '0')
                             : h >= 'a' && h <= 'f' ? static_cast<uint32_t>(h - 'a' + 10)
                             : h >= 'A' && h <= 'F' ? static_cast<uint32_t>(h - 'A' + 10)
                                                    : 16;
          if (d == 16) break;
          v = v * 16 + d;
        }
        if (digits != 2) bad("a broken \\x");
        rest_.remove_prefix(2);
        return is(v);
      }
      default:
        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
          bad("an escape that is not supported");
        return is(static_cast<unsigned char>(c));
    }
  }

  State character_class() {
    State s{State::set, 0, 0, take('^'), {}};
    for (bool first = true; first || !rest_.starts_with(']'); first = false) {
      if (rest_.empty()) bad("a missing ']'");
      if (rest_.starts_with("[:")) bad("a named class, which is not supported,");
      uint32_t low;
      if (take('\\')) {
        bool inverted = false;
        const std::vector<Range> ranges = escape(inverted);
        if (inverted) {
          uint32_t from = 0;
          for (const Range& r : ranges) {
            if (r.low > from) s.ranges.push_back({from, r.low - 1});
            from = r.high + 1;
          }
          s.ranges.push_back({from, 0x10FFFF});
          continue;
        }
        if (ranges.size() != 1 || ranges[0].low != ranges[0].high) {
          s.ranges.insert(s.ranges.end(), ranges.begin(), ranges.end());
          continue;
        }
        low = ranges[0].low;
      } else {
        low = next_character(rest_);
      }
      uint32_t high = low;
      if (rest_.size() >= 2 && rest_[0] == '-' && rest_[1] != ']') {
        rest_.remove_prefix(1);
        if (take('\\')) {
          bool inverted = false;
          const std::vector<Range> ranges = escape(inverted);
          if (inverted || ranges.size() != 1) bad("a broken range");
          high = ranges[0].high;
        } else {
          high = next_character(rest_);
        }
        if (high < low) bad("a range that ends before it begins");
      }
      s.ranges.push_back({low, high});
    }
    rest_.remove_prefix(1);
    return s;
  }

  Regex& regex_;
  int copies_ = 0;
  std::string_view whole_, rest_;
};

Regex::Regex(std::string_view pattern) { RegexCompiler(*this, pattern).run(); }

bool Regex::full_match(std::string_view text) const {
  // All states that the text so far can be in, each once.
  std::vector<uint32_t> now, next, stack;
  std::vector<size_t> seen(states_.size(), 0);
  size_t round = 0;
  // `text` is what comes after the place that is entered.
  const auto enter = [&](std::vector<uint32_t>& set, uint32_t from, bool at_begin,
                         bool after_word) {
    const bool at_end = text.empty();
    const bool at_boundary =
        after_word != (!at_end && is_word(static_cast<unsigned char>(text.front())));
    stack.assign(1, from);
    while (!stack.empty()) {
      const uint32_t id = stack.back();
      stack.pop_back();
      if (seen[id] == round) continue;
      seen[id] = round;
      const State& s = states_[id];
      switch (s.kind) {
        case State::split:
          stack.push_back(s.other);
          stack.push_back(s.next);
          break;
        case State::begin:
          if (at_begin) stack.push_back(s.next);
          break;
        case State::end:
          if (at_end) stack.push_back(s.next);
          break;
        case State::boundary:
          if (at_boundary) stack.push_back(s.next);
          break;
        case State::inside:
          if (!at_boundary) stack.push_back(s.next);
          break;
        case State::set:
        case State::match: set.push_back(id); break;
      }
    }
  };
  round++;
  enter(now, start_, true, false);
  while (!text.empty() && !now.empty()) {
    const uint32_t c = next_character(text);
    next.clear();
    round++;
    for (const uint32_t id : now) {
      const State& s = states_[id];
      if (s.kind != State::set) continue;
      const bool in = std::any_of(s.ranges.begin(), s.ranges.end(),
                                  [&](const Range& r) { return c >= r.low && c <= r.high; });
      if (in != s.inverted) enter(next, s.next, false, is_word(c));
    }
    now.swap(next);
  }
  return text.empty() && std::any_of(now.begin(), now.end(),
                                     [&](uint32_t id) { return states_[id].kind == State::match; });
}

}  // namespace poprt::ops
