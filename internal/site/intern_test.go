package site

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// The table behaves as a map from the addresses in text.
func TestInternIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := &table{maxStacks: 1 << 20, maxCut: 1 << 20}
		want := map[string]*Stack{}
		stack := rapid.SliceOfN(rapid.Uint64Range(1, 3), 0, 5)
		for range rapid.IntRange(1, 60).Draw(t, "stacks") {
			var pcs []uintptr
			for _, pc := range stack.Draw(t, "stack") {
				pcs = append(pcs, uintptr(pc))
			}
			skip := rapid.IntRange(0, 2).Draw(t, "skip")
			s := table.intern(skip, pcs)
			if !slices.Equal(s.pcs, pcs) || s.skip != skip {
				t.Fatalf("interned %v skip %d as %v skip %d", pcs, skip, s.pcs, s.skip)
			}
			key := fmt.Sprint(skip, pcs)
			if old, ok := want[key]; ok && old != s {
				t.Fatalf("two stacks for %s", key)
			}
			want[key] = s
			if n := table.count.Load(); n != int64(len(want)) {
				t.Fatalf("count %d, %d stacks", n, len(want))
			}
		}
	})
}

func TestFullTable(t *testing.T) {
	table := &table{maxStacks: 2, maxCut: 3}
	long := func(inner, outer uintptr) []uintptr {
		pcs := slices.Repeat([]uintptr{inner}, 20)
		pcs[19] = outer
		return pcs
	}
	a, b := table.intern(0, long(1, 1)), table.intern(0, long(1, 2))
	if a == b || len(a.pcs) != 20 || len(b.pcs) != 20 {
		t.Fatal("the first two are kept in full")
	}
	c, d := table.intern(0, long(1, 3)), table.intern(0, long(1, 4))
	if c != d || len(c.pcs) != cutDepth {
		t.Errorf("cut stacks of %d and %d frames, the same %v", len(c.pcs), len(d.pcs), c == d)
	}
	if s := table.intern(0, long(2, 1)); s != tooMany {
		t.Errorf("a stack beyond all limits is %v", s)
	}
	if table.intern(0, long(1, 1)) != a || table.intern(0, long(1, 2)) != b {
		t.Error("a full table forgets stacks")
	}
	if n := table.count.Load(); n != 3 {
		t.Errorf("count %d", n)
	}
	if got := tooMany.String(); got != "too many stacks" {
		t.Errorf("String: %q", got)
	}
	if tooMany.Frames() != nil || tooMany.Site() != (runtime.Frame{}) {
		t.Error("the stack that stands for the rest has frames")
	}
}

// All goroutines add the same stacks, in a table with room for just these, to
// few chains.
func TestInternRace(t *testing.T) {
	for range 20 {
		const n = 50
		table := &table{maxStacks: n, maxCut: n}
		var got [8][n]*Stack
		var wg sync.WaitGroup
		for g := range got {
			wg.Go(func() {
				for i := range n {
					got[g][i] = table.intern(0, []uintptr{uintptr(i)})
				}
			})
		}
		wg.Wait()
		for g := range got {
			for i := range n {
				// A stack that was being added twice may have found the
				// table full for a moment.
				if s := got[g][i]; s != got[0][i] && s != tooMany && got[0][i] != tooMany {
					t.Fatalf("stack %d is not one", i)
				}
			}
		}
		if c := table.count.Load(); c > n {
			t.Fatalf("count %d", c)
		}
	}
}

