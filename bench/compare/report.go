package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ebb-ml/ebb"
)

// report is all that a run found.
type report struct {
	Time    time.Time `json:"time"`
	System  string    `json:"system"`
	Cores   int       `json:"cores"`
	Level   string    `json:"level"` // of Ebb's kernels
	Torch   string    `json:"pytorch,omitempty"`
	BLAS    string    `json:"openblas,omitempty"`      // the processor that PyTorch's OpenBLAS takes this one for
	Told    string    `json:"openblas_told,omitempty"` // and which it is told, beside that
	NoTorch string    `json:"no_pytorch,omitempty"`
	Load    []string  `json:"load"` // of the system at the beginning and at the end; empty: not told

	FMA     []float64    `json:"fma_flops"` // of one core, of all
	Traffic []bandwidths `json:"memory"`    // of arrays of 1e7 elements
	Figures []figure     `json:"figures"`
	Means   []mean       `json:"means"`
	Checks  []check      `json:"checks,omitempty"`
}

// bandwidths is what memory can do.
type bandwidths struct {
	What     string  `json:"what"`
	OneCore  float64 `json:"one_core"`
	AllCores float64 `json:"all_cores"` // bytes a second
}

// mean is the geometric mean of a group's ratios.
type mean struct {
	Group string  `json:"group"`
	Ratio float64 `json:"ratio"`
	CPU   float64 `json:"cpu_ratio"`
	Goal  float64 `json:"goal"`
	Worst string  `json:"worst"` // the row of the highest ratio
	Rows  int     `json:"rows"`

	Installed float64 `json:"ratio_installed,omitempty"` // as a figure's; 0: no row has one
}

// check is a figure of Ebb alone and what it is to be.
type check struct {
	What    string  `json:"what"`
	Value   float64 `json:"value"`
	Goal    float64 `json:"goal"`
	AtLeast bool    `json:"at_least,omitempty"` // or at most
	Unit    string  `json:"unit,omitempty"`     // "%": a share; "B": bytes; else a ratio
}

func (c check) reached() bool {
	if c.AtLeast {
		return c.Value >= c.Goal
	}
	return c.Value <= c.Goal
}

func (c check) String() string {
	amount := func(x float64) string {
		switch c.Unit {
		case "%":
			return fmt.Sprintf("%.0f%%", 100*x)
		case "B":
			return ebb.FormatBytes(int64(x))
		}
		return fmt.Sprintf("%.2f", x)
	}
	bound := "at most"
	if c.AtLeast {
		bound = "at least"
	}
	return fmt.Sprintf("%s: %s (goal: %s %s: %s)", c.What, amount(c.Value), bound, amount(c.Goal), verdict(c.reached()))
}

// describe measures the machine.
func (r *report) describe(s *session) {
	r.Time = time.Now().UTC().Truncate(time.Second)
	r.System = runtime.GOOS + "/" + runtime.GOARCH
	r.Cores = cores()
	r.Level, _ = ebb.CPULevel()
	r.Torch, r.NoTorch = s.torch, s.noTorch
	if w, err := s.worker(variant{threads: 1}); err == nil {
		r.BLAS, r.Told = w.BLAS, s.told
	}
	r.Load = append(r.Load, loadAverage())
	s.logf("the machine's limits")
	r.FMA = []float64{multiplies(1).best(s.effort.limits), multiplies(r.Cores).best(s.effort.limits)}
	for i, what := range []string{"reading", "copying", "adding"} {
		r.Traffic = append(r.Traffic, bandwidths{
			What:     what,
			OneCore:  moves(i+1, 1e7, 1).best(s.effort.limits),
			AllCores: moves(i+1, 1e7, r.Cores).best(s.effort.limits),
		})
	}
}

// loadAverage is how many programs want a processor: over one, five and fifteen
// minutes. Empty where the system does not tell.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 3 {
		return strings.Join(fields[:3], " ")
	}
	return ""
}

