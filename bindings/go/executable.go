package poprt

import (
	"fmt"
	"runtime"
	"unsafe"

	"poprt.example.org/bindings/go/internal/native"
)

// Executable is a compiled model. It does not change.
type Executable struct {
	h               *handle[native.RawExecutable]
	inputs, outputs []Anchor
	name            string
}

func newExecutable(raw native.RawExecutable, err uintptr) (*Executable, error) {
	if err := check(err); err != nil {
		return nil, err
	}
	return &Executable{
		newHandle(raw, native.DeleteRawExecutable),
		anchors(raw.Input_count(), raw.Input_anchor),
		anchors(raw.Output_count(), raw.Output_anchor),
		raw.Name(),
	}, nil
}

// Open maps a PopEF file and checks it. Do not change the file while it is in use; replacing it by rename is safe.
// Errors: NotFound, PermissionDenied, InvalidArgument (a folder, device or pipe), DataLoss (not a PopEF file, damaged),
// FailedPrecondition (another version, or several executables in one file).
func Open(path string) (_ *Executable, refused error) {
	defer refuse(&refused)
	var err uintptr
	return newExecutable(native.RawExecutableOpen_file(path, &err), err)
}

// OpenOptions are the options of [OpenFiles]; the zero value is the default.
type OpenOptions struct {
	IgnorePackageHash bool   // also open executables that another version compiled
	Executable        string // its name if there are several
}

// OpenFiles opens several files, in any order, that form one model. Errors: as [Open].
func OpenFiles(paths []string, options OpenOptions) (_ *Executable, refused error) {
	defer refuse(&refused)
	o := native.NewRawOpenOptions()
	defer native.DeleteRawOpenOptions(o)
	for _, p := range paths {
		o.Add_path(p)
	}
	o.Set_ignore_package_hash(options.IgnorePackageHash)
	o.Set_executable(options.Executable)
	var err uintptr
	return newExecutable(native.RawExecutableOpen_files(o, &err), err)
}

// FuseExecutables makes one executable of several: inputs and outputs of the first are called graph0/NAME, of the
// second graph1/NAME and so on. Equal weights are stored once. A [Runner] selects the model by the names of a request.
// Errors: InvalidArgument (none, more than 1024, or one that is fused, has several shapes, replicas in the program, a
// feed, or another number of batches per step than the first), FailedPrecondition (one has no shape that was compiled
// ahead), Unimplemented (one is for several IPUs, and another one has load or save programs), ResourceExhausted.
// Since 1.0.
func FuseExecutables(executables []*Executable) (_ *Executable, refused error) {
	defer refuse(&refused)
	list := native.NewRawExecutables()
	defer native.DeleteRawExecutables(list)
	for _, e := range executables {
		raw, err := e.acquire()
		if err != nil {
			return nil, err
		}
		defer e.h.release()
		list.Add(raw)
	}
	var failure uintptr
	return newExecutable(native.RawExecutableFuse(list, &failure), failure)
}

// OpenModel opens a model that was assembled from PopEF files. The model and its reader may be closed afterwards. The
// option Executable is ignored. Errors: as [OpenFiles]. Since 1.0.
func OpenModel(model *PopEFModel, options OpenOptions) (_ *Executable, refused error) {
	defer refuse(&refused)
	raw, err := model.h.acquire()
	if err != nil {
		return nil, err
	}
	defer model.h.release()
	o := native.NewRawOpenOptions()
	defer native.DeleteRawOpenOptions(o)
	o.Set_ignore_package_hash(options.IgnorePackageHash)
	var failure uintptr
	return newExecutable(native.RawExecutableOpen_model(raw, o, &failure), failure)
}

// PopEFModel returns the blobs: metadata, executable, data, opaque blobs. They outlive the executable, and are a copy
// if it came from the compiler. Since 1.0.
func (e *Executable) PopEFModel() (*PopEFModel, error) {
	raw, err := e.h.acquire()
	if err != nil {
		return nil, err
	}
	defer e.h.release()
	var failure uintptr
	model := raw.Popef_model(&failure)
	if err := check(failure); err != nil {
		return nil, err
	}
	return newPopEFModel(model, nil)
}

