package main

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb/datasets"
)

// Without the files the error says which is missing, and nothing else: what was
// open by then is no leak, since it follows from the cause.
func TestWithoutData(t *testing.T) {
	err := run(context.Background(), []string{t.TempDir()})
	var bad *datasets.FileError
	if !errors.As(err, &bad) || !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "held") {
		t.Errorf("got %v", err)
	}
}
