"""What runners count, as dicts of known keys."""

from __future__ import annotations

from typing import TypedDict


class Latency(TypedDict):
    """A histogram of how long requests took; entry i of ``buckets`` counts those of 2**i to 2**(i+1) ns."""
    count: int
    total_ns: int
    max_ns: int
    p50_ns: int
    p99_ns: int
    buckets: list[int]


class ReplicaStatistics(TypedDict):
    """What one replica has done."""
    submitted: int
    completed: int
    failed: int
    cancelled: int
    timed_out: int
    rows: int
    padded_rows: int
    batches: int
    steps: int
    device_errors: int
    resets: int
    in_flight: int
    queue_capacity: int
    latency: Latency


class BucketStatistics(TypedDict):
    """What one shape of a model at several has done; ``elements`` of the requests' inputs, ``room`` that it had for them."""
    sizes: dict[str, int]
    requests: int
    padded: int
    elements: int
    room: int


class _BranchStatistics(TypedDict, total=False):
    graph_requests: list[int]
    shape_buckets: list[BucketStatistics]


class RunnerStatistics(ReplicaStatistics, _BranchStatistics):
    """What a runner has done: of all replicas, and of each; of a fused model the requests of each graph, of one at several
    shapes what each shape has done."""
    replicas: list[ReplicaStatistics]


class Tracepoint(TypedDict):
    """One request: its number, and when it came from one stage to the next, in ns."""
    request: int
    rows: int
    replica: int
    code: int
    submitted: int
    begun: int
    loaded: int
    compute_begin: int
    compute_end: int
    stored: int
