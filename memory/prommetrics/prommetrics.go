// Package prommetrics is a Prometheus collector of a runtime's memory. It is apart
// from package memory so that only those who use it depend on Prometheus.
package prommetrics

import (
	"github.com/ebb-ml/ebb"
	"github.com/prometheus/client_golang/prometheus"
)

// Collector collects the figures of one runtime, read when they are scraped:
//
//	ebb_live_bytes{kind}              live now, as asked for
//	ebb_live_peak_bytes               the most live at once
//	ebb_live_tensors{kind}            live allocations
//	ebb_allocated_bytes_total{kind}   all that was ever allocated
//	ebb_mapped_bytes                  mapped from the system
//	ebb_mapped_peak_bytes             the most mapped at once
//	ebb_cached_bytes                  mapped but free
//	ebb_largest_hole_bytes            largest free block
//	ebb_limit_bytes                   the limit on mapped; 0: none
//	ebb_segments                      mappings
//	ebb_owners                        open stores and scopes
//	ebb_graph_nodes                   nodes of graphs that hold memory
//	ebb_running_operations            operations that run now
//	ebb_cache_emptied_total           times the cache was emptied for a request
//	ebb_out_of_memory_total           requests that failed
type Collector struct{ rt *ebb.Runtime }

// NewCollector returns a collector of rt. A process with several runtimes tells
// them apart by labels:
//
//	prometheus.WrapRegistererWith(prometheus.Labels{"runtime": "train"}, reg).MustRegister(prommetrics.NewCollector(rt))
func NewCollector(rt *ebb.Runtime) *Collector { return &Collector{rt} }

// metric is a figure and how it is read.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(s *ebb.Stats) int64
}

// kindMetric is a figure of each kind of memory.
type kindMetric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(l ebb.Ledger) int64
}

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("ebb_"+name, help, labels, nil)
}

var byKind = []kindMetric{
	{describe("live_bytes", "Bytes of live tensors, as asked for.", "kind"), gauge, func(l ebb.Ledger) int64 { return l.Current }},
	{describe("live_tensors", "Live allocations.", "kind"), gauge, func(l ebb.Ledger) int64 { return l.Count }},
	{describe("allocated_bytes_total", "Bytes ever allocated.", "kind"), counter, func(l ebb.Ledger) int64 { return l.Allocated }},
}

var metrics = []metric{
	{describe("live_peak_bytes", "The most bytes live at once."), gauge, func(s *ebb.Stats) int64 { return s.Live.Peak }},
	{describe("mapped_bytes", "Bytes mapped from the system."), gauge, func(s *ebb.Stats) int64 { return s.Mapped }},
	{describe("mapped_peak_bytes", "The most bytes mapped at once."), gauge, func(s *ebb.Stats) int64 { return s.MappedPeak }},
	{describe("cached_bytes", "Bytes mapped but free."), gauge, func(s *ebb.Stats) int64 { return s.Cached }},
	{describe("largest_hole_bytes", "Bytes of the largest free block."), gauge, func(s *ebb.Stats) int64 { return s.LargestHole }},
	{describe("limit_bytes", "The limit on mapped bytes; 0 for none."), gauge, func(s *ebb.Stats) int64 { return s.Limit }},
	{describe("segments", "Mappings held."), gauge, func(s *ebb.Stats) int64 { return s.Segments }},
	{describe("owners", "Open stores and scopes."), gauge, func(s *ebb.Stats) int64 { return int64(s.Owners) }},
	{describe("graph_nodes", "Graph nodes that hold memory."), gauge, func(s *ebb.Stats) int64 { return int64(s.Nodes) }},
	{describe("running_operations", "Operations that run now."), gauge, func(s *ebb.Stats) int64 { return int64(s.Leases) }},
	{describe("cache_emptied_total", "Times the cache was emptied to satisfy a request."), counter, func(s *ebb.Stats) int64 { return s.Retries }},
	{describe("out_of_memory_total", "Requests that failed for lack of memory."), counter, func(s *ebb.Stats) int64 { return s.OutOfMemory }},
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range byKind {
		ch <- m.desc
	}
	for _, m := range metrics {
		ch <- m.desc
	}
}

// Collect implements [prometheus.Collector]. All figures are of one moment.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	s := c.rt.Stats()
	for _, m := range byKind {
		for _, k := range ebb.Kinds {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, float64(m.read(s.ByKind[k])), k.String())
		}
	}
	for _, m := range metrics {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, float64(m.read(&s)))
	}
}
