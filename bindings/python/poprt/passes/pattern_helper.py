"""PatternMatcher: finds nodes by their connections.

    PatternMatcher(["s:0->Reshape:1->MatMul:2->Add:3->e:4", "Reshape:1->Cast:5->Add:3"])

A pattern is a list of chains. Elements are joined by ``->``: the right one reads a result of the left one. ``Op:key``
is a node of that type. The same key in several chains is the same node, and other keys are other nodes. ``s:key`` at
the beginning of a chain is the producer of the value (a node, an input, a constant), and ``e:key`` at its end is a
reader (a node, or an output of the graph). Blanks are ignored.
"""

from __future__ import annotations

from typing import Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

from .._onnx import GraphProto, NodeProto
from ._graph import subgraphs

__all__ = ["Match", "PatternMatcher"]

START, END = "s", "e"


class Match(NamedTuple):
    """A node and its position in graph.node; None and -1 if ``s`` is an input or constant, or ``e`` an output."""

    node: NodeProto
    index: int  # type: ignore[assignment]  # tuples have a method of that name


_OUTSIDE = -1


class PatternMatcher:
    """Finds matches of a pattern in a graph, one after the other."""

    def __init__(self, pattern: Union[str, Sequence[str]]):
        if not isinstance(pattern, Iterable):
            raise TypeError(f"PatternMatcher: expected a list of chains, found {pattern!r}")
        self._types: dict[str, str] = {}
        self._edges: list[tuple[str, str]] = []
        self._chains = [pattern] if isinstance(pattern, str) else list(pattern)
        self._seen: set[tuple[str, ...]] = set()
        for chain in self._chains:
            self._read(chain)
        self._keys = [k for k, op in self._types.items() if op not in (START, END)]
        if not self._keys:
            raise ValueError(f"the pattern {self._chains!r} names no operator")

    def __repr__(self) -> str:
        return f"PatternMatcher({self._chains!r})"

    def _read(self, chain: str) -> None:
        elements = [element.strip() for element in chain.split("->")]
        keys = []
        for i, element in enumerate(elements):
            op, separator, key = (part.strip() for part in element.partition(":"))
            if not op or not separator or not key or " " in op or " " in key:
                raise ValueError(f"pattern '{chain}': expected OpType:key, s:key or e:key, found '{element}'")
            if op == START and i != 0 or op == END and i != len(elements) - 1:
                raise ValueError(f"pattern '{chain}': s stands at the begin of a chain and e at its end, found '{element}'")
            if self._types.setdefault(key, op) != op:
                raise ValueError(f"pattern '{chain}': key '{key}' is {self._types[key]} and {op}")
            keys.append(key)
        self._edges.extend(zip(keys, keys[1:]))

    def next_pattern(self, graph: GraphProto) -> Optional[Mapping[str, Match]]:
        """Returns (node, index) of the next match by key, or None if there are no more, after which the search
        restarts. The graph may have changed since the last call."""
        search = _Search(graph, self._types, self._edges, self._keys)
        for found in search.places():
            identity = tuple(",".join(search.nodes[found[key]].output) for key in self._keys)
            if identity not in self._seen:
                self._seen.add(identity)
                return {key: Match(search.nodes[i], i) if i != _OUTSIDE else Match(None, i) for key, i in found.items()}
        self._seen.clear()
        return None


class _Search:
    """One search: assigns nodes to keys, beginning with keys that a chain connects with assigned ones."""

    def __init__(self, graph: GraphProto, types: Mapping[str, str], edges: Sequence[tuple[str, str]], keys: Sequence[str]):
        self.nodes: list[NodeProto] = list(graph.node)
        self._types, self._edges = types, edges
        self._outputs = {o.name for o in graph.output}
        maker = {name: i for i, node in enumerate(self.nodes) for name in node.output if name}
        # For each node, the producers of its inputs (_OUTSIDE if it is not a node) and the readers of its outputs.
        self._sources: list[list[int]] = []
        self._readers: list[list[int]] = [[] for _ in self.nodes]
        for i, node in enumerate(self.nodes):
            self._sources.append(list(dict.fromkeys(maker.get(name, _OUTSIDE) for name in node.input if name)))
            inner = [name for g in subgraphs(node) for n in g.node for name in n.input]
            for name in dict.fromkeys([*node.input, *inner]):
                if name in maker and i not in self._readers[maker[name]]:
                    self._readers[maker[name]].append(i)
        for i, node in enumerate(self.nodes):
            if self._outputs.intersection(node.output):
                self._readers[i].append(_OUTSIDE)
        self._order = self._connected(keys)

    def _connected(self, keys: Sequence[str]) -> list[str]:
        """All keys, with operators before s and e, each connected to an earlier one if possible."""
        order: list[str] = []
        rest = list(keys)
        while rest:
            touching = (k for k in rest if any(k in edge and set(edge) & set(order) for edge in self._edges))
            order.append(next(touching, rest[0]))
            rest.remove(order[-1])
        return order + [k for k in self._types if k not in keys]

    def places(self) -> Iterator[dict[str, int]]:
        yield from self._assign({}, 0)

    def _assign(self, found: dict[str, int], at: int) -> Iterator[dict[str, int]]:
        if at == len(self._order):
            yield dict(found)
            return
        key = self._order[at]
        for i in self._candidates(key, found):
            found[key] = i
            yield from self._assign(found, at + 1)
            del found[key]
            if self._types[key] in (START, END):
                return  # one node is enough, because any node may be s or e

    def _candidates(self, key: str, found: Mapping[str, int]) -> list[int]:
        op = self._types[key]
        allowed: Optional[list[int]] = None
        for left, right in self._edges:
            if right == key and left in found:
                near = self._readers[found[left]]
            elif left == key and right in found:
                near = self._sources[found[right]]
            else:
                continue
            allowed = list(near) if allowed is None else [i for i in allowed if i in near]
        if op in (START, END):
            return (allowed or []) if op == END else self._starts(key, found, allowed or [])
        taken = {i for k, i in found.items() if self._types[k] not in (START, END)}
        return [i for i in (range(len(self.nodes)) if allowed is None else allowed)
                if i != _OUTSIDE and i not in taken and self.nodes[i].op_type == op]

    def _starts(self, key: str, found: Mapping[str, int], allowed: list[int]) -> list[int]:
        """Returns the possible producers for key ``s``. Those that are assigned to another key which the same node
        reads are last, so that ``s`` prefers another input of that node."""
        named = {found[left] for left, right in self._edges if left != key and left in found
                 and any((key, right) == edge for edge in self._edges)}
        return sorted(allowed, key=lambda i: i in named)
