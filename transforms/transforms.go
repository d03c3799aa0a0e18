// Package transforms changes images on their way from a data set to a model, as
// torchvision.transforms.
//
//	transforms.Compose(transforms.ToTensor(), transforms.Normalize([]float64{0.1307}, []float64{0.3081}))
//
// A transform works on a whole batch at a time: its first dimension counts the
// images. ToTensor, and Normalize after it, are one pass over memory (each byte
// is looked up in a table), with the same bits as the steps one by one.
package transforms

import (
	"fmt"

	"github.com/ebb-ml/ebb"
)

// Transform changes a batch of images.
type Transform interface {
	// Apply returns x changed. The result lies in the scope where results of
	// operations on x land; x itself stays as it is.
	Apply(x *ebb.Tensor) *ebb.Tensor
}

// ToTensor makes numbers of images: bytes of shape [N, H, W] or [N, H, W, C]
// become Float32 from 0 to 1 of shape [N, C, H, W], where C is 1 if there was
// none. Other types keep their values and type, as in torchvision. Other shapes
// are an [ebb.ErrShape] panic. It is torchvision.transforms.ToTensor.
func ToTensor() Transform { return toTensor{} }

type toTensor struct{}

func (toTensor) Apply(x *ebb.Tensor) *ebb.Tensor {
	y := planes(x)
	if x.DType() != ebb.Uint8 {
		return y.Contiguous()
	}
	return y.To(ebb.Float32).DivScalar(255).Contiguous()
}

// planes returns x, [N, H, W] or [N, H, W, C], as [N, C, H, W].
func planes(x *ebb.Tensor) *ebb.Tensor {
	switch x.Dim() {
	case 3:
		return x.Unsqueeze(1)
	case 4:
		return x.Permute(0, 3, 1, 2)
	}
	panic(&ebb.Error{Kind: ebb.ErrShape, Op: "ToTensor", Given: fmt.Sprintf("images of %d dimensions", x.Dim()),
		Advice: "they are [N, H, W] or [N, H, W, C]", Shapes: [][]int{x.Shape()}, DTypes: []ebb.DType{x.DType()}})
}

// scopeOf returns the scope where results on x land.
func scopeOf(op string, x *ebb.Tensor) *ebb.Scope {
	s := x.Scope()
	if s == nil {
		panic(&ebb.Error{Kind: ebb.ErrNoScope, Op: op, Given: "the images lie in a store", Advice: "direct them into a scope: x.In(scope)"})
	}
	return s
}

// Normalize subtracts mean and divides by std, channel by channel. Both have a
// number for each channel, or one for all. A std of 0, or lengths that differ,
// are an [ebb.ErrValue] panic. The images are floats of shape [N, C, H, W]. It is
// torchvision.transforms.Normalize.
func Normalize(mean, std []float64) Transform {
	bad := len(mean) != len(std) || len(mean) == 0
	for _, s := range std {
		bad = bad || float32(s) == 0
	}
	if bad {
		panic(&ebb.Error{Kind: ebb.ErrValue, Op: "Normalize", Given: fmt.Sprintf("mean %v, std %v", mean, std), Advice: "one of each for a channel; std is not 0"})
	}
	return normalize{mean, std}
}

type normalize struct{ mean, std []float64 }

func (n normalize) Apply(x *ebb.Tensor) *ebb.Tensor {
	if !x.DType().IsFloat() {
		panic(&ebb.Error{Kind: ebb.ErrDType, Op: "Normalize", Given: fmt.Sprintf("images of %s", x.DType()), Advice: "use ToTensor first"})
	}
	n.check(x.Shape())
	scope := scopeOf("Normalize", x)
	mean := ebb.FromSlice(scope, n.mean, len(n.mean), 1, 1).To(x.DType())
	std := ebb.FromSlice(scope, n.std, len(n.std), 1, 1).To(x.DType())
	return x.Sub(mean).Div(std)
}

// check panics unless shape is [N, C, H, W] and suits the channels.
func (n normalize) check(shape []int) {
	if len(shape) != 4 || len(n.mean) != 1 && len(n.mean) != shape[1] {
		panic(&ebb.Error{Kind: ebb.ErrShape, Op: "Normalize", Given: fmt.Sprintf("mean and std of %d channels", len(n.mean)),
			Advice: "images are [N, C, H, W]", Shapes: [][]int{shape}})
	}
}

// Lambda is a transform that calls f with the batch. f must be safe to call from
// several goroutines. It is torchvision.transforms.Lambda, of whole batches.
func Lambda(f func(x *ebb.Tensor) *ebb.Tensor) Transform { return lambda(f) }

type lambda func(x *ebb.Tensor) *ebb.Tensor

func (f lambda) Apply(x *ebb.Tensor) *ebb.Tensor { return f(x) }

// Compose applies transforms one after another. It is
// torchvision.transforms.Compose.
func Compose(ts ...Transform) Transform {
	var all compose
	for _, t := range ts {
		if c, ok := t.(compose); ok {
			all = append(all, c...)
		} else {
			all = append(all, t)
		}
	}
	return all
}

type compose []Transform

func (c compose) Apply(x *ebb.Tensor) *ebb.Tensor {
	for _, t := range c {
		x = t.Apply(x)
	}
	return x
}
