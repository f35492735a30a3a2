package poprt

import (
	"fmt"
	"runtime"
	"time"

	"poprt.example.org/bindings/go/internal/native"
)

// NewModelFusionRunner runs a fused model, whose anchors are called graphK/NAME. A run uses those of one graph. Errors:
// FailedPrecondition (not a fused model), and those of NewRunner.
func NewModelFusionRunner(executable *Executable, options *RunnerOptions) (*Runner, error) {
	return newRunner(executable, options, native.RawRunnerCreate_fusion)
}

// PackAlgorithm is the choice of rows for items that do not cross them.
type PackAlgorithm int

const (
	NextFit  PackAlgorithm = iota // into the last row, or a new one
	FirstFit                      // into the first row with space
)

// PackOptions are the options of [NewPackRunner]. DynamicGroup need not name inputs that have the rows and positions of
// the dynamic input.
type PackOptions struct {
	DynamicInput      string        // the input of variable length; "": as recorded in the model, the mask, or the first input
	Timeout           time.Duration // from the first item of a pack until its submission, whole microseconds; must be set
	MaxValidNum       int           // items of a pack; 0: as many as fit
	UnpackInfoInput   string        // the s32 input of lengths; "": as recorded in the model, or none
	Mask              string        // the input that masks positions; "": none
	DynamicGroup      []string      // further inputs of the same length
	Algorithm         PackAlgorithm
	NoDataAcrossRows  bool // items do not cross rows
	CompileBatchSize  int  // rows; 0: the first dimension of the dynamic input
	PaddingRemove     bool // remove the padding of requests, which the mask marks
	NoPrefetchStreams bool // do not prepare the next pack's inputs while one runs
	DelimiterNum      int  // zeros between two items
}

// NewPackRunner packs runs of variable length into the compiled batches. The dynamic inputs of a run have the same
// number of positions. Its outputs have as many, or with unpack info one item of the output's first dimension. A pack
// is submitted when it is full, when the next item does not fit, or after the timeout. Errors: InvalidArgument
// (options), FailedPrecondition (options that do not fit the model), and those of NewRunner.
func NewPackRunner(executable *Executable, pack PackOptions, options *RunnerOptions) (_ *Runner, refused error) {
	defer refuse(&refused)
	o := native.NewRawPackOptions()
	defer native.DeleteRawPackOptions(o)
	o.Set_timeout(pack.Timeout.Microseconds())
	o.Set_max_valid_num(int64(pack.MaxValidNum))
	o.Set_inputs(pack.DynamicInput, pack.UnpackInfoInput, pack.Mask)
	for _, name := range pack.DynamicGroup {
		o.Add_dynamic(name)
	}
	o.Set_algorithm(int(pack.Algorithm))
	o.Set_data_across_rows(!pack.NoDataAcrossRows)
	o.Set_compile_batch_size(int64(pack.CompileBatchSize))
	o.Set_padding_remove(pack.PaddingRemove)
	o.Set_prefetch_datastreams(!pack.NoPrefetchStreams)
	o.Set_delimiter_num(int64(pack.DelimiterNum))
	return newRunner(executable, options,
		func(raw native.RawExecutable, options native.RawRunnerOptions, failure *uintptr) native.RawRunner {
			return native.RawRunnerCreate_pack(raw, options, o, failure)
		})
}

// HostConcat describes an input of the model that consists of the bytes of several inputs in order.
type HostConcat struct {
	Tensor string   // the model's input
	Inputs []string // the inputs of runs in its place
	Shape  []int64  // of the joined tensor; nil: not checked
	Bytes  int64    // of the joined tensor; 0: not checked
	Sizes  []int64  // bytes of each input; nil: equal parts
}

// NewHostConcatRunner takes the original inputs of a model with joined inputs, and joins them for each run. Without
// concats, the configuration is that of the executable. Errors: NotFound (no such input, or no configuration in the
// executable), InvalidArgument, DataLoss (the configuration in the executable), and those of NewRunner.
func NewHostConcatRunner(executable *Executable, concats []HostConcat, options *RunnerOptions) (_ *Runner, refused error) {
	defer refuse(&refused)
	o := native.NewRawHostConcats()
	defer native.DeleteRawHostConcats(o)
	for _, c := range concats {
		if c.Sizes != nil && len(c.Sizes) != len(c.Inputs) {
			return nil, invalid(fmt.Sprintf("'%s' has %d inputs, given %d sizes", c.Tensor, len(c.Inputs), len(c.Sizes)))
		}
		o.Add(c.Tensor)
		for _, name := range c.Inputs {
			o.Add_input(name)
		}
		o.Set_shape(c.Shape, int64(len(c.Shape)))
		o.Set_bytes(c.Bytes)
		if c.Sizes != nil {
			o.Set_sizes(c.Sizes, int64(len(c.Sizes)))
		}
	}
	return newRunner(executable, options,
		func(raw native.RawExecutable, options native.RawRunnerOptions, failure *uintptr) native.RawRunner {
			return native.RawRunnerCreate_host_concat(raw, options, o, failure)
		})
}

// LightRunner can release its device (Stop) and acquire one again (Reload), and its weights can be replaced. It uses
// only the options Threads, Device, ReplicaDevices, Telemetry, Numerics, Load, Verify and ExecutionPrecision. One
// goroutine at a time.
type LightRunner struct {
	*Runner
	modelInputs []Anchor
	hasData     []bool
}

// NewLightRunner acquires a device and loads the executable. Errors: those of NewRunner.
func NewLightRunner(executable *Executable, options *RunnerOptions) (*LightRunner, error) {
	r, err := newRunner(executable, options, native.RawRunnerCreate_light)
	if err != nil {
		return nil, err
	}
	raw := r.h.raw
	light := &LightRunner{Runner: r, modelInputs: anchors(raw.Light_input_count(), raw.Light_input_anchor)}
	for i := range light.modelInputs {
		light.hasData = append(light.hasData, raw.Light_input_has_data(int64(i)))
	}
	runtime.KeepAlive(r)
	return light, nil
}

// ModelInputs are all inputs, including those that the executable contains.
func (r *LightRunner) ModelInputs() []Anchor { return r.modelInputs }

// ModelInputHasData reports whether the executable contains the value of that input. Runs then omit the input; SetInput
// replaces the value.
func (r *LightRunner) ModelInputHasData(index int) bool { return r.hasData[index] }

// Reload acquires a device again after Stop; otherwise it has no effect. Errors: those of NewRunner.
func (r *LightRunner) Reload() error {
	return callOf(r.h, native.RawRunner.Light_reload)
}

// SetInput copies new elements for an input that the executable contains. UpdateWeights makes runs use them. [Elements]
// makes a tensor of a slice. Errors: NotFound, InvalidArgument (the type, the size or, of [Shaped], the shape),
// FailedPrecondition (an input of runs, or the random seed).
func (r *LightRunner) SetInput(name string, value Tensor) error {
	for i, a := range r.modelInputs {
		if a.Name != name || !r.hasData[i] {
			continue // the library refuses inputs of runs
		}
		if err := value.checkWhole("input", &a); err != nil {
			return err
		}
	}
	defer runtime.KeepAlive(value.address)
	return callOf(r.h, func(raw native.RawRunner) uintptr {
		return raw.Light_set_input(name, int64(uintptr(value.address)), value.bytes)
	})
}

// UpdateWeights makes the next run use the values of SetInput.
func (r *LightRunner) UpdateWeights() error {
	return callOf(r.h, native.RawRunner.Light_update_weights)
}
