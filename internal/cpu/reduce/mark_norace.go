//go:build !race

package reduce

import "unsafe"

func markRead(unsafe.Pointer, int) {}

func markWrite(unsafe.Pointer, int) {}
