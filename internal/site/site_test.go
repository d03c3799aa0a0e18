package site_test

import (
	"fmt"
	"iter"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ebb-ml/ebb/internal/site"
	"github.com/ebb-ml/ebb/internal/site/internal/fixture"
	"github.com/google/go-cmp/cmp"
)

// line returns "file:line" of the line that calls it.
func line() string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprint(path.Base(file), ":", line)
}

// lineBelow returns "file:line" of the line so many below the one that calls it.
func lineBelow(n int) string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprint(path.Base(file), ":", line+n)
}

func generic[T any](x T) (*site.Stack, string) { return fixture.Generic(x), line() }

func embedded() (*site.Stack, string) {
	var v struct{ fixture.T }
	var i interface{ Pointer() *site.Stack } = &v // through a generated wrapper
	return i.Pointer(), line()
}

// kept keeps a function from being inlined where it is called.
var kept func() *site.Stack

// Each case takes a stack inside Ebb and says on which line of the user's.
func TestSiteIsTheUsersLine(t *testing.T) {
	cases := map[string]func() (*site.Stack, string){
		"direct":                func() (*site.Stack, string) { return site.Here(0), line() },
		"inlined":               func() (*site.Stack, string) { return fixture.Op(), line() },
		"outlined":              func() (*site.Stack, string) { return fixture.Outlined(), line() },
		"deep":                  func() (*site.Stack, string) { return fixture.Deep(40), line() },
		"generic":               func() (*site.Stack, string) { return fixture.Generic("x"), line() },
		"generic, user types":   func() (*site.Stack, string) { return fixture.Generic(struct{ a, b int }{}), line() },
		"in a generic function": func() (*site.Stack, string) { return generic(3) },
		"callback":              func() (*site.Stack, string) { return fixture.Call(fixture.Op), line() },
		"standard callback":     func() (*site.Stack, string) { return fixture.Sorted(), line() },
		"user's callback": func() (*site.Stack, string) {
			var at string
			s := fixture.Call(func() *site.Stack {
				at = lineBelow(1)
				return fixture.Op()
			})
			return s, at
		},
		"closure of an inlined function": func() (*site.Stack, string) {
			kept = fixture.Closure()
			return kept(), line()
		},
		"method value": func() (*site.Stack, string) {
			f := fixture.T{}.Method
			return f(), line()
		},
		"method expression": func() (*site.Stack, string) {
			f := (*fixture.T).Pointer
			return f(&fixture.T{}), line()
		},
		"embedded": embedded,
		"reflect": func() (*site.Stack, string) {
			v := reflect.ValueOf(fixture.Outlined)
			return v.Call(nil)[0].Interface().(*site.Stack), line()
		},
		"reflect.MakeFunc": func() (*site.Stack, string) {
			f := reflect.MakeFunc(reflect.TypeFor[func() *site.Stack](), func([]reflect.Value) []reflect.Value {
				return reflect.ValueOf(fixture.Op).Call(nil)
			}).Interface().(func() *site.Stack)
			return f(), lineBelow(-2)
		},
		"iterator": func() (s *site.Stack, at string) {
			at = lineBelow(1)
			for s = range fixture.Batches(3) {
			}
			return s, at
		},
		"body of a range over a function": func() (s *site.Stack, at string) {
			for range fixture.Batches(3) {
				s, at = fixture.Op(), line()
			}
			return s, at
		},
		"iterator of the library into Ebb": func() (*site.Stack, string) {
			return fixture.Collect(slices.Values([]int{1})), line()
		},
		"pulled iterator": func() (*site.Stack, string) {
			var at string
			next, stop := iter.Pull(func(yield func(*site.Stack) bool) {
				at = lineBelow(1)
				yield(fixture.Op())
			})
			defer stop()
			s, _ := next()
			return s, at
		},
		"goroutine": func() (s *site.Stack, at string) {
			var wg sync.WaitGroup
			wg.Go(func() { s, at = fixture.Op(), line() })
			wg.Wait()
			return s, at
		},
		"deferred": func() (s *site.Stack, at string) {
			func() {
				defer func() { s, at = fixture.Op(), line() }()
			}()
			return s, at
		},
		"deferred in a panic": func() (s *site.Stack, at string) {
			defer func() { recover() }()
			defer func() { s, at = fixture.Op(), line() }()
			var p *fixture.T
			p.Method()
			return nil, ""
		},
		"once": func() (s *site.Stack, at string) {
			f := sync.OnceValue(fixture.Op)
			return f(), line()
		},
	}
	for name, call := range cases {
		t.Run(name, func(t *testing.T) {
			s, want := call()
			f := s.Site()
			if got := fmt.Sprint(path.Base(f.File), ":", f.Line); got != want {
				t.Errorf("site %s, want %s; frames:\n%s", got, want, text(s.Frames()))
			}
		})
	}
}

// callers returns the frames that runtime.Callers gives from its caller on.
func callers(skip int) []runtime.Frame {
	var pcs [200]uintptr
	return symbols(pcs[:runtime.Callers(2+skip, pcs[:])])
}

func symbols(pcs []uintptr) []runtime.Frame {
	var frames []runtime.Frame
	it := runtime.CallersFrames(pcs)
	for f, more := it.Next(); f.Function != ""; f, more = it.Next() {
		frames = append(frames, f)
		if !more {
			break
		}
	}
	return frames
}

