package data_test

import (
	"context"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/data"
)

func TestQuick(t *testing.T) {
	rt := ebb.NewRuntime()
	rt.ManualSeed(0)
	st := rt.NewStore("data")
	x := ebb.Arange(st, 0, 20, 1, ebb.Float32).View(10, 2)
	set := data.NewTensorDataset(x, ebb.Arange(st, 0, 10, 1))
	l := data.NewLoader(set, data.BatchSize(4), data.Shuffle())
	for b, err := range l.Batches(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		t.Log(b.Input.Float32s(), b.Target.Int64s(), b.Input.Kind(), b.Input.Mul(b.Input).Scope().Name())
	}
	l.Close()
	set.Close()
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
}
