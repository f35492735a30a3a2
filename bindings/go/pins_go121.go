//go:build go1.21

package poprt

import (
	"runtime"
	"unsafe"
)

// pins says to the runtime what is true anyway, that the memory does not move, and lets cgo's checks agree.
type pins struct{ pinner *runtime.Pinner }

func (p *pins) pin(pointers []unsafe.Pointer) {
	p.pinner = &runtime.Pinner{}
	for _, at := range pointers {
		p.pinner.Pin(at)
	}
	// A pinner that is collected while it pins something is reported as a leak.
	runtime.SetFinalizer(p.pinner, func(p *runtime.Pinner) { p.Unpin() })
}
