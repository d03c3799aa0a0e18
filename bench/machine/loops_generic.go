//go:build noasm || !(amd64 || arm64)

package machine

func fmaLoop() (loop func(steps int), flops float64) { return nil, 0 }

func movers() []mover { return []mover{goMover} }
