using System;
using System.Collections.Generic;

namespace Poprt
{
    /// <summary>The counters of a runner or of one of its replicas since its creation: a snapshot, returned by <see
    /// cref="ModelRunner.Counters()"/>. Since 1.0.</summary>
    public sealed class RunnerCounters
    {
        // <counters:members> made from capi/counters.toml by tests/lint/counter_fields.py --write
        internal RunnerCounters(RawCounters raw)
        {
            Submitted = raw.submitted;
            Completed = raw.completed;
            Failed = raw.failed;
            Cancelled = raw.cancelled;
            TimedOut = raw.timed_out;
            Rows = raw.rows;
            PaddedRows = raw.padded_rows;
            Batches = raw.batches;
            Steps = raw.steps;
            DeviceErrors = raw.device_errors;
            Resets = raw.resets;
            InFlight = raw.in_flight;
            QueueCapacity = raw.queue_capacity;
            LatencyCount = raw.latency_count;
            LatencyTotal = Time(raw.latency_total_ns);
            LatencyMax = Time(raw.latency_max_ns);
            LatencyP50 = Time(raw.latency_p50_ns);
            LatencyP99 = Time(raw.latency_p99_ns);
            Replicas = (int)raw.replicas;
            LatencyBuckets = Buckets(raw);
        }

        /// <summary>Requests that were accepted. Each of them ends up in one of the next four counters.</summary>
        public long Submitted { get; }

        /// <summary>Requests whose outputs were written.</summary>
        public long Completed { get; }

        /// <summary>Requests that failed.</summary>
        public long Failed { get; }

        /// <summary>Requests that were cancelled.</summary>
        public long Cancelled { get; }

        /// <summary>Requests that did not begin within their limit.</summary>
        public long TimedOut { get; }

        /// <summary>Rows of requests that were computed. A request of a model whose requests share no batches counts as
        /// one row.</summary>
        public long Rows { get; }

        /// <summary>Rows that were computed only to fill batches.</summary>
        public long PaddedRows { get; }

        /// <summary>Runs of the device.</summary>
        public long Batches { get; }

        /// <summary>Groups of BatchesPerStep batches.</summary>
        public long Steps { get; }

        /// <summary>Errors of the device.</summary>
        public long DeviceErrors { get; }

        /// <summary>Resets of the device.</summary>
        public long Resets { get; }

        /// <summary>Requests that are submitted and have not ended yet.</summary>
        public long InFlight { get; }

        /// <summary>Number of requests that fit into the queue. Further requests in flight wait in an unlimited
        /// line.</summary>
        public long QueueCapacity { get; }

        /// <summary>Number of measured latencies. The latency of a completed request is the time from its submission
        /// until its outputs are written.</summary>
        public long LatencyCount { get; }

        /// <summary>The sum of all latencies.</summary>
        public TimeSpan LatencyTotal { get; }

        /// <summary>The longest latency.</summary>
        public TimeSpan LatencyMax { get; }

        /// <summary>The median latency, rounded up to the end of its histogram bucket.</summary>
        public TimeSpan LatencyP50 { get; }

        /// <summary>The 99th percentile of the latencies, rounded up to the end of its histogram bucket.</summary>
        public TimeSpan LatencyP99 { get; }

        /// <summary>Number of replicas whose counters are added up and are available separately. 0: the replicas do not
        /// count separately (pack runners), or the runner is stopped (light runners). 1 for the counters of a
        /// replica.</summary>
        public int Replicas { get; }
        // </counters:members>

        private static TimeSpan Time(long nanoseconds)
        {
            return TimeSpan.FromTicks(nanoseconds / 100);
        }

        private static IReadOnlyList<long> Buckets(RawCounters raw)
        {
            var buckets = new long[raw.bucket_count()];
            for (int i = 0; i < buckets.Length; i++) buckets[i] = raw.latency_bucket(i);
            return Array.AsReadOnly(buckets);
        }

        /// <summary>A histogram: entry i counts the requests that took 2^i to 2^(i+1) nanoseconds, the last one also
        /// those that took longer.</summary>
        public IReadOnlyList<long> LatencyBuckets { get; }

        /// <summary>A description of all counters except the histogram.</summary>
        public override string ToString()
        {
            return $"Submitted={Submitted}, Completed={Completed}, Failed={Failed}, Cancelled={Cancelled}, " +
                $"TimedOut={TimedOut}, Rows={Rows}, PaddedRows={PaddedRows}, Batches={Batches}, Steps={Steps}, " +
                $"DeviceErrors={DeviceErrors}, Resets={Resets}, InFlight={InFlight}, QueueCapacity={QueueCapacity}, " +
                $"LatencyP50={LatencyP50}, LatencyP99={LatencyP99}, LatencyMax={LatencyMax}, Replicas={Replicas}";
        }
    }
}
