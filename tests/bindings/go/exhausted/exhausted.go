// Package exhausted calls functions while there is no memory for an object of C++; tests cannot call C themselves.
package exhausted

// void fail_next_allocation(int on);
import "C"

import "runtime"

// During calls call while its first allocation in C++ on this thread fails.
func During(call func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.fail_next_allocation(1)
	defer C.fail_next_allocation(0)
	return call()
}
