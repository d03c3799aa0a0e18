package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb/lifecycle"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets scripts and tests run this binary as the command ebb.
func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){"ebb": main})
}

func TestScripts(t *testing.T) {
	data, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	commands := mnistCommands(t)
	for name, f := range map[string]func(*testscript.TestScript, bool, []string){
		"status": scriptStatus,
		"count":  scriptCount,
		"losses": scriptLosses,
		"report": scriptReport,
	} {
		commands[name] = f
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("DATA", data+"/testdata")
			env.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector waits for a second at each exit
			bin, _, _ := strings.Cut(env.Getenv("PATH"), string(os.PathListSeparator))
			env.Setenv("BIN", bin) // the folder of this test's own programs
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "root":
				return os.Getuid() == 0, nil
			case "mnist": // is to be had
				_, err := findMNIST()
				return err == nil, nil
			}
			return false, errors.New("no such condition")
		},
		Cmds: commands,
	})
}

// scriptStatus runs a command and compares its exit status: status 2 ebb train.
func scriptStatus(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("status %d, want %d", got, want)
	}
}

// scriptCount compares the number of a file's lines: count m.jsonl 10.
func scriptCount(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	if got := strings.Count(ts.ReadFile(args[0]), "\n"); got != want {
		ts.Fatalf("%d lines, want %d", got, want)
	}
}

// scriptLosses compares metrics with a reference run of PyTorch's, step by step:
// losses m.jsonl seed0.json.
func scriptLosses(ts *testscript.TestScript, _ bool, args []string) {
	var reference struct{ Losses []float64 }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &reference))
	lines := bytes.Split(bytes.TrimSpace([]byte(ts.ReadFile(args[0]))), []byte("\n"))
	if len(lines) != len(reference.Losses) {
		ts.Fatalf("%d steps, PyTorch made %d", len(lines), len(reference.Losses))
	}
	for i, line := range lines {
		var m struct {
			Epoch, Step *int
			Loss        *float64
		}
		ts.Check(json.Unmarshal(line, &m))
		want := reference.Losses[i]
		if m.Step == nil || *m.Step != i || m.Epoch == nil || *m.Epoch != i/10 || m.Loss == nil || math.Abs(*m.Loss-want) > 1e-5*want {
			ts.Fatalf("step %d: %s, PyTorch's loss is %v", i, line, want)
		}
	}
}

// scriptReport checks a report: report r.json freed, or report r.json survived.
func scriptReport(ts *testscript.TestScript, _ bool, args []string) {
	var r lifecycle.Report
	d := json.NewDecoder(bytes.NewReader([]byte(ts.ReadFile(args[0]))))
	d.DisallowUnknownFields()
	ts.Check(d.Decode(&r))
	if freed := args[1] == "freed"; r.Freed != freed {
		ts.Fatalf("freed %v", r.Freed)
	}
	last := r.States[len(r.States)-1]
	if r.Freed && (last.State != lifecycle.MemoryFreed || last.Live != 0 || last.Mapped != 0) {
		ts.Fatalf("last state %+v", last)
	}
}
