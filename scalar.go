package ebb

import "math"

// scalar is a Go number or bool given to an operation. It takes part in type
// promotion only by its category: an integer tensor and a float give Float32.
type scalar struct {
	dtype DType // Int64, Float64 or Bool
	f     float64
	i     int64
}

// scalarOf converts v, a Go integer, float or bool; anything else is an
// ErrValue panic.
func scalarOf(op string, v any) scalar {
	switch v := v.(type) {
	case int:
		return scalar{dtype: Int64, i: int64(v)}
	case int64:
		return scalar{dtype: Int64, i: v}
	case int32:
		return scalar{dtype: Int64, i: int64(v)}
	case int16:
		return scalar{dtype: Int64, i: int64(v)}
	case int8:
		return scalar{dtype: Int64, i: int64(v)}
	case uint8:
		return scalar{dtype: Int64, i: int64(v)}
	case uint16:
		return scalar{dtype: Int64, i: int64(v)}
	case uint32:
		return scalar{dtype: Int64, i: int64(v)}
	case uint:
		if uint64(v) <= math.MaxInt64 {
			return scalar{dtype: Int64, i: int64(v)}
		}
	case uint64:
		if v <= math.MaxInt64 {
			return scalar{dtype: Int64, i: int64(v)}
		}
	case float64:
		return scalar{dtype: Float64, f: v}
	case float32:
		return scalar{dtype: Float64, f: float64(v)}
	case bool:
		s := scalar{dtype: Bool}
		if v {
			s.i = 1
		}
		return s
	}
	panic(newError(ErrValue, op, nil, "%v (%T) is no number a tensor can hold", v, v).advise("give a Go integer, float or bool"))
}

func (s scalar) float() float64 {
	if s.dtype == Float64 {
		return s.f
	}
	return float64(s.i)
}

func (s scalar) int() int64 {
	if s.dtype == Float64 {
		return int64(s.f)
	}
	return s.i
}

func (s scalar) fill() fillValue {
	return fillValue{float: s.f, integer: s.i, isInt: s.dtype != Float64}
}

// defaultType is the type of a tensor made of s alone.
func (s scalar) defaultType() DType {
	if s.dtype == Float64 {
		return Float32
	}
	return s.dtype
}

// with returns the type of an operation on a tensor of type d and s.
func (s scalar) with(d DType) DType {
	if s.dtype.category() > d.category() {
		return s.defaultType()
	}
	return d
}
