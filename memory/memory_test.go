package memory_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/memory"
)

func TestStatsAndPeak(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	st := rt.NewStore("model")
	ebb.Zeros(st, ebb.Shape{1024}, ebb.Parameter)
	s := rt.NewScope("step")
	ebb.Zeros(s, ebb.Shape{2048})
	s.Close()

	got := memory.Stats(rt)
	if got.Live.Current != 4096 || got.Live.Peak != 4096+8192 || got.Live.Allocated != 4096+8192 || got.Live.Freed != 8192 {
		t.Errorf("live %+v", got.Live)
	}
	if p := got.ByKind[ebb.Parameter]; p.Current != 4096 || p.Count != 1 {
		t.Errorf("parameters %+v", p)
	}
	memory.ResetPeak(rt)
	if got := memory.Stats(rt); got.Live.Peak != 4096 || got.ByKind[ebb.Activation].Peak != 0 || got.MappedPeak != got.Mapped {
		t.Errorf("after ResetPeak %+v", got)
	}
}

func TestEmptyCache(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	s := rt.NewScope("step")
	ebb.Zeros(s, ebb.Shape{4 << 20})
	s.Close()
	cached := memory.Stats(rt).Cached
	if cached < 16<<20 {
		t.Fatalf("cached %d", cached)
	}
	if got := memory.EmptyCache(rt); got != cached {
		t.Errorf("gave back %d of %d", got, cached)
	}
	if got := memory.Stats(rt); got.Mapped != 0 || got.Cached != 0 {
		t.Errorf("left %+v", got)
	}
}

// Collect finds a scope that was forgotten.
func TestCollect(t *testing.T) {
	rt := ebb.NewRuntime(ebb.OnLeak(nil))
	func() { rt.NewScope("forgotten") }()
	for end := time.Now().Add(5 * time.Second); memory.Stats(rt).Owners > 0; {
		if time.Now().After(end) {
			t.Fatal("not found")
		}
		memory.Collect(rt)
		runtime.Gosched()
	}
	if l := rt.Leaks(); len(l) != 1 || l[0].Owner != "forgotten" {
		t.Errorf("leaks %v", l)
	}
}

func TestSummary(t *testing.T) {
	rt := ebb.NewRuntime(ebb.Limit(1 << 30))
	defer rt.Close()
	st := rt.NewStore("model")
	ebb.Zeros(st, ebb.Shape{1 << 20}, ebb.Parameter)
	got := strings.Join(strings.Fields(memory.Summary(rt)), " ")
	for _, want := range []string{"now peak allocated freed tensors", "parameter 4.00 MiB 4.00 MiB 4.00 MiB 0 B 1 mapped", "limit 1.00 GiB", "1 open stores and scopes, 1 tensors"} {
		if !strings.Contains(got, want) {
			t.Errorf("summary lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "gradient") {
		t.Errorf("summary has a row for what never was:\n%s", got)
	}
}
