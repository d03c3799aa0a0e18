package ebb

var opFromFunc = &opdef{name: "from_func", constant: true, kernel: func(c *call) *Error { return c.attrs.(func(*call) *Error)(c) }}

// FromFunc returns a tensor of the given shape, of type T, whose elements f
// writes. f gets them row-major, with contents undefined, and is to set each of
// them; the slice is valid until f returns. If f returns an error there is no
// tensor, and FromFunc returns that error. It is for data that come from
// elsewhere (a file, a decoder) and are not to pass through the Go heap.
func FromFunc[T Element](o Owner, shape Shape, f func(data []T) error, opts ...Option) (*Tensor, error) {
	dtype := dtypeOf[T]()
	cr := creationOf("from_func", dtype, opts)
	if cr.dtype != dtype {
		panic(newError(ErrDType, "from_func", nil, "option %s for a function that writes %s", cr.dtype, dtype).advise("convert with To"))
	}
	var failed error
	x := func() (x *Tensor) {
		defer func() {
			if failed != nil {
				_ = recover() // the panic below that failed, carried out of the kernel
			}
		}()
		return create(opFromFunc, func(c *call) *Error {
			if failed = f(elements[T](c.dst(0))); failed != nil {
				return &Error{Kind: ErrValue, Err: failed}
			}
			return nil
		}, o, shape, cr)
	}()
	return x, failed
}
