package poprt

import (
	"time"

	"poprt.example.org/bindings/go/internal/native"
)

// RunnerCounters are the counters of a runner or of one of its replicas since its creation. Since 1.0.
type RunnerCounters struct {
	// <counters:members> made from capi/counters.toml by tests/lint/counter_fields.py --write
	// Requests that were accepted. Each of them ends up in one of the next four counters.
	Submitted int64
	// Requests whose outputs were written.
	Completed int64
	// Requests that failed.
	Failed int64
	// Requests that were cancelled.
	Cancelled int64
	// Requests that did not begin within their limit.
	TimedOut int64
	// Rows of requests that were computed. A request of a model whose requests share no batches counts as one row.
	Rows int64
	// Rows that were computed only to fill batches.
	PaddedRows int64
	// Runs of the device.
	Batches int64
	// Groups of RunnerOptions.BatchesPerStep batches.
	Steps int64
	// Errors of the device.
	DeviceErrors int64
	// Resets of the device.
	Resets int64
	// Requests that are submitted and have not ended yet.
	InFlight int64
	// Number of requests that fit into the queue. Further requests in flight wait in an unlimited line.
	QueueCapacity int64
	// Number of measured latencies. The latency of a completed request is the time from its submission until its
	// outputs are written.
	LatencyCount int64
	// The sum of all latencies.
	LatencyTotal time.Duration
	// The longest latency.
	LatencyMax time.Duration
	// The median latency, rounded up to the end of its histogram bucket.
	LatencyP50 time.Duration
	// The 99th percentile of the latencies, rounded up to the end of its histogram bucket.
	LatencyP99 time.Duration
	// Number of replicas whose counters are added up and are available separately. 0: the replicas do not count
	// separately (pack runners), or the runner is stopped (light runners). 1 for the counters of a replica.
	Replicas int
	// </counters:members>

	// A histogram: entry i counts the requests that took 2^i to 2^(i+1) ns, the last one also those that took longer.
	LatencyBuckets [40]int64
}

// <counters:reads> made from capi/counters.toml by tests/lint/counter_fields.py --write

func (c *RunnerCounters) read(n native.RawCounters) {
	c.Submitted = n.GetSubmitted()
	c.Completed = n.GetCompleted()
	c.Failed = n.GetFailed()
	c.Cancelled = n.GetCancelled()
	c.TimedOut = n.GetTimed_out()
	c.Rows = n.GetRows()
	c.PaddedRows = n.GetPadded_rows()
	c.Batches = n.GetBatches()
	c.Steps = n.GetSteps()
	c.DeviceErrors = n.GetDevice_errors()
	c.Resets = n.GetResets()
	c.InFlight = n.GetIn_flight()
	c.QueueCapacity = n.GetQueue_capacity()
	c.LatencyCount = n.GetLatency_count()
	c.LatencyTotal = time.Duration(n.GetLatency_total_ns())
	c.LatencyMax = time.Duration(n.GetLatency_max_ns())
	c.LatencyP50 = time.Duration(n.GetLatency_p50_ns())
	c.LatencyP99 = time.Duration(n.GetLatency_p99_ns())
	c.Replicas = int(n.GetReplicas())
}

// </counters:reads>

func takeCounters(n native.RawCounters) RunnerCounters {
	var c RunnerCounters
	c.read(n)
	for i := range c.LatencyBuckets {
		c.LatencyBuckets[i] = n.Latency_bucket(int64(i))
	}
	return c
}
