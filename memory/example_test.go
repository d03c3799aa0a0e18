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
	fmt.Println("after:", ebb.FormatBytes(s.Live.Current), "live, cached for the next:", s.Cached >= 4<<20)

	memory.EmptyCache(rt)
	fmt.Println("emptied:", ebb.FormatBytes(memory.Stats(rt).Mapped), "mapped")
	// Output:
	// inside: 4.00 MiB
	// after: 0 B live, cached for the next: true
	// emptied: 0 B mapped
}
