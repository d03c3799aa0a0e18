package main

import (
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/bench/machine"
)

// A limit runs f with a load that keeps the cores that a row uses at their limit
// in the row's kind of work, or with nil if there is none to tell.
type limit func(f func(l *machine.Load) error) error

// noLimit is of work that no limit is known of.
func noLimit(f func(*machine.Load) error) error { return f(nil) }

// multiplies is the limit of float32 multiply-adds on so many cores.
func multiplies(cores int) limit {
	return func(f func(*machine.Load) error) error { return f(machine.Multiply(cores)) }
}

// moves is the limit of memory traffic: reading an array of so many elements,
// copying one to another, or adding two to a third, on so many cores.
func moves(arrays, elements, cores int) limit {
	return func(f func(*machine.Load) error) error {
		rt := ebb.NewRuntime()
		defer rt.Close()
		return withArrays(rt.NewStore("limit"), arrays, elements, nil, func(a [][]float32) error {
			a = append(a, nil, nil)
			return f(machine.Move(a[0], a[1], a[2], cores))
		})
	}
}

// withArrays calls f with arrays in memory as tensors have it. It makes one after
// another, and f runs while the last is being written.
func withArrays(store *ebb.Store, n, elements int, arrays [][]float32, f func([][]float32) error) error {
	_, err := ebb.FromFunc(store, ebb.Shape{elements}, func(x []float32) error {
		for i := range x {
			x[i] = 1
		}
		arrays := append(arrays, x)
		if len(arrays) < n {
			return withArrays(store, n, elements, arrays, f)
		}
		return f(arrays)
	})
	return err
}

// best is the highest rate that a limit's load reaches, or 0.
func (l limit) best(within time.Duration) (rate float64) {
	_ = guard(func() error { // no memory for it: there is no figure
		return l(func(load *machine.Load) error {
			if load != nil {
				rate = load.Best(within)
			}
			return nil
		})
	})
	return rate
}

// coresFor is how many cores an operation on so many elements is measured
// against: few are not worth a second one.
func coresFor(elements int) int {
	if elements > 1e5 {
		return cores()
	}
	return 1
}
