package data_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
	"github.com/ebb-ml/ebb/internal/cpu"
)

func TestMain(m *testing.M) {
	code := m.Run()
	cpu.StopWorkers()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// runtimeOf returns a runtime that must end with nothing held.
func runtimeOf(t testing.TB, opts ...ebb.RuntimeOption) *ebb.Runtime {
	t.Helper()
	rt := ebb.NewRuntime(opts...)
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
		if s := rt.Stats(); s.Live.Current != 0 || s.Mapped != 0 || s.Owners != 0 {
			t.Errorf("after Close: live %d, mapped %d, owners %d", s.Live.Current, s.Mapped, s.Owners)
		}
	})
	return rt
}

// numbers is a data set whose sample i is the number i, n times, and i.
func numbers(rt *ebb.Runtime, n, width int) *data.TensorDataset {
	st := rt.NewStore("numbers")
	x, err := ebb.FromFunc(st, ebb.Shape{n, width}, func(x []float32) error {
		for i := range x {
			x[i] = float32(i / width)
		}
		return nil
	}, ebb.Input)
	if err != nil {
		panic(err)
	}
	return data.NewTensorDataset(x, ebb.Arange(st, 0, n, 1, ebb.Input))
}

// pass returns the targets of a pass, batch by batch, of at most take batches.
func pass(t testing.TB, l *data.Loader[data.Batch], take int) [][]int64 {
	t.Helper()
	out := [][]int64{}
	for b, err := range l.Batches(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b.Target.Int64s())
		if len(out) == take {
			break
		}
	}
	return out
}

func load(t testing.TB, file string, into any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
