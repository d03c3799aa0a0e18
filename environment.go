package ebb

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ebb-ml/ebb/internal/attach"
	"github.com/ebb-ml/ebb/internal/wholefile"
)

// The environment turns two things on without a change to the program:
// EBB_MEMORY_HISTORY=FILE records the history of each runtime and writes it as a
// snapshot when the runtime is closed, and on the signal USR1 (not on Windows).
// EBB_MEMORY=listen opens memory.Listen's socket.
const (
	historyVariable = "EBB_MEMORY_HISTORY"
	listenVariable  = "EBB_MEMORY"
)

// watch is what the environment turned on for a runtime. Nothing of it refers to
// the Runtime, which can be found forgotten all the same.
type watch struct {
	file  string // for the history; "": none
	stop  chan struct{}
	done  sync.WaitGroup
	close func() // of what listens
}

// watched counts the runtimes that have a file, so that each has its own.
var watched atomic.Int64

// startWatch does what the environment says.
func (co *core) startWatch() {
	file, listen := os.Getenv(historyVariable), os.Getenv(listenVariable) == "listen"
	if file == "" && !listen {
		return
	}
	w := &watch{stop: make(chan struct{})}
	co.watch = w
	if file != "" {
		w.file = numbered(file, watched.Add(1))
		(&Runtime{co}).RecordHistory(DefaultHistory)
		if signals := dumpSignals(); len(signals) > 0 {
			c := make(chan os.Signal, 1)
			signal.Notify(c, signals...)
			w.done.Go(func() {
				defer signal.Stop(c)
				for {
					select {
					case <-c:
						co.dump(w.file)
					case <-w.stop:
						return
					}
				}
			})
		}
	}
	if listen {
		if attach.Listen == nil {
			fmt.Fprintf(os.Stderr, "ebb: %s=listen does nothing in a program that does not import github.com/ebb-ml/ebb/memory\n", listenVariable)
			return
		}
		w.close = attach.Listen(&Runtime{co})
	}
}

// endWatch writes the history and stops listening, once.
func (co *core) endWatch() {
	co.mu.Lock()
	w := co.watch
	co.watch = nil
	co.mu.Unlock()
	if w == nil {
		return
	}
	close(w.stop)
	w.done.Wait()
	if w.close != nil {
		w.close()
	}
	if w.file != "" {
		co.dump(w.file)
	}
}

// numbered returns the file of the nth runtime: "mem.pickle", "mem-2.pickle".
func numbered(file string, n int64) string {
	if n == 1 {
		return file
	}
	ext := filepath.Ext(file)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(file, ext), n, ext)
}

// dump writes a snapshot, whole or not at all, and tells of it on standard error,
// since the program knows nothing of it.
func (co *core) dump(file string) {
	if err := wholefile.Write(file, (&Runtime{co}).WriteSnapshot); err != nil {
		fmt.Fprintf(os.Stderr, "ebb: %s: %v\n", historyVariable, err)
		return
	}
	fmt.Fprintf(os.Stderr, "ebb: memory history written to %s\n", file)
}
