package lifecycle_test

import (
	"fmt"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/lifecycle"
)

func Example() {
	rt := ebb.NewRuntime()
	defer rt.Close()
	life := lifecycle.Start(rt, "example")

	model := rt.NewStore("model")
	w := ebb.Ones(model, ebb.Shape{10}, ebb.Parameter)
	life.Enter(lifecycle.ModelCreated)

	data := rt.NewStore("data")
	x := ebb.Ones(data, ebb.Shape{100, 10}, ebb.Input)
	life.Enter(lifecycle.DataPrepared)

	err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
		y := x.In(s).Mul(w)
		fmt.Println("sum:", y.Sum().Item())
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	life.Enter(lifecycle.ModelRun)

	data.Close()
	life.Mark("data released")
	model.Close()
	life.Enter(lifecycle.VariablesCleared)

	fmt.Println("freed:", life.Free() == nil)
	for _, s := range life.Report().States {
		fmt.Println(s.State, s.Live)
	}
	// Output:
	// sum: 1000
	// freed: true
	// InitialState 0
	// ModelCreated 40
	// DataPrepared 4040
	// ModelRun 4040
	// VariablesCleared 0
	// MemoryFreed 0
}