// OpenBytes opens a PopEF file in memory. The bytes are copied. Errors: DataLoss, FailedPrecondition (as [Open]).
func OpenBytes(data []byte) (*Executable, error) {
	address, keep := address(data)
	defer runtime.KeepAlive(keep)
	var err uintptr
	return newExecutable(native.RawExecutableOpen_bytes(address, int64(len(data)), &err), err)
}

// address returns the address of memory and the object for runtime.KeepAlive. The memory is on the heap, because that
// object escapes.
func address(data []byte) (int64, any) {
	if len(data) == 0 {
		return 0, nil
	}
	return int64(uintptr(unsafe.Pointer(&data[0]))), &data[0]
}

// Close is optional; runners and sessions of the executable continue to work.
func (e *Executable) Close() error { return e.h.Close() }

// Inputs returns the inputs in the model's order.
func (e *Executable) Inputs() []Anchor { return e.inputs }

// Outputs returns the outputs in the model's order.
func (e *Executable) Outputs() []Anchor { return e.outputs }

// acquire acquires the handle of an executable, which may be nil.
func (e *Executable) acquire() (native.RawExecutable, error) {
	if e == nil {
		return nil, invalid("the executable is nil")
	}
	return e.h.acquire()
}

// String describes the executable.
func (e *Executable) String() string {
	return fmt.Sprintf("executable %s: %s", e.name, described(e.inputs, e.outputs))
}

// Name returns the name of the model.
func (e *Executable) Name() string { return e.name }

// Bytes returns the executable as the bytes of a PopEF file, which [OpenBytes] opens.
func (e *Executable) Bytes() ([]byte, error) {
	raw, err := e.h.acquire()
	if err != nil {
		return nil, err
	}
	defer e.h.release()
	var failure uintptr
	blob := raw.Save_bytes(&failure)
	if err := check(failure); err != nil {
		return nil, err
	}
	defer native.DeleteRawBlob(blob)
	return native.CopyBytes(blob), nil
}

// <functions:executable> made from capi/functions.toml by tests/lint/functions.py --write

// Save writes a PopEF file. The file is written completely or not at all, and replaces an existing file. Errors:
// NotFound (the folder does not exist); PermissionDenied (the file cannot be created); ResourceExhausted (the disk is
// full). Since 0.1.
func (e *Executable) Save(path string) error {
	return callOf(e.h, func(raw native.RawExecutable) uintptr { return raw.Save(path) })
}

// SaveParts writes the program with its metadata to one PopEF file, and the weights to another. Variable weights are
// stored by name. Each file is written completely or not at all. Errors: InvalidArgument (both paths are one file);
// NotFound (a folder does not exist); PermissionDenied (a file cannot be created); ResourceExhausted (the disk is
// full). Since 0.1.
func (e *Executable) SaveParts(executablePath, variablesPath string) error {
	return callOf(e.h, func(raw native.RawExecutable) uintptr { return raw.Save_parts(executablePath, variablesPath) })
}

// WeightsBytes is the size of the constants in bytes. Since 0.1.
func (e *Executable) WeightsBytes() int64 { return valueOf(e.h, native.RawExecutable.Weights_bytes) }

// ArenaBytes is the size of the device memory that one run needs, in bytes. Since 0.1.
func (e *Executable) ArenaBytes() int64 { return valueOf(e.h, native.RawExecutable.Arena_bytes) }

// Listing is the program as text for people. The format may change. Since 0.1.
func (e *Executable) Listing() (string, error) { return textOf(e.h, native.RawExecutable.Listing) }

// BatchingRefusal is why a runner refuses a batching dimension. The text is empty if requests with any number of rows
// along the dimension may share a batch, because no row changes the results of another. Errors: InvalidArgument (the
// first input has no such dimension); FailedPrecondition (the executable does not state it, because an earlier version
// compiled the model). Since 1.0.
func (e *Executable) BatchingRefusal(dimension int) (string, error) {
	return textOf(e.h, func(raw native.RawExecutable, failure *uintptr) uintptr {
		return raw.Batching_refusal(int64(dimension), failure)
	})
}

// Estimate is what the model costs on a chip, as option `estimate` of the compiler stored it: a JSON object. Errors:
// NotFound (the executable was compiled without the option). Since 1.0.
func (e *Executable) Estimate() (string, error) { return textOf(e.h, native.RawExecutable.Estimate) }

// </functions:executable>
