// Package ebbtest is for tests of programs that use Ebb: a runtime or a scope
// for one test, which fails if memory is still held when the test ends, and
// names each survivor with the line that made it.
//
//	func TestModel(t *testing.T) {
//		rt := ebbtest.Runtime(t)
//		model := NewModel(rt.NewStore("model"))
//		...
//		nn.Release(model) // without it the test fails
//	}
package ebbtest

import (
	"testing"

	"github.com/ebb-ml/ebb"
)

// Runtime returns a new runtime with the given options for one test. When the
// test and its later cleanups have ended, running operations are waited for (ten
// seconds at most), and every tensor that is still held is an error of the test,
// with its kind, shape, bytes, owner and site. So is a store or scope that was
// dropped and that the collector had to reclaim. Then the runtime is closed.
//
// In a test that has failed already, or was skipped, the survivors are its
// consequence: they are logged, and no error.
func Runtime(t testing.TB, opts ...ebb.RuntimeOption) *ebb.Runtime {
	t.Helper()
	rt := ebb.NewRuntime(append([]ebb.RuntimeOption{ebb.OnLeak(nil)}, opts...)...)
	t.Cleanup(func() { check(t, rt) })
	return rt
}

// Scope returns a new scope for one test, in a runtime of its own: what is
// computed in it goes when the test ends. What else the test keeps in that
// runtime (s.Runtime()) is checked as by [Runtime]. The scope records a graph
// unless mode is [ebb.NoGrad].
func Scope(t testing.TB, mode ...ebb.Mode) *ebb.Scope {
	t.Helper()
	rt := Runtime(t)
	s := rt.NewScope(t.Name(), mode...)
	t.Cleanup(s.Close)
	return s
}

// check reports what is held in rt and closes it.
func check(t testing.TB, rt *ebb.Runtime) {
	t.Helper()
	report := t.Errorf
	if t.Failed() || t.Skipped() {
		report = t.Logf
	}
	if err := rt.WaitLeases(); err != nil {
		report("ebbtest: %v", err)
	}
	for _, h := range rt.Holdings() {
		report("ebbtest: still held: %v", h)
	}
	for _, l := range rt.Leaks() {
		report("ebbtest: %v", l)
	}
	rt.MarkFailed() // it has been said, and Close is not to say it again
	if err := rt.Close(); err != nil {
		report("ebbtest: %v", err)
	}
}
