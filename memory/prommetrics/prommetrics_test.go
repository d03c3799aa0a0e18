package prommetrics_test

import (
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/memory/prommetrics"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestCollector(t *testing.T) {
	rt := ebb.NewRuntime(ebb.Limit(1 << 20))
	defer rt.Close()
	c := prommetrics.NewCollector(rt)
	reg := prometheus.NewPedanticRegistry()
	if err := reg.Register(c); err != nil {
		t.Fatal(err)
	}
	if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}

	model := rt.NewStore("model")
	defer model.Close()
	ebb.Ones(model, ebb.Shape{100}, ebb.Parameter)
	err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
		ebb.Ones(s, ebb.Shape{1 << 20})
		return nil
	})
	if err == nil {
		t.Fatal("the limit did not hold")
	}
	want := `
# HELP ebb_limit_bytes The limit on mapped bytes; 0 for none.
# TYPE ebb_limit_bytes gauge
ebb_limit_bytes 1.048576e+06
# HELP ebb_live_bytes Bytes of live tensors, as asked for.
# TYPE ebb_live_bytes gauge
ebb_live_bytes{kind="activation"} 0
ebb_live_bytes{kind="buffer"} 0
ebb_live_bytes{kind="gradient"} 0
ebb_live_bytes{kind="input"} 0
ebb_live_bytes{kind="optimizer state"} 0
ebb_live_bytes{kind="parameter"} 400
ebb_live_bytes{kind="workspace"} 0
# HELP ebb_live_peak_bytes The most bytes live at once.
# TYPE ebb_live_peak_bytes gauge
ebb_live_peak_bytes 400
# HELP ebb_out_of_memory_total Requests that failed for lack of memory.
# TYPE ebb_out_of_memory_total counter
ebb_out_of_memory_total 1
# HELP ebb_owners Open stores and scopes.
# TYPE ebb_owners gauge
ebb_owners 1
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "ebb_limit_bytes", "ebb_live_bytes", "ebb_live_peak_bytes", "ebb_out_of_memory_total", "ebb_owners"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(reg); err != nil || n != 3*len(ebb.Kinds)+12 {
		t.Errorf("%d figures, %v", n, err)
	}
}
