package arraytest

import (
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu"
)

type failures int

func (f *failures) Helper()               {}
func (f *failures) Fatalf(string, ...any) { *f++ }

func TestStrayWritesAreSeen(t *testing.T) {
	g := New(cpu.Float32, []int{2}, []int{3})
	g.SetFloat(0, 1)
	g.SetFloat(1, 2)
	var f failures
	if g.CheckCanaries(&f); f != 0 {
		t.Fatal("writes to elements count as stray")
	}
	for _, place := range []int{-1, 1, 2, 4} {
		stray := *g
		stray.memory = append([]uint64(nil), g.memory...)
		stray.bytes()[4*(stray.first+place)] = 0
		f = 0
		if stray.CheckCanaries(&f); f != 1 {
			t.Errorf("a write to place %d was not seen", place)
		}
	}
}
