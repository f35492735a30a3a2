using System;

namespace Poprt
{
    /// <summary>The estimated cost of a model on a real IPU: cycles, memory of the tiles, and whether the model fits,
    /// from <see cref="Compiler.Estimate"/>. An estimate reads no value of a tensor and measures nothing.
    /// Since 1.0.</summary>
    /// <remarks>Immutable. An unreferenced object is freed by the garbage collector.</remarks>
    public sealed class Estimate : IDisposable
    {
        private readonly RawEstimate raw;

        internal Estimate(RawEstimate raw)
        {
            this.raw = raw;
        }

        // <functions:estimate> made from capi/functions.toml by tests/lint/functions.py --write
        /// <summary>The name of the chip. Since 1.0.</summary>
        public string Target()
        {
            return raw.target();
        }

        /// <summary>The cycles of the device for one batch. Since 1.0.</summary>
        public long Cycles
        {
            get { return raw.cycles(); }
        }

        /// <summary>The number of samples of one batch. Since 1.0.</summary>
        public long Samples
        {
            get { return raw.samples(); }
        }

        /// <summary>The time of the device for one batch. Since 1.0.</summary>
        public double Milliseconds
        {
            get { return raw.milliseconds(); }
        }

        /// <summary>The time from batch to batch in the steady state, with the transfers of the host. Since
        /// 1.0.</summary>
        public double PeriodMilliseconds
        {
            get { return raw.period_milliseconds(); }
        }

        /// <summary>The time of a batch that runs alone, with the transfers of the host. Since 1.0.</summary>
        public double LatencyMilliseconds
        {
            get { return raw.latency_milliseconds(); }
        }

        /// <summary>The time of the transfers of one batch between the host and the chip. Since 1.0.</summary>
        public double HostMilliseconds
        {
            get { return raw.host_milliseconds(); }
        }

        /// <summary>The samples per second in the steady state. Since 1.0.</summary>
        public double Throughput
        {
            get { return raw.throughput(); }
        }

        /// <summary>The fraction of the largest number of half-precision products that the chip could compute in the
        /// same cycles. Since 1.0.</summary>
        public double Utilization
        {
            get { return raw.utilization(); }
        }

        /// <summary>The bytes that the busiest tile needs, with gaps between its variables. Since 1.0.</summary>
        public long TileBytes
        {
            get { return raw.tile_bytes(); }
        }

        /// <summary>The bytes of a tile of the chip. Since 1.0.</summary>
        public long AvailableBytes
        {
            get { return raw.available_bytes(); }
        }

        /// <summary>Whether the memory of every tile suffices, and the host has room for the buffers of every stream.
        /// Since 1.0.</summary>
        public bool Fits
        {
            get { return raw.fits(); }
        }

        /// <summary>How well the cycles are known: calibrated, checked or unchecked, and the error that was measured
        /// for programs of this class. Since 1.0.</summary>
        public string CycleQuality()
        {
            return raw.cycle_quality();
        }

        /// <summary>How well the bytes are known: calibrated, checked or unchecked, and the error that was measured.
        /// Since 1.0.</summary>
        public string MemoryQuality()
        {
            return raw.memory_quality();
        }

        /// <summary>How well the times of the host are known: calibrated, checked or unchecked, and the error that was
        /// measured. Since 1.0.</summary>
        public string HostQuality()
        {
            return raw.host_quality();
        }

        /// <summary>All numbers of the estimate as a JSON object, the output of <c>poprt_exec estimate --json
        /// --verbose</c>. Later versions may add keys. Since 1.0.</summary>
        public string Json()
        {
            return raw.json();
        }

        /// <summary>The estimate as text for people. The format may change. Since 1.0.</summary>
        public string Report()
        {
            return raw.report();
        }

        /// <summary>A picture as SVG: memory by tile, memory over time, phases of the operations, and cycles by
        /// operator. Since 1.0.</summary>
        public string Svg()
        {
            return raw.svg();
        }
        // </functions:estimate>

        /// <summary>Frees the estimate. A second call has no effect.</summary>
        public void Dispose()
        {
            raw.Dispose();
        }
    }
}
