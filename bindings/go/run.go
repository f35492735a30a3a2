package poprt

import (
	"fmt"
	"runtime"
	"unsafe"

	"poprt.example.org/bindings/go/internal/native"
)

// Output is one output of [Runner.Run], in separate memory.
type Output struct {
	Name  string
	DType DType
	Shape []int64 // has as many rows as the run; of a padded output, only the real part
	words []uint64
	bytes int64
}

// Bytes returns the bytes of the elements, row by row.
func (o *Output) Bytes() []byte {
	if o.bytes == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&o.words[0])), o.bytes)
}

// String returns for example "scores f32 [8,10]".
func (o *Output) String() string {
	return Anchor{Name: o.Name, DType: o.DType, Shape: o.Shape}.String()
}

// Values returns the elements of an output, row by row, in the memory of the output. Errors: InvalidArgument (another
// type; nil, which a map of outputs returns for a name that it does not have).
func Values[T Element](o *Output) ([]T, error) {
	if o == nil {
		return nil, invalid("the output is nil: no output of the run has the name")
	}
	if given := dtypeOf[T](); !given.holds(o.DType) {
		return nil, invalid(fmt.Sprintf("output '%s' holds elements of %v, requested %v", o.Name, o.DType, given))
	}
	if o.bytes == 0 {
		return nil, nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&o.words[0])), o.bytes/int64(unsafe.Sizeof(*new(T)))), nil
}

// Shaped is memory with a shape, which is compared with that of the anchor in all uses: in runs (any number of rows
// that the runner accepts), as a frozen input, as a weight (the whole shape), in a queue (see [Queue.Enqueue]).
func Shaped[T Element](name string, slice []T, shape ...int64) Tensor {
	t := Named(name, slice)
	t.shape, t.shaped = shape, true
	return t
}

// Run runs the model into new memory for as many rows as the inputs have. If there is an output NAME:shape, and the
// request is one batch, output NAME only contains the real part, and NAME:shape is left out. Shapes of [Shaped] tensors
// are checked. Errors: as [Runner.Execute], and ResourceExhausted. Since 1.0.
func (r *Runner) Run(inputs ...Tensor) (_ map[string]*Output, refused error) {
	defer refuse(&refused)
	raw, err := r.h.acquire()
	if err != nil {
		return nil, err
	}
	defer r.h.release()
	if _, _, err := entries(nil, nil, "input", r.inputs, inputs); err != nil {
		return nil, err
	}
	tensors := native.NewRawTensors()
	defer native.DeleteRawTensors(tensors)
	var pins pins
	keep := make([]unsafe.Pointer, 0, len(inputs))
	for _, t := range inputs {
		a, at := r.inputs[t.find(r.inputs)], t.address
		if at == nil {
			at = unsafe.Pointer(&nothing[0])
		}
		keep = append(keep, at)
		dtype := Undefined
		if t.shaped {
			dtype = a.DType
		}
		// A copy, because the shape may be a part of the caller's slice.
		dimensions := append(make([]int64, 0, len(t.shape)+1), t.shape...)
		tensors.Add(a.Name, int64(uintptr(at)), t.bytes, int(dtype), append(dimensions, 0), int64(len(t.shape)))
	}
	pins.pin(keep)
	defer runtime.KeepAlive(&pins)
	defer runtime.KeepAlive(keep)
	select {
	case directRuns <- struct{}{}:
		defer func() { <-directRuns }()
		return runTensors(raw, tensors)
	default:
		return r.runQueued(raw, tensors)
	}
}

// runQueued is runTensors without a thread that waits.
func (r *Runner) runQueued(raw native.RawRunner, tensors native.RawTensors) (map[string]*Output, error) {
	var failure uintptr
	made := native.Raw_outputs_for(raw, tensors, &failure)
	if err := check(failure); err != nil {
		return nil, err
	}
	defer native.DeleteRawOutputs(made)
	c := newCall(r, make(chan *Call, 1))
	c.submit(func(raw native.RawRunner, id int64, failure *uintptr) int64 {
		return native.Raw_submit_tensors(raw, tensors, made, id, failure)
	})
	<-c.over
	if c.Error != nil {
		return nil, c.Error
	}
	if err := check(native.Raw_outputs_crop(made)); err != nil {
		return nil, err
	}
	return copyOutputs(made), nil
}

func runTensors(raw native.RawRunner, tensors native.RawTensors) (map[string]*Output, error) {
	var failure uintptr
	made := raw.Run(tensors, &failure)
	if err := check(failure); err != nil {
		return nil, err
	}
	defer native.DeleteRawOutputs(made)
	return copyOutputs(made), nil
}

func copyOutputs(made native.RawOutputs) map[string]*Output {
	outputs := map[string]*Output{}
	for i := int64(0); i < made.Count(); i++ {
		o := &Output{Name: made.Name(i), DType: DType(made.Dtype(i)), Shape: make([]int64, made.Rank(i)),
			bytes: made.Bytes(i)}
		for d := range o.Shape {
			o.Shape[d] = made.Dimension(i, int64(d))
		}
		o.words = make([]uint64, (o.bytes+7)/8)
		if o.bytes > 0 {
			native.Raw_copy(int64(uintptr(unsafe.Pointer(&o.words[0]))), made.Address(i), o.bytes)
		}
		outputs[o.Name] = o
	}
	return outputs
}

// Load opens a PopEF file, or compiles an ONNX model with the options. The result is stored in CachePath, else
// POPXL_CACHE_DIR or POPART_CACHE_DIR, else poprt in XDG_CACHE_HOME or ~/.cache, and later calls use it. If the model
// has variable dimensions, its shapes are compiled when a runner gets requests; then dimensions of anchors are -1
// unless the options fix them. On a PopEF file, only option custom_library_so_paths acts, and a warning in the log
// names the other options that only a compilation uses. If Shapes is "on_demand", the source in the file (EmbedSource)
// is compiled at other shapes, and only CachePath, Load, custom_library_so_paths and Progress may be given. Errors: as
// [Open] and [Compile]; FailedPrecondition if a PopEF file without a source, or one of several shapes, should be
// compiled. Since 1.0.
func Load(path string, options *CompileOptions) (e *Executable, err error) {
	err = withOptions(options, func(o native.RawCompileOptions) error {
		var failure uintptr
		e, err = newExecutable(native.RawExecutableLoad(path, o, &failure), failure)
		return err
	})
	return e, err
}

// LoadRunner is [Load] and [NewRunner]. Since 1.0.
func LoadRunner(path string, compile *CompileOptions, options *RunnerOptions) (*Runner, error) {
	e, err := Load(path, compile)
	if err != nil {
		return nil, err
	}
	defer e.Close() // the runner remains valid
	return NewRunner(e, options)
}

// Metadata returns the metadata of the ONNX model: producer_name, producer_version, domain, model_version, doc_string,
// graph_name, graph.doc_string, and its metadata_props as prop.KEY. The map only has entries that exist. Since 1.0.
func (e *Executable) Metadata() map[string]string {
	metadata := map[string]string{}
	raw, err := e.h.acquire()
	if err != nil {
		return metadata
	}
	defer e.h.release()
	for i := int64(0); i < raw.Metadata_count(); i++ {
		metadata[raw.Metadata_key(i)] = raw.Metadata_value(i)
	}
	return metadata
}
