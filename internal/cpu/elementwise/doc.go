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
// output bits at any position, stride or shape. Sums with a product round once
// where PyTorch's vector code does. Functions of float32 are within the units in
// the last place that the README lists, as PyTorch's are; those of float64, and
// on the generic level all, are package math's, evaluated in float64 and rounded
// once.
//
// Large operations run in tasks of a size that depends on the shape alone.
//
// [Copy] and its neighbours show the shape of every operation: a table of
// kernels over contiguous elements (kernel.go), the short way for contiguous
// arrays (run.go), and the walk (walk.go) that brings strided memory to them.
package elementwise
