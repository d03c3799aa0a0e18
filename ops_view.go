package ebb

// Views share their base's memory and record: they add nothing to a scope, and
// live and die with the base.

var opReshapeView = &opdef{name: "view"}

func init() {
	opReshapeView.grad = func(b *backward) { b.give(0, b.grad().Reshape(b.input(0).shape...)) }
}

// View returns x with another shape, without a copy. One size may be -1: it
// follows from the others. If x's layout does not allow it, it is an [ErrShape]
// panic that says Reshape. It is torch.Tensor.view.
func (x *Tensor) View(shape ...int) *Tensor {
	shape = inferShape("view", x, shape)
	strides, ok := viewStrides(x.shape, x.strides, shape)
	if !ok {
		panic(newError(ErrShape, "view", []*Tensor{x}, "strides %s cannot be seen as %s without a copy", shapeString(x.strides), shapeString(shape)).advise("use Reshape"))
	}
	return view(opReshapeView, nil, x, shape, strides, x.offset)
}

// Reshape returns x with another shape: a view if x's layout allows it, else a
// copy. One size may be -1. It is torch.reshape.
func (x *Tensor) Reshape(shape ...int) *Tensor {
	shape = inferShape("reshape", x, shape)
	if strides, ok := viewStrides(x.shape, x.strides, shape); ok {
		return view(opReshapeView, nil, x, shape, strides, x.offset)
	}
	return x.Clone().View(shape...)
}

// inferShape returns a copy of shape with -1 filled in.
func inferShape(op string, x *Tensor, shape []int) []int {
	out := append(make([]int, 0, len(shape)), shape...)
	free, known := -1, 1
	for i, d := range out {
		switch {
		case d == -1 && free >= 0:
			panic(newError(ErrShape, op, []*Tensor{x}, "two sizes of %s are -1", shapeString(shape)).advise("leave one size open at most"))
		case d == -1:
			free = i
		case d < 0:
			throw(ErrShape, op, []*Tensor{x}, "size %d of dimension %d is negative", d, i)
		default:
			if d > 0 && known > maxBytes/d {
				throw(ErrShape, op, []*Tensor{x}, "the product of %s overflows", shapeString(shape))
			}
			known *= d
		}
	}
	n := size(x.shape)
	if free >= 0 && known > 0 && n%known == 0 {
		out[free] = n / known
		known = n
	} else if free >= 0 {
		known = -1
	}
	if known != n {
		panic(newError(ErrShape, op, []*Tensor{x}, "%d elements cannot be seen as %s", n, shapeString(shape)).advise("the product of the sizes is the number of elements"))
	}
	return out
}

// viewStrides returns the strides that show a tensor of the given layout as
// shape, or false if it takes a copy.
func viewStrides(old, strides, shape []int) ([]int, bool) {
	out := make([]int, len(shape))
	if size(old) == 0 {
		return stridesFor(out, shape), true
	}
	// Walk both shapes from the back. A run of old dimensions that lie without
	// gaps, step apart at its end, must be a run of new ones of the same product.
	if len(old) == 0 {
		for j := range out {
			out[j] = 1
		}
		return out, true
	}
	j := len(shape) - 1
	step, n := strides[len(old)-1], 1
	for i := len(old) - 1; i >= 0; i-- {
		if n == 1 {
			step = strides[i]
		}
		n *= old[i]
		if i > 0 && (n == 1 || old[i-1] == 1 || strides[i-1] == n*step) {
			continue
		}
		got := 1
		for j >= 0 && (got < n || shape[j] == 1) {
			out[j] = step * got
			got *= shape[j]
			j--
		}
		if got != n {
			return nil, false
		}
		n = 1
	}
	return out, true
}

// dimOf wraps dim of x or panics with ErrIndex.
func dimOf(op string, x *Tensor, dim int) int {
	d, ok := wrapDim(dim, len(x.shape))
	if !ok {
		throw(ErrIndex, op, []*Tensor{x}, "dimension %d of a tensor with %d", dim, len(x.shape))
	}
	return d
}

var opPermute = &opdef{name: "permute"}

func init() {
	opPermute.grad = func(b *backward) {
		dims := b.n.attrs.([]int)
		inverse := make([]int, len(dims))
		for i, d := range dims {
			inverse[d] = i
		}
		b.give(0, b.grad().Permute(inverse...))
	}
}

