package poprt

import (
	"runtime"
	"time"

	"poprt.example.org/bindings/go/internal/native"
)

// Precision says what to do with floating-point types.
type Precision int

const (
	KeepPrecision Precision = iota // as the model says
	FP32
	FP16
)

// Winograd says what may compute 3x3 convolutions in 32 bits, besides direct sums. Since 1.0.
type Winograd int

const (
	DefaultWinograd Winograd = iota // what keeps each layer within 1e-4 of exact sums
	NoWinograd
	ExactWinograd // F(2x2), which rounds hardly more
	FastWinograd  // F(4x4) too, where that is faster
)

// CompileOptions of the compiler; the zero value, or nil, is the default.
type CompileOptions struct {
	InputShapes   map[string][]int64 // fixes variable dimensions
	InputLengths  map[string]int64   // elements of sequences whose elements' shapes do not tell; of an optional 0 or 1; since 1.0
	BatchSize     int64              // of every input; 0: as the model says
	BatchAxis     int64              // used with BatchSize
	Precision     Precision
	Winograd      Winograd // since 1.0
	NoVerify      bool     // do not verify the graph after each pass
	Passes        []string // run after the default ones
	SkipPasses    []string // left out
	Outputs       []string // outputs to keep; none: all
	MaxTensorSize int64    // bytes; constant folding makes nothing larger; 0: no limit
	RewriteLimit  int64    // stop rewriting after so many rewrites; 0: no limit
	StopAfter     string   // name of a pass
	OpsetVersion  int64    // of what Convert writes, 11 to 28; 0: the model's
	Cache         bool     // keep what was compiled in CachePath, and take it from there
	CachePath     string
	AllowLinks    bool // external data may be reached through symbolic and hard links; only for models that are trusted
	// OpaqueBlobs lie in the PopEF file beside the executable, by name, for whoever runs it. A runner of
	// [NewHostConcatRunner] looks for "HostConcatRunnerConfig". Since 1.0.
	OpaqueBlobs map[string][]byte
	// VariableWeights keeps weights as inputs that [Session.UpdateWeights] and [LightRunner.SetInput] replace; slower.
	VariableWeights bool
	// Strict refuses a model for what is a warning in the log otherwise, such as attributes that an operator does
	// not have. Since 1.0.
	Strict bool
	// EmbedSource keeps the ONNX model in the PopEF file, external data included, for poprt_exec recompile. Since 1.0.
	EmbedSource bool
	// Options of command poprt by name, without dashes; [ListOptions] has them all. What tunes a chip goes into the
	// PopEF file's metadata. Since 1.0.
	Options map[string]string
	// Progress is called with 0 to 1 and the name of a step, on another thread than the caller's goroutine while
	// that waits. A panic in it comes out of the compiling function.
	Progress func(done float64, what string)
	// AfterPass is called after each pass, as Progress. Since 1.0.
	AfterPass func(PassReport)
}

// PassReport says what a pass did.
type PassReport struct {
	Pass                    string
	Rewrites                int64
	Time                    time.Duration
	NodesBefore, NodesAfter int64 // of the graph
}

func withCompiler(options *CompileOptions, use func(native.RawCompiler) error) error {
	return withOptions(options, func(o native.RawCompileOptions) error {
		var failure uintptr
		compiler := native.NewRawCompiler(o, &failure)
		if err := check(failure); err != nil {
			return err
		}
		defer native.DeleteRawCompiler(compiler)
		return use(compiler)
	})
}

func withOptions(options *CompileOptions, use func(native.RawCompileOptions) error) error {
	if options == nil {
		options = &CompileOptions{}
	}
	o := native.NewRawCompileOptions()
	defer native.DeleteRawCompileOptions(o)
	for name, shape := range options.InputShapes {
		o.Add_input_shape(name, shape, int64(len(shape)))
	}
	for name, length := range options.InputLengths {
		o.Add_input_length(name, length)
	}
	for name, data := range options.OpaqueBlobs {
		address, keep := address(data)
		o.Add_opaque_blob(name, address, int64(len(data)))
		runtime.KeepAlive(keep)
	}
	for name, value := range options.Options {
		o.Add_option(name, value)
	}
	o.Set_allow_links(options.AllowLinks)
	o.Set_batch_size(options.BatchSize, options.BatchAxis)
	o.Set_precision(int(options.Precision))
	o.Set_winograd(int(options.Winograd))
	o.Set_verify(!options.NoVerify)
	o.Set_variable_weights(options.VariableWeights)
	o.Set_strict(options.Strict)
	o.Set_embed_source(options.EmbedSource)
	for _, p := range options.Passes {
		o.Add_pass(p)
	}
	for _, p := range options.SkipPasses {
		o.Add_skip_pass(p)
	}
	for _, name := range options.Outputs {
		o.Add_output(name)
	}
	o.Set_max_tensor_size(options.MaxTensorSize)
	o.Set_rewrite_limit(options.RewriteLimit)
	o.Set_stop_after(options.StopAfter)
	o.Set_convert_version(options.OpsetVersion)
	o.Set_engine_caching(options.Cache, options.CachePath)
	progress := native.Progress{Func: options.Progress}
	if options.AfterPass != nil {
		progress.After = func(pass string, rewrites int64, milliseconds float64, before, after int64) {
			took := time.Duration(milliseconds * float64(time.Millisecond))
			options.AfterPass(PassReport{pass, rewrites, took, before, after})
		}
	}
	function, afterPass, data, release := progress.Pointers()
	defer release()
	o.Set_callbacks(function, afterPass, data)
	err := use(o)
	if progress.Panic != nil {
		panic(progress.Panic)
	}
	return err
}

