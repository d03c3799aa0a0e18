//go:build !race

package index

import "unsafe"

func markRead(unsafe.Pointer, int) {}

func markWrite(unsafe.Pointer, int) {}
