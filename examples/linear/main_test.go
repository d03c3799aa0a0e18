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

// A run that is cancelled ends with the cause and nothing else: what it left open
// is no leak, since it follows from the cause.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := run(ctx); err == nil || err.Error() != context.Canceled.Error() {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
