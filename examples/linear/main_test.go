package main

import (
	"context"
	"testing"
)

func TestRun(t *testing.T) {
	if err := run(context.Background()); err != nil {
		t.Error(err)
	}
}

// An interrupted run gives its memory back too: the error is the context's, and
// not one of a leak.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := run(ctx); err == nil || err.Error() != context.Canceled.Error() {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
