using System;

namespace Poprt
{
    /// <summary>How one run is submitted; see <see cref="ModelRunner"/>.ExecuteAsync.</summary>
    public sealed class RequestOptions
    {
        // <options:request> made from capi/option_fields.toml by tests/lint/option_fields.py --write
        /// <summary>How long the request may wait, counted from the call. A request that has not begun by then fails
        /// with deadline_exceeded. Zero: without limit. Since 1.0.</summary>
        public TimeSpan Timeout { get; set; }

        /// <summary>The replica that runs the request, counted from 0. The request reads the state (caches) that
        /// earlier requests left on this replica. A replica that the runner does not have fails with not_found. Null:
        /// any. Since 1.0.</summary>
        public int? Replica { get; set; }

        /// <summary>Whether whole batches run at once, even if the step of batches_per_step batches is not full.
        /// Batches of a call that waits for its result always do. Default: false. Since 1.0.</summary>
        public bool AtOnce { get; set; }

        private void FillFields(RawRequestOptions raw)
        {
            raw.timeout_ns = RuntimeConfig.Nanoseconds(Timeout);
            raw.set_replica(Replica ?? -1);
            raw.at_once = AtOnce ? 1 : 0;
        }
        // </options:request>

        /// <summary>Timeout.InfiniteTimeSpan means no limit, as zero does.</summary>
        internal RawRequestOptions ToRaw()
        {
            if (Replica < 0) throw new ArgumentOutOfRangeException(nameof(Replica), Replica, "expected 0 or more");
            var raw = new RawRequestOptions();
            FillFields(raw);
            if (Timeout == System.Threading.Timeout.InfiniteTimeSpan) raw.timeout_ns = 0;
            return raw;
        }
    }
}
