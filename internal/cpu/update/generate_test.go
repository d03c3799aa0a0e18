package update

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGeneratedFilesAreCurrent runs the generators and compares.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the generators")
	}
	command := func(args ...string) ([]byte, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = "_generate"
		cmd.Env = append(os.Environ(), "GOOS=", "GOARCH=", "GOFLAGS=", "GOWORK=off")
		return cmd.CombinedOutput()
	}
	if out, err := command("mod", "download"); err != nil {
		t.Skipf("the generators' modules cannot be had: %v\n%s", err, out)
	}
	dir := t.TempDir()
	var files []string
	for arch, program := range map[string][]string{"amd64": {".", "-pkg", "update"}} {
		asm, stubs := filepath.Join(dir, "update_"+arch+".s"), filepath.Join(dir, "stubs_"+arch+".go")
		files = append(files, asm, stubs)
		args := append([]string{"run"}, append(program, "-out", asm, "-stubs", stubs)...)
		if out, err := command(args...); err != nil {
			t.Fatalf("the generator for %s failed: %v\n%s", arch, err, out)
		}
	}
	for _, name := range files {
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
