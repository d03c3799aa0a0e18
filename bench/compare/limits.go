package main

import (
	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/bench/machine"
)

// limits remembers what the machine was measured to do at most.
type limits struct {
	fma     map[int]float64
	traffic map[traffic]float64
}

// traffic is memory traffic of so many arrays of so many float32 each.
type traffic struct{ arrays, elements, cores int }

// flops returns the most float32 operations a second of so many cores.
func (l *limits) flops(cores int) float64 {
	if l.fma == nil {
		l.fma = map[int]float64{}
	}
	if _, ok := l.fma[cores]; !ok {
		l.fma[cores] = machine.FMA(cores)
	}
	return l.fma[cores]
}

// bytes returns the most bytes a second of reading an array (1), copying one to
// another (2), or adding two to a third (3), of that many elements each, by one
// core if they are few and by all otherwise.
func (l *limits) bytes(arrays, elements int) float64 {
	n := 1
	if elements > 1e5 {
		n = cores()
	}
	return l.bytesOf(traffic{arrays, elements, n})
}

func (l *limits) bytesOf(t traffic) float64 {
	if rate, ok := l.traffic[t]; ok {
		return rate
	}
	if l.traffic == nil {
		l.traffic = map[traffic]float64{}
	}
	err := guard(func() error {
		rt := ebb.NewRuntime()
		defer rt.Close()
		store := rt.NewStore("traffic")
		rate, err := bandwidth(store, t, nil)
		l.traffic[t] = rate
		return err
	})
	if err != nil { // no memory for it: there is no figure
		l.traffic[t] = 0
	}
	return l.traffic[t]
}

// bandwidth measures t in memory that tensors have. It makes one array after
// another and measures while the last is being written.
func bandwidth(store *ebb.Store, t traffic, arrays [][]float32) (rate float64, err error) {
	_, err = ebb.FromFunc(store, ebb.Shape{t.elements}, func(x []float32) error {
		for i := range x {
			x[i] = 1
		}
		arrays := append(arrays, x)
		if len(arrays) < t.arrays {
			rate, err = bandwidth(store, t, arrays)
			return err
		}
		arrays = append(arrays, nil, nil)
		rate = machine.Bandwidth(arrays[0], arrays[1], arrays[2], t.cores)
		return nil
	})
	return rate, err
}
