package poprt

import (
	"runtime"
	"time"

	"poprt.example.org/bindings/go/internal/native"
)

// Precision is the conversion of floating-point types.
type Precision int

const (
	KeepPrecision Precision = iota // unchanged
	FP32
	FP16
)

// Winograd selects the algorithms that may compute 3x3 convolutions in 32 bits instead of direct sums. Since 1.0.
type Winograd int

const (
	DefaultWinograd Winograd = iota // the one that keeps each layer within 1e-4 of exact sums
	NoWinograd
	ExactWinograd // F(2x2), which adds little rounding
	FastWinograd  // also F(4x4) where that is faster
)

// CompileOptions are the options of the compiler; the zero value, or nil, is the default.
type CompileOptions struct {
	// <options:compile> made from capi/option_fields.toml by tests/lint/option_fields.py --write
	// Shapes that fix the variable dimensions of inputs, by name. None given: the model's shapes. Since 0.1.
	InputShapes map[string][]int64
	// Batch size of every input. 0: the model's. Since 0.1.
	BatchSize int64
	// The dimension that has the batch size. Since 0.1.
	BatchAxis int64
	// The precision of floating-point tensors. Default: the model's types. Since 0.1.
	Precision Precision
	// Whether to omit the verification of the graph after each pass. Since 0.1.
	NoVerify bool
	// Passes to run after the default ones, of [ListPasses]. Since 0.1.
	Passes []string
	// Passes to leave out, of [ListPasses]. They also do not run in the compilation and if they are given as passes to
	// run. Since 0.1.
	SkipPasses []string
	// The largest constant that constant folding makes, in bytes. All constants together have a limit in any case. 0:
	// only that limit. Since 0.1.
	MaxTensorSize int64
	// The passes stop after this number of rewrites. A bisection of the limit finds the rewrite that makes a result
	// wrong. 0: no limit. Since 0.1.
	RewriteLimit int64
	// Name of the last pass of the conversion to run. The passes that a compilation needs run in any case, up to this
	// one in the stage that has it. "": all passes run. Since 0.1.
	StopAfter string
	// A function that is called on the compiling thread when a step begins, with the progress from 0 to 1 and the name
	// of the step. Nil: none. The goroutine of the caller waits during the call. The compiling function passes a panic
	// of it on. Since 0.1.
	Progress func(done float64, what string)
	// A function that is called on the compiling thread after each pass. Nil: none. The goroutine of the caller waits
	// during the call. The compiling function passes a panic of it on. Since 0.1.
	AfterPass func(PassReport)
	// Outputs to keep, in this order. None given: all. Since 0.1.
	Outputs []string
	// Opset of the converted model, 11 to 28. 0: the model's. Since 1.0.
	ConvertVersion int64
	// OpsetVersion is ConvertVersion by its older name: only one of them may be set. Since 0.1.
	OpsetVersion int64
	// Whether to use the engine cache. A model is compiled once; later compilations map the file that the cache folder
	// has under the hash of the model (including external data), the options and the version. If the file is damaged or
	// has another content, the model is compiled again, with a warning in the log. A file of a user other than root and
	// that of the process is not used, nor a folder to which every user can write, unless it is sticky: the model is
	// compiled without the cache, with a warning. POPXL_CACHE_DIR or POPART_CACHE_DIR in the environment turns the
	// cache on, too, and is the folder if none is given. Default: false. Since 1.0.
	EnableEngineCaching bool
	// Cache is EnableEngineCaching by its older name: only one of them may be set. Since 0.1.
	Cache bool
	// Whether external data may be reached through symbolic and hard links, even if they lead out of the model's
	// folder, as in some download caches. Use this only for trusted models. Default: false. Since 0.1.
	AllowLinks bool
	// Folder of the engine cache, which is created if it does not exist. "": POPXL_CACHE_DIR or POPART_CACHE_DIR from
	// the environment, or session_cache. Since 0.1.
	CachePath string
	// Whether named weights stay separate tensors, which [Session.UpdateWeights] replaces and the save programs return.
	// Runs are slower, because such weights are not packed ahead of time. Default: false. Since 0.1.
	VariableWeights bool
	// Number of elements of inputs that are sequences, by name; of an optional input 0 or 1. A sequence whose elements
	// NAME[0], NAME[1] ... have shapes in the options does not need it. None given: the model's. Since 1.0.
	InputLengths map[string]int64
	// Bytes that are stored in the PopEF file next to the executable, by name, for the program that runs it. A runner
	// of [NewHostConcatRunner] reads "HostConcatRunnerConfig". Since 1.0.
	OpaqueBlobs map[string][]byte
	// Whether to refuse a model that otherwise causes a warning in the log: an attribute that the operator does not
	// have, or a domain without an opset import. Default: false. Since 1.0.
	Strict bool
	// The Winograd algorithm that may compute 3x3 convolutions in 32 bits instead of direct sums. Default: the one that
	// keeps each layer within 1e-4 of exact sums. Since 1.0.
	Winograd Winograd
	// Options of the command poprt by name, without dashes; [ListOptions] returns all of them, including those of the
	// other fields. The value of a flag is "True" or "False"; commas separate names, line feeds separate words. An
	// option that is not available fails with unimplemented. Options that tune a chip are stored in the metadata of the
	// PopEF file. Since 1.0.
	Options map[string]string
	// Whether the PopEF file contains the ONNX model (including external data, at most 2 GiB), so that `poprt_exec
	// recompile` needs no other file. Without it, the file contains only the path of the model. Default: false. Since
	// 1.0.
	EmbedSource bool
	// The largest fraction of a request's computation that may be padding, for example 0.2 and at most 0.9. If an input
	// has several shapes, shapes between them are added until this holds. Weights are stored once for any number of
	// shapes. 0: no shape is added. Since 1.0.
	MaxPadding float64
	// How the ONNX model and its external data are read: "map" uses weights in memory maps of the files; "copy" copies
	// them into memory. If a mapped file is truncated, the process receives SIGBUS; with "copy" this is an error. "":
	// "map". Since 1.0.
	Load string
	// How a model with variable dimensions gets its shapes: "on_demand" compiles each shape when its first request
	// arrives, and InputShapes or BatchSize is the shape that is compiled ahead; "buckets" compiles the shapes of
	// InputShapes and pads requests to them; "fixed" compiles one shape. "on_demand" needs a function that loads a
	// model to run it: an ONNX file, or a PopEF file that was compiled with EmbedSource, which also has the other
	// options. "": "buckets" if an input has several shapes; else "on_demand" for an ONNX model that is loaded to run
	// it; else "fixed". Since 1.0.
	Shapes string
	// Sets of shapes of inputs, by name: the model is compiled at all of them, and a request is padded to the next
	// larger set. None given: the shapes of inputs. Since 1.0.
	ShapeSets []map[string][]int64
	// </options:compile>
}

