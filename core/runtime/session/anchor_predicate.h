// Predicates that select the anchors with a user's callback.
#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include "popef/types.h"

namespace poprt::runtime {

// The callback that a session binds to an anchor without data in the file.
enum class AnchorCallbackPolicy : uint8_t {
  bind_user_cb,   // the user's, which verify_connected() requires
  bind_empty_cb,  // inputs are zeros, outputs are dropped
};

using AnchorCallbackPredicate = std::function<AnchorCallbackPolicy(const popef::Anchor&)>;

namespace predicate_factory::anchor_callbacks {

inline constexpr auto kUser = AnchorCallbackPolicy::bind_user_cb;
inline constexpr auto kEmpty = AnchorCallbackPolicy::bind_empty_cb;

// `accept` if any of the anchor's programs is in the list of the flow, else `reject`.
AnchorCallbackPredicate pred_program_flow_load(popef::ProgramFlow flow,
                                               AnchorCallbackPolicy accept = kUser,
                                               AnchorCallbackPolicy reject = kEmpty);
AnchorCallbackPredicate pred_program_flow_main(popef::ProgramFlow flow,
                                               AnchorCallbackPolicy accept = kUser,
                                               AnchorCallbackPolicy reject = kEmpty);
AnchorCallbackPredicate pred_program_flow_save(popef::ProgramFlow flow,
                                               AnchorCallbackPolicy accept = kUser,
                                               AnchorCallbackPolicy reject = kEmpty);
// `accept` if the anchor names any of these programs.
AnchorCallbackPredicate pred_program_index(std::vector<uint32_t> programs,
                                           AnchorCallbackPolicy accept = kUser,
                                           AnchorCallbackPolicy reject = kEmpty);
// `accept` if the anchor names no program.
AnchorCallbackPredicate pred_program_not_assigned(AnchorCallbackPolicy accept = kUser,
                                                  AnchorCallbackPolicy reject = kEmpty);

// `accept` if any / all of the predicates return `accept`, else `reject`. Without predicates:
// reject / accept.
AnchorCallbackPredicate or_bind(AnchorCallbackPolicy accept, AnchorCallbackPolicy reject,
                                std::vector<AnchorCallbackPredicate> predicates);
AnchorCallbackPredicate and_bind(AnchorCallbackPolicy accept, AnchorCallbackPolicy reject,
                                 std::vector<AnchorCallbackPredicate> predicates);

// The default of sessions: the user's callback for anchors of main programs and of no program,
// otherwise the empty one.
AnchorCallbackPredicate default_predicate(const popef::ProgramFlow& flow);

}  // namespace predicate_factory::anchor_callbacks
}  // namespace poprt::runtime
