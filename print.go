package ebb

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// How tensors are printed: PyTorch's defaults.
const (
	printPrecision = 4    // digits after the point
	printThreshold = 1000 // with more elements only the edges are shown
	printEdge      = 3    // elements at each edge
	printWidth     = 80   // characters of a line
)

// String returns x's elements as PyTorch prints them, those at the edges if
// there are more than 1000, with the type if it is not the default and what x
// was computed by:
//
//	tensor([[1.0000, 2.5000],
//	        [3.0000, 4.0000]], requires_grad=True)
//
// It needs no scope. Of a released tensor it tells where it was made and where
// released; it never panics.
func (x *Tensor) String() (s string) {
	if x == nil {
		return "tensor(nil)"
	}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			s = fmt.Sprintf("tensor(released; made at %s, released at %s)", e.Allocated, e.Released)
		default:
			panic(e)
		}
	}()
	const prefix = "tensor("
	p := printer{shape: x.shape, cut: size(x.shape) > printThreshold}
	p.out.WriteString(prefix)
	if size(x.shape) == 0 {
		p.out.WriteString("[]")
	} else {
		p.elements(x)
		p.block(0, len(prefix))
	}
	p.suffixes(len(prefix), x.suffixes())
	return p.out.String()
}

// printer writes one tensor.
type printer struct {
	shape []int
	cut   bool     // dimensions are cut to their edges
	text  []string // the elements shown, row-major
	width int      // of the widest
	out   strings.Builder
}

// elements reads the elements shown.
func (p *printer) elements(x *Tensor) {
	x.lease(opRead, func(a cpu.Array) {
		switch x.dtype {
		case Float32:
			p.floats(widened(shown[float32](nil, a, p.cut)))
		case Float64:
			p.floats(shown[float64](nil, a, p.cut))
		case Int64:
			p.integers(shown[int64](nil, a, p.cut))
		case Int32:
			p.integers(widenedInts(shown[int32](nil, a, p.cut)))
		case Uint8:
			p.integers(widenedInts(shown[uint8](nil, a, p.cut)))
		case Bool:
			for _, v := range shown[bool](nil, a, p.cut) {
				p.add(map[bool]string{false: "False", true: "True"}[v])
			}
		}
	})
}

// shown appends the elements of a that are shown.
func shown[T Element](dst []T, a cpu.Array, cut bool) []T {
	if !cut || len(a.Shape) == 0 {
		n := len(dst)
		dst = append(dst, make([]T, a.Len())...)
		cpu.Gather(dst[n:], a)
		return dst
	}
	n := a.Shape[0]
	for i := 0; i < n; i++ {
		if i == printEdge && n > 2*printEdge {
			i = n - printEdge
		}
		part := cpu.Array{Data: unsafe.Add(a.Data, i*a.Strides[0]*a.DType.Size()), DType: a.DType, Shape: a.Shape[1:], Strides: a.Strides[1:]}
		dst = shown(dst, part, cut)
	}
	return dst
}

func widened(v []float32) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = float64(v[i])
	}
	return out
}

func widenedInts[T int32 | uint8](v []T) []int64 {
	out := make([]int64, len(v))
	for i := range v {
		out[i] = int64(v[i])
	}
	return out
}

func (p *printer) add(s string) {
	p.text = append(p.text, s)
	p.width = max(p.width, len(s))
}

func (p *printer) integers(values []int64) {
	for _, v := range values {
		p.add(strconv.FormatInt(v, 10))
	}
}

