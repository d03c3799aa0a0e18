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
	long     bool
	folder   string // temporary, for what rows make

	python   string // the interpreter; empty: none
	torch    string // PyTorch's version
	noTorch  string // why there is none
	workers  map[int]*worker
	mnistDir string // see mnist
}

func newSession(ctx context.Context, long bool, progress io.Writer) (*session, error) {
	folder, err := os.MkdirTemp("", "ebb-compare")
	if err != nil {
		return nil, err
	}
	return &session{ctx: ctx, progress: progress, long: long, folder: folder, workers: map[int]*worker{}}, nil
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

// threadCounts are those that PyTorch is tried with.
func (s *session) threadCounts() []int {
	if n := cores(); n > 1 {
		return []int{1, n}
	}
	return []int{1}
}

// sample is how long a sample takes, about.
func (s *session) sample() time.Duration {
	if s.long {
		return 100 * time.Millisecond
	}
	return 20 * time.Millisecond
}

// rounds is how many samples of each side a row takes when a round takes so long.
func (s *session) rounds(round time.Duration) int {
	budget, most := 2*time.Second, 15
	if s.long {
		budget, most = 20*time.Second, 40
	}
	return max(3, min(most, int(budget/max(round, 1))))
}
