package main

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/lifecycle"
)

// An error weighs more than survivors, and they more than a signal. Whatever the
// status, everything is said.
func TestOutcome(t *testing.T) {
	boom := errors.New("disk on fire")
	leak := &ebb.Error{Kind: ebb.ErrLeak, Given: "memory survived"}
	interrupted, cancel := context.WithCancelCause(context.Background())
	cancel(&stopped{syscall.SIGINT})
	calm := context.Background()
	for _, c := range []struct {
		ctx        context.Context
		err, freed error
		status     int
		says       string
	}{
		{calm, nil, nil, 0, ""},
		{calm, boom, nil, 1, "ebb: disk on fire\n"},
		{calm, nil, leak, 3, "ebb: memory survived\n"},
		{calm, boom, leak, 1, "ebb: disk on fire\nebb: memory survived\n"},
		{interrupted, nil, nil, 130, ""},
		{interrupted, nil, leak, 3, "ebb: memory survived\n"},
		{interrupted, boom, nil, 1, "ebb: disk on fire\n"},
		{calm, nil, boom, 1, "ebb: disk on fire\n"}, // the proof itself failed
	} {
		err := outcome(c.ctx, c.err, c.freed)
		var b strings.Builder
		complain(&b, err)
		if got := status(err); got != c.status || b.String() != c.says {
			t.Errorf("err %v, freed %v: status %d and %q, want %d and %q", c.err, c.freed, got, b.String(), c.status, c.says)
		}
	}
}

// A program that keeps memory, fails or panics ends as it should, and what it
// kept is named in each case.
func TestPrograms(t *testing.T) {
	keep := func(j *job) {
		ebb.Ones(j.rt.NewStore("kept"), ebb.Shape{2, 3})
	}
	for _, c := range []struct {
		name   string
		run    func(context.Context, *job) error
		status int
		says   []string
	}{
		{"leak", func(_ context.Context, j *job) error { keep(j); return nil }, 3,
			[]string{"1 survivor of 24 B", "buffer float32[2, 3], 24 B, in kept, made at ebb/exit_test.go:"}},
		{"error", func(_ context.Context, j *job) error { keep(j); return errors.New("no luck") }, 1,
			[]string{"ebb: no luck\n", "in kept"}},
		{"ebb panic", func(_ context.Context, j *job) error {
			keep(j)
			ebb.Ones(j.rt.NewStore("other"), ebb.Shape{-1})
			return nil
		}, 1, []string{"ebb: full: size -1", "in kept"}},
		{"panic", func(_ context.Context, j *job) error { keep(j); panic("oh no") }, 1,
			[]string{"ebb: internal error: oh no\n", "in kept"}},
		{"states out of order", func(_ context.Context, j *job) error { j.life.Enter(lifecycle.ModelRun); return nil }, 1,
			[]string{"ModelRun does not follow InitialState"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, says strings.Builder
			err := newJob(&program{name: "test", run: c.run}, settings{}, &out).do(context.Background())
			complain(&says, err)
			if got := status(err); got != c.status {
				t.Errorf("status %d, want %d", got, c.status)
			}
			for _, want := range c.says {
				if !strings.Contains(says.String(), want) {
					t.Errorf("said %q, without %q", says.String(), want)
				}
			}
			if strings.Contains(says.String(), "goroutine") || strings.Count(says.String(), "\n") > 8 {
				t.Errorf("said too much:\n%s", says.String())
			}
		})
	}
}
