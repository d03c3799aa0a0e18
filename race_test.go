//go:build race

package ebb_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ebb-ml/ebb"
)

// The race detector sees tensor memory: a planted race on it, between a kernel
// and a reader or between two kernels, is caught. Each is run in a process of
// its own, since a race fails its test.
func TestRacesOnTensorsAreCaught(t *testing.T) {
	for name, plant := range map[string]func(x, y *ebb.Tensor){
		"elementwise against a reader": func(x, y *ebb.Tensor) {
			againstReader(x, func() { x.Add_(y) })
		},
		"matrix product against a reader": func(x, y *ebb.Tensor) {
			z := x.MatMul(y)
			againstReader(z, func() { z.Copy_(x.MatMul(y)) })
		},
		"a product's operand against a writer": func(x, y *ebb.Tensor) {
			x.Read(func(data []float32) {
				go x.MatMul(y)
				time.Sleep(50 * time.Millisecond)
				data[0] = 7
			})
		},
		"optimizer against a reader": func(x, y *ebb.Tensor) {
			againstReader(x, func() { ebb.SGD_([]*ebb.Tensor{x}, []*ebb.Tensor{y}, nil, &ebb.SGDOptions{LR: 1}) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			if os.Getenv("EBB_PLANT_RACE") != "" {
				rt := ebb.NewRuntime()
				s := rt.NewScope("race")
				plant(ebb.Ones(s, ebb.Shape{64, 64}), ebb.Ones(s, ebb.Shape{64, 64}))
				return
			}
			cmd := exec.Command(os.Args[0], "-test.run", "^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.timeout", "60s")
			cmd.Env = append(os.Environ(), "EBB_PLANT_RACE=1")
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "DATA RACE") {
				t.Errorf("the race was not caught: %v\n%s", err, out)
			}
		})
	}
}

// againstReader reads x while write runs, with nothing that orders the two.
func againstReader(x *ebb.Tensor, write func()) {
	x.Read(func(data []float32) {
		go write()
		time.Sleep(50 * time.Millisecond)
		sink = data[0]
	})
}

// raceDetector says that sync.Pool drops what it holds at random.
const raceDetector = true

var sink float32
