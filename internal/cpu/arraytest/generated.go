package arraytest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// CheckGenerated runs one of the programs in internal/cpu/_generate, which write
// assembly and its stubs, and fails the test if those in the working directory
// are others.
func CheckGenerated(t *testing.T, asm, stubs string, program ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs the generator")
	}
	command := func(args ...string) ([]byte, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = "../_generate"
		cmd.Env = append(os.Environ(), "GOOS=", "GOARCH=", "GOFLAGS=", "GOWORK=off")
		return cmd.CombinedOutput()
	}
	if out, err := command("mod", "download"); err != nil {
		t.Skipf("the generator's modules cannot be had: %v\n%s", err, out)
	}
	dir := t.TempDir()
	args := append(append([]string{"run"}, program...), "-out", filepath.Join(dir, asm), "-stubs", filepath.Join(dir, stubs))
	if out, err := command(args...); err != nil {
		t.Fatalf("the generator failed: %v\n%s", err, out)
	}
	for _, name := range []string{asm, stubs} {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(body(got), body(want)) {
			t.Errorf("%s is not what the generator writes: run go generate", name)
		}
	}
}

// body is a generated file without its first line, which names the command.
func body(file []byte) []byte {
	_, rest, _ := bytes.Cut(file, []byte("\n"))
	return rest
}
