package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ebb-ml/ebb"
)

//go:embed torch/worker.py
var workerSource string

// findPython looks for an interpreter that has PyTorch: path, or without one each
// python3 of the path and then /usr/bin/python3.
func (s *session) findPython(path string) {
	candidates := []string{path}
	if path == "" {
		candidates = nil
		for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
			candidates = append(candidates, filepath.Join(folder, "python3"))
		}
		candidates = append(candidates, "/usr/bin/python3")
	}
	var tried []string
	for _, c := range candidates {
		if _, err := exec.LookPath(c); err != nil {
			continue
		}
		out, err := exec.CommandContext(s.ctx, c, "-c", "import torch; print(torch.__version__)").Output()
		if err == nil {
			s.python, s.torch = c, strings.TrimSpace(string(out))
			return
		}
		tried = append(tried, c)
	}
	switch {
	case path != "":
		s.noTorch = path + " has no PyTorch"
	case tried == nil:
		s.noTorch = "no python3 was found"
	default:
		s.noTorch = "no PyTorch in " + strings.Join(tried, ", ")
	}
	s.logf("%s: there is nothing to compare with", s.noTorch)
}

// findOpenBLAS settles which processor OpenBLAS is to be told that it runs on. One
// that does not know the processor takes the oldest one's kernels; then it is told
// the oldest that has the vectors which Ebb uses, beside being run as it is.
// A name that is asked for is told instead; "installed" tells nothing.
func (s *session) findOpenBLAS(asked string) {
	switch w, err := s.worker(variant{threads: 1}); {
	case err != nil || w.BLAS == "" || asked == "installed":
		return
	case asked != "":
		s.told = asked
	case w.BLAS == "Prescott":
		level, _ := ebb.CPULevel()
		s.told = map[string]string{"avx512": "SkylakeX", "avx2": "Haswell"}[level]
	}
}

// variant is a way to run PyTorch.
type variant struct {
	threads int
	told    string // the processor that OpenBLAS is told; empty: nothing
}

// environment is what PyTorch and what it computes with are started in.
func (v variant) environment() []string {
	env := os.Environ()
	for _, name := range []string{"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"} {
		env = append(env, fmt.Sprintf("%s=%d", name, v.threads))
	}
	if v.told != "" {
		env = append(env, "OPENBLAS_CORETYPE="+v.told)
	}
	return env
}

// worker is a PyTorch process that answers requests: see torch/worker.py.
type worker struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	BLAS string // which processor OpenBLAS takes this one for; empty: it is not OpenBLAS
}

// startWorker starts a PyTorch, with more of the environment.
func (s *session) startWorker(v variant, env ...string) (*worker, error) {
	if s.python == "" {
		return nil, errors.New(s.noTorch)
	}
	file := filepath.Join(s.folder, "worker.py")
	if err := os.WriteFile(file, []byte(workerSource), 0o600); err != nil {
		return nil, err
	}
	w := &worker{cmd: exec.CommandContext(s.ctx, s.python, file)}
	w.cmd.Env = append(v.environment(), env...)
	w.cmd.Stderr = s.progress
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.out = bufio.NewReader(out)
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	if err := w.answer(w); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// worker returns the variant's running PyTorch.
func (s *session) worker(v variant) (*worker, error) {
	if w := s.workers[v]; w != nil {
		return w, nil
	}
	w, err := s.startWorker(v)
	if err == nil {
		s.workers[v] = w
	}
	return w, err
}

// ask sends a request and reads the answer.
func (w *worker) ask(request, answer any) error {
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := w.in.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("PyTorch has ended: %w", err)
	}
	return w.answer(answer)
}

func (w *worker) answer(answer any) error {
	line, err := w.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("PyTorch has ended: %w", err)
	}
	var failed struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(line, &failed); err != nil {
		return fmt.Errorf("PyTorch's answer %q: %w", line, err)
	}
	if failed.Error != "" {
		return errors.New("PyTorch: " + failed.Error)
	}
	return json.Unmarshal(line, answer)
}

func (w *worker) close() {
	_ = w.in.Close() // the end of its input ends it
	_ = w.cmd.Wait()
}

// args are the arguments of a kind of work on PyTorch's side.
type args map[string]any

// make makes work from seed 0 and returns what its first steps give.
func (w *worker) make(kind string, a args) ([]float64, error) {
	var answer struct{ Results []float64 }
	err := w.ask(map[string]any{"op": "make", "kind": kind, "args": a}, &answer)
	return answer.Results, err
}

func (w *worker) run(warm, steps int) (cost, error) {
	var answer struct{ Wall, CPU float64 }
	err := w.ask(map[string]any{"op": "run", "warm": warm, "steps": steps}, &answer)
	return cost{answer.Wall, answer.CPU}, err
}

func (w *worker) peak() (float64, error) {
	var answer struct{ Peak float64 }
	err := w.ask(map[string]any{"op": "peak"}, &answer)
	return answer.Peak, err
}

func (w *worker) drop() error {
	return w.ask(map[string]any{"op": "drop"}, &struct{}{})
}
