#include "opsets/rules.h"

namespace poprt::opsets {

// In layout 1 the batch is the first dimension of X, of the initial states and of every result.
void recurrent_without_layout(Rewriter& r) {
  const bool batch_first = r.at.int_attr("layout", 0) != 0;
  r.drop("layout");
  if (!batch_first) return;
  std::vector<Value*> inputs(r.at.inputs().begin(), r.at.inputs().end());
  for (const size_t i : {size_t{0}, size_t{5}, size_t{6}})
    if (i < inputs.size() && inputs[i]) inputs[i] = r.transpose(inputs[i], {1, 0, 2});
  // like() infers the types again, because the types of the node are for the other layout.
  const ir::Node* n = r.like(inputs, {{"layout", int64_t{0}}});
  for (size_t i = 0; i < n->outputs().size(); i++)
    if (r.wants(i))
      r.result(i, r.transpose(n->output(i), i == 0 ? std::vector<int64_t>{2, 0, 1, 3}
                                                   : std::vector<int64_t>{1, 0, 2}));
  r.replaced = true;
}

}  // namespace poprt::opsets