func TestUsersFrames(t *testing.T) {
	local := layout{ebb: "/home/me/ebb/", std: "/usr/local/go/src/"}
	cached := layout{ebb: "/home/me/go/pkg/mod/github.com/ebb-ml/ebb@v0.1.0/", std: "/usr/local/go/src/"}
	trimmed := layout{ebb: "github.com/ebb-ml/ebb@v0.1.0/", std: ""}
	windows := layout{ebb: "C:/work/ebb/", std: "C:/Program Files/Go/src/"}
	cases := []struct {
		layout         layout
		function, file string
		want           bool
	}{
		{local, "main.run", "/home/me/mnist/main.go", true},
		{local, "main.run-range1", "/home/me/mnist/main.go", true},
		{local, "main.run.Closure.func1", "/home/me/ebb/nn/call.go", false},
		{local, "github.com/ebb-ml/ebb.(*Tensor).Add", "/home/me/ebb/add.go", false},
		{local, "github.com/ebb-ml/ebb.Map[...]", "/home/me/ebb/map.go", false},
		{local, "github.com/ebb-ml/ebb/nn.Call-range1", "/home/me/ebb/nn/call.go", false},
		{local, "github.com/ebb-ml/ebb/nn_test.TestCall", "/home/me/ebb/nn/call_test.go", true},
		{local, "github.com/ebb-ml/ebb/nn.ExampleCall", "/home/me/ebb/nn/example_test.go", true},
		{local, "main.main", "/home/me/ebb/examples/mnist/main.go", true},
		{local, "github.com/ebb-ml/ebb/bench/steps.Run", "/home/me/ebb/bench/steps/run.go", true},
		{local, "main.main", "/home/me/ebb/cmd/ebb/main.go", true},
		{local, "github.com/ebb-ml/ebb/cmdline.Run", "/home/me/ebb/cmdline/run.go", false},
		{local, "reflect.Value.Call", "/usr/local/go/src/reflect/value.go", false},
		{local, "runtime.goexit", "/usr/local/go/src/runtime/asm_amd64.s", false},
		{local, "main.run.Values[...].func1", "/usr/local/go/src/slices/iter.go", false},
		{local, "internal/sync.(*Once).Do", "/usr/local/go/src/internal/sync/once.go", false},
		{local, "time.train", "/home/me/time/train.go", true},
		{cached, "main.run", "/home/me/mnist/main.go", true},
		{cached, "github.com/ebb-ml/ebb/nn.Call", "/home/me/go/pkg/mod/github.com/ebb-ml/ebb@v0.1.0/nn/call.go", false},
		{cached, "main.run.func2", "/home/me/go/pkg/mod/github.com/ebb-ml/ebb@v0.1.0/nn/call.go", false},
		{cached, "github.com/ebb-ml/ebbtools.Run", "/home/me/go/pkg/mod/github.com/ebb-ml/ebbtools@v1.0.0/run.go", true},
		{trimmed, "main.run", "./main.go", true},
		{trimmed, "main.run", "mnist/main.go", true},
		{trimmed, "main.run", "main.go", true},
		{trimmed, "main.run.func2", "github.com/ebb-ml/ebb@v0.1.0/nn/call.go", false},
		{trimmed, "reflect.Value.Call", "reflect/value.go", false},
		{trimmed, "runtime.goexit", "runtime/asm_amd64.s", false},
		{trimmed, "example.com/x.Run[github.com/ebb-ml/ebb.T]", "example.com/x@v1.0.0/run.go", true},
		{windows, "main.run", "C:/work/mnist/main.go", true},
		{windows, "github.com/ebb-ml/ebb.(*Tensor).Add", "C:/work/ebb/add.go", false},
		{windows, "sync.(*Once).Do", "C:/Program Files/Go/src/sync/once.go", false},
		{local, "github.com/ebb-ml/ebb.(*Tensor).Add", "renamed/by/the/build.go", false},
		{local, "github.com/ebb-ml/ebb/nn.Call", "renamed/by/the/build.go", false},
		{local, "github.com/ebb-ml/ebb/cmd/x.Call", "renamed/by/the/build.go", true},
	}
	for _, c := range cases {
		f := runtime.Frame{Function: c.function, File: c.file}
		if got := c.layout.users(f); got != c.want {
			t.Errorf("%s in %s: user's %v, want %v", c.function, c.file, got, c.want)
		}
	}
}

func TestGeneratedFrames(t *testing.T) {
	for function, want := range map[string]bool{
		"main.run.gowrap1":             true,
		"main.run.func1.deferwrap12":   true,
		"main.(*T).Run-fm":             true,
		"example.com/a.b/c.run.gowrap": false,
		"main.gowrap1":                 false,
		"runtime.deferreturn":          true,
		"runtime.call16":               true,
		"runtime.callers":              false,
		"main.call16":                  false,
		"main.gowrapper":               false,
		"example.com/a.b/c.gowrap1":    false,
		"main.run.gowrapped":           false,
	} {
		if got := generated(runtime.Frame{Function: function, File: "/x.go"}); got != want {
			t.Errorf("%s: %v, want %v", function, got, want)
		}
	}
}