// finish computes what follows from all figures.
func (r *report) finish() {
	r.Load = append(r.Load, loadAverage())
	for i := range r.Figures {
		r.Figures[i].settle()
	}
	for _, group := range []string{groupMatMul, groupElements} {
		if m := r.mean(group); m.Rows > 0 {
			r.Means = append(r.Means, m)
		}
	}
	for _, suffix := range []string{"", ", one core"} {
		for _, n := range []int{511, 513} {
			const row = "matmul %dx%dx%d%s"
			a, b := r.find(fmt.Sprintf(row, n, n, n, suffix)), r.find(fmt.Sprintf(row, 512, 512, 512, suffix))
			if a == nil || b == nil {
				continue
			}
			// Each was measured in turns with the limit, but not with each other.
			took := b.Ebb.Share / a.Ebb.Share
			if a.Ebb.Share == 0 {
				took = b.Ebb.Rate / a.Ebb.Rate
			}
			r.Checks = append(r.Checks, check{What: fmt.Sprintf("time per FLOP, %s, to that of n = 512", a.Row), Value: took, Goal: goalOdd})
		}
	}
	for i := range r.Figures {
		f := &r.Figures[i]
		if f.Ebb == nil {
			continue
		}
		if f.ShareGoal > 0 && f.Ebb.Share > 0 {
			r.Checks = append(r.Checks, check{What: fmt.Sprintf("share of the limit of %s, %s", f.LimitOf, f.Row), Value: f.Ebb.Share, Goal: f.ShareGoal, AtLeast: true, Unit: "%"})
		}
		if f.Most > 0 {
			r.Checks = append(r.Checks, check{What: f.Row, Value: f.Ebb.Median, Goal: f.Most, Unit: f.Unit})
		}
	}
}

// find returns a row's figure, nil if there is none of Ebb's.
func (r *report) find(row string) *figure {
	i := slices.IndexFunc(r.Figures, func(f figure) bool { return f.Row == row && f.Ebb != nil })
	if i < 0 {
		return nil
	}
	return &r.Figures[i]
}

// mean is the geometric mean of a group.
func (r *report) mean(group string) mean {
	m := mean{Group: group, Goal: groupGoals[group]}
	var wall, cpu, untold []float64
	worst := 0.0
	for _, f := range r.Figures {
		if f.Group != group || f.Ratio == 0 {
			continue
		}
		m.Rows++
		wall = append(wall, f.Ratio)
		if f.CPURatio > 0 {
			cpu = append(cpu, f.CPURatio)
		}
		if f.Installed > 0 {
			untold = append(untold, f.Installed)
		}
		if f.Ratio > worst {
			worst, m.Worst = f.Ratio, f.Row
		}
	}
	m.Ratio, m.CPU, m.Installed = geometric(wall), geometric(cpu), geometric(untold)
	return m
}

// geometric is the geometric mean of positive numbers, 0 of none.
func geometric(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range x {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(x)))
}

