//go:build go1.21

package poprt

import (
	"runtime"
	"unsafe"
)

// pins pins memory, which does not move in any case, to satisfy cgo's checks.
type pins struct{ pinner *runtime.Pinner }

func (p *pins) pin(pointers []unsafe.Pointer) {
	p.pinner = &runtime.Pinner{}
	for _, at := range pointers {
		p.pinner.Pin(at)
	}
	// A pinner that is collected while it pins something is reported as a leak.
	runtime.SetFinalizer(p.pinner, func(p *runtime.Pinner) { p.Unpin() })
}
