using System;
using System.Collections.Generic;

namespace Poprt
{
    /// <summary>What a runner, or one of its replicas, has counted since it was made: a snapshot, of
    /// <see cref="ModelRunner.Counters()"/>. Since 1.0.</summary>
    public sealed class RunnerCounters
    {
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
            var buckets = new long[raw.bucket_count()];
            for (int i = 0; i < buckets.Length; i++) buckets[i] = raw.latency_bucket(i);
            LatencyBuckets = Array.AsReadOnly(buckets);
            Replicas = (int)raw.replicas;
        }

        private static TimeSpan Time(long nanoseconds)
        {
            return TimeSpan.FromTicks(nanoseconds / 100);
        }

        /// <summary>Runs that were accepted; each ends as one of the next four.</summary>
        public long Submitted { get; }

        /// <summary>Runs whose outputs were written.</summary>
        public long Completed { get; }

        /// <summary>Runs that failed.</summary>
        public long Failed { get; }

        /// <summary>Runs that were cancelled.</summary>
        public long Cancelled { get; }

        /// <summary>Runs that did not begin within their limit.</summary>
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

        /// <summary>Runs that are submitted and not answered, now.</summary>
        public long InFlight { get; }

        /// <summary>Places of the queue; what is in flight beyond stands in the line.</summary>
        public long QueueCapacity { get; }

        /// <summary>How many latencies were measured: those of completed runs, from submission to the written outputs.</summary>
        public long LatencyCount { get; }

        /// <summary>All latencies together.</summary>
        public TimeSpan LatencyTotal { get; }

        /// <summary>The longest latency.</summary>
        public TimeSpan LatencyMax { get; }

        /// <summary>Half of the runs took no longer: the upper end of a bucket.</summary>
        public TimeSpan LatencyP50 { get; }

        /// <summary>99 of 100 runs took no longer: the upper end of a bucket.</summary>
        public TimeSpan LatencyP99 { get; }

        /// <summary>A histogram: entry i counts the runs that took 2^i to 2^(i+1) nanoseconds, the last one also those
        /// that took longer.</summary>
        public IReadOnlyList<long> LatencyBuckets { get; }

        /// <summary>How many replicas these are the sum of, and can be asked for; 0 when they do not count for themselves
        /// (<see cref="PackRunner"/>) or the runner is stopped (<see cref="LightRunner"/>). 1 for counters of a
        /// replica.</summary>
        public int Replicas { get; }

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
