// The function that fills a weight record from a weight form. Code that has only the record finds
// the form through it.
#pragma once

#include <cstddef>
#include <span>

#include "program/builder.h"
#include "program/weight_form.h"

namespace poprt::program {

struct FillForm {
  WeightForm form;
  void operator()(std::span<std::byte> to) const { form.fill(to); }
};

// The form that the record was made from, or null if its bytes have another origin.
inline const WeightForm* form_of(const Weight& weight) {
  const auto* fill = weight.fill.target<FillForm>();
  return fill ? &fill->form : nullptr;
}

}  // namespace poprt::program
