package prommetrics_test

import (
	"fmt"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/memory/prommetrics"
	"github.com/prometheus/client_golang/prometheus"
)

// A runtime's memory among what a program tells Prometheus.
func Example() {
	rt := ebb.NewRuntime()
	defer rt.Close()
	reg := prometheus.NewRegistry() // promhttp.HandlerFor(reg, ...) serves it
	reg.MustRegister(prommetrics.NewCollector(rt))

	model := rt.NewStore("model")
	defer model.Close()
	ebb.Ones(model, ebb.Shape{100}, ebb.Parameter)
	families, err := reg.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		if f.GetName() == "ebb_live_peak_bytes" {
			fmt.Println(f.GetName(), f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	// Output: ebb_live_peak_bytes 400
}
