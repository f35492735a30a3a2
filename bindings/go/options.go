package poprt

import (
	"fmt"
	"math"
)

// oneOf returns the value of an option with two names. It is an error to set both.
func oneOf[T comparable](err *error, name string, value T, olderName string, older T) T {
	var unset T
	if older == unset {
		return value
	}
	if value != unset && *err == nil {
		*err = invalid(fmt.Sprintf("%s and %s are one option, given as %v and as %v", name, olderName, value, older))
	}
	return older
}

// check32 refuses numbers that do not fit into 32 bits.
func check32(err *error, name string, n int) {
	if (n < math.MinInt32 || n > math.MaxInt32) && *err == nil {
		*err = invalid(fmt.Sprintf("%s is a 32-bit number, given %d", name, n))
	}
}
