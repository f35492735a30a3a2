package poprt

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unsafe"
)

// Float16 is the bits of a half-precision number.
type Float16 uint16

// ToFloat16 rounds to nearest, ties to even.
func ToFloat16(f float32) Float16 {
	b := math.Float32bits(f)
	sign, magnitude := uint16(b>>16)&0x8000, b&0x7fffffff
	switch {
	case magnitude > 0x7f800000: // NaN stays NaN
		return Float16(sign | 0x7e00 | uint16(magnitude>>13)&0x3ff)
	case magnitude >= 0x477ff000: // 65520 and more round to infinity
		return Float16(sign | 0x7c00)
	case magnitude >= 0x38800000: // normal: round the 13 bits away, a carry moves into the exponent
		return Float16(sign | uint16((magnitude-0x38000000+0xfff+magnitude>>13&1)>>13))
	default: // subnormal: a multiple of 2^-24, which is exact in float64
		return Float16(sign | uint16(math.RoundToEven(float64(math.Float32frombits(magnitude))*(1<<24))))
	}
}

// Float32 returns the number, which float32 represents exactly.
func (h Float16) Float32() float32 {
	sign, exponent, mantissa := uint32(h&0x8000)<<16, uint32(h>>10)&0x1f, uint32(h)&0x3ff
	switch exponent {
	case 0:
		f := float32(mantissa) / (1 << 24)
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | mantissa<<13)
	default:
		return math.Float32frombits(sign | (exponent+112)<<23 | mantissa<<13)
	}
}

// Element is the type of elements of inputs and outputs. Types that Go lacks are passed as unsigned integers of their
// size, and elements that are smaller than a byte are packed in uint8.
type Element interface {
	float32 | float64 | Float16 | int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | bool | complex64 |
		complex128
}

// Tensor is memory for one input or output. It refers to a slice and does not copy it.
type Tensor struct {
	name    string // "": by index
	index   int    // -1: by name; smaller: the index of At minus one
	dtype   DType  // Undefined: bytes of any type
	bytes   int64
	address unsafe.Pointer
	shape   []int64 // only if shaped
	shaped  bool
}

// Named is memory for the anchor of that name.
func Named[T Element](name string, slice []T) Tensor {
	t := At(0, slice)
	t.index, t.name = -1, name
	return t
}

// At is memory for the anchor of that index.
func At[T Element](index int, slice []T) Tensor {
	if index < 0 {
		index-- // -1 is for names
	}
	t := Tensor{index: index, dtype: dtypeOf[T](), bytes: int64(len(slice)) * int64(unsafe.Sizeof(*new(T)))}
	if len(slice) > 0 {
		t.address = unsafe.Pointer(&slice[0])
	}
	return t
}

// NamedBytes is memory for an anchor of any type.
func NamedBytes(name string, data []byte) Tensor {
	t := Named(name, data)
	t.dtype = Undefined
	return t
}

func dtypeOf[T Element]() DType {
	switch any(*new(T)).(type) {
	case float32:
		return F32
	case float64:
		return F64
	case Float16:
		return F16
	case int8:
		return S8
	case uint8:
		return U8
	case int16:
		return S16
	case uint16:
		return U16
	case int32:
		return S32
	case uint32:
		return U32
	case int64:
		return S64
	case uint64:
		return U64
	case bool:
		return Bool
	case complex64:
		return C64
	default:
		return C128
	}
}

// holds reports whether a slice of that type may be memory of an anchor. Types that Go lacks are passed as unsigned
// integers of their size, and elements that are smaller than a byte are packed in uint8.
func (d DType) holds(anchor DType) bool {
	switch {
	case d == Undefined || d == anchor:
		return true
	case d == U16:
		return anchor == BF16
	case d == U8:
		return anchor >= F8E4M3FN && anchor <= F4E2M1 || anchor == F8E8M0 || anchor == F8
	}
	return false
}

// number is the index of At.
func (t Tensor) number() int {
	if t.index < 0 {
		return t.index + 1
	}
	return t.index
}

