package poprt

import (
	"time"

	"poprt.example.org/bindings/go/internal/native"
)

// RunnerCounters is what a runner, or one of its replicas, has counted since it was made. Since 1.0.
type RunnerCounters struct {
	Submitted     int64         // runs that were accepted; each ends as one of the next four
	Completed     int64         // runs whose outputs were written
	Failed        int64         // runs that failed
	Cancelled     int64         // runs that were cancelled
	TimedOut      int64         // runs that did not begin within their limit
	Rows          int64         // rows that were computed for callers
	PaddedRows    int64         // rows that were computed to fill batches
	Batches       int64         // runs of the device
	Steps         int64         // groups of RunnerOptions.BatchesPerStep batches
	DeviceErrors  int64         // errors of the device
	Resets        int64         // resets of the device
	InFlight      int64         // runs that are submitted and not answered, now
	QueueCapacity int64         // places of the queue; what is in flight beyond stands in the line
	LatencyCount  int64         // how many latencies were measured: those of completed runs, from submission to the written outputs
	LatencyTotal  time.Duration // all latencies together
	LatencyMax    time.Duration // the longest latency
	LatencyP50    time.Duration // half of the runs took no longer: the upper end of a bucket
	LatencyP99    time.Duration // 99 of 100 runs took no longer: the upper end of a bucket
	// A histogram: entry i counts the runs that took 2^i to 2^(i+1) ns, the last one also those that took longer.
	LatencyBuckets [40]int64
	// How many replicas these are the sum of, and can be asked for; 0 when they do not count for themselves (pack runners)
	// or the runner is stopped (light runners). 1 for counters of a replica.
	Replicas int
}

func takeCounters(n native.RawCounters) RunnerCounters {
	c := RunnerCounters{
		Submitted:     n.GetSubmitted(),
		Completed:     n.GetCompleted(),
		Failed:        n.GetFailed(),
		Cancelled:     n.GetCancelled(),
		TimedOut:      n.GetTimed_out(),
		Rows:          n.GetRows(),
		PaddedRows:    n.GetPadded_rows(),
		Batches:       n.GetBatches(),
		Steps:         n.GetSteps(),
		DeviceErrors:  n.GetDevice_errors(),
		Resets:        n.GetResets(),
		InFlight:      n.GetIn_flight(),
		QueueCapacity: n.GetQueue_capacity(),
		LatencyCount:  n.GetLatency_count(),
		LatencyTotal:  time.Duration(n.GetLatency_total_ns()),
		LatencyMax:    time.Duration(n.GetLatency_max_ns()),
		LatencyP50:    time.Duration(n.GetLatency_p50_ns()),
		LatencyP99:    time.Duration(n.GetLatency_p99_ns()),
		Replicas:      int(n.GetReplicas()),
	}
	for i := range c.LatencyBuckets {
		c.LatencyBuckets[i] = n.Latency_bucket(int64(i))
	}
	return c
}
