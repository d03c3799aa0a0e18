//go:build !noasm

#include "textflag.h"

// func framePCs(pcs *[64]uintptr) int
//
// Every Go function that calls another keeps its caller's frame pointer at R29
// and its return address above it. On entry R29 is Here's: Go calls the
// assembly of its own package without a wrapper.
TEXT ·framePCs(SB), NOSPLIT|NOFRAME, $0-16
	MOVD pcs+0(FP), R0
	MOVD $0, R1
	MOVD R29, R2

loop:
	CBZ    R2, done
	MOVD   8(R2), R3
	MOVD.P R3, 8(R0)
	MOVD   (R2), R2
	ADD    $1, R1
	CMP    $64, R1
	BLT    loop

done:
	MOVD R1, ret+8(FP)
	RET
