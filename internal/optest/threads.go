package optest

import (
	"hash/maphash"
	"testing"
	"unsafe"

	"github.com/ebb-ml/ebb"
)

// Threads runs rows with large operands on one and on several threads: the
// bits are the same. setThreads is cpu.SetNumThreads, 0 for the default.
func (tb *Table) Threads(t *testing.T, setThreads func(n int)) {
	if testing.Short() {
		t.Skip("large operands")
	}
	defer setThreads(0)
	for _, c := range tb.cases {
		if c.Large == nil || c.Skip[Threads] != "" {
			continue
		}
		t.Run(c.id(), func(t *testing.T) {
			rt := newRuntime(t)
			st := rt.NewStore("operands")
			defer st.Close()
			large := *c
			large.In = c.Large
			sd := large.storeLeaves(st)
			var want []uint64
			for _, n := range []int{1, 3} {
				setThreads(n)
				err := rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
					tr := sd.in(s)
					outs := tr.run(s)
					got := digests(append(outs, tr.grads(s, outs)...))
					if n == 1 {
						want = got
					}
					for i := range got {
						switch {
						case got[i] == want[i]:
						case i < len(outs):
							t.Errorf("result %d depends on the number of threads", i)
						default:
							t.Errorf("gradient %d depends on the number of threads", i-len(outs))
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

var seed = maphash.MakeSeed()

// digests hashes tensors' bits; a missing one gives 0.
func digests(xs []*ebb.Tensor) []uint64 {
	out := make([]uint64, len(xs))
	for i, x := range xs {
		if x == nil {
			continue
		}
		switch x.DType() {
		case ebb.Float32:
			out[i] = digest[float32](x)
		case ebb.Float64:
			out[i] = digest[float64](x)
		case ebb.Int64:
			out[i] = digest[int64](x)
		case ebb.Int32:
			out[i] = digest[int32](x)
		case ebb.Uint8:
			out[i] = digest[uint8](x)
		case ebb.Bool:
			out[i] = digest[bool](x)
		}
	}
	return out
}

func digest[T ebb.Element](x *ebb.Tensor) (sum uint64) {
	ebb.Read(x, func(data []T) {
		sum = maphash.Bytes(seed, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), x.NBytes()))
	})
	return sum
}
