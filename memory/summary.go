package memory

import (
	"fmt"
	"strings"

	"github.com/ebb-ml/ebb"
)

// Summary returns a table of rt's memory for people: bytes live by kind, now, at
// the peak and in all, then what is mapped for them, and how much of it lies
// idle. It is torch.cuda.memory_summary.
func Summary(rt *ebb.Runtime) string {
	s := rt.Stats()
	b := ebb.FormatBytes
	ledger := func(name string, l ebb.Ledger) []string {
		return []string{name, b(l.Current), b(l.Peak), b(l.Allocated), b(l.Freed), fmt.Sprint(l.Count)}
	}
	rows := [][]string{{"", "now", "peak", "allocated", "freed", "tensors"}, ledger("live", s.Live)}
	for _, k := range ebb.Kinds {
		if l := s.ByKind[k]; l.Allocated > 0 {
			rows = append(rows, ledger("  "+k.String(), l))
		}
	}
	rows = append(rows,
		[]string{"mapped", b(s.Mapped), b(s.MappedPeak)},
		[]string{"  in use", b(s.InUse)},
		[]string{"  cached", b(s.Cached)},
		[]string{"  largest hole", b(s.LargestHole)},
	)
	limit := "none"
	if s.Limit > 0 {
		limit = b(s.Limit)
	}
	return table(rows) + fmt.Sprintf("limit %s; %d mappings, %d times the cache was emptied for a request, %d requests failed\n"+
		"%d open stores and scopes, %d tensors, %d graph nodes, %d operations running\n",
		limit, s.Segments, s.Retries, s.OutOfMemory, s.Owners, s.Tensors, s.Nodes, s.Leases)
}

// table aligns rows: the first column left, the others right.
func table(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(&b, "  %*s", widths[i+1], cell)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
