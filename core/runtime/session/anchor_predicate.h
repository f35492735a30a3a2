// Which anchors get a user's callback.
#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include "popef/types.h"

namespace poprt::runtime {

// What a session binds to the stream of an anchor that has no data in the file.
enum class AnchorCallbackPolicy : uint8_t {
  bind_user_cb,   // the user's; verify_connected() asks for it
  bind_empty_cb,  // inputs are zeros, outputs are dropped
};

using AnchorCallbackPredicate = std::function<AnchorCallbackPolicy(const popef::Anchor&)>;

namespace predicate_factory::anchor_callbacks {

inline constexpr auto kUser = AnchorCallbackPolicy::bind_user_cb;
inline constexpr auto kEmpty = AnchorCallbackPolicy::bind_empty_cb;

// `accept` when one of the anchor's programs is in the flow's list, else `reject`.
AnchorCallbackPredicate pred_program_flow_load(popef::ProgramFlow flow,
                                               AnchorCallbackPolicy accept = kUser,
                                               AnchorCallbackPolicy reject = kEmpty);
AnchorCallbackPredicate pred_program_flow_main(popef::ProgramFlow flow,
                                               AnchorCallbackPolicy accept = kUser,
                                               AnchorCallbackPolicy reject = kEmpty);
AnchorCallbackPredicate pred_program_flow_save(popef::ProgramFlow flow,
                                               AnchorCallbackPolicy accept = kUser,
                                               AnchorCallbackPolicy reject = kEmpty);
// `accept` when the anchor names one of these programs.
AnchorCallbackPredicate pred_program_index(std::vector<uint32_t> programs,
                                           AnchorCallbackPolicy accept = kUser,
                                           AnchorCallbackPolicy reject = kEmpty);
// `accept` when the anchor names no program.
AnchorCallbackPredicate pred_program_not_assigned(AnchorCallbackPolicy accept = kUser,
                                                  AnchorCallbackPolicy reject = kEmpty);

// `accept` when any / all of the predicates say `accept`, else `reject`. Of none: reject / accept.
AnchorCallbackPredicate or_bind(AnchorCallbackPolicy accept, AnchorCallbackPolicy reject,
                                std::vector<AnchorCallbackPredicate> predicates);
AnchorCallbackPredicate and_bind(AnchorCallbackPolicy accept, AnchorCallbackPolicy reject,
                                 std::vector<AnchorCallbackPredicate> predicates);

// What sessions use when they are given none: the user's for anchors of main programs and of no
// program, else empty.
AnchorCallbackPredicate default_predicate(const popef::ProgramFlow& flow);

}  // namespace predicate_factory::anchor_callbacks
}  // namespace poprt::runtime
