using System;
using System.Collections.Generic;

namespace Poprt
{
    /// <summary>What a runner, or one of its replicas, has counted since it was made: a snapshot, of
    /// <see cref="ModelRunner.Counters()"/>. Since 1.0.</summary>
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

        /// <summary>Requests that were accepted; each ends as one of the next four.</summary>
        public long Submitted { get; }

        /// <summary>Requests whose outputs were written.</summary>
        public long Completed { get; }

        /// <summary>Requests that failed.</summary>
        public long Failed { get; }

        /// <summary>Requests that were cancelled.</summary>
        public long Cancelled { get; }

        /// <summary>Requests that did not begin within their limit.</summary>
        public long TimedOut { get; }

        /// <summary>Rows that were computed for callers.</summary>
        public long Rows { get; }

        /// <summary>Rows that were computed to fill batches.</summary>
        public long PaddedRows { get; }

        /// <summary>Runs of the device.</summary>
        public long Batches { get; }

        /// <summary>Groups of BatchesPerStep batches.</summary>
        public long Steps { get; }

        /// <summary>Errors of the device.</summary>
        public long DeviceErrors { get; }

        /// <summary>Resets of the device.</summary>
        public long Resets { get; }

        /// <summary>Requests that are submitted and not answered, now.</summary>
        public long InFlight { get; }

        /// <summary>Places of the queue; what is in flight beyond is in its line.</summary>
        public long QueueCapacity { get; }

        /// <summary>How many latencies were measured: those of completed requests, from submission to the written
        /// outputs.</summary>
        public long LatencyCount { get; }

        /// <summary>All latencies together.</summary>
        public TimeSpan LatencyTotal { get; }

        /// <summary>The longest latency.</summary>
        public TimeSpan LatencyMax { get; }

        /// <summary>Half of the requests took no longer: the upper end of a bucket.</summary>
        public TimeSpan LatencyP50 { get; }

        /// <summary>99 of 100 requests took no longer: the upper end of a bucket.</summary>
        public TimeSpan LatencyP99 { get; }

        /// <summary>How many replicas these are the sum of, and can be asked for; 0 when they do not count for
        /// themselves (pack runners) or the runner is stopped (light runners). 1 for counters of a replica.</summary>
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

        /// <summary>A histogram: entry i counts the runs that took 2^i to 2^(i+1) nanoseconds, the last one also those
        /// that took longer.</summary>
        public IReadOnlyList<long> LatencyBuckets { get; }

        /// <summary>All but the histogram, for people.</summary>
        public override string ToString()
        {
            return $"Submitted={Submitted}, Completed={Completed}, Failed={Failed}, Cancelled={Cancelled}, " +
                $"TimedOut={TimedOut}, Rows={Rows}, PaddedRows={PaddedRows}, Batches={Batches}, Steps={Steps}, " +
                $"DeviceErrors={DeviceErrors}, Resets={Resets}, InFlight={InFlight}, QueueCapacity={QueueCapacity}, " +
                $"LatencyP50={LatencyP50}, LatencyP99={LatencyP99}, LatencyMax={LatencyMax}, Replicas={Replicas}";
        }
    }
}
