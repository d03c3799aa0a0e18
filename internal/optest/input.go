package optest

import (
	"math"

	"github.com/ebb-ml/ebb"
)

// Input describes an operand.
type Input struct {
	Shape  []int
	DType  ebb.DType
	Grad   bool // collects a gradient
	Values Values
	Data   []float64 // in the place of Values
	Layout Layout
}

// F is a Float32 operand with a gradient, normal values.
func F(shape ...int) Input {
	return Input{Shape: shape, DType: ebb.Float32, Grad: true, Values: Normal}
}

// D is F for Float64.
func D(shape ...int) Input {
	return Input{Shape: shape, DType: ebb.Float64, Grad: true, Values: Normal}
}

// I is an Int64 operand of small integers.
func I(shape ...int) Input { return Input{Shape: shape, DType: ebb.Int64, Values: Integers} }

// I32 is an Int32 operand of small integers.
func I32(shape ...int) Input { return Input{Shape: shape, DType: ebb.Int32, Values: Integers} }

// U8 is a Uint8 operand of small integers.
func U8(shape ...int) Input { return Input{Shape: shape, DType: ebb.Uint8, Values: Below(7)} }

// B is a Bool operand.
func B(shape ...int) Input { return Input{Shape: shape, DType: ebb.Bool, Values: Below(2)} }

// As returns in with other values.
func (in Input) As(v Values) Input { in.Values = v; return in }

// Of returns in with the given values.
func (in Input) Of(data ...float64) Input { in.Data = data; return in }

// NoGrad returns in without a gradient.
func (in Input) NoGrad() Input { in.Grad = false; return in }

// In returns in with another layout.
func (in Input) In(l Layout) Input { in.Layout = l; return in }

// Values gives element k of an operand from u, which is uniform in [0, 1).
type Values func(k int, u float64) float64

// Multiples of 1/64 plus 1/128 are exact in every type, never 0 and never
// halfway between integers.
func grid(v float64) float64 { return math.Floor(v*64)/64 + 1.0/128 }

// Normal is between -2 and 2, more often near 0; never 0 or an integer.
func Normal(_ int, u float64) float64 { return grid(4 * (u - 0.5) * (0.4 + 1.2*math.Abs(u-0.5))) }

// Positive is between 0.5 and 2.5.
func Positive(_ int, u float64) float64 { return grid(0.5 + 2*u) }

// Unit is between -0.9 and 0.9.
func Unit(_ int, u float64) float64 { return grid(1.8*u - 0.9) }

// Probability is between 0.05 and 0.95.
func Probability(_ int, u float64) float64 { return grid(0.05 + 0.9*u) }

// Distinct are numbers that are far from one another, in no order (up to 997).
func Distinct(k int, _ float64) float64 { return float64((k*389+17)%997)/32 - 15 + 1.0/128 }

// Integers are between -5 and 5.
func Integers(_ int, u float64) float64 { return math.Floor(u*11) - 5 }

// Below are integers from 0 to n-1.
func Below(n int) Values { return func(_ int, u float64) float64 { return math.Floor(u * float64(n)) } }

// Special are NaN, infinities, zeros of both signs, and numbers near the ends
// of Float32, in turns.
func Special(k int, _ float64) float64 {
	all := [...]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1, 0.5, -2.5, 1e30, -1e30, 1e-30, 3, 1e-42, 88, -104}
	return all[k%len(all)]
}

// Layout is how an operand lies in memory.
type Layout int

// The layouts. What lies between and around the elements is NaN or 99.
const (
	Contiguous Layout = iota
	Transposed        // dimensions in reverse order
	Narrowed          // part of a larger tensor in every dimension
	Strided           // every second element
)

// layouts are those the layout check tries.
var layouts = []Layout{Transposed, Narrowed, Strided}

// String returns the layout's name.
func (l Layout) String() string {
	return [...]string{"contiguous", "transposed", "narrowed", "strided"}[l]
}

func numel(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// data returns the operand's elements, row-major. They differ by operand.
func (in Input) data(operand int) []float64 {
	n := numel(in.Shape)
	if in.Data != nil {
		return in.Data
	}
	out := make([]float64, n)
	for k := range out {
		v := in.Values(k, uniform(uint64(operand)<<32|uint64(k)))
		switch in.DType {
		case ebb.Int64, ebb.Int32:
			v = math.Trunc(v)
		case ebb.Uint8:
			v = math.Abs(math.Trunc(v))
		case ebb.Bool:
			if v != 0 {
				v = 1
			}
		case ebb.Float32:
			v = float64(float32(v))
		}
		out[k] = v
	}
	return out
}

// uniform is splitmix64's output for k, as a number in [0, 1).
func uniform(k uint64) float64 {
	z := (k + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(z>>11) / (1 << 53)
}

// finite reports whether all values of all operands are.
func finite(ins []Input) bool {
	for i, in := range ins {
		for _, v := range in.data(i) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return false
			}
		}
	}
	return true
}

