package main

import (
	"context"
	"errors"
	"testing"
)

func TestRun(t *testing.T) {
	if err := run(context.Background()); err != nil {
		t.Error(err)
	}
}

// A run that is cancelled ends with the cause.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