// floats chooses one format for all: integers with a point, fixed, or
// scientific if the numbers differ by more than 1000 times or are very large
// or small.
func (p *printer) floats(values []float64) {
	lo, hi, whole, finite := math.Inf(1), 0.0, true, false
	for _, v := range values {
		if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		finite = true
		lo, hi = min(lo, math.Abs(v)), max(hi, math.Abs(v))
		whole = whole && v == math.Ceil(v)
	}
	scientific := finite && (hi/lo > 1000 || hi > 1e8 || !whole && lo < 1e-4)
	format := func(v float64) string { return strconv.FormatFloat(v, 'f', printPrecision, 64) }
	switch {
	case scientific:
		format = func(v float64) string { return strconv.FormatFloat(v, 'e', printPrecision, 64) }
	case whole:
		format = func(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) + "." }
	}
	for _, v := range values {
		s := "nan"
		switch {
		case math.IsInf(v, 1):
			s = "inf"
		case math.IsInf(v, -1):
			s = "-inf"
		case !math.IsNaN(v):
			s = format(v)
		}
		p.text = append(p.text, s)
		// Only these count for the width, as in PyTorch.
		if v != 0 && !math.IsNaN(v) && !math.IsInf(v, 0) {
			p.width = max(p.width, len(s))
		}
	}
}

// next returns the next element, padded.
func (p *printer) next() string {
	s := p.text[0]
	p.text = p.text[1:]
	return strings.Repeat(" ", max(p.width-len(s), 0)) + s
}

// block writes the part of the tensor from dimension dim on.
func (p *printer) block(dim, indent int) {
	if dim == len(p.shape) {
		p.out.WriteString(p.next())
		return
	}
	n, inner := p.shape[dim], dim < len(p.shape)-1
	cut := p.cut && n > 2*printEdge
	if cut {
		n = 2 * printEdge
	}
	perLine := max(1, (printWidth-indent)/(p.width+2))
	newLine := strings.Repeat("\n", max(len(p.shape)-dim-1, 1)) + strings.Repeat(" ", indent+1)
	p.out.WriteByte('[')
	item := 0
	// separate goes on to the next item: another line after each block, or
	// after as many elements as a line holds.
	separate := func() {
		if item > 0 {
			p.out.WriteByte(',')
			if inner || item%perLine == 0 {
				p.out.WriteString(newLine)
			} else {
				p.out.WriteByte(' ')
			}
		}
		item++
	}
	for i := range n {
		separate()
		if cut && i == printEdge {
			if !inner {
				p.out.WriteByte(' ')
			}
			p.out.WriteString("...")
			separate()
		}
		p.block(dim+1, indent+1)
	}
	p.out.WriteByte(']')
}

// suffixes writes what follows the elements, on a new line where the last is
// full, and the end.
func (p *printer) suffixes(indent int, all []string) {
	s := p.out.String()
	last := len(s) - strings.LastIndexByte(s, '\n') + 1
	for _, suffix := range all {
		if last+len(suffix)+2 > printWidth {
			p.out.WriteString(",\n" + strings.Repeat(" ", indent) + suffix)
			last = indent + len(suffix)
		} else {
			p.out.WriteString(", " + suffix)
			last += len(suffix) + 2
		}
	}
	p.out.WriteByte(')')
}

// suffixes returns what is told about x beside its elements.
func (x *Tensor) suffixes() []string {
	var all []string
	if size(x.shape) == 0 {
		if len(x.shape) != 1 {
			all = append(all, "size=("+strings.Trim(shapeString(x.shape), "[]")+")")
		}
		if x.dtype != Float32 {
			all = append(all, "dtype=torch."+x.dtype.String())
		}
	} else if x.dtype != Float32 && x.dtype != Int64 && x.dtype != Bool {
		all = append(all, "dtype=torch."+x.dtype.String())
	}
	x.rec.core.mu.Lock()
	defer x.rec.core.mu.Unlock()
	if x.rec.st == nil {
		panic(x.releasedError("print"))
	}
	x.refresh()
	switch {
	case x.meta.node != nil:
		all = append(all, "grad_fn=<"+gradientName(x.meta.node.op.name)+">")
	case x.meta.requiresGrad:
		all = append(all, "requires_grad=True")
	}
	return all
}

// gradientName is PyTorch's way to name an operation's gradient: add is
// AddBackward0, masked_fill MaskedFillBackward0.
func gradientName(op string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(op, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String() + "Backward0"
}
