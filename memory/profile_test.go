package memory_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/memory"
	"github.com/google/pprof/profile"
)

// parsed returns rt's profile as pprof reads it.
func parsed(t *testing.T, rt *ebb.Runtime) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	if err := memory.WriteProfile(rt, &b); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return p
}

// sum adds up a value of the samples that have a label.
func sum(p *profile.Profile, value, key, label string) int64 {
	at := -1
	for i, v := range p.SampleType {
		if v.Type == value {
			at = i
		}
	}
	var n int64
	for _, s := range p.Sample {
		if len(s.Label[key]) == 1 && s.Label[key][0] == label {
			n += s.Value[at]
		}
	}
	return n
}

func TestProfile(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	model := rt.NewStore("model")
	defer model.Close()
	for range 2 {
		ebb.Ones(model, ebb.Shape{100}, ebb.Parameter).SetName("fc1")
	}
	memory.RecordHistory(rt, 0)
	s := rt.NewScope("batch")
	ebb.Ones(s, ebb.Shape{1000}, ebb.Int64)
	s.Close()

	p := parsed(t, rt)
	if p.DefaultSampleType != "inuse_space" || len(p.SampleType) != 4 || len(p.Comments) != 0 {
		t.Errorf("default %q, types %v, comments %v", p.DefaultSampleType, p.SampleType, p.Comments)
	}
	for _, want := range []struct {
		value, key, label string
		n                 int64
	}{
		{"inuse_space", "kind", "parameter", 800}, {"inuse_objects", "module", "fc1", 2}, {"inuse_space", "owner", "model", 800},
		{"inuse_space", "kind", "activation", 0}, {"peak_space", "kind", "activation", 8000}, {"peak_space", "op", "full", 8800},
		{"peak_objects", "dtype", "int64", 1}, {"peak_space", "owner", "batch", 8000},
	} {
		if got := sum(p, want.value, want.key, want.label); got != want.n {
			t.Errorf("%s of %s=%s: %d, want %d", want.value, want.key, want.label, got, want.n)
		}
	}
	// The innermost frame is the user's line, the outermost Go's.
	for _, s := range p.Sample {
		if f := s.Location[0].Line[0].Function.Name; !strings.HasSuffix(f, "memory_test.TestProfile") {
			t.Errorf("innermost frame %s", f)
		}
		if f := s.Location[len(s.Location)-1].Line[0].Function.Name; f != "runtime.goexit" && f != "testing.tRunner" {
			t.Errorf("outermost frame %s", f)
		}
	}

	memory.StopHistory(rt)
	p = parsed(t, rt)
	if len(p.SampleType) != 2 || len(p.Comments) != 1 || !strings.Contains(p.Comments[0], "no history") {
		t.Errorf("without a history: types %v, comments %v", p.SampleType, p.Comments)
	}
}

//go:noinline
func leaky(s ebb.Owner, i int) *ebb.Tensor { return ebb.Ones(s, ebb.Shape{1 << 18, i}) }

// The tool reads the profile: it finds the growth, and makes roots of the kinds.
func TestGoToolPprof(t *testing.T) {
	if testing.Short() {
		t.Skip("runs go tool pprof")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	rt := ebb.NewRuntime()
	defer rt.Close()
	model := rt.NewStore("model")
	defer model.Close()
	ebb.Ones(model, ebb.Shape{1 << 20}, ebb.Parameter)
	memory.RecordHistory(rt, 0)
	dir := t.TempDir()
	save := func(name string) string {
		name = filepath.Join(dir, name)
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := memory.WriteProfile(rt, f); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return name
	}
	before := save("before.pb.gz")
	for i := range 3 {
		leaky(model, i)
	}
	after := save("after.pb.gz")
	tool := func(args ...string) string {
		cmd := exec.Command("go", append([]string{"tool", "pprof"}, args...)...)
		cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+dir)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("pprof %v: %v\n%s", args, err, errs.String())
		}
		if text := errs.String(); strings.Contains(text, "binary") {
			t.Errorf("pprof %v: %s", args, text)
		}
		return string(out)
	}
	if out := tool("-top", after); !strings.Contains(out, "4MB 57.14%") || !strings.Contains(out, "memory_test.TestGoToolPprof") {
		t.Errorf("-top:\n%s", out)
	}
	out := tool("-top", "-diff_base", before, after)
	if !strings.Contains(out, "3MB") || !strings.Contains(out, "memory_test.leaky") {
		t.Errorf("-diff_base:\n%s", out)
	}
	if strings.Contains(out, "      4MB") {
		t.Errorf("-diff_base shows what did not grow:\n%s", out)
	}
	if out := tool("-top", "-cum", "-tagroot", "kind", after); !strings.Contains(out, " parameter") || !strings.Contains(out, " buffer") {
		t.Errorf("-tagroot:\n%s", out)
	}
	if out := tool("-top", "-sample_index", "peak_space", after); !strings.Contains(out, "memory_test.leaky") {
		t.Errorf("at the peak:\n%s", out)
	}
	if out := tool("-traces", "-lines", after); !strings.Contains(out, "profile_test.go:") {
		t.Errorf("-traces:\n%s", out)
	}
}
