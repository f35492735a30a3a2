using System;

namespace Poprt
{
    /// <summary>How one run is submitted; see <see cref="ModelRunner"/>.ExecuteAsync.</summary>
    public sealed class RequestOptions
    {
        // <options:request> made from capi/options.toml by tests/lint/option_fields.py --write
        /// <summary>How long the request may wait, counted from the call. Unless it begins by then, whatever computes
        /// meanwhile, it fails with deadline_exceeded. Zero: for ever. Since 1.0.</summary>
        public TimeSpan Timeout { get; set; }

        /// <summary>Which replica the request is for, counted from 0, so that it meets the state (caches) that earlier
        /// requests have left there. One that the runner does not have is not_found. Null: any. Since 1.0.</summary>
        public int? Replica { get; set; }

        /// <summary>Whether whole batches run although batches_per_step leaves room for those of other requests, as
        /// those of calls that wait for their answer do. Default: false. Since 1.0.</summary>
        public bool AtOnce { get; set; }

        private void FillFields(RawRequestOptions raw)
        {
            raw.timeout_ns = RuntimeConfig.Nanoseconds(Timeout);
            raw.set_replica(Replica ?? -1);
            raw.at_once = AtOnce ? 1 : 0;
        }
        // </options:request>

        internal RawRequestOptions ToRaw()
        {
            if (Replica < 0) throw new ArgumentOutOfRangeException(nameof(Replica), Replica, "expected 0 or more");
            var raw = new RawRequestOptions();
            FillFields(raw);
            return raw;
        }
    }
}
