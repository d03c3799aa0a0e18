package gemm

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGeneratedFilesAreCurrent runs the generator and compares.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the generator")
	}
	command := func(args ...string) ([]byte, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = "_generate"
		cmd.Env = append(os.Environ(), "GOOS=", "GOARCH=", "GOFLAGS=", "GOWORK=off")
		return cmd.CombinedOutput()
	}
	if out, err := command("mod", "download"); err != nil {
		t.Skipf("the generator's modules cannot be had: %v\n%s", err, out)
	}
	dir := t.TempDir()
	asm, stubs := filepath.Join(dir, "gemm_amd64.s"), filepath.Join(dir, "stubs_amd64.go")
	if out, err := command("run", ".", "-pkg", "gemm", "-out", asm, "-stubs", stubs); err != nil {
		t.Fatalf("the generator failed: %v\n%s", err, out)
	}
	for _, name := range []string{asm, stubs} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Base(name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(body(got), body(want)) {
			t.Errorf("%s is not what the generator writes: run go generate", filepath.Base(name))
		}
	}
}

// body is a generated file without its first line, which names the command.
func body(file []byte) []byte {
	_, rest, _ := bytes.Cut(file, []byte("\n"))
	return rest
}
