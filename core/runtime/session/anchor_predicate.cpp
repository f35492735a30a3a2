#include "runtime/session/anchor_predicate.h"

#include <algorithm>
#include <utility>

namespace poprt::runtime::predicate_factory::anchor_callbacks {

AnchorCallbackPredicate pred_program_index(std::vector<uint32_t> programs,
                                           AnchorCallbackPolicy accept,
                                           AnchorCallbackPolicy reject) {
  return [programs = std::move(programs), accept, reject](const popef::Anchor& anchor) {
    return anchor.usedBy(programs) ? accept : reject;
  };
}

AnchorCallbackPredicate pred_program_flow_load(popef::ProgramFlow flow, AnchorCallbackPolicy accept,
                                               AnchorCallbackPolicy reject) {
  return pred_program_index(std::move(flow.load()), accept, reject);
}

AnchorCallbackPredicate pred_program_flow_main(popef::ProgramFlow flow, AnchorCallbackPolicy accept,
                                               AnchorCallbackPolicy reject) {
  return pred_program_index(std::move(flow.main()), accept, reject);
}

AnchorCallbackPredicate pred_program_flow_save(popef::ProgramFlow flow, AnchorCallbackPolicy accept,
                                               AnchorCallbackPolicy reject) {
  return pred_program_index(std::move(flow.save()), accept, reject);
}

AnchorCallbackPredicate pred_program_not_assigned(AnchorCallbackPolicy accept,
                                                  AnchorCallbackPolicy reject) {
  return [accept, reject](const popef::Anchor& anchor) {
    return anchor.programs().empty() ? accept : reject;
  };
}

AnchorCallbackPredicate or_bind(AnchorCallbackPolicy accept, AnchorCallbackPolicy reject,
                                std::vector<AnchorCallbackPredicate> predicates) {
  return [accept, reject, predicates = std::move(predicates)](const popef::Anchor& anchor) {
    const bool any = std::any_of(predicates.begin(), predicates.end(),
                                 [&](const auto& p) { return p(anchor) == accept; });
    return any ? accept : reject;
  };
}

AnchorCallbackPredicate and_bind(AnchorCallbackPolicy accept, AnchorCallbackPolicy reject,
                                 std::vector<AnchorCallbackPredicate> predicates) {
  return [accept, reject, predicates = std::move(predicates)](const popef::Anchor& anchor) {
    const bool all = std::all_of(predicates.begin(), predicates.end(),
                                 [&](const auto& p) { return p(anchor) == accept; });
    return all ? accept : reject;
  };
}

AnchorCallbackPredicate default_predicate(const popef::ProgramFlow& flow) {
  return or_bind(kUser, kEmpty, {pred_program_flow_main(flow), pred_program_not_assigned()});
}

}  // namespace poprt::runtime::predicate_factory::anchor_callbacks
