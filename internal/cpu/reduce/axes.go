package reduce

import (
	"slices"
	"unsafe"

	"github.com/ebb-ml/ebb/internal/cpu"
)

// offsets are distances in bytes, one per operand: an operation here has at
// most three.
type offsets [3]int

// axis is one dimension of a walk.
type axis struct {
	n      int
	stride offsets
}

// split appends the dimensions of the operands, which have one rank, to listed
// if they are in dims and to others if not, without those of size 1. The sizes
// are the last operand's.
func split(listed, others []axis, dims []int, operands ...cpu.Array) (in, out []axis) {
	shape := operands[len(operands)-1].Shape
	for i, n := range shape {
		if n == 1 {
			continue
		}
		a := axis{n: n}
		for o, x := range operands {
			a.stride[o] = x.Strides[i] * x.DType.Size()
		}
		if slices.Contains(dims, i) {
			listed = append(listed, a)
		} else {
			others = append(others, a)
		}
	}
	return listed, others
}

// joined sorts axes so that operand o's smallest stride is last, and makes one
// of neighbours wherever every operand allows it.
func joined(axes []axis, o int) []axis {
	slices.SortStableFunc(axes, func(x, y axis) int { return y.stride[o] - x.stride[o] })
	last := 0
	for i := 1; i < len(axes); i++ {
		if outer := &axes[last]; outer.joins(axes[i]) {
			*outer = axis{n: outer.n * axes[i].n, stride: axes[i].stride}
			continue
		}
		last++
		axes[last] = axes[i]
	}
	return axes[:min(last+1, len(axes))]
}

// joins reports whether one step of a is all of inner for every operand.
func (a axis) joins(inner axis) bool {
	for o, s := range a.stride {
		if s != inner.n*inner.stride[o] {
			return false
		}
	}
	return true
}

func count(axes []axis) int {
	n := 1
	for _, a := range axes {
		n *= a.n
	}
	return n
}

// longest is the index of the axis with most positions.
func longest(axes []axis) int {
	l := 0
	for i, a := range axes {
		if a.n > axes[l].n {
			l = i
		}
	}
	return l
}

// visit calls f at every position of axes.
func visit(axes []axis, at offsets, f func(at offsets)) {
	if len(axes) == 0 {
		f(at)
		return
	}
	for range axes[0].n {
		visit(axes[1:], at, f)
		for o, s := range axes[0].stride {
			at[o] += s
		}
	}
}

// cut takes the last axis off axes; without one it is a single element.
func cut(axes []axis) (outer []axis, inner axis) {
	if len(axes) == 0 {
		return nil, axis{n: 1}
	}
	return axes[:len(axes)-1], axes[len(axes)-1]
}

// lines calls f for every line along dim of the operands: with its length, that
// of the last operand, and each operand's offset and step. It may call it for
// several at a time, in tasks of at least so many elements.
func lines(dim, least int, f func(n int, at, step offsets), operands ...cpu.Array) {
	var space [1]axis
	var more [8]axis
	along, others := split(space[:0], more[:0], []int{dim}, operands...)
	_, line := cut(along)
	others = joined(others, len(operands)-1)
	tasks := line.n * count(others) / least
	if tasks < 2 || len(others) == 0 {
		visit(others, offsets{}, func(at offsets) { f(line.n, at, line.stride) })
		return
	}
	l := longest(others)
	n := others[l].n
	tasks = min(tasks, n)
	cpu.Parallel(tasks, func(i int) {
		part, from := slices.Clone(others), n*i/tasks
		part[l].n = n*(i+1)/tasks - from
		var at offsets
		for o, s := range others[l].stride {
			at[o] = from * s
		}
		visit(part, at, func(at offsets) { f(line.n, at, line.stride) })
	})
}

// element is the T that lies i steps from p.
func element[T any](p unsafe.Pointer, i, step int) *T { return (*T)(unsafe.Add(p, i*step)) }
