//go:build !race

package loss

import "unsafe"

func markRead(unsafe.Pointer, int) {}

func markWrite(unsafe.Pointer, int) {}
