#include "ops/resolve.h"

#include "ops/bound.h"

namespace poprt::ops {

void ResolveContext::check_tensor(const Item& item, std::string_view what) const {
  if (item.kind != Item::Kind::tensor)
    fail_at(ErrorCode::invalid_argument, "{} should be a tensor and is {}", what,
            item.kind == Item::Kind::none ? "missing" : "a sequence");
}

ir::Value* ResolveContext::tensor(const Item& item, std::string_view what) const {
  check_tensor(item, what);
  if (item.size) BoundContext(node, in, build).refuse_size(item);
  return item.value;
}

ir::Value* ResolveContext::static_tensor(const Item& item, std::string_view what) const {
  ir::Value* v = tensor(item, what);
  if (!v->type.is_static())
    fail_at(ErrorCode::unimplemented, "the shape of {} depends on run-time values: {}", what,
            ir::type_string(v->type));
  return v;
}

void ResolveContext::check_scalar(const ir::Value* v, DType dtype, std::string_view what) const {
  if (!v) return;
  // In a model that remains ONNX, a shape may be unknown.
  if (v->dtype() == dtype && keeps_onnx() && !v->type.is_static()) return;
  if (v->dtype() != dtype || !v->type.is_static() || element_count(v->shape()) != 1)
    fail_at(ErrorCode::invalid_argument, "{} is {}, expected one {}", what,
            ir::type_string(v->type), dtype_name(dtype));
}

const Items& ResolveContext::sequence(size_t i) const {
  const Item& item = counted_sequence(i);
  if (item.size) refuse_count();
  return item.elements;
}

const Item& ResolveContext::counted_sequence(size_t i) const {
  if (i >= in.size() || in[i].kind != Item::Kind::sequence)
    fail_at(ErrorCode::invalid_argument, "input {} should be a sequence", i);
  if (in[i].is_kept_sequence()) refuse_count();
  return in[i];
}

void ResolveContext::refuse_count() const {
  fail_at(ErrorCode::unimplemented, "the number of elements of the sequence depends on data");
}

}  // namespace poprt::ops
