//go:build !noasm

#include "textflag.h"

// func framePCs(pcs *[64]uintptr) int
//
// Every Go function that calls another keeps its caller's frame pointer at BP
// and its return address above it. On entry BP is Here's: Go calls the
// assembly of its own package without a wrapper.
TEXT ·framePCs(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ pcs+0(FP), DI
	XORL AX, AX
	MOVQ BP, DX

loop:
	TESTQ DX, DX
	JZ    done
	MOVQ  8(DX), CX
	MOVQ  CX, (DI)(AX*8)
	MOVQ  (DX), DX
	INCQ  AX
	CMPQ  AX, $64
	JLT   loop

done:
	MOVQ AX, ret+8(FP)
	RET
