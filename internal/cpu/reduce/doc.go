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
// Results are those of PyTorch's operation of the same name. Float products,
// and sums of float64, accumulate in float64 by a cascade (cascade.go) and are
// rounded once. Sums of float32 are added in float32 a few times before they go
// on in float64 (sum.go): they err about half as much as PyTorch's. The order of a
// sum depends on the shape and strides of the input alone: the same call gives the
// same bits.
//
// [Reduce] is the entry point; fold.go is how it walks.
package reduce
