//go:build !go1.21

package poprt

import "unsafe"

// pins has no effect: this runtime cannot pin memory, and does not move memory of its heap.
type pins struct{}

func (*pins) pin([]unsafe.Pointer) {}
