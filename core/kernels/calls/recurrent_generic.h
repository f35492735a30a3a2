// recurrent_generic: LSTM, GRU or RNN in double, in every form of the operators. Operands [x, w, r,
// bias?, lens? (s32), h_first?, c_first?, peephole?, y?, h_last?, c_last?] have the layout of ONNX.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/cell_activation.h"

namespace poprt::kernels::calls {

struct RecurrentGeneric {
  static constexpr std::string_view kKernel = "recurrent_generic";

  isa::RecurrentKind kind = isa::RecurrentKind::rnn;
  int64_t steps = 0;
  int64_t batch = 0;
  int64_t input = 0;
  int64_t hidden = 1;
  int64_t directions = 1;
  bool reverse = false;  // for a single direction
  bool batch_first = false;
  bool input_forget = false;
  float clip = 0;                           // 0: none
  std::vector<CellActivation> activations;  // f, g, h of each direction

  void fields(Fields& f) {
    f.choice("kind", kind, isa::RecurrentKind::gru_gates);
    f.size("steps", steps);
    f.size("batch", batch);
    f.size("input", input);
    f.size("hidden", hidden, 1);
    f.size("directions", directions, 1, 2);
    f.flag("reverse", reverse);
    f.flag("batch_first", batch_first);
    f.flag("input_forget", input_forget);
    f.real("clip", clip);
    f.items("directions", activations, 3 * directions);
    for (CellActivation& a : activations) a.fields(f);
  }
};

}  // namespace poprt::kernels::calls
