// Command leak keeps one tensor on purpose. The proof at its end fails: the
// program names the tensor with the line that made it, and ends with status 3.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/lifecycle"
)

func main() {
	switch err := run(); {
	case errors.Is(err, ebb.ErrLeak):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() (err error) {
	rt := ebb.NewRuntime()
	defer func() { err = errors.Join(err, rt.Close()) }()
	defer ebb.Catch(&err)
	life := lifecycle.Start(rt, "leak")

	history := rt.NewStore("history")
	var kept *ebb.Tensor
	err = rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
		x := ebb.Randn(s, ebb.Shape{256, 256})
		y := x.Mul(x).Sum()
		fmt.Printf("sum of squares: %.0f\n", y.Item())
		kept = x.MoveTo(history) // and nobody closes history
		return nil
	})
	if err != nil {
		return err
	}
	err = life.Free()
	fmt.Println("kept:", kept.Shape()) // it is still there
	return err
}
