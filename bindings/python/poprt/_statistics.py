"""The counters of runners as typed dicts."""

from __future__ import annotations

from typing import TypedDict


class Latency(TypedDict):
    """A histogram of latencies. Entry i of ``buckets`` counts requests of 2**i to 2**(i+1) ns, the last one also longer
    ones."""
    count: int
    total_ns: int
    max_ns: int
    p50_ns: int
    p99_ns: int
    buckets: list[int]


class ReplicaStatistics(TypedDict):
    """The counters of one replica."""
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
    """The counters of one of several shapes of a model. ``elements`` is the sum of the elements of all inputs of its
    requests, and ``room`` the sum of the elements that the shape has for these inputs."""
    sizes: dict[str, int]
    requests: int
    padded: int
    elements: int
    room: int


class ShapeStatistics(TypedDict):
    """The counters of one shape of a model whose shapes are compiled on demand. ``ahead`` is true for the shape that
    was compiled when the model was loaded. ``padded`` is the number of requests of smaller batches that the shape
    computed."""
    sizes: dict[str, int]
    ahead: bool
    from_cache: bool
    compile_ns: int
    requests: int
    padded: int


class ShapesStatistics(TypedDict):
    """The counters of a model whose shapes are compiled on demand: the shapes that the runner has now, and the numbers of
    all shapes since it was created."""
    kept: list[ShapeStatistics]
    compiled: int
    from_cache: int
    failed: int
    removed: int


class _BranchStatistics(TypedDict, total=False):
    graph_requests: list[int]
    shape_buckets: list[BucketStatistics]
    shapes: ShapesStatistics


class RunnerStatistics(ReplicaStatistics, _BranchStatistics):
    """The counters of a runner for all replicas and for each replica. For a fused model, ``graph_requests`` contains
    the requests of each graph; for a model at several shapes, ``shape_buckets`` the counters of each shape; and for a
    model whose shapes are compiled on demand, ``shapes`` those of its shapes."""
    replicas: list[ReplicaStatistics]


class Tracepoint(TypedDict):
    """One request: its number, and the times of its stages in ns of the monotonic clock."""
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
