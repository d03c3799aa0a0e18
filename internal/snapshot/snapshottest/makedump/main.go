// Command makedump writes a big memory snapshot of an imitated training loop, to
// try readers with: 16 million events with stacks of 60 frames are about a
// gigabyte.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/ebb-ml/ebb/internal/snapshot/snapshottest"
)

func main() {
	var t snapshottest.Training
	out := flag.String("o", "dump.pickle", "file to write")
	flag.IntVar(&t.Events, "events", 1_000_000, "number of events, at least")
	flag.IntVar(&t.Layers, "layers", 24, "layers of the model")
	flag.IntVar(&t.Frames, "frames", 60, "frames of each stack")
	flag.IntVar(&t.Leak, "leak", 0, "keep a tensor every so many steps")
	flag.Parse()
	if err := write(*out, t); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(name string, t snapshottest.Training) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := snapshottest.WriteTraining(f, t); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
