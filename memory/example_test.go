package memory_test

import (
	"fmt"
	"net/http"
	"os"

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

// A step that keeps a tensor is found, with the line.
func ExampleGrowth() {
	rt := ebb.NewRuntime()
	defer rt.Close()
	losses := rt.NewStore("losses")
	defer losses.Close()

	report, err := memory.Growth(rt, 10, func(int) error {
		return rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
			loss := ebb.Ones(s, ebb.Shape{256}).Mean()
			loss.MoveTo(losses) // loss.Item() would keep a number only
			return nil
		})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range report.Grows {
		fmt.Printf("%.0f bytes a step: %d more %s in %s\n", l.PerStep(), l.Count, l.Example.DType, l.Example.Owner)
	}
	// Output:
	// 4 bytes a step: 10 more float32 in losses
}

// A service shows its memory beside net/http/pprof, to those who may see it.
func ExampleHandler() {
	rt := ebb.NewRuntime()
	defer rt.Close()
	memory.RecordHistory(rt, 0) // so that the timeline goes back before the page was opened

	debug := http.NewServeMux()
	debug.Handle("/debug/memory/", memory.Handler(rt))
	// go http.ListenAndServe("localhost:6060", debug)
}

// A history shows in a snapshot and in a profile.
func ExampleDumpSnapshot() {
	rt := ebb.NewRuntime()
	defer rt.Close()
	memory.RecordHistory(rt, 0)
	err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
		for step := range 3 {
			memory.Mark(rt, fmt.Sprint("step ", step))
			ebb.Zeros(s, ebb.Shape{1024, 1024})
		}
		return memory.DumpSnapshot(rt, "mem.pickle") // ebb mem report mem.pickle
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
