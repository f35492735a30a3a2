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
	// <options:compile> made from capi/options.toml by tests/lint/option_fields.py --write
	// Fixes the variable dimensions of inputs, by name. None given: as the model says. Since 0.1.
	InputShapes map[string][]int64
	// Batch size of every input. 0: as the model says. Since 0.1.
	BatchSize int64
	// Which dimension the batch size is about. Since 0.1.
	BatchAxis int64
	// What to do with floating-point types. Default: as the model says. Since 0.1.
	Precision Precision
	// Whether not to verify the graph after each pass. Since 0.1.
	NoVerify bool
	// Passes to run after the default ones, of [ListPasses]. Since 0.1.
	Passes []string
	// Passes to leave out, of [ListPasses]. Since 0.1.
	SkipPasses []string
	// Constant folding makes nothing larger, in bytes. 0: no limit. Since 0.1.
	MaxTensorSize int64
	// Stops rewriting after so many rewrites, to find the one that is to blame. 0: no limit. Since 0.1.
	RewriteLimit int64
	// Name of the pass after which to stop. "": none. Since 0.1.
	StopAfter string
	// Hears how far a compilation is, from 0 to 1, and which step begins, on the compiling thread. Nil: nobody. The
	// caller's goroutine waits meanwhile. A panic in it comes out of the compiling function. Since 0.1.
	Progress func(done float64, what string)
	// Hears of each pass that was run, on the compiling thread. Nil: nobody. The caller's goroutine waits meanwhile. A
	// panic in it comes out of the compiling function. Since 0.1.
	AfterPass func(PassReport)
	// Outputs to keep, in this order. None given: all. Since 0.1.
	Outputs []string
	// Opset of the model that conversion writes, 11 to 28. 0: the model's. Since 1.0.
	ConvertVersion int64
	// OpsetVersion is ConvertVersion by its older name: only one of them may be set. Since 0.1.
	OpsetVersion int64
	// Engine caching: compile once, later map the file that the cache folder keeps under the hash of model (external
	// data included), options and version. A file that is damaged or belongs to something else is compiled again, with
	// a warning in the log. POPART_CACHE_DIR in the environment turns caching on as well, and is the folder when none
	// is given. Default: false. Since 1.0.
	EnableEngineCaching bool
	// Cache is EnableEngineCaching by its older name: only one of them may be set. Since 0.1.
	Cache bool
	// Whether external data may be reached through symbolic and hard links, wherever they lead (the layout of some
	// download caches). Only for models that are trusted. Default: false. Since 0.1.
	AllowLinks bool
	// Folder of engine caching, made when missing. "": POPART_CACHE_DIR from the environment, or session_cache. Since
	// 0.1.
	CachePath string
	// Whether named weights stay tensors of their own, which [Session.UpdateWeights] replaces and the save programs
	// return; slower, since weights are then not prepared ahead of time. Default: false. Since 0.1.
	VariableWeights bool
	// Elements of inputs that are sequences, by name, where no shapes of their elements NAME[0], NAME[1] ... tell; of
	// an optional one 0 or 1. None given: as the model says. Since 1.0.
	InputLengths map[string]int64
	// Bytes that lie in the PopEF file beside the executable, by name, for whoever runs it; a runner of
	// [NewHostConcatRunner] looks for "HostConcatRunnerConfig". Since 1.0.
	OpaqueBlobs map[string][]byte
	// Whether to refuse a model for what is a warning in the log otherwise: attributes that an operator does not have,
	// a domain without an opset import. Default: false. Since 1.0.
	Strict bool
	// What may compute 3x3 convolutions in 32 bits, besides direct sums. Default: what keeps each layer within 1e-4 of
	// exact sums. Since 1.0.
	Winograd Winograd
	// Options of command poprt by name, without dashes, those of other fields and more; [ListOptions] has them all. A
	// flag's value is "True" or "False", names are separated by commas, words by line feeds. One that is not available
	// is unimplemented; what tunes a chip goes into the PopEF file's metadata. Since 1.0.
	Options map[string]string
	// Whether the PopEF file holds the ONNX model (external data included, 2 GiB at most), so that `poprt_exec
	// recompile` needs nothing else. The file names the model in any case. Default: false. Since 1.0.
	EmbedSource bool
	// Adds shapes between the several that an input has, until a request computes at most this fraction of padding: 0.2
	// for a fifth, at most 0.9. Weights are stored once whatever the number of shapes. 0: none is added. Since 1.0.
	MaxPadding float64
	// </options:compile>
}

// <options:compile_functions> made from capi/options.toml by tests/lint/option_fields.py --write

// settled has each option under its newest name, and is checked.
func (o CompileOptions) settled() (CompileOptions, error) {
	var err error
	o.ConvertVersion = oneOf(&err, "ConvertVersion", o.ConvertVersion, "OpsetVersion", o.OpsetVersion)
	o.EnableEngineCaching = oneOf(&err, "EnableEngineCaching", o.EnableEngineCaching, "Cache", o.Cache)
	return o, err
}

func (o CompileOptions) fill(raw native.RawCompileOptions) {
	raw.Set_precision(int(o.Precision))
	raw.Set_verify(!o.NoVerify)
	raw.Set_max_tensor_size(o.MaxTensorSize)
	raw.Set_rewrite_limit(o.RewriteLimit)
	raw.Set_stop_after(o.StopAfter)
	raw.Set_convert_version(o.ConvertVersion)
	raw.Set_allow_links(o.AllowLinks)
	raw.Set_variable_weights(o.VariableWeights)
	raw.Set_strict(o.Strict)
	raw.Set_winograd(int(o.Winograd))
	raw.Set_embed_source(o.EmbedSource)
	raw.Set_max_padding(o.MaxPadding)
}

// </options:compile_functions>

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
	settled, err := options.settled()
	if err != nil {
		return err
	}
	options = &settled
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
	options.fill(o)
	o.Set_batch_size(options.BatchSize, options.BatchAxis)
	for _, p := range options.Passes {
		o.Add_pass(p)
	}
	for _, p := range options.SkipPasses {
		o.Add_skip_pass(p)
	}
	for _, name := range options.Outputs {
		o.Add_output(name)
	}
	o.Set_engine_caching(options.EnableEngineCaching, options.CachePath)
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
	err = use(o)
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