// Permute returns x with its dimensions in another order. It is torch.permute.
func (x *Tensor) Permute(dims ...int) *Tensor {
	if len(dims) != len(x.shape) {
		throw(ErrShape, "permute", []*Tensor{x}, "%d dimensions in the order, %d in the tensor", len(dims), len(x.shape))
	}
	order := make([]int, len(dims))
	seen := make([]bool, len(dims))
	shape, strides := make([]int, len(dims)), make([]int, len(dims))
	for i, d := range dims {
		d = dimOf("permute", x, d)
		if seen[d] {
			throw(ErrValue, "permute", []*Tensor{x}, "dimension %d occurs twice", d)
		}
		seen[d], order[i] = true, d
		shape[i], strides[i] = x.shape[d], x.strides[d]
	}
	return view(opPermute, order, x, shape, strides, x.offset)
}

// Transpose returns x with two dimensions swapped. It is torch.transpose.
func (x *Tensor) Transpose(dim0, dim1 int) *Tensor {
	a, b := dimOf("transpose", x, dim0), dimOf("transpose", x, dim1)
	order := make([]int, len(x.shape))
	for i := range order {
		order[i] = i
	}
	if len(order) > 0 {
		order[a], order[b] = b, a
	}
	return x.Permute(order...)
}

// swapped is the order of a transposed matrix's dimensions, as an attribute.
var swapped any = []int{1, 0}

// T returns the transpose of a matrix. Tensors of fewer than two dimensions are
// returned as they are, of more are an [ErrShape] panic. It is torch.t.
func (x *Tensor) T() *Tensor {
	switch len(x.shape) {
	case 0, 1:
		return x.View(x.shape...)
	case 2:
		dims := []int{x.shape[1], x.shape[0], x.strides[1], x.strides[0]}
		return view(opPermute, swapped, x, dims[:2:2], dims[2:], x.offset)
	}
	panic(newError(ErrShape, "t", []*Tensor{x}, "a tensor of %d dimensions", len(x.shape)).advise("use Transpose or Permute"))
}

// expandAttrs says that broadcast's gradient is a sum.
var opExpand = &opdef{name: "expand"}

func init() {
	opExpand.grad = func(b *backward) { b.give(0, b.grad().SumTo(b.input(0).shape...)) }
}

// Expand returns a view of x in which dimensions of size 1 repeat to the given
// sizes, by NumPy's rule; -1 leaves a size. It is torch.Tensor.expand.
func (x *Tensor) Expand(shape ...int) *Tensor {
	want := append([]int{}, shape...)
	lead := len(want) - len(x.shape)
	if lead < 0 {
		throw(ErrShape, "expand", []*Tensor{x}, "%d sizes for %d dimensions", len(shape), len(x.shape))
	}
	strides := make([]int, len(want))
	for i := range want {
		if i < lead {
			if want[i] < 0 {
				throw(ErrShape, "expand", []*Tensor{x}, "size %d of new dimension %d", want[i], i)
			}
			continue
		}
		have := x.shape[i-lead]
		switch {
		case want[i] == -1 || want[i] == have:
			want[i], strides[i] = have, x.strides[i-lead]
		case have == 1 && want[i] >= 0:
		default:
			throw(ErrShape, "expand", []*Tensor{x}, "size %d of dimension %d cannot become %d", have, i-lead, want[i])
		}
	}
	if _, err := checkedSize("expand", want, x.dtype); err != nil {
		panic(err)
	}
	return view(opExpand, nil, x, want, strides, x.offset)
}

// narrowing is the attribute of narrow and select.
type narrowing struct{ dim, start, length int }

var opNarrow = &opdef{name: "narrow"}

func init() {
	opNarrow.grad = func(b *backward) {
		a := b.n.attrs.(narrowing)
		g := b.grad()
		out := g.NewZeros(b.input(0).shape...)
		b.give(0, placed(opNarrowPlace, a, out, g))
	}
}

// Narrow returns the elements start to start+length-1 of dimension dim, as a
// view. start may count from the end. It is torch.narrow.
func (x *Tensor) Narrow(dim, start, length int) *Tensor {
	d := dimOf("narrow", x, dim)
	if len(x.shape) == 0 {
		throw(ErrShape, "narrow", []*Tensor{x}, "a tensor without dimensions cannot be narrowed")
	}
	n := x.shape[d]
	if start < 0 {
		start += n
	}
	if start < 0 || start > n || length < 0 || length > n-start {
		throw(ErrIndex, "narrow", []*Tensor{x}, "elements %d to %d of dimension %d, which has %d", start, start+length-1, d, n)
	}
	shape := append([]int{}, x.shape...)
	shape[d] = length
	return view(opNarrow, narrowing{d, start, length}, x, shape, x.strides, x.offset+start*x.strides[d])
}

var opSelect = &opdef{name: "select"}

