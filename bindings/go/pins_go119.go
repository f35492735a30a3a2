//go:build !go1.21

package poprt

import "unsafe"

// pins does nothing: this runtime cannot pin, and does not move memory of its heap.
type pins struct{}

func (*pins) pin([]unsafe.Pointer) {}