// nothing is the address of empty tensors.
var nothing [64]byte

// find returns the index of a tensor's anchor, or len(anchors) if there is none.
func (t Tensor) find(anchors []Anchor) int {
	i := t.index
	if t.name != "" || i < 0 {
		for i = 0; i < len(anchors) && anchors[i].Name != t.name; i++ {
		}
	}
	if i < 0 || i > len(anchors) {
		i = len(anchors)
	}
	return i
}

// check compares the type with the anchor's, and checks that a shape without a slice has no elements, which the library
// cannot check.
func (t Tensor) check(kind string, a *Anchor) error {
	if !t.dtype.holds(a.DType) {
		return invalid(fmt.Sprintf("%s '%s': expected elements of %v, given %v", kind, a.Name, a.DType, t.dtype))
	}
	if t.shaped && t.bytes == 0 && (Anchor{Shape: t.shape}).Elements() != 0 {
		return invalid(fmt.Sprintf("%s '%s': shape %v has elements, the slice has none", kind, a.Name, t.shape))
	}
	return nil
}

// checkWhole is check for a whole anchor: the shape of the tensor, if any, must be that of the anchor.
func (t Tensor) checkWhole(kind string, a *Anchor) error {
	if err := t.check(kind, a); err != nil {
		return err
	}
	same := len(t.shape) == len(a.Shape)
	for i := 0; same && i < len(t.shape); i++ {
		same = t.shape[i] == a.Shape[i]
	}
	if t.shaped && !same {
		return invalid(fmt.Sprintf("%s '%s': expected %v%s, given %v%s", kind, a.Name, a.DType, shapeText(a.Shape), a.DType,
			shapeText(t.shape)))
	}
	return nil
}

// checkNamed is checkWhole for the anchor with that name, and succeeds if there is none.
func checkNamed(anchors []Anchor, name string, value Tensor) error {
	if i := Named(name, []byte{}).find(anchors); i < len(anchors) {
		return value.checkWhole("input", &anchors[i])
	}
	return nil
}

// endsAs reports whether the tensor may be a part or a multiple of that shape.
func (t Tensor) endsAs(shape []int64) bool {
	if len(t.shape) <= 1 {
		return true
	}
	rows := t.shape[1:]
	if len(rows) > len(shape) {
		return false
	}
	for i, d := range shape[len(shape)-len(rows):] {
		if rows[i] != d {
			return false
		}
	}
	return true
}

func shapeText(shape []int64) string { return strings.ReplaceAll(fmt.Sprint(shape), " ", ",") }

// entries appends index, address, bytes, type, rank and shape of each tensor to the table. The library reports missing
// and duplicate tensors, and wrong sizes and shapes.
func entries(table []int64, keep []unsafe.Pointer, kind string, anchors []Anchor, tensors []Tensor) ([]int64,
	[]unsafe.Pointer, error) {
	for _, t := range tensors {
		i := t.find(anchors)
		if i == len(anchors) {
			return nil, nil, &Error{Code: NotFound, Message: unknown(kind, t, anchors)}
		}
		if err := t.check(kind, &anchors[i]); err != nil {
			return nil, nil, err
		}
		at := t.address
		if at == nil {
			at = unsafe.Pointer(&nothing[0])
		}
		dtype := Undefined
		if t.shaped {
			dtype = anchors[i].DType
		}
		table = append(table, int64(i), int64(uintptr(at)), t.bytes, int64(dtype), int64(len(t.shape)))
		table = append(table, t.shape...)
		keep = append(keep, at)
	}
	return table, keep, nil
}

func unknown(kind string, t Tensor, anchors []Anchor) string {
	names := make([]string, len(anchors))
	for i, a := range anchors {
		names[i] = "'" + a.Name + "'"
	}
	wanted := "'" + t.name + "'"
	if t.index != -1 {
		wanted = strconv.Itoa(t.number())
	}
	return fmt.Sprintf("there is no %s %s; %ss are: %s", kind, wanted, kind, strings.Join(names, ", "))
}
