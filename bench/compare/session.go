package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

// session is one run of the comparison: what rows share.
type session struct {
	ctx      context.Context
	progress io.Writer
	effort   effort
	folder   string // temporary, for what rows make

	python   string // the interpreter; empty: none
	torch    string // PyTorch's version
	noTorch  string // why there is none
	told     string // see findOpenBLAS
	workers  map[variant]*worker
	mnistDir string // see mnist
}

// effort is how long a session takes.
type effort struct {
	limits   time.Duration // the search for each of the machine's limits
	sample   time.Duration // of one side, about
	row      time.Duration // all samples of a row, about
	rounds   [2]int        // samples of each side: at least and at most
	programs [2]int        // runs of program 1 and of program 2
	steps    int           // before "a step after many"
}

var (
	usual = effort{200 * time.Millisecond, 20 * time.Millisecond, 2 * time.Second, [2]int{3, 15}, [2]int{5, 1}, 10_000}
	long  = effort{time.Second, 100 * time.Millisecond, 20 * time.Second, [2]int{3, 40}, [2]int{11, 5}, 100_000}
)

func newSession(ctx context.Context, e effort, progress io.Writer) (*session, error) {
	folder, err := os.MkdirTemp("", "ebb-compare")
	if err != nil {
		return nil, err
	}
	return &session{ctx: ctx, progress: progress, effort: e, folder: folder, workers: map[variant]*worker{}}, nil
}

func (s *session) close() {
	for _, w := range s.workers {
		w.close()
	}
	_ = os.RemoveAll(s.folder)
}

func (s *session) logf(format string, args ...any) { fmt.Fprintf(s.progress, format+"\n", args...) }

// cores is how many cores this process may use.
func cores() int { return runtime.GOMAXPROCS(0) }

// variants are the ways to run PyTorch that are tried: with one thread and with
// one for each core, or with so many if threads is not 0; and for work that needs
// matrix products also with OpenBLAS told the processor, if that is to be.
func (s *session) variants(threads int, products bool) []variant {
	counts := []int{threads}
	if threads == 0 {
		if counts = []int{1}; cores() > 1 {
			counts = append(counts, cores())
		}
	}
	var all []variant
	for _, n := range counts {
		all = append(all, variant{threads: n})
		if products && s.told != "" {
			all = append(all, variant{threads: n, told: s.told})
		}
	}
	return all
}

// rounds is how many samples of each side a row takes when a round takes so long.
func (s *session) rounds(round time.Duration) int {
	e := s.effort
	return max(e.rounds[0], min(e.rounds[1], int(e.row/max(round, 1))))
}
