package nn_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu"
	"go.uber.org/goleak"
)

// TestMain fails if a goroutine is left when all tests are done.
func TestMain(m *testing.M) {
	code := m.Run()
	cpu.StopWorkers()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
