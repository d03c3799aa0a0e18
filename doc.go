// Package ebb has tensors, automatic differentiation and the memory they live
// in: what torch is to PyTorch.
//
// # A program
//
// A [Runtime] owns the allocator, the ledgers, the random stream and a tree of
// owners. A program makes one, and closes it last:
//
//	rt := ebb.NewRuntime()
//	defer func() { err = errors.Join(err, rt.Close()) }()
//	defer ebb.Catch(&err)
//
// Operations panic with a typed *[Error], so that arithmetic stays readable;
// [Catch], [Runtime.Run] and [Scope.Run] turn it into an error.
//
// # Who owns memory
//
// Tensor memory is off the Go heap; the garbage collector neither sees nor
// frees it. Every tensor lives in one owner:
//
//   - A [Store] keeps: weights, gradients, optimizer state, data sets. Creation
//     functions put tensors there ([Zeros], [Randn], [FromSlice]).
//   - A [Scope] computes: the results of operations land there, and die with it
//     at the latest. [Runtime.NewScope], [Runtime.Run], a loader (one per
//     batch), nn.Call and Backward open scopes.
//
// Closing an owner releases all that is in it, whatever still points there. No
// tensor is freed by hand, and none is freed too late: lifetime follows the
// data.
//
// There is no current scope. A result lands in the youngest scope among its
// operands', so what is computed from a batch dies with the batch.
// [Tensor.In] directs a tensor of a store, or of an older scope, into a scope;
// [Tensor.MoveTo] is the only way out of one. An operation on tensors of stores
// alone has nowhere to land, and says so.
//
// Using a tensor after its owner closed is an error that names where it was
// made and where it was released.
//
// # Gradients
//
// Tensors made with [RequiresGrad] collect gradients: [Tensor.Backward] walks
// the graph that operations recorded, newest first, and releases what it saved
// on the way. [Grad] returns gradients instead, also with a graph of their own.
// A scope opened with [NoGrad] records nothing. [Function] is a custom
// operation.
//
// # The same numbers
//
// With the same seed ([Runtime.ManualSeed]) random numbers, initial weights and
// shuffles are PyTorch's, and results follow its results. For a processor level
// (see EBB_CPU below) they are the same bits in every run, whatever the number
// of threads or GOMAXPROCS.
//
// # Environment
//
//	EBB_CPU=generic|avx2|avx512|neon  uses kernels of this level; an unknown or
//	                                  unsupported one is an error when a
//	                                  runtime's first store or scope is opened
//
// Tags: noasm builds without assembly; invariants puts guard pages around
// tensor memory, poisons what is freed and checks it. Under the race detector
// tensor memory lies on the Go heap, where the detector sees it.
package ebb