// <options:compile_functions> made from capi/option_fields.toml by tests/lint/option_fields.py --write

// settled returns the options, each under its newest name, or an error for a value that is refused.
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
	raw.Set_load(o.Load)
	raw.Set_shapes(o.Shapes)
}

// </options:compile_functions>

// PassReport is the effect of a pass.
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

func withOptions(options *CompileOptions, use func(native.RawCompileOptions) error) (refused error) {
	defer refuse(&refused)
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
	for _, set := range options.ShapeSets {
		for name, shape := range set {
			o.Add_input_shape(name, shape, int64(len(shape)))
		}
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

// Compile reads an ONNX file, converts and compiles it. Errors: NotFound (the file, a pass or a plug-in),
// PermissionDenied, DataLoss (damaged), Unimplemented (an operator, type, opset or option; the message names it),
// InvalidArgument (an option, not ONNX, a shape that is not fixed, or an ill-formed model), FailedPrecondition (the
// compiler is not installed).
func Compile(onnxPath string, options *CompileOptions) (e *Executable, err error) {
	err = withCompiler(options, func(c native.RawCompiler) error {
		var failure uintptr
		e, err = newExecutable(c.Compile_file(onnxPath, &failure), failure)
		return err
	})
	return e, err
}

// CompileBytes compiles the bytes of an ONNX file. The folder contains external data; "" makes external data an error.
// Errors: as [Compile].
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

// CompileToPopEF compiles into a PopEF file, with less memory than [Compile] and [Executable.Save]. Errors: those of
// [Compile] and [Executable.Save], and InvalidArgument (both paths are one file).
func CompileToPopEF(onnxPath, popefPath string, options *CompileOptions) error {
	return withCompiler(options, func(c native.RawCompiler) error {
		return check(c.Compile_to_popef(onnxPath, popefPath))
	})
}

// Convert converts an ONNX file to an ONNX file without compiling it. Errors: as [CompileToPopEF], and DataLoss (with
// option check, the results of both models differ).
func Convert(onnxPath, outPath string, options *CompileOptions) error {
	return withCompiler(options, func(c native.RawCompiler) error {
		return check(c.Convert_file(onnxPath, outPath))
	})
}

// Show returns name, type and shape of every input and output of an ONNX file, one per line, without conversion.
// A variable dimension has its name, or ? if it has none. Errors: NotFound, DataLoss (damaged), InvalidArgument (not
// ONNX, or an ill-formed model).
func Show(onnxPath string) (text string, err error) {
	err = withCompiler(nil, func(c native.RawCompiler) error {
		var failure uintptr
		text = native.TakeText(c.Show_file(onnxPath, &failure))
		return check(failure)
	})
	return text, err
}

// IOStatistics returns the number of inputs and outputs of an ONNX file for each type and shape, one line each. A
// variable dimension has its name, or ? if it has none. Errors: as [Show]. Since 1.0.
func IOStatistics(onnxPath string) (text string, err error) {
	err = withCompiler(nil, func(c native.RawCompiler) error {
		var failure uintptr
		text = native.TakeText(c.Io_stat_file(onnxPath, &failure))
		return check(failure)
	})
	return text, err
}

// FuseModels writes several ONNX models as one. Compiling the result is equivalent to [FuseExecutables]. Errors:
// InvalidArgument (no models, a model that is fused, or two versions of a domain other than that of ONNX),
// Unimplemented (opsets that cannot be converted to one), and those of reading and writing ONNX. Since 1.0.
func FuseModels(onnxPaths []string, outPath string) (refused error) {
	defer refuse(&refused)
	models := native.NewRawOpenOptions()
	defer native.DeleteRawOpenOptions(models)
	for _, path := range onnxPaths {
		models.Add_path(path)
	}
	return check(native.RawCompilerFuse_files(models, outPath))
}

// ListPasses returns the compiler's passes, one per line.
func ListPasses() (string, error) {
	var failure uintptr
	text := native.RawCompilerList_passes(&failure)
	return native.TakeText(text), check(failure)
}

// ListOps returns the supported operators with their opsets, one per line.
func ListOps() (string, error) {
	var failure uintptr
	text := native.RawCompilerList_ops(&failure)
	return native.TakeText(text), check(failure)
}

// LoadPlugin loads a library with operators, passes, patterns and transforms (docs/plugins.md), for all compilers and
// runners of the process. Its code is executed. Loading it again has no effect. Errors: NotFound (no such file),
// FailedPrecondition (not a plug-in, or one for another version), AlreadyExists (a name is in use), and those of its
// init. Since 1.0.
func LoadPlugin(path string) (refused error) {
	defer refuse(&refused)
	return check(native.RawCompilerLoad_plugin(path))
}

// ListPlugins returns the loaded libraries as JSON. Since 1.0.
func ListPlugins() (string, error) {
	var failure uintptr
	text := native.RawCompilerList_plugins(&failure)
	return native.TakeText(text), check(failure)
}

// ListOptions returns the options by name (CompileOptions.Options) as a JSON object. Since 1.0.
func ListOptions() (string, error) {
	var failure uintptr
	text := native.RawCompilerList_options(&failure)
	return native.TakeText(text), check(failure)
}
