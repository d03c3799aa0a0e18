package memory_test

import (
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/process"
	"github.com/ebb-ml/ebb/memory"
)

const mib = 1 << 20

// explain checks that the rows add up to the resident set, read at the same
// moment, and returns them by name.
func explain(t *testing.T, rt *ebb.Runtime) map[string]int64 {
	t.Helper()
	e, err := memory.Explain(rt)
	if err != nil {
		t.Fatal(err)
	}
	now, err := process.Read()
	if err != nil {
		t.Fatal(err)
	}
	if d := e.RSS - now.RSS; d < -2*mib || d > 2*mib {
		t.Errorf("RSS %d, the system says %d", e.RSS, now.RSS)
	}
	var sum int64
	rows := map[string]int64{}
	for _, r := range e.Rows {
		if r.Bytes < 0 {
			t.Errorf("%s is %d", r.Name, r.Bytes)
		}
		sum += r.Bytes
		rows[r.Name] = r.Bytes
	}
	if sum != e.RSS {
		t.Errorf("rows add up to %d, RSS is %d", sum, e.RSS)
	}
	if len(rows) != 8 {
		t.Errorf("rows %v", e.Rows)
	}
	if !strings.HasSuffix(e.String(), ebb.FormatBytes(e.RSS)+"\n") {
		t.Errorf("table:\n%s", e)
	}
	return rows
}

func TestExplain(t *testing.T) {
	if raceEnabled {
		t.Skip("tensors lie on the Go heap")
	}
	rt := ebb.NewRuntime()
	defer rt.Close()
	near := func(when string, got, want int64) {
		t.Helper()
		if got < want-mib/2 || got > want+mib/2 {
			t.Errorf("%s: %s, want about %s", when, ebb.FormatBytes(got), ebb.FormatBytes(want))
		}
	}
	start := explain(t, rt)
	near("live at the start", start["Ebb live"], 0)
	near("cached at the start", start["Ebb cached"], 0)

	// Memory that is mapped and never written is not resident. Guard pages come
	// with poison, which writes it.
	untouched := rt.NewScope("untouched")
	ebb.Empty(untouched, ebb.Shape{16 << 20})
	rows := explain(t, rt)
	if !invariants {
		near("live, untouched", rows["Ebb live"], 0)
	}
	untouched.Close()
	memory.EmptyCache(rt)

	s := rt.NewScope("step")
	ebb.Ones(s, ebb.Shape{4 << 20})
	rows = explain(t, rt)
	near("live", rows["Ebb live"], 16*mib)
	near("the rest", rows["the rest"], start["the rest"])

	s.Close()
	rows = explain(t, rt)
	near("live after Close", rows["Ebb live"], 0)
	near("cached after Close", rows["Ebb cached"], memory.Stats(rt).Cached)

	memory.EmptyCache(rt)
	rows = explain(t, rt)
	near("cached after EmptyCache", rows["Ebb cached"], 0)

	heap := make([]byte, 24*mib)
	for i := range heap {
		heap[i] = 1
	}
	rows = explain(t, rt)
	if got := rows["Go heap in use"]; got < 24*mib {
		t.Errorf("Go heap in use: %d with 24 MiB of objects", got)
	}
	if heap[len(heap)-1] != 1 {
		t.Error("lost")
	}
}
