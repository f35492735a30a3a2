package poprt

import (
	"fmt"
	"runtime"
	"sort"
	"strings"

	"poprt.example.org/bindings/go/internal/native"
)

// PassCall is a pass with its arguments by name: a flag is "True" or "False", a number its digits; names are separated
// by commas, words by line feeds. Since 1.0.
type PassCall struct {
	Name      string
	Arguments map[string]string
}

// PassOptions are the options of passes on a model in memory. Since 1.0.
type PassOptions struct {
	Sort         bool   // order the passes by their dependencies, which are added, instead of using the given order
	NoVerify     bool   // do not verify the graph after each pass
	AllowLinks   bool   // allow links to external data; only for trusted models
	Strict       bool   // warnings about a model are errors
	RewriteLimit int64  // stop after this number of rewrites; 0: no limit
	Folder       string // of external data; "": external data is an error
}

func withPasses(calls []PassCall, options PassOptions, use func(native.RawPasses) error) (refused error) {
	defer refuse(&refused)
	raw := native.NewRawPasses()
	defer native.DeleteRawPasses(raw)
	for _, call := range calls {
		raw.Add(call.Name)
		names := make([]string, 0, len(call.Arguments))
		for name := range call.Arguments {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			raw.Add_argument(name, call.Arguments[name])
		}
	}
	raw.Set_sort(options.Sort)
	raw.Set_verify(!options.NoVerify)
	raw.Set_allow_links(options.AllowLinks)
	raw.Set_strict(options.Strict)
	raw.Set_rewrite_limit(options.RewriteLimit)
	return use(raw)
}

// CheckPasses checks names and arguments of passes without a model. Errors: NotFound (a pass), InvalidArgument (an
// argument). Since 1.0.
func CheckPasses(calls []PassCall) error {
	return withPasses(calls, PassOptions{}, func(raw native.RawPasses) error { return check(raw.Check()) })
}

// ApplyPasses runs passes on the bytes of an ONNX model and returns the bytes of the result. The output of passes that
// inspect the model is written to the standard output. Errors: those of [CheckPasses], of a pass, and of the import of
// the model. Since 1.0.
func ApplyPasses(onnx []byte, calls []PassCall, options PassOptions) (made []byte, err error) {
	address, keep := address(onnx)
	defer runtime.KeepAlive(keep)
	err = withPasses(calls, options, func(raw native.RawPasses) error {
		var failure uintptr
		result := raw.Apply_to(address, int64(len(onnx)), options.Folder, &failure)
		if err := check(failure); err != nil {
			return err
		}
		defer native.DeleteRawPassResult(result)
		fmt.Print(result.Text())
		made = native.CopyBytes(result)
		return nil
	})
	return made, err
}

// SortPasses returns the names in a valid order, with the passes that must run before them. Errors: NotFound (a pass),
// FailedPrecondition (they exclude each other). Since 1.0.
func SortPasses(names ...string) (sorted []string, err error) {
	calls := make([]PassCall, len(names))
	for i, name := range names {
		calls[i].Name = name
	}
	err = withPasses(calls, PassOptions{}, func(raw native.RawPasses) error {
		var failure uintptr
		text := native.TakeText(raw.In_order(&failure))
		sorted = strings.Fields(text)
		return check(failure)
	})
	return sorted, err
}

// ListPassesJSON returns all passes with their descriptions, as a JSON array. Since 1.0.
func ListPassesJSON() (string, error) {
	var failure uintptr
	text := native.RawPassesList_json(&failure)
	return native.TakeText(text), check(failure)
}
