package bench

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Every benchmark runs.
func TestBenchmarks(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	which := "."
	if testing.Short() {
		which = "Step/64x|SGD|Softmax/1000$|Elementwise/add/1000$|MatMul/64x64|Bookkeeping|Alloc"
	}
	out, err := exec.Command(self, "-test.run", "^$", "-test.bench", which, "-test.benchtime", "1x").CombinedOutput()
	if err != nil || strings.Count(string(out), "ns/op") == 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
