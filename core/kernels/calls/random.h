// random: operands [x?, y], f32 except for the y of multinomial: numbers that depend only on x, the
// seed, their place and, with `varies`, the number of calls since the program was loaded. Without
// it every run repeats them.
#pragma once

#include "kernels/calls/call.h"

namespace poprt::kernels::calls {

// The numbers are part of the file format.
enum class RandomKind : int64_t {
  uniform = 0,    // in [a, b); a if both are equal
  normal = 1,     // with mean a and deviation b
  bernoulli = 2,  // 1 with probability x[i], otherwise 0
  // y [count, samples] s32 / s64: classes with probabilities proportional to exp(x), where x is
  // [count, classes]
  multinomial = 3,
};

struct Random {
  static constexpr std::string_view kKernel = "random";

  RandomKind kind = RandomKind::uniform;
  int64_t seed = 0;
  int64_t count = 0;
  int64_t classes = 0;
  int64_t samples = 1;  // 1 except for multinomial
  float a = 0;
  float b = 0;
  bool varies = false;  // the first call has the numbers of the seed, and each other call new ones

  void fields(Fields& f) {
    f.choice("kind", kind, RandomKind::multinomial);
    f.integer("seed", seed);
    f.size("count", count);
    f.size("classes", classes);
    f.size("samples", samples);
    f.real("a", a);
    f.real("b", b);
    f.later_flag("varies", varies);
    f.require(kind == RandomKind::multinomial ? classes >= 1 : samples == 1,
              "classes or samples are out of range");
  }
};

}  // namespace poprt::kernels::calls
