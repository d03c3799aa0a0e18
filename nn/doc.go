// Package nn has layers, losses and initialisers, as torch.nn.
//
// # A model is a struct
//
// A model is a pointer to a struct with layers in exported fields and a method
// Forward. Its constructor takes the store that the weights are to live in:
//
//	type SimpleNN struct {
//		Fc1 *nn.Linear
//		Act *nn.ReLU
//		Fc2 *nn.Linear
//	}
//
//	func NewSimpleNN(st *ebb.Store) *SimpleNN {
//		return &SimpleNN{Fc1: nn.NewLinear(st, 784, 128), Act: &nn.ReLU{}, Fc2: nn.NewLinear(st, 128, 10)}
//	}
//
//	func (m *SimpleNN) Forward(x *ebb.Tensor) *ebb.Tensor {
//		return nn.Chain(x.View(-1, 784), m.Fc1, m.Act, m.Fc2)
//	}
//
// Nothing is registered. [Parameters], [NamedModules], [NewStateDict] and
// [String] find what a model holds in its exported fields: tensors; modules,
// which are whatever has a method Forward; and structs, pointers to structs,
// slices, arrays, maps with string keys and interfaces that hold these. Names
// are PyTorch's: the field's name with a small first letter, an index or a key,
// so the weight of Fc1 is "fc1.weight" and that of Blocks[0].Fc is
// "blocks.0.fc.weight". The tag `ebb:"name"` sets another name, `ebb:"-"` hides a
// field, and fields of embedded structs count as the struct's own, as do those
// marked `ebb:",inline"`.
//
// A tensor of kind [ebb.Parameter] is a parameter; other tensors are buffers.
// A module that makes tensors of its own makes a store for them first,
// store.NewStore("name"), as the layers here do.
//
// # Calling it
//
// [Call] runs a model, and inside Forward a module below it, in a scope of its
// own: what Forward made on the way is given back when it returns, unless the
// gradient needs it, and what it returns becomes the caller's. [Chain] and
// [Sequential] go further and free what one layer handed to the next as soon as
// that has returned; a model built from them takes no more memory than PyTorch.
// Layers may also be called plainly, m.Fc1.Forward(x): then their results stay
// until the scope around them closes.
//
//	err := rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
//		logits := nn.Call(model, input.In(s))
//		loss := nn.CrossEntropyLoss(logits, target)
//		loss.Backward()
//		opt.Step()
//		return nil
//	})
//
// One goroutine trains a model at a time; any number may call it in NoGrad
// scopes. A module that keeps a tensor that Forward computed in a field finds it
// released afterwards: keep numbers, or what MoveTo moved to a store.
//
// # Weights
//
// Layers draw their weights as PyTorch's do, from the runtime's generator or
// [WithGenerator]'s: after the same ManualSeed the model starts from the same
// numbers. The initialisers ([KaimingNormal_] and the rest) draw them anew.
// [SetRequiresGrad] freezes and thaws, [NewStateDict] and [LoadStateDict] copy
// weights out and in.
//
// [Release] gives the memory of a model back: weights, gradients and optimizer
// state. Close its store to the same effect.
package nn