func (r *report) print(out io.Writer) {
	fmt.Fprintf(out, "Ebb (%s kernels) on %s, %d cores; ", r.Level, r.System, r.Cores)
	if r.Torch != "" {
		fmt.Fprintf(out, "PyTorch %s", r.Torch)
		if r.BLAS != "" {
			fmt.Fprintf(out, " with OpenBLAS's kernels for %s", r.BLAS)
		}
		fmt.Fprintln(out)
		if r.Told != "" {
			fmt.Fprintf(out, "OpenBLAS is also told the processor (OPENBLAS_CORETYPE=%s): the ratio is to the faster; beside it that to PyTorch as installed.\n", r.Told)
		}
	} else {
		fmt.Fprintf(out, "no PyTorch: %s\n", r.NoTorch)
	}
	if r.Load[0] != "" {
		fmt.Fprintf(out, "load of the machine: %s before, %s after\n", r.Load[0], r.Load[1])
	}
	if r.FMA[0] > 0 {
		fmt.Fprintf(out, "multiply-adds, at best: %.0f GFLOP/s on one core, %.0f on all\n", r.FMA[0]/1e9, r.FMA[1]/1e9)
	}
	for _, m := range r.Traffic {
		fmt.Fprintf(out, "memory, at best, %s arrays of 1e7: %.1f GB/s on one core, %.1f on all\n", m.What, m.OneCore/1e9, m.AllCores/1e9)
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "work\tEbb\t±\tPyTorch\t±\tthreads\tratio\tof CPU\tgoal\t\tas installed\tof limit\tPyTorch's\tresults")
	for _, f := range r.Figures {
		fmt.Fprintln(w, strings.Join(f.columns(), "\t"))
	}
	_ = w.Flush()
	fmt.Fprintln(out)
	for _, m := range r.Means {
		fmt.Fprintf(out, "%s: geometric mean of %d ratios %.2f, of CPU time %.2f (goal: at most %.2f: %s); worst: %s\n",
			m.Group, m.Rows, m.Ratio, m.CPU, m.Goal, verdict(m.Ratio <= m.Goal), m.Worst)
		if m.Installed > 0 {
			fmt.Fprintf(out, "%s: geometric mean of the ratios to PyTorch as installed %.2f\n", m.Group, m.Installed)
		}
	}
	for _, c := range r.Checks {
		fmt.Fprintln(out, c)
	}
	for _, f := range r.Figures {
		if f.Note != "" {
			fmt.Fprintf(out, "%s: %s\n", f.Row, f.Note)
		}
		if f.NoTorch != "" && r.NoTorch == "" {
			fmt.Fprintf(out, "%s: PyTorch left out: %s\n", f.Row, f.NoTorch)
		}
	}
	fmt.Fprintln(out, "The limit is what the machine could do in turns with the row, so what else it did weighs on both.")
	fmt.Fprintln(out, "± is half the distance of the quartiles, in percent of the median; a ratio under 1 says that Ebb needs less.")
}

func verdict(reached bool) string {
	if reached {
		return "reached"
	}
	return "missed"
}

// columns are the figure's fields in the table.
func (f *figure) columns() []string {
	c := make([]string, 14)
	c[0] = f.Row
	if f.Failed != "" {
		c[1] = "failed: " + f.Failed
		return c[:2]
	}
	amount := func(x float64) string {
		if f.Unit == "B" {
			return ebb.FormatBytes(int64(x))
		}
		return seconds(x)
	}
	spread := func(s *side) string {
		if s.Samples < 2 || s.Median == 0 {
			return ""
		}
		return fmt.Sprintf("%.0f%%", 50*(s.High-s.Low)/s.Median)
	}
	share := func(s *side) string {
		switch {
		case s.Share > 0:
			return fmt.Sprintf("%.0f%%", 100*s.Share)
		case s.Rate > 0:
			return fmt.Sprintf("%.3g %s/s", s.Rate, f.WorkUnit)
		}
		return ""
	}
	c[1], c[2], c[11] = amount(f.Ebb.Median), spread(f.Ebb), share(f.Ebb)
	number := func(x float64) string {
		if x == 0 {
			return ""
		}
		return fmt.Sprintf("%.3g", x)
	}
	c[6], c[7], c[8], c[10] = number(f.Ratio), number(f.CPURatio), number(f.Goal), number(f.Installed)
	if f.Goal > 0 && f.Ratio != 0 {
		c[9] = verdict(f.Ratio <= f.Goal)
	}
	if f.Torch == nil {
		return c
	}
	c[3], c[4], c[12] = amount(f.Torch.Median), spread(f.Torch), share(f.Torch)
	if c[5] = fmt.Sprint(f.Torch.Threads); f.Torch.Told != "" {
		c[5] += ", told"
	}
	if a, b := f.Ebb.Results, f.Torch.Results; len(a) > 0 && len(b) > 0 {
		last := len(a) - 1
		if len(b) <= last {
			last = len(b) - 1
		}
		c[13] = fmt.Sprintf("%.7g, %.7g", a[last], b[last])
		if f.Wrong {
			c[13] = "WRONG: " + c[13]
		}
	}
	return c
}

// fault is an error that names the rows without a figure, and those where the
// results differ.
func (r *report) fault() error {
	var names []string
	for _, f := range r.Figures {
		if f.Wrong || f.Failed != "" {
			names = append(names, f.Row)
		}
	}
	if names == nil {
		return nil
	}
	return fmt.Errorf("wrong or failed: %s", strings.Join(names, "; "))
}

// write writes the report as JSON.
func (r *report) write(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
