package memory_test

import (
	"fmt"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/memory"
)

func Example() {
	rt := ebb.NewRuntime()
	defer rt.Close()

	err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
		ebb.Zeros(s, ebb.Shape{1024, 1024})
		fmt.Println("inside:", ebb.FormatBytes(memory.Stats(rt).Live.Current))
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	s := memory.Stats(rt)
	fmt.Println("after:", ebb.FormatBytes(s.Live.Current), "live,", ebb.FormatBytes(s.Mapped), "mapped")

	memory.EmptyCache(rt)
	fmt.Println("emptied:", ebb.FormatBytes(memory.Stats(rt).Mapped), "mapped")
	// Output:
	// inside: 4.00 MiB
	// after: 0 B live, 4.00 MiB mapped
	// emptied: 0 B mapped
}
