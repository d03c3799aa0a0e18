//go:build !noasm

package machine

// fmaNEON does steps times 24 independent multiply-adds of four float32. It is in
// loops_arm64.s.
//
//go:noescape
func fmaNEON(steps int)

// fmaLoop returns the processor's loop of multiply-adds and the operations of
// one of its steps.
func fmaLoop() (loop func(steps int), flops float64) { return fmaNEON, 24 * 4 * 2 }

func movers() []mover { return []mover{goMover} }
