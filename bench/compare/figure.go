package main

import (
	"math"
	"slices"
)

// cost is what some steps took, in seconds.
type cost struct{ wall, cpu float64 }

// side is what one of the two libraries needed for a step.
type side struct {
	Median  float64   `json:"median"`
	Low     float64   `json:"low"`  // the lower quartile
	High    float64   `json:"high"` // the upper quartile
	CPU     float64   `json:"cpu_seconds,omitempty"`
	Threads int       `json:"threads,omitempty"`
	Told    string    `json:"openblas_told,omitempty"` // the processor that OpenBLAS was told
	Samples int       `json:"samples"`
	Rate    float64   `json:"rate,omitempty"`  // of the work, a second
	Share   float64   `json:"share,omitempty"` // of the machine's limit
	Results []float64 `json:"results,omitempty"`
}

// figure is one line of the table. Ratios are Ebb's to PyTorch's: under 1 Ebb
// needs less.
type figure struct {
	Row    string `json:"row"`
	Group  string `json:"group,omitempty"` // whose ratios have a common mean
	Unit   string `json:"unit"`            // "s" or "B"
	Ebb    *side  `json:"ebb,omitempty"`
	Torch  *side  `json:"pytorch,omitempty"`        // the fastest of the ways to run it
	Others []side `json:"pytorch_others,omitempty"` // the other ways

	Ratio     float64 `json:"ratio,omitempty"`
	RatioLow  float64 `json:"ratio_low,omitempty"`
	RatioHigh float64 `json:"ratio_high,omitempty"`
	CPURatio  float64 `json:"cpu_ratio,omitempty"`
	Goal      float64 `json:"goal,omitempty"`            // what the ratio is to be at most; 0: nothing
	Most      float64 `json:"most,omitempty"`            // what Ebb's may be at most, in Unit; 0: nothing
	Installed float64 `json:"ratio_installed,omitempty"` // to the fastest PyTorch whose OpenBLAS was told nothing; 0: none was told

	Work      float64 `json:"work,omitempty"` // of a step, in WorkUnit
	WorkUnit  string  `json:"work_unit,omitempty"`
	LimitOf   string  `json:"limit_of,omitempty"`   // what the machine did in turns with it, shares are of
	ShareGoal float64 `json:"share_goal,omitempty"` // what Ebb's share is to be at least; 0: nothing
	Wrong     bool    `json:"wrong,omitempty"`      // the results differ
	Note      string  `json:"note,omitempty"`
	NoTorch   string  `json:"no_pytorch,omitempty"` // why there is only Ebb's
	Failed    string  `json:"failed,omitempty"`     // why there is nothing
	tolerance float64
}

// summarize is a side with the median and the quartiles of values.
func summarize(values []float64) side {
	low, median, high := quartiles(values)
	return side{Median: median, Low: low, High: high, Samples: len(values)}
}

// quartiles returns the first, second and third quartile of values.
func quartiles(values []float64) (low, median, high float64) {
	s := slices.Sorted(slices.Values(values))
	at := func(share float64) float64 {
		p := share * float64(len(s)-1)
		i := int(p)
		if i+1 == len(s) {
			return s[i]
		}
		return s[i] + (p-float64(i))*(s[i+1]-s[i])
	}
	return at(0.25), at(0.5), at(0.75)
}

// ratios are a[i]/b[i], without those where b has nothing.
func ratios(a, b []float64) []float64 {
	var r []float64
	for i := range a {
		if b[i] > 0 {
			r = append(r, a[i]/b[i])
		}
	}
	return r
}

// settle fills in what follows from the sides: rates, whether results agree.
func (f *figure) settle() {
	for _, s := range []*side{f.Ebb, f.Torch} {
		if s == nil || s.Median == 0 || f.Work == 0 {
			continue
		}
		s.Rate = f.Work / s.Median
	}
	if f.Ebb != nil && f.Torch != nil {
		f.Wrong = !agree(f.Ebb.Results, f.Torch.Results, f.tolerance)
	}
}

// agree reports whether two lists of results are the same but for rounding.
func agree(a, b []float64, tolerance float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !(math.Abs(a[i]-b[i]) <= tolerance*max(math.Abs(a[i]), math.Abs(b[i]))+1e-7) {
			return false
		}
	}
	return true
}

// summary tells one tensor from another: the sum, the sum of squares, some
// elements. worker.py has the same.
func summary[T float32 | int64](x []T) []float64 {
	var sum, squares float64
	for _, v := range x {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	r := []float64{sum, squares}
	for i := 0; i < len(x) && len(r) < 8; i += max(1, len(x)/5) {
		r = append(r, float64(x[i]))
	}
	return r
}
