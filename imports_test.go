package ebb_test

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// On linux the library packages pull in golang.org/x/sys and nothing else.
func TestLibraryImports(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems read the process's memory through a library")
	}
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}",
		".", "./nn", "./optim", "./data", "./lifecycle", "./memory")
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("go list: %v", err) // no go command beside the test
	}
	packages := strings.Fields(string(out))
	if len(packages) < 10 {
		t.Fatalf("only %v", packages)
	}
	for _, p := range packages {
		if !strings.HasPrefix(p, "github.com/ebb-ml/ebb") && !strings.HasPrefix(p, "golang.org/x/sys/") {
			t.Errorf("a library package pulls in %s", p)
		}
	}
}
