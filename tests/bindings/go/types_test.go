package scenario

import (
	"math"
	"reflect"
	"testing"

	poprt "poprt.example.org/bindings/go"
)

// A type of elements (scenario 79): an input, an output and the expected result.
type typed struct {
	name    string
	in, out poprt.Tensor
	same    func(o *poprt.Output) bool // compares a new output, and the memory of `out`
	retyped func(name string) poprt.Tensor
	refuses func(o *poprt.Output) bool // whether the output refuses this type
}

func of[T poprt.Element](name string, values ...T) typed {
	memory := make([]T, len(values))
	return typed{name, poprt.Named(name, values), poprt.Named(name+"_y", memory), func(o *poprt.Output) bool {
		found, err := poprt.Values[T](o)
		return err == nil && reflect.DeepEqual(found, values) && reflect.DeepEqual(memory, values)
	}, func(name string) poprt.Tensor { return poprt.Named(name, values) }, func(o *poprt.Output) bool {
		_, err := poprt.Values[T](o)
		return err != nil
	}}
}

// everyType returns the extremes of each type, and numbers that distinguish bytes.
func everyType() []typed {
	return []typed{
		of[float32]("f32", 1, -2, 0.5, math.MaxFloat32, 0x1p-126, 3), of[float64]("f64", 1, -2, 0.5, math.MaxFloat64, 0x1p-1022, 3),
		of[poprt.Float16]("f16", 0x3c00, 0x4000, 0x7bff, 0x0400, 0xc000, 0x3555),
		of[uint16]("bf16", 0x3f80, 0x4000, 0x7f7f, 0x0080, 0xc000, 0x3eab),
		of[int8]("s8", 1, -2, 3, -128, 127, 0x12), of[uint8]("u8", 1, 254, 3, 128, 127, 0x12),
		of[int16]("s16", 1, -2, 3, math.MinInt16, math.MaxInt16, 0x1234), of[uint16]("u16", 1, 65534, 3, 0, 65535, 0x1234),
		of[int32]("s32", 1, -2, 3, math.MinInt32, math.MaxInt32, 0x12345678),
		of[uint32]("u32", 1, 2, 3, 0, math.MaxUint32, 0x12345678),
		of[int64]("s64", 1, -2, 3, math.MinInt64, math.MaxInt64, 0x123456789abcdef0),
		of[uint64]("u64", 1, 2, 3, 0, math.MaxUint64, 0x123456789abcdef0), of[bool]("bool", true, false, true, true, true, false),
	}
}

func TestScenario79EveryType(t *testing.T) {
	r := runner(t, compile(t, "types.onnx", nil))
	all := everyType()
	var inputs, outputs []poprt.Tensor
	for _, one := range all {
		inputs, outputs = append(inputs, one.in), append(outputs, one.out)
	}
	made := must(r.Run(inputs...))
	ok(t, r.Execute(inputs, outputs))
	for i, one := range all {
		o := made[one.name+"_y"]
		if o.String() != one.name+"_y "+one.name+" [2,3]" {
			t.Errorf("%v", o)
		}
		if !one.same(o) {
			t.Errorf("%s comes back as %v", one.name, o.Bytes())
		}
		for j, other := range all {
			same := i == j || one.name == "bf16" && other.name == "u16" || one.name == "u16" && other.name == "bf16"
			if other.refuses(o) == same {
				t.Errorf("%v as %s", o, other.name)
			}
		}
	}
}

func TestScenario79OtherTypesAreRefused(t *testing.T) {
	r := runner(t, compile(t, "types.onnx", nil))
	for i, one := range everyType() {
		for j, other := range everyType() {
			same := i == j || one.name == "bf16" && other.name == "u16" || one.name == "u16" && other.name == "bf16"
			for _, name := range []string{one.name, one.name + "_y"} {
				var err error
				if name == one.name {
					_, err = r.Bind([]poprt.Tensor{other.retyped(name)}, nil)
				} else {
					_, err = r.Bind(nil, []poprt.Tensor{other.retyped(name)})
				}
				if same {
					continue // other tensors are missing
				}
				fails(t, err, poprt.InvalidArgument, "'"+name+"'", "elements of "+one.name)
			}
		}
	}
}