// fromFloats makes a tensor of values.
func fromFloats(o ebb.Owner, dtype ebb.DType, data []float64, shape []int) *ebb.Tensor {
	if shape == nil {
		shape = []int{}
	}
	switch dtype {
	case ebb.Float32:
		return ebb.FromSliceWith(o, convert[float32](data), shape)
	case ebb.Float64:
		return ebb.FromSliceWith(o, data, shape)
	case ebb.Int64:
		return ebb.FromSliceWith(o, convert[int64](data), shape)
	case ebb.Int32:
		return ebb.FromSliceWith(o, convert[int32](data), shape)
	case ebb.Uint8:
		return ebb.FromSliceWith(o, convert[uint8](data), shape)
	}
	bools := make([]bool, len(data))
	for i, v := range data {
		bools[i] = v != 0
	}
	return ebb.FromSliceWith(o, bools, shape)
}

func convert[T float32 | int64 | int32 | uint8](data []float64) []T {
	out := make([]T, len(data))
	for i, v := range data {
		out[i] = T(v)
	}
	return out
}

// floats returns x's elements, row-major, whatever their type.
func floats(x *ebb.Tensor) []float64 {
	switch x.DType() {
	case ebb.Float32:
		return widen(x.Float32s())
	case ebb.Float64:
		return x.Float64s()
	case ebb.Int64:
		return widen(x.Int64s())
	case ebb.Int32:
		return widen(x.Int32s())
	case ebb.Uint8:
		return widen(x.Uint8s())
	}
	out := make([]float64, x.Numel())
	for i, v := range x.Bools() {
		if v {
			out[i] = 1
		}
	}
	return out
}

func widen[T float32 | int64 | int32 | uint8](data []T) []float64 {
	out := make([]float64, len(data))
	for i, v := range data {
		out[i] = float64(v)
	}
	return out
}

// laid puts data into memory of o with the given layout.
func laid(o ebb.Owner, dtype ebb.DType, data []float64, shape []int, l Layout) *ebb.Tensor {
	base, view := frame(shape, l)
	if l == Contiguous {
		return fromFloats(o, dtype, data, shape)
	}
	around := math.NaN()
	if dtype != ebb.Float32 && dtype != ebb.Float64 {
		around = 99
	}
	all := make([]float64, numel(base))
	for i := range all {
		all[i] = around
	}
	place(all, base, data, shape, l)
	return view(fromFloats(o, dtype, all, base))
}

// frame returns the shape of the tensor that a layout of shape lies in, and
// the view that shows it.
func frame(shape []int, l Layout) (base []int, view func(*ebb.Tensor) *ebb.Tensor) {
	switch l {
	case Transposed:
		order := make([]int, len(shape))
		for i := range shape {
			base = append(base, shape[len(shape)-1-i])
			order[i] = len(shape) - 1 - i
		}
		return base, func(x *ebb.Tensor) *ebb.Tensor { return x.Permute(order...) }
	case Narrowed:
		for _, n := range shape {
			base = append(base, n+3)
		}
		return base, func(x *ebb.Tensor) *ebb.Tensor {
			for i, n := range shape {
				x = x.Narrow(i, 1, n)
			}
			return x
		}
	case Strided:
		base = append(append(base, shape...), 2)
		return base, func(x *ebb.Tensor) *ebb.Tensor { return x.Select(-1, 1) }
	}
	return shape, func(x *ebb.Tensor) *ebb.Tensor { return x }
}

// place writes data, row-major of shape, into its places in all.
func place(all []float64, base []int, data []float64, shape []int, l Layout) {
	at := make([]int, len(shape))
	for _, v := range data {
		pos := 0
		for i := range base {
			var x int
			switch {
			case l == Transposed:
				x = at[len(shape)-1-i]
			case l == Narrowed:
				x = at[i] + 1
			case i < len(shape):
				x = at[i]
			default:
				x = 1
			}
			pos = pos*base[i] + x
		}
		all[pos] = v
		for i := len(shape) - 1; i >= 0; i-- {
			if at[i]++; at[i] < shape[i] {
				break
			}
			at[i] = 0
		}
	}
}
