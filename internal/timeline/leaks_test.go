package timeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ebb-ml/ebb/internal/snapshot"
)

// program records a trace as an imitated program makes it.
type program struct {
	s    *snapshot.Snapshot
	d    *snapshot.Device
	next uint64
	live map[uint64]snapshot.Event
	now  int64
}

func newProgram() *program {
	s := snapshot.New()
	return &program{s: s, d: s.Device(0), next: 1 << 40, live: map[uint64]snapshot.Event{}, now: 1_700_000_000_000_000}
}

func (p *program) event(a snapshot.Action, addr, size uint64, stack snapshot.StackID, meta string) {
	p.now += 10
	p.d.Trace.Append(snapshot.Event{
		Addr: addr, Size: size, Time: p.now, Stack: stack,
		Class: p.s.ClassOf(snapshot.Class{Action: a, Metadata: p.s.Intern(meta)}),
	})
}

// alloc allocates at a line of the program.
func (p *program) alloc(site string, size uint64) uint64 {
	file, _, _ := strings.Cut(site, ":")
	var line int32
	fmt.Sscanf(site[strings.LastIndex(site, ":")+1:], "%d", &line)
	stack := p.s.StackOf([]snapshot.FrameID{p.s.FrameOf("??", 0, "malloc"), p.s.FrameOf(file, line, "f"), p.s.FrameOf("main.py", 1, "main")})
	addr := p.next
	p.next += 1 << 20
	p.event(snapshot.Alloc, addr, size, stack, "")
	p.live[addr] = snapshot.Event{Size: size, Stack: stack}
	return addr
}

func (p *program) free(addr uint64) {
	e := p.live[addr]
	delete(p.live, addr)
	p.event(snapshot.FreeCompleted, addr, e.Size, e.Stack, "")
}

func (p *program) mark(text string) { p.event(snapshot.Annotate, 0, 0, 0, text) }

// step is a training step without a leak.
func (p *program) step(name string) {
	a, b := p.alloc(name+".py:10", 4096), p.alloc(name+".py:20", 8192)
	p.free(p.alloc(name+".py:30", 512))
	p.free(b)
	p.free(a)
}

func (p *program) leaks() Leaks {
	h := New(p.s, p.d)
	return h.Leaks(NewNames(p.s))
}

// rates returns the leaks as "file:line bytes per iteration".
func rates(list []Growth) string {
	var parts []string
	for _, g := range list {
		site, _, _ := strings.Cut(g.Site, " ")
		parts = append(parts, fmt.Sprintf("%s %.0f", site, g.BytesPerIteration))
	}
	return strings.Join(parts, ", ")
}

func TestLeaks(t *testing.T) {
	tests := []struct {
		name        string
		run         func(p *program)
		leaks, once string
		iterations  int
	}{
		{"none", func(p *program) {
			p.alloc("init.py:1", 1<<20)
			for range 20 {
				p.step("train")
			}
		}, "", "", 19},
		{"every step", func(p *program) {
			for range 20 {
				p.step("train")
				p.alloc("leak.py:7", 1000)
			}
		}, "leak.py:7 1000", "", 19},
		{"with marks", func(p *program) {
			for i := range 12 {
				p.mark(fmt.Sprintf("step %d", i))
				for range i%3 + 1 {
					p.step("train")
				}
				p.alloc("leak.py:7", 1000)
			}
		}, "leak.py:7 1000", "", 11},
		{"first iteration keeps blocks", func(p *program) {
			for i := range 20 {
				p.step("train")
				if i == 0 {
					p.alloc("optimizer.py:5", 5000)
				}
			}
		}, "", "optimizer.py:5 0", 19},
		{"one tensor every tenth step", func(p *program) {
			for i := range 60 {
				p.step("train")
				if i%10 == 0 {
					p.alloc("leak.py:7", 1000)
				}
			}
		}, "leak.py:7 88", "", 59}, // 5 tensors in the 57 iterations after the first two
		{"a cache that fills and stays", func(p *program) {
			for i := range 60 {
				p.step("train")
				if i < 25 {
					p.alloc("cache.py:3", 1000)
				}
			}
		}, "", "cache.py:3 0", 59},
		{"a state that replaces itself", func(p *program) {
			old := p.alloc("state.py:1", 100)
			for range 30 {
				p.step("train")
				h := p.alloc("state.py:2", 100)
				p.free(old)
				old = h
			}
		}, "", "state.py:2 0", 29}, // the line that took over from state.py:1
		{"one block that grows", func(p *program) {
			old, size := p.alloc("cat.py:1", 100), uint64(100)
			for range 30 {
				p.step("train")
				size += 100
				h := p.alloc("cat.py:2", size)
				p.free(old)
				old = h
			}
		}, "cat.py:2 100", "", 29},
		{"sizes that change", func(p *program) {
			var kept []uint64
			for i := range 60 {
				p.step("train")
				kept = append(kept, p.alloc("batch.py:1", uint64(1000+i*7919%5000)))
				if len(kept) > 2 {
					p.free(kept[0])
					kept = kept[1:]
				}
			}
		}, "", "batch.py:1 0", 59},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newProgram()
			test.run(p)
			r := p.leaks()
			if got := rates(r.Leaks); got != test.leaks {
				t.Errorf("leaks %q, want %q", got, test.leaks)
			}
			if got := rates(r.Once); got != test.once {
				t.Errorf("one-time growth %q, want %q", got, test.once)
			}
			if len(r.Loops) == 0 || r.Loops[0].Iterations() != test.iterations {
				t.Errorf("loops %d, want one of %d iterations first", len(r.Loops), test.iterations)
			}
		})
	}
}

