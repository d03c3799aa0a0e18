package profile

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
)

// What is written is what the format's own package reads.
func TestReadBack(t *testing.T) {
	p := New([]ValueType{{"objects", "count"}, {"space", "bytes"}}, "space", 1_700_000_000_000_000_000)
	inner, outer := Frame{"f", "a.go", 3}, Frame{"main", "b.go", 7}
	p.Add([]Frame{inner, outer}, []int64{2, 4096}, Label{"kind", "parameter"}, Label{"module", ""})
	p.Add([]Frame{{"f", "a.go", 4}, outer}, []int64{1, -8})
	p.Add(nil, []int64{1, 1})
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := got.CheckValid(); err != nil {
		t.Fatal(err)
	}
	if got.DefaultSampleType != "space" || got.TimeNanos != 1_700_000_000_000_000_000 || got.SampleType[1].Unit != "bytes" {
		t.Errorf("default %q, time %d, types %v", got.DefaultSampleType, got.TimeNanos, got.SampleType)
	}
	type line struct {
		Function, File string
		Line           int64
	}
	var stacks [][]line
	var values [][]int64
	for _, s := range got.Sample {
		var stack []line
		for _, l := range s.Location {
			stack = append(stack, line{l.Line[0].Function.Name, l.Line[0].Function.Filename, l.Line[0].Line})
		}
		stacks, values = append(stacks, stack), append(values, s.Value)
	}
	want := [][]line{{{"f", "a.go", 3}, {"main", "b.go", 7}}, {{"f", "a.go", 4}, {"main", "b.go", 7}}, nil}
	if d := cmp.Diff(want, stacks); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([][]int64{{2, 4096}, {1, -8}, {1, 1}}, values); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string][]string{"kind": {"parameter"}}, got.Sample[0].Label); d != "" {
		t.Error(d)
	}
	if len(got.Function) != 2 || len(got.Location) != 3 || !got.Mapping[0].HasFunctions {
		t.Errorf("%d functions, %d locations, mapping %v", len(got.Function), len(got.Location), got.Mapping[0])
	}
}
