package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb/lifecycle"
)

// curves that a page has to draw.
func curves() map[string]*curve {
	of := func(losses ...float32) *curve {
		c := new(curve)
		for _, l := range losses {
			c.add(l)
		}
		return c
	}
	long := new(curve)
	for i := range 10 * most {
		long.add(float32(i))
	}
	return map[string]*curve{
		"none": new(curve), "one": of(2), "flat": of(1, 1, 1), "falls": of(3, 2, 1),
		"no number": of(float32(math.NaN()), 2, float32(math.Inf(1)), 1), "only NaN": of(float32(math.NaN())), "long": long,
		"huge": of(1e30), "huge and flat": of(-3e38, -3e38), "all sizes": of(-3e38, 0, 3e38),
	}
}

// A page is whole in itself and well-formed, whatever the curve, and text in it is
// escaped.
func TestPage(t *testing.T) {
	r := &lifecycle.Report{
		Program:   "a<b",
		States:    []lifecycle.Reading{{State: lifecycle.InitialState}},
		Marks:     []lifecycle.Mark{{Name: "x & y"}},
		Survivors: []lifecycle.Survivor{{Kind: "activation", DType: "float32", Shape: []int{2}, Owner: "<run>"}},
	}
	rec := &recorder{events: []event{{name: "InitialState", state: true}, {name: "x & y"}}}
	for name, c := range curves() {
		text := string(page(linear.defaults, r, c, rec))
		for _, want := range []string{"a&lt;b", "x &amp; y", "in &lt;run&gt;", "not reached", "prefers-color-scheme: dark"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q", name, want)
			}
		}
		for _, not := range []string{"NaN", "Inf", "http://", "https://", "url(", "@import"} {
			if strings.Contains(text, not) {
				t.Errorf("%s: %q in the page", name, not)
			}
		}
		d := xml.NewDecoder(strings.NewReader(text))
		d.Strict = true
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
		}
	}
}

// A curve keeps the mean of what was added, and never more points than most.
func TestCurve(t *testing.T) {
	c := curves()["long"]
	if len(c.points) >= most || len(c.points) < most/2 {
		t.Errorf("%d points", len(c.points))
	}
	for i, p := range c.points {
		first := i * c.stride
		if want := float32(first) + float32(c.stride-1)/2; p != want {
			t.Fatalf("point %d of stride %d is %v, want %v", i, c.stride, p, want)
		}
	}
	if c := curves()["falls"]; len(c.points) != 3 || c.points[1] != 2 || c.stride != 1 {
		t.Errorf("%+v", c)
	}
}

// So do accuracies, of which the last is always there.
func TestCurveOfVeryManyEvaluations(t *testing.T) {
	c := new(curve)
	for i := range 10 * most {
		c.evaluated(i+1, float64(i))
		if n := len(c.evaluations); n >= most || c.evaluations[n-1].steps != i+1 {
			t.Fatalf("%d evaluations after %d, the last after %d steps", n, i+1, c.evaluations[n-1].steps)
		}
	}
}
