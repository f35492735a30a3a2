package poprt

import (
	"fmt"
	"runtime"
	"time"

	"poprt.example.org/bindings/go/internal/native"
)

// NewModelFusionRunner serves a fused model, whose anchors are called graphK/NAME: a run has those of one graph. Errors:
// FailedPrecondition (not a fused model), and those of NewRunner.
func NewModelFusionRunner(executable *Executable, options *RunnerOptions) (*Runner, error) {
	return newRunner(executable, options, native.RawRunnerCreate_fusion)
}

// PackAlgorithm says how items that do not cross rows are put into rows.
type PackAlgorithm int

const (
	NextFit  PackAlgorithm = iota // into the last row, or a new one
	FirstFit                      // into the first row with room
)

// PackOptions of [NewPackRunner].
type PackOptions struct {
	DynamicInput      string        // the input of variable length; "": as the model says, the mask, or the first input
	Timeout           time.Duration // from a pack's first item until it goes, whole microseconds; must be set
	MaxValidNum       int           // items of a pack; 0: as many as fit
	UnpackInfoInput   string        // the s32 input that tells lengths; "": as the model says, or none
	Mask              string        // the input that masks places; "": none
	DynamicGroup      []string      // further inputs of the same length
	Algorithm         PackAlgorithm
	NoDataAcrossRows  bool // items do not cross rows
	CompileBatchSize  int  // rows; 0: the first dimension of the dynamic input
	PaddingRemove     bool // strip the callers' padding, which the mask tells
	NoPrefetchStreams bool // do not prepare the next pack's inputs while one runs
	DelimiterNum      int  // zeros between two items
}

// NewPackRunner packs runs of variable length into the batches that the model was compiled for. A run has its dynamic
// inputs with the same number of places; its outputs have as many, or with unpack info one item of the output's first
// dimension. A pack goes when it is full, when the next item does not fit, or after the timeout. Errors: InvalidArgument
// (options), FailedPrecondition (the model does not fit them), and those of NewRunner.
func NewPackRunner(executable *Executable, pack PackOptions, options *RunnerOptions) (*Runner, error) {
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

// HostConcat says that one input of the model is other inputs' bytes one after the other.
type HostConcat struct {
	Tensor string   // the model's input
	Inputs []string // what runs have in its place
	Shape  []int64  // of the joined tensor; nil: not checked
	Bytes  int64    // of the joined tensor; 0: not checked
	Sizes  []int64  // bytes of each input; nil: equal parts
}

// NewHostConcatRunner takes the inputs that the model's own were joined from, and joins them again for each run. Without
// concats the executable says what. Errors: NotFound (no such input, the executable says nothing), InvalidArgument, and
// those of NewRunner.
func NewHostConcatRunner(executable *Executable, concats []HostConcat, options *RunnerOptions) (*Runner, error) {
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

// LightRunner can let its device go (Stop) and take one back (Reload), and have its weights replaced. Of the options it
// uses Threads and Device. One goroutine at a time.
type LightRunner struct {
	*Runner
	modelInputs []Anchor
	hasData     []bool
}

// NewLightRunner takes a device and loads the executable. Errors: those of NewRunner.
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

// ModelInputs are all inputs, those that come with the executable too.
func (r *LightRunner) ModelInputs() []Anchor { return r.modelInputs }

// ModelInputHasData says whether that one comes with the executable: SetInput replaces it, runs do not have it.
func (r *LightRunner) ModelInputHasData(index int) bool { return r.hasData[index] }

// Reload takes a device again after Stop; otherwise it does nothing. Errors: Unavailable.
func (r *LightRunner) Reload() error {
	return askOf(r.h, native.RawRunner.Light_reload)
}

// SetInput has new elements, which are copied, for an input that comes with the executable; UpdateWeights makes runs use
// them. [Elements] makes a tensor of a slice. Errors: NotFound, InvalidArgument (the type, the size or, of [Shaped], the
// shape), FailedPrecondition (runs have it).
func (r *LightRunner) SetInput(name string, value Tensor) error {
	for i, a := range r.modelInputs {
		if a.Name != name || !r.hasData[i] {
			continue // what runs have is the library's to refuse
		}
		if err := value.checkWhole("input", &a); err != nil {
			return err
		}
	}
	defer runtime.KeepAlive(value.address)
	return askOf(r.h, func(raw native.RawRunner) uintptr {
		return raw.Light_set_input(name, int64(uintptr(value.address)), value.bytes)
	})
}

// UpdateWeights makes the next run use all that was set.
func (r *LightRunner) UpdateWeights() error {
	return askOf(r.h, native.RawRunner.Light_update_weights)
}