func text(frames []runtime.Frame) string {
	var b strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&b, "%s %s:%d\n", f.Function, f.File, f.Line)
	}
	return b.String()
}

// both takes the stack both ways, on one line.
type both struct {
	ours   *site.Stack
	theirs []runtime.Frame
}

func take(skip int) both { return both{site.Here(skip), callers(skip)} }

//go:noinline
func outlined(skip int) both { return take(skip) }

func recurse(n, skip int) both {
	if n == 0 {
		return take(skip)
	}
	return recurse(n-1, skip)
}

type walker struct{}

func (walker) walk(skip int) both { return take(skip) }

// The runtime knows every frame; so must the walk, at every skip.
func TestFramesAreTheRuntimes(t *testing.T) {
	shapes := map[string]func(skip int) both{
		"inlined":      take,
		"outlined":     outlined,
		"deep":         func(skip int) both { return recurse(20, skip) },
		"method value": walker{}.walk,
		"embedded": func(skip int) both {
			var i interface{ walk(int) both } = &struct{ walker }{}
			return i.walk(skip)
		},
		"reflect": func(skip int) both {
			args := []reflect.Value{reflect.ValueOf(skip)}
			return reflect.ValueOf(outlined).Call(args)[0].Interface().(both)
		},
		"goroutine": func(skip int) both {
			c := make(chan both)
			go func(n int) { c <- outlined(n) }(skip)
			return <-c
		},
		"deferred": func(skip int) (b both) {
			defer func(n int) { b = outlined(n) }(skip)
			return both{}
		},
		"panicking": func(skip int) (b both) {
			defer func() { recover() }()
			defer func() { b = outlined(skip) }()
			var p *int
			*p = 1
			return both{}
		},
		"ranging": func(skip int) (b both) {
			for range fixture.Batches(1) {
				b = outlined(skip)
			}
			return b
		},
	}
	for name, shape := range shapes {
		for skip := range 9 {
			b := shape(skip)
			if diff := cmp.Diff(text(b.theirs), text(b.ours.Frames())); diff != "" {
				t.Errorf("%s, skip %d (-runtime +ours):\n%s", name, skip, diff)
			}
			// The addresses mean the same frames to anybody.
			if diff := cmp.Diff(text(b.theirs), text(symbols(b.ours.PCs()))); diff != "" {
				t.Errorf("%s, skip %d, from PCs (-runtime +ours):\n%s", name, skip, diff)
			}
		}
	}
}

func TestDeepStacksKeepTheInnermost(t *testing.T) {
	b := recurse(1000, 0)
	ours := b.ours.Frames()
	if len(ours) < 60 || len(ours) > 130 { // 64 physical frames, two at most inlined in one
		t.Fatalf("%d frames", len(ours))
	}
	if diff := cmp.Diff(text(b.theirs[:60]), text(ours[:60])); diff != "" {
		t.Errorf("-runtime +ours:\n%s", diff)
	}
	for skip := range 100 {
		recurse(1000, skip).ours.Frames() // must not fail when all is skipped
	}
}

func TestEqualStacksAreOne(t *testing.T) {
	seen := map[*site.Stack]bool{}
	for range 10 {
		seen[fixture.Outlined()] = true
		seen[fixture.Outlined()] = true // another line, another stack
	}
	if len(seen) != 2 {
		t.Errorf("%d stacks for two lines", len(seen))
	}
	before := site.Count()
	if avg := testing.AllocsPerRun(100, func() { fixture.Outlined() }); avg != 0 {
		t.Errorf("%v allocations for a known stack", avg)
	}
	if n := site.Count() - before; n > 2 { // the warm-up run and the others
		t.Errorf("%d new stacks for one line", n)
	}
}

func TestConcurrentInterning(t *testing.T) {
	const lines, goroutines = 30, 8
	var got [goroutines][lines]*site.Stack
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range lines {
				got[g][i] = recurse(i, 0).ours
				_ = got[g][i].String()
			}
		})
	}
	wg.Wait()
	distinct := map[*site.Stack]bool{}
	for g := range goroutines {
		if got[g] != got[0] {
			t.Fatalf("goroutine %d has other stacks than goroutine 0", g)
		}
	}
	for _, s := range got[0] {
		distinct[s] = true
	}
	if len(distinct) != lines {
		t.Errorf("%d stacks at %d depths", len(distinct), lines)
	}
}

func TestString(t *testing.T) {
	s := fixture.Outlined()
	if got, want := s.String(), "site/site_test.go:"; !strings.HasPrefix(got, want) {
		t.Errorf("%q does not start with %q", got, want)
	}
	if got, want := s.String(), " site_test.TestString"; !strings.HasSuffix(got, want) {
		t.Errorf("%q does not end with %q", got, want)
	}
}

func TestNilStack(t *testing.T) {
	var s *site.Stack
	if got := s.String(); got != "unknown" {
		t.Errorf("String: %q", got)
	}
	if s.Frames() != nil || len(s.PCs()) != 0 || s.Site() != (runtime.Frame{}) {
		t.Error("a nil stack has frames")
	}
}

var sink *site.Stack

func BenchmarkHere(b *testing.B) {
	for _, depth := range []int{8, 15, 64} {
		b.Run(fmt.Sprint(depth), func(b *testing.B) {
			bench(b, depth-3)
		})
	}
}

//go:noinline
func bench(b *testing.B, n int) {
	if n > 0 {
		bench(b, n-1)
		return
	}
	for b.Loop() {
		sink = site.Here(0)
	}
}
