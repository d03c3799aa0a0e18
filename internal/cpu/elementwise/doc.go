// Package elementwise computes, for every position of a strided array, one
// output element from the input elements at that position: copies and
// conversions, unary and binary operations, and a few fused ones.
//
// All arrays of a call have the same shape; a caller broadcasts by giving a
// dimension the stride 0. Inputs may have any strides, outputs any that give
// each element its own place. An output may be exactly the same view as an
// input; any other overlap is the caller's to exclude. Shapes and dtypes are
// the caller's to check too: a call that breaks what is written here panics or
// computes nonsense.
//
// Results are those of PyTorch's operation of the same name, element by
// element and without regard to layout: the same input bits give the same
// output bits at any position, stride or shape. For float32 the functions of
// package math are evaluated in float64 and rounded once, so they are within
// half a unit in the last place of the true value, where PyTorch's are within
// one or two.
//
// [Copy] and its neighbours show the shape of every operation: a table of
// kernels over contiguous elements, one per dtype, and the walk (walk.go) that
// brings strided memory to them.
package elementwise