// Compile reads an ONNX file, converts and compiles it. Errors: NotFound, DataLoss (not ONNX), Unimplemented (an
// operator; the message names it), InvalidArgument (a shape that is not fixed).
func Compile(onnxPath string, options *CompileOptions) (e *Executable, err error) {
	err = withCompiler(options, func(c native.RawCompiler) error {
		var failure uintptr
		e, err = newExecutable(c.Compile_file(onnxPath, &failure), failure)
		return err
	})
	return e, err
}

// CompileBytes compiles the bytes of an ONNX file. External data is looked for in folder, "" forbids it.
func CompileBytes(onnx []byte, folder string, options *CompileOptions) (e *Executable, err error) {
	address, keep := address(onnx)
	defer runtime.KeepAlive(keep)
	err = withCompiler(options, func(c native.RawCompiler) error {
		var failure uintptr
		e, err = newExecutable(c.Compile_bytes(address, int64(len(onnx)), folder, &failure), failure)
		return err
	})
	return e, err
}

// CompileToPopEF compiles into a file, in less memory than Compile and Save.
func CompileToPopEF(onnxPath, popefPath string, options *CompileOptions) error {
	return withCompiler(options, func(c native.RawCompiler) error {
		return check(c.Compile_to_popef(onnxPath, popefPath))
	})
}

// Convert only converts, from ONNX file to ONNX file.
func Convert(onnxPath, outPath string, options *CompileOptions) error {
	return withCompiler(options, func(c native.RawCompiler) error {
		return check(c.Convert_file(onnxPath, outPath))
	})
}

// Show returns name, type and shape of every input and output of an ONNX file, one a line, without conversion. Variable
// dimensions are 0.
func Show(onnxPath string) (text string, err error) {
	err = withCompiler(nil, func(c native.RawCompiler) error {
		var failure uintptr
		text = native.TakeText(c.Show_file(onnxPath, &failure))
		return check(failure)
	})
	return text, err
}

// IOStatistics returns how many inputs and outputs an ONNX file has of each type and shape, one line each. Since 1.0.
func IOStatistics(onnxPath string) (text string, err error) {
	err = withCompiler(nil, func(c native.RawCompiler) error {
		var failure uintptr
		text = native.TakeText(c.Io_stat_file(onnxPath, &failure))
		return check(failure)
	})
	return text, err
}

// FuseModels writes several ONNX models as one, which compiles to what [FuseExecutables] makes. Errors: InvalidArgument
// (none, or one that is fused), Unimplemented (opsets that cannot become one). Since 1.0.
func FuseModels(onnxPaths []string, outPath string) error {
	models := native.NewRawOpenOptions()
	defer native.DeleteRawOpenOptions(models)
	for _, path := range onnxPaths {
		models.Add_path(path)
	}
	return check(native.RawCompilerFuse_files(models, outPath))
}

// ListPasses returns the compiler's passes, one a line.
func ListPasses() (string, error) {
	var failure uintptr
	text := native.RawCompilerList_passes(&failure)
	return native.TakeText(text), check(failure)
}

// ListOps returns the supported operators, one a line.
func ListOps() (string, error) {
	var failure uintptr
	text := native.RawCompilerList_ops(&failure)
	return native.TakeText(text), check(failure)
}

// LoadPlugin loads a library with operators, passes, patterns and transforms (docs/plugins.md), for all compilers and runners
// of the process; its code runs. The second time does nothing. Since 1.0.
func LoadPlugin(path string) error {
	return check(native.RawCompilerLoad_plugin(path))
}

// ListPlugins returns the libraries that are loaded, as JSON. Since 1.0.
func ListPlugins() (string, error) {
	var failure uintptr
	text := native.RawCompilerList_plugins(&failure)
	return native.TakeText(text), check(failure)
}

// ListOptions returns all options by name, as JSON. Since 1.0.
func ListOptions() (string, error) {
	var failure uintptr
	text := native.RawCompilerList_options(&failure)
	return native.TakeText(text), check(failure)
}