func init() {
	opSelect.grad = func(b *backward) {
		a := b.n.attrs.(narrowing)
		g := b.grad()
		out := g.NewZeros(b.input(0).shape...)
		b.give(0, placed(opNarrowPlace, a, out, g.Unsqueeze(a.dim)))
	}
}

// Select returns the part of x at index of dimension dim, without that
// dimension, as a view. index may count from the end. It is torch.select.
func (x *Tensor) Select(dim, index int) *Tensor {
	d := dimOf("select", x, dim)
	if len(x.shape) == 0 {
		throw(ErrShape, "select", []*Tensor{x}, "a tensor without dimensions has no parts")
	}
	n := x.shape[d]
	i := index
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		throw(ErrIndex, "select", []*Tensor{x}, "index %d of dimension %d, which has %d", index, d, n)
	}
	shape := append(append(make([]int, 0, len(x.shape)-1), x.shape[:d]...), x.shape[d+1:]...)
	strides := append(append(make([]int, 0, len(x.shape)-1), x.strides[:d]...), x.strides[d+1:]...)
	return view(opSelect, narrowing{d, i, 1}, x, shape, strides, x.offset+i*x.strides[d])
}

// Unsqueeze returns x with a dimension of size 1 inserted at dim. It is
// torch.unsqueeze.
func (x *Tensor) Unsqueeze(dim int) *Tensor {
	d, ok := wrapDim(dim, len(x.shape)+1)
	if !ok {
		throw(ErrIndex, "unsqueeze", []*Tensor{x}, "dimension %d of a tensor with %d", dim, len(x.shape))
	}
	step := 1
	if d < len(x.shape) {
		step = x.shape[d] * x.strides[d]
	}
	shape := append(append(append(make([]int, 0, len(x.shape)+1), x.shape[:d]...), 1), x.shape[d:]...)
	strides := append(append(append(make([]int, 0, len(x.shape)+1), x.strides[:d]...), step), x.strides[d:]...)
	return view(opReshapeView, nil, x, shape, strides, x.offset)
}

// Squeeze returns x without its dimensions of size 1, or without those of dims
// that have size 1. It is torch.squeeze.
func (x *Tensor) Squeeze(dims ...int) *Tensor {
	drop := make([]bool, len(x.shape))
	for _, d := range dims {
		if d = dimOf("squeeze", x, d); len(drop) > 0 {
			drop[d] = true
		}
	}
	var shape, strides []int
	for i, n := range x.shape {
		if n == 1 && (len(dims) == 0 || drop[i]) {
			continue
		}
		shape, strides = append(shape, n), append(strides, x.strides[i])
	}
	return view(opReshapeView, nil, x, shape, strides, x.offset)
}

// Flatten returns x with dimensions start to end, inclusive, made one; both may
// count from the end. It is torch.flatten, whose defaults are 0 and -1.
func (x *Tensor) Flatten(start, end int) *Tensor {
	a, b := dimOf("flatten", x, start), dimOf("flatten", x, end)
	if len(x.shape) == 0 {
		return x.Reshape(1)
	}
	if a > b {
		throw(ErrIndex, "flatten", []*Tensor{x}, "start dimension %d after end dimension %d", a, b)
	}
	shape := append([]int{}, x.shape[:a]...)
	shape = append(shape, size(x.shape[a:b+1]))
	return x.Reshape(append(shape, x.shape[b+1:]...)...)
}

var opAsStrided = &opdef{name: "as_strided"}

func init() {
	opAsStrided.grad = func(b *backward) {
		l, g := unrepeated(b.n.attrs.(layout), b.grad())
		out := g.NewZeros(b.input(0).shape...)
		b.give(0, placed(opStridedPlace, l, out, g))
	}
}

// unrepeated sums g over the dimensions in which l shows one element again and
// again, and makes them 1 in l.
func unrepeated(l layout, g *Tensor) (layout, *Tensor) {
	var dims []int
	for i, step := range l.strides {
		if step == 0 && l.shape[i] > 1 {
			dims = append(dims, i)
		}
	}
	if dims == nil {
		return l, g
	}
	l.shape = keptShape(l.shape, dims)
	return l, g.SumKeep(dims...)
}

// opCopySlices is the base of a view that was changed in place: operand 0 is
// the base before, operand 1 the view after.
var opCopySlices = &opdef{name: "copy_slices"}

func init() {
	opCopySlices.grad = func(b *backward) {
		l := b.n.attrs.(layout)
		g := b.grad()
		if b.needs(0) {
			b.give(0, placed(opStridedZero, l, g.Clone(), nil))
		}
		if b.needs(1) {
			b.give(1, takeStrided(g, l))
		}
	}
}
