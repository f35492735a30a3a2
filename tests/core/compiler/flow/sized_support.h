// Compares graphs on tensors of which only a part is real with the same graphs on that part.
#pragma once

#include <string>
#include <vector>

#include "core/compiler/flow/support.h"

namespace poprt::compiler::flow_test {

// The real part of output y, which output y:shape describes if there is one.
inline std::vector<double> real_part(const Values& got, Shape* shape = nullptr) {
  const Tensor& y = got.at("y");
  Shape real = y.shape();
  if (got.contains("y:shape")) real = got.at("y:shape").to_int64s();
  if (shape) *shape = real;
  const std::vector<double> all = y.to_doubles();
  std::vector<double> out;
  for (int64_t i = 0; i < element_count(real); i++) {
    int64_t rest = i, at = 0, stride = 1;
    for (size_t d = real.size(); d-- > 0;) {
      at += rest % real[d] * stride;
      rest /= real[d];
      stride *= y.shape()[d];
    }
    out.push_back(all[static_cast<size_t>(at)]);
  }
  return out;
}

// Runs `body` on z, the first, third and fourth of the five elements of x: 1, 3, -4. Returns the
// real part of y.
inline std::vector<double> of_kept(const std::string& body, Shape* shape = nullptr) {
  const Executable e = compile_body(
      "input %x : f32[5]\n input %c : bool[5]\n %z : ? = Compress(%x, %c) {axis = 0}\n" + body +
      "output %y\n");
  return real_part(run(e, {{"x", Tensor::of<float>({5}, {1, 2, 3, -4, 5})},
                           {"c", Tensor::of<bool>({5}, {true, false, true, true, false})}}),
                   shape);
}

// Runs `body` on z, the kept rows of x [5, columns], for several numbers of rows. The result must
// be equal to the result of the same body on an input z that consists of these rows.
inline void expect_as_of_rows(const std::string& body, int64_t columns = 3,
                              const std::vector<int64_t>& counts = {0, 1, 2, 3, 4, 5},
                              double tolerance = 0, int opset = 17) {
  const std::string c = std::to_string(columns);
  const Executable sized =
      test::compile_text(graph_text("input %x : f32[5," + c +
                                        "]\n input %c : bool[5]\n %z : ? = Compress(%x, %c) "
                                        "{axis = 0}\n" +
                                        body + "output %y\n",
                                    opset));
  const Tensor x = floats({5, columns}, 7);
  for (const int64_t n : counts) {
    Tensor condition = Tensor::zeros(DType::boolean, {5});
    std::vector<float> kept;
    for (int64_t k = 0; k < n; k++) {  // rows 4, 2, 0, 3, 1
      const auto row = static_cast<size_t>((4 + k * 3) % 5);
      condition.mutable_values<bool>()[row] = true;
    }
    for (size_t row = 0; row < 5; row++)
      for (size_t k = 0; condition.values<bool>()[row] && k < static_cast<size_t>(columns); k++)
        kept.push_back(x.values<float>()[row * static_cast<size_t>(columns) + k]);
    Tensor z = Tensor::zeros(DType::f32, {n, columns});
    std::copy(kept.begin(), kept.end(), z.mutable_values<float>().begin());
    const Executable of_rows = test::compile_text(graph_text(
        "input %z : f32[" + std::to_string(n) + "," + c + "]\n" + body + "output %y\n", opset));
    Shape shape, wanted_shape;
    const auto wanted = real_part(run(of_rows, {{"z", z}}), &wanted_shape),
               got = real_part(run(sized, {{"x", x}, {"c", condition}}), &shape);
    ASSERT_EQ(shape, wanted_shape) << n << " rows of " << body;
    for (size_t i = 0; i < got.size(); i++)
      if (got[i] != wanted[i])
        EXPECT_NEAR(got[i], wanted[i], tolerance) << n << " rows of " << body;
  }
}

inline std::string ints(const std::string& name, const std::string& list) {
  return "%" + name + " : ? = Constant() {value_ints = [" + list + "]}\n";
}
// n: the number of rows, s64[1].
inline const std::string kRows =
    "%shape : ? = Shape(%z)\n" + ints("zero", "0") + "%n : ? = Gather(%shape, %zero) {axis = 0}\n";

}  // namespace poprt::compiler::flow_test
