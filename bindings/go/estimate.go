package poprt

import "poprt.example.org/bindings/go/internal/native"

// Estimate is the estimated cost of a model on a real IPU: cycles, memory of the tiles, and whether the model fits. The
// estimation reads no value of a tensor and measures nothing. An Estimate does not change. Since 1.0.
type Estimate struct {
	h *handle[native.RawEstimate]
}

// EstimateModel estimates an ONNX model with the options of a compilation. The option estimate_target selects the
// chip, without it ipu_version, and without both the chip is c600. A model that does not fit is no error. Errors: as
// [Compile]. Since 1.0.
func EstimateModel(onnxPath string, options *CompileOptions) (e *Estimate, err error) {
	err = withCompiler(options, func(c native.RawCompiler) error {
		var failure uintptr
		raw := c.Estimate_file(onnxPath, &failure)
		if err := check(failure); err != nil {
			return err
		}
		e = &Estimate{newHandle(raw, native.DeleteRawEstimate)}
		return nil
	})
	return e, err
}

// Close frees the estimate. A second call has no effect.
func (e *Estimate) Close() error { return e.h.Close() }

// <functions:estimate> made from capi/functions.toml by tests/lint/functions.py --write

// Target is the name of the chip. Since 1.0.
func (e *Estimate) Target() (string, error) { return textOf(e.h, native.RawEstimate.Target) }

// Cycles is the cycles of the device for one batch. Since 1.0.
func (e *Estimate) Cycles() int64 { return valueOf(e.h, native.RawEstimate.Cycles) }

// Samples is the number of samples of one batch. Since 1.0.
func (e *Estimate) Samples() int64 { return valueOf(e.h, native.RawEstimate.Samples) }

// Milliseconds is the time of the device for one batch. Since 1.0.
func (e *Estimate) Milliseconds() float64 { return valueOf(e.h, native.RawEstimate.Milliseconds) }

// PeriodMilliseconds is the time from batch to batch in the steady state, with the transfers of the host. Since 1.0.
func (e *Estimate) PeriodMilliseconds() float64 {
	return valueOf(e.h, native.RawEstimate.Period_milliseconds)
}

// LatencyMilliseconds is the time of a batch that runs alone, with the transfers of the host. Since 1.0.
func (e *Estimate) LatencyMilliseconds() float64 {
	return valueOf(e.h, native.RawEstimate.Latency_milliseconds)
}

// HostMilliseconds is the time of the transfers of one batch between the host and the chip. Since 1.0.
func (e *Estimate) HostMilliseconds() float64 {
	return valueOf(e.h, native.RawEstimate.Host_milliseconds)
}

// Throughput is the samples per second in the steady state. Since 1.0.
func (e *Estimate) Throughput() float64 { return valueOf(e.h, native.RawEstimate.Throughput) }

// Utilization is the fraction of the largest number of half-precision products that the chip could compute in the same
// cycles. Since 1.0.
func (e *Estimate) Utilization() float64 { return valueOf(e.h, native.RawEstimate.Utilization) }

// TileBytes is the bytes that the busiest tile needs, with gaps between its variables. Since 1.0.
func (e *Estimate) TileBytes() int64 { return valueOf(e.h, native.RawEstimate.Tile_bytes) }

// AvailableBytes is the bytes of a tile of the chip. Since 1.0.
func (e *Estimate) AvailableBytes() int64 { return valueOf(e.h, native.RawEstimate.Available_bytes) }

// Fits is whether the memory of every tile suffices, and the host has room for the buffers of every stream. Since 1.0.
func (e *Estimate) Fits() bool { return valueOf(e.h, native.RawEstimate.Fits) }

// CycleQuality is how well the cycles are known: calibrated, checked or unchecked, and the error that was measured for
// programs of this class. Since 1.0.
func (e *Estimate) CycleQuality() (string, error) {
	return textOf(e.h, native.RawEstimate.Cycle_quality)
}

// MemoryQuality is how well the bytes are known: calibrated, checked or unchecked, and the error that was measured.
// Since 1.0.
func (e *Estimate) MemoryQuality() (string, error) {
	return textOf(e.h, native.RawEstimate.Memory_quality)
}

// HostQuality is how well the times of the host are known: calibrated, checked or unchecked, and the error that was
// measured. Since 1.0.
func (e *Estimate) HostQuality() (string, error) { return textOf(e.h, native.RawEstimate.Host_quality) }

// JSON is all numbers of the estimate as a JSON object, the output of `poprt_exec estimate --json --verbose`. Later
// versions may add keys. Since 1.0.
func (e *Estimate) JSON() (string, error) { return textOf(e.h, native.RawEstimate.Json) }

// Report is the estimate as text for people. The format may change. Since 1.0.
func (e *Estimate) Report() (string, error) { return textOf(e.h, native.RawEstimate.Report) }

// SVG is a picture as SVG: memory by tile, memory over time, phases of the operations, and cycles by operator.
// Since 1.0.
func (e *Estimate) SVG() (string, error) { return textOf(e.h, native.RawEstimate.Svg) }

// </functions:estimate>
