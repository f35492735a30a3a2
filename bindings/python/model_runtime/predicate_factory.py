"""Predicates that select the anchors of a session that its caller serves: ``predicate_factory.anchor_callbacks``."""

from __future__ import annotations

import enum
from typing import Callable, Iterable

import popef

__all__ = ["AnchorCallbackPolicy", "AnchorCallbackPredicate", "anchor_callbacks"]


class AnchorCallbackPolicy(enum.Enum):
    BIND_USER_CB = 0  #: a handler or a queue serves it
    BIND_EMPTY_CB = 1  #: an input is zeros, an output is dropped


#: A function of an anchor, which has ``name()``, ``type()`` and ``programs()``.
AnchorCallbackPredicate = Callable[[popef.Anchor], AnchorCallbackPolicy]

_ACCEPT, _REJECT = AnchorCallbackPolicy.BIND_USER_CB, AnchorCallbackPolicy.BIND_EMPTY_CB


class anchor_callbacks:
    """Creates predicates."""

    @staticmethod
    def _meets(indices: Iterable[int], accept: AnchorCallbackPolicy,
               reject: AnchorCallbackPolicy) -> AnchorCallbackPredicate:
        wanted = frozenset(indices)
        return lambda anchor: accept if wanted.intersection(anchor.programs()) else reject

    @staticmethod
    def predProgramFlowLoad(flow: popef.ProgramFlow, accept: AnchorCallbackPolicy = _ACCEPT,
                            reject: AnchorCallbackPolicy = _REJECT) -> AnchorCallbackPredicate:
        return anchor_callbacks._meets(flow.load(), accept, reject)

    @staticmethod
    def predProgramFlowMain(flow: popef.ProgramFlow, accept: AnchorCallbackPolicy = _ACCEPT,
                            reject: AnchorCallbackPolicy = _REJECT) -> AnchorCallbackPredicate:
        return anchor_callbacks._meets(flow.main(), accept, reject)

    @staticmethod
    def predProgramFlowSave(flow: popef.ProgramFlow, accept: AnchorCallbackPolicy = _ACCEPT,
                            reject: AnchorCallbackPolicy = _REJECT) -> AnchorCallbackPredicate:
        return anchor_callbacks._meets(flow.save(), accept, reject)

    @staticmethod
    def predProgramNotAssigned(accept: AnchorCallbackPolicy = _ACCEPT,
                               reject: AnchorCallbackPolicy = _REJECT) -> AnchorCallbackPredicate:
        """Accepts anchors of no program."""
        return lambda anchor: reject if anchor.programs() else accept

    @staticmethod
    def orBind(accept: AnchorCallbackPolicy, reject: AnchorCallbackPolicy,
               *predicates: AnchorCallbackPredicate) -> AnchorCallbackPredicate:
        """Accepts an anchor if any of the predicates accepts it."""
        return lambda anchor: accept if any(p(anchor) == accept for p in predicates) else reject
