// Package reduce computes one output element from many input elements: sums,
// means, products, extremes and where they are, softmax and its relatives, and
// running sums along a dimension.
//
// Inputs may have any strides, 0 included. An output of a reduction has the
// input's shape with size 1 in the reduced dimensions, and any strides that
// give each element its own place. Outputs do not overlap inputs, except that
// those of [CumSum], [SoftMax], [LogSoftMax] and their gradients may be exactly
// the same view as an input. Shapes and dtypes are the caller's to check: a call
// that breaks what is written here panics or computes nonsense.
//
// Results are those of PyTorch's operation of the same name. Float sums and
// products, of float32 too, accumulate in float64 by a cascade (cascade.go) and
// are rounded once, so a float32 result is almost always the true value rounded;
// PyTorch's carries the error of a float32 cascade. The order of a sum depends on
// the shape and strides of the input alone: the same call gives the same bits.
//
// [Reduce] is the entry point; fold.go is how it walks.
package reduce
