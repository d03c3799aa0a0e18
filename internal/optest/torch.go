package optest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb"
)

var (
	update = flag.Bool("update-torch", false, "compute missing and outdated values with PyTorch and rewrite testdata")
	python = flag.String("torch-python", "/usr/bin/python3", "Python with PyTorch, for -update-torch")
)

//go:embed ops_torch.py
var script string

// golden is what PyTorch computes for a row.
type golden struct {
	Case  string          `json:"case"` // hash of the row
	Torch string          `json:"torch"`
	Error string          `json:"error,omitempty"`
	Out   []*goldenTensor `json:"out"`
	Grad  []*goldenTensor `json:"grad"`
}

// goldenTensor is a tensor in text: numbers apart by spaces.
type goldenTensor struct {
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	Data  string `json:"data"`
	Alias *int   `json:"alias,omitempty"` // shares the memory of this operand
	Graph bool   `json:"graph,omitempty"` // requires a gradient
}

func (g *goldenTensor) value() (*value, error) {
	if g == nil {
		return nil, nil
	}
	v := &value{shape: g.Shape}
	for d := ebb.Float32; d <= ebb.Bool; d++ {
		if d.String() == g.DType {
			v.dtype = d
		}
	}
	if v.dtype.String() != g.DType {
		return nil, fmt.Errorf("PyTorch's result is %s", g.DType)
	}
	for f := range strings.FieldsSeq(g.Data) {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil, err
		}
		if v.dtype == ebb.Float32 {
			x = float64(float32(x))
		}
		v.data = append(v.data, x)
	}
	return v, nil
}

func goldenFile(family string) string {
	return filepath.Join("testdata", "ops_"+family+"_torch.json")
}

// TorchValues compares results and gradients of every row with PyTorch's,
// which lie in testdata, by family.
func (tb *Table) TorchValues(t *testing.T) {
	files, missing := map[string]map[string]golden{}, map[string][]string{}
	for _, family := range tb.families {
		files[family] = tb.readGolden(t, family)
	}
	for _, c := range tb.cases {
		if family := tb.family[c]; c.Torch != "" && files[family][c.id()].Case != c.hash() {
			missing[family] = append(missing[family], c.id())
		}
	}
	for family, ids := range missing {
		t.Errorf("%s has no values for %s; compute them with: go test -run TestTorchValues -update-torch", goldenFile(family), strings.Join(ids, ", "))
	}
	tb.each(t, TorchValues, func(t *testing.T, c *Case) {
		g := files[tb.family[c]][c.id()]
		if c.Torch == "" || g.Case != c.hash() {
			return
		}
		if g.Error != "" {
			t.Fatalf("PyTorch: %s", g.Error)
		}
		c.compareTorch(t, g)
	})
}

func (c *Case) compareTorch(t *testing.T, g golden) {
	var want outcome
	for _, part := range []struct {
		from []*goldenTensor
		to   *[]*value
	}{{g.Out, &want.outs}, {g.Grad, &want.grads}} {
		for _, gt := range part.from {
			v, err := gt.value()
			if err != nil {
				t.Fatal(err)
			}
			*part.to = append(*part.to, v)
		}
	}
	rt := newRuntime(t)
	st := rt.NewStore("parameters")
	defer st.Close()
	var got outcome
	err := rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
		tr := c.prepare(s, st, s, setup{})
		outs := tr.run(s)
		for i, out := range outs {
			if i >= len(g.Out) {
				break
			}
			if out.RequiresGrad() != g.Out[i].Graph {
				t.Errorf("result %d: requires a gradient: %t, in PyTorch %t", i, out.RequiresGrad(), g.Out[i].Graph)
			}
			alias := -1
			for j, x := range tr.in {
				if out.Numel() > 0 && out.SharesStorage(x) {
					alias = j
					break
				}
			}
			if w := g.Out[i].Alias; w == nil && alias >= 0 || w != nil && alias != *w {
				t.Errorf("result %d: shares the memory of operand %s, in PyTorch of %s", i, letter(alias), letterOf(w))
			}
		}
		got = outcome{valuesOf(outs), valuesOf(tr.grads(s, outs))}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "PyTorch", got, want, c.tolerance)
}

func letter(i int) string {
	if i < 0 {
		return "none"
	}
	return string(rune('a' + i))
}

func letterOf(i *int) string {
	if i == nil {
		return "none"
	}
	return letter(*i)
}

// readGolden reads a family's values, after computing what is missing if the
// flag asks for it.
func (tb *Table) readGolden(t *testing.T, family string) map[string]golden {
	values := map[string]golden{}
	b, err := os.ReadFile(goldenFile(family))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err == nil {
		if err := json.Unmarshal(b, &values); err != nil {
			t.Fatalf("%s: %v", goldenFile(family), err)
		}
	}
	if !*update {
		return values
	}
	fresh, missing := map[string]golden{}, []*Case{}
	for _, c := range tb.cases {
		if tb.family[c] != family || c.Torch == "" {
			continue
		}
		if g, ok := values[c.id()]; ok && g.Case == c.hash() && g.Error == "" {
			fresh[c.id()] = g
		} else {
			missing = append(missing, c)
		}
	}
	if len(missing) > 0 {
		for id, g := range askTorch(t, missing) {
			fresh[id] = g
		}
	}
	if len(missing) > 0 || len(fresh) != len(values) {
		writeGolden(t, family, fresh)
	}
	return fresh
}

// writeGolden writes one row a line, in order, so that edits merge.
func writeGolden(t *testing.T, family string, values map[string]golden) {
	var ids []string
	for id := range values {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var out bytes.Buffer
	out.WriteString("{\n")
	for i, id := range ids {
		if i > 0 {
			out.WriteString(",\n")
		}
		fmt.Fprintf(&out, "%q: ", id)
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(values[id]); err != nil {
			t.Fatal(err)
		}
		out.Truncate(out.Len() - 1)
	}
	out.WriteString("\n}\n")
	if err := os.MkdirAll("testdata", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(goldenFile(family), out.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// askTorch computes rows' values with the script.
func askTorch(t *testing.T, cases []*Case) map[string]golden {
	type input struct {
		DType string   `json:"dtype"`
		Shape []int    `json:"shape"`
		Grad  bool     `json:"grad"`
		Data  []string `json:"data"`
	}
	type question struct {
		ID      string  `json:"id"`
		Torch   string  `json:"torch"`
		InPlace bool    `json:"inplace"`
		In      []input `json:"in"`
	}
	var qs []question
	for _, c := range cases {
		q := question{ID: c.id(), Torch: c.Torch, InPlace: c.InPlace}
		for i, in := range c.In {
			x := input{DType: in.DType.String(), Shape: append([]int{}, in.Shape...), Grad: in.Grad, Data: []string{}}
			for _, v := range in.data(i) {
				x.Data = append(x.Data, formatFloat(v))
			}
			q.In = append(q.In, x)
		}
		qs = append(qs, q)
	}
	ask, err := json.Marshal(qs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(*python, "-c", script)
	cmd.Stdin = bytes.NewReader(ask)
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", *python, err)
	}
	answers := map[string]golden{}
	if err := json.Unmarshal(b, &answers); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		a := answers[c.id()]
		a.Case, a.Torch = c.hash(), c.Torch
		answers[c.id()] = a
	}
	return answers
}

func formatFloat(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return strings.ToLower(strconv.FormatFloat(v, 'g', -1, 64))
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
