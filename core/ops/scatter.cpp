#include "ops/common/scatter.h"

namespace poprt::ops {

extern const OpDef scatter_op;
// Deprecated from opset 11 on, where ONNX Runtime still runs it.
const OpDef scatter_op = {.name = "Scatter",
                          .since = 9,
                          .infer = infer_scatter_elements,
                          .lower = lower_scatter_elements};

}  // namespace poprt::ops