// Three loops run in turns of their own, and each line's leak is told by its own
// loop.
func TestLeaksOfInterleavedLoops(t *testing.T) {
	p := newProgram()
	for i := range 240 {
		if i%2 == 0 {
			p.step("train")
			p.alloc("train.py:99", 100)
		}
		if i%3 == 0 {
			p.step("load")
		}
		if i%5 == 0 {
			p.step("eval")
			p.alloc("eval.py:99", 700)
		}
	}
	r := p.leaks()
	if len(r.Loops) != 3 {
		t.Errorf("%d loops, want 3", len(r.Loops))
	}
	got := map[string]float64{}
	for _, g := range r.Leaks {
		site, _, _ := strings.Cut(g.Site, " ")
		got[site] = g.BytesPerIteration
	}
	if len(got) != 2 || got["train.py:99"] != 100 || got["eval.py:99"] != 700 {
		t.Errorf("leaks %v, want train.py:99 100 and eval.py:99 700 per iteration", got)
	}
}

// A ring that wrapped begins in the middle of an iteration, with frees of blocks
// whose allocations are lost.
func TestLeaksOfWrappedRing(t *testing.T) {
	p := newProgram()
	for range 50 {
		p.step("train")
		p.alloc("leak.py:7", 1000)
	}
	whole := p.d.Trace
	wrapped := newProgram()
	wrapped.s, wrapped.d = p.s, &snapshot.Device{Overflowed: true}
	for _, e := range whole.Range(whole.Len()/3+3, whole.Len()) {
		wrapped.d.Trace.Append(e)
	}
	r := wrapped.leaks()
	if got := rates(r.Leaks); got != "leak.py:7 1000" {
		t.Errorf("leaks %q, want leak.py:7 1000", got)
	}
}

func TestGrows(t *testing.T) {
	for name, c := range map[string]struct {
		bytes []uint64
		want  bool
	}{
		"every step":        {[]uint64{0, 1, 2, 3, 4, 5, 6, 7, 8}, true},
		"every third step":  {[]uint64{0, 0, 0, 1, 1, 1, 2, 2, 2}, true},
		"slower and slower": {[]uint64{0, 10, 20, 30, 40, 45, 50, 50, 50}, true},
		"filled up":         {[]uint64{0, 5, 8, 9, 9, 9, 9, 9, 9}, false},
		"one jump":          {[]uint64{0, 0, 0, 0, 0, 7, 7, 7, 7}, false},
		"up and down":       {[]uint64{0, 5, 0, 5, 0, 5, 0, 5, 0}, false},
		"flat":              {[]uint64{3, 3, 3, 3, 3, 3, 3, 3, 3}, false},
		"too short to tell": {[]uint64{0, 1}, false},
	} {
		levels := make([]level, len(c.bytes))
		for i, n := range c.bytes {
			levels[i].bytes = n
		}
		if got := grows(levels); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
