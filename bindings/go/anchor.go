package poprt

import (
	"fmt"
	"strings"

	"poprt.example.org/bindings/go/internal/native"
)

// DType is the type of elements.
type DType int32

const (
	Undefined DType = iota
	F32
	F64
	F16
	BF16
	S8
	U8
	S16
	U16
	S32
	U32
	S64
	U64
	Bool
	F8E4M3FN
	F8E4M3FNUZ
	F8E5M2
	F8E5M2FNUZ
	F8143
	F8152
	S4
	U4
	S2
	U2
	F4E2M1
	String
	C64
	C128
	F8E8M0
	F8 // generic, in PopEF files only
)

// String returns "f32" for F32.
func (d DType) String() string { return native.Raw_dtype_name(int(d)) }

// Bits is the number of bits of one element; 0 for strings.
func (d DType) Bits() int { return native.Raw_dtype_bits(int(d)) }

// Anchor describes an input or output of a model.
type Anchor struct {
	Name  string
	DType DType
	Shape []int64 // empty for a scalar; -1: runs may have any size there, because the shapes are compiled on demand
	Bytes int64   // memory that a run reads or writes; 0 if a dimension is -1
}

// Elements is the number of elements. It is meaningless if a dimension is -1.
func (a Anchor) Elements() int64 {
	n := int64(1)
	for _, d := range a.Shape {
		n *= d
	}
	return n
}

// String returns for example "image f32 [8,1,8,8]".
func (a Anchor) String() string {
	return fmt.Sprintf("%s %v [%s]", a.Name, a.DType, strings.Trim(strings.ReplaceAll(fmt.Sprint(a.Shape), " ", ","), "[]"))
}

// described returns for example "image f32 [8,1,8,8] -> scores f32 [8,10]", the texts of the anchors.
func described(inputs, outputs []Anchor) string {
	join := func(anchors []Anchor) string {
		texts := make([]string, len(anchors))
		for i, a := range anchors {
			texts[i] = a.String()
		}
		return strings.Join(texts, ", ")
	}
	return join(inputs) + " -> " + join(outputs)
}

func anchors(count int64, at func(int64) native.RawAnchor) []Anchor {
	list := make([]Anchor, count)
	for i := range list {
		raw := at(int64(i))
		shape := make([]int64, raw.Rank())
		for d := range shape {
			shape[d] = raw.Dimension(int64(d))
		}
		list[i] = Anchor{raw.Name(), DType(raw.Dtype()), shape, raw.Bytes()}
	}
	return list
}
