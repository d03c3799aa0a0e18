package alloc

import (
	"math/rand/v2"
	"testing"
)

// program runs an allocation pattern against a planner without memory.
type program struct {
	t testing.TB
	p *planner
	r *rand.Rand
}

func (g *program) alloc(floats int) *Block {
	b, err := g.p.alloc(round(4 * floats))
	if err != nil {
		g.t.Fatal(err)
	}
	return b
}

func (g *program) free(bs ...*Block) {
	for _, b := range bs {
		g.p.free(b)
	}
}

// transformer trains one step of a decoder: activations pile up forward and go
// backward, with a gradient beside each; workspaces come and go.
func (g *program) transformer(layers, batch, length, width int, grads []*Block) {
	tokens := batch * length
	var saved [][]*Block
	x := g.alloc(tokens * width)
	for range layers {
		norm := g.alloc(tokens * width)
		stats := g.alloc(2 * tokens)
		qkv := g.alloc(3 * tokens * width)
		scores := g.alloc(batch * 8 * length * length)
		probs := g.alloc(batch * 8 * length * length)
		g.free(scores)
		mixed := g.alloc(tokens * width)
		out := g.alloc(tokens * width)
		sum := g.alloc(tokens * width)
		g.free(out)
		hidden := g.alloc(4 * tokens * width)
		active := g.alloc(4 * tokens * width)
		down := g.alloc(tokens * width)
		next := g.alloc(tokens * width)
		g.free(down)
		saved = append(saved, []*Block{x, norm, stats, qkv, probs, mixed, sum, hidden, active})
		x = next
	}
	logits := g.alloc(tokens * 5000)
	loss := g.alloc(1)
	grad := g.alloc(tokens * 5000)
	g.free(logits, loss)
	dx := g.alloc(tokens * width)
	g.free(grad, x)
	for i := layers - 1; i >= 0; i-- {
		s := saved[i]
		dh := g.alloc(4 * tokens * width)
		g.free(s[8])
		da := g.alloc(4 * tokens * width)
		g.free(dh, s[7])
		ds := g.alloc(tokens * width)
		g.free(da, dx, s[6])
		dp := g.alloc(batch * 8 * length * length)
		g.free(s[5], s[4])
		dq := g.alloc(3 * tokens * width)
		g.free(dp, s[3])
		dx = g.alloc(tokens * width)
		g.free(dq, ds, s[2], s[1], s[0])
		if grads[i] == nil {
			grads[i] = g.alloc(12 * width * width)
		}
	}
	g.free(dx)
}

// TestFragmentation runs programs whose memory is hard to place. For each, mapped
// memory stays near the most that was in use, and a warm program hardly maps.
func TestFragmentation(t *testing.T) {
	if guards {
		t.Skip("every block has guard pages")
	}
	for _, c := range []struct {
		name  string
		ratio float64 // mapped to in use, at their peaks, at most
		maps  int64   // mappings made in the second half, at most
		run   func(g *program, half func())
	}{
		{"transformer", 1.2, 0, func(g *program, half func()) {
			grads := make([]*Block, 6)
			for step := range 20 {
				if step == 10 {
					half()
				}
				g.transformer(6, 16, 64, 256, grads)
			}
		}},
		{"lengths", 1.3, 0, func(g *program, half func()) {
			grads := make([]*Block, 6)
			for step := range 400 {
				if step == 200 {
					half()
				}
				g.transformer(6, 16, 16+g.r.IntN(113), 256, grads)
			}
		}},
		{"growing", 1.3, 20, func(g *program, half func()) {
			for i := range 2000 {
				if i == 1000 {
					half()
				}
				g.free(g.alloc(1<<18 + i<<12))
			}
		}},
		{"pools", 2, 0, func(g *program, half func()) {
			for i := range 100 {
				if i == 50 {
					half()
				}
				g.free(g.alloc(200 << 10))
				g.free(g.alloc(300 << 10))
			}
		}},
		{"random small", 1.35, 2, func(g *program, half func()) {
			var live []*Block
			for i := range 100_000 {
				if i == 50_000 {
					half()
				}
				if len(live) > 2000 {
					j := g.r.IntN(len(live))
					g.free(live[j])
					live[j] = live[len(live)-1]
					live = live[:len(live)-1]
				}
				live = append(live, g.alloc(1+g.r.IntN(1<<(2+g.r.IntN(16)))))
			}
		}},
		{"random large", 1.3, 10, func(g *program, half func()) {
			var live []*Block
			for i := range 20_000 {
				if i == 10_000 {
					half()
				}
				if len(live) > 100 {
					j := g.r.IntN(len(live))
					g.free(live[j])
					live[j] = live[len(live)-1]
					live = live[:len(live)-1]
				}
				live = append(live, g.alloc(1+g.r.IntN(1<<(18+g.r.IntN(7)))))
			}
		}},
	} {
		p, _ := newFake(t)
		var maps, unmaps int64
		c.run(&program{t, p, rand.New(rand.NewPCG(9, 10))}, func() { maps, unmaps = p.maps, p.unmaps })
		maps, unmaps = p.maps-maps, p.unmaps-unmaps
		ratio := float64(p.mappedPeak) / float64(p.usedPeak)
		t.Logf("%-14s peak: %4d MiB in use, %4d mapped, ratio %.3f; second half: %d maps, %d unmaps; hole %.2f of free; all maps %d",
			c.name, p.usedPeak>>20, p.mappedPeak>>20, ratio, maps, unmaps, float64(p.largestHole())/float64(max(p.holes, 1)), p.maps)
		if ratio > c.ratio || maps > c.maps {
			t.Errorf("%s: mapped %.3f of what was in use, %d mappings when warm", c.name, ratio, maps)
		}
		if err := audit(p); err != nil {
			t.Error(c.name, err)
		}
	}
}

// p#35901: small blocks do not pin a large segment, and where large blocks do, the
// figures say so.
func TestLargestHole(t *testing.T) {
	a := New()
	a.Free(mustAlloc(t, a, 64<<20))
	var small []*Block
	for range 100 {
		small = append(small, mustAlloc(t, a, 1000))
	}
	if s := a.Stats(); s.LargestHole < 64<<20 {
		t.Errorf("small blocks cut the large hole: %+v", s)
	}
	var large []*Block
	for range 16 {
		large = append(large, mustAlloc(t, a, 4<<20-4*int(pageSize)))
	}
	for i, b := range large {
		if i%2 == 0 {
			a.Free(b)
		}
	}
	if s := a.Stats(); s.Segments < 2 || s.Free < 31<<20 || s.LargestHole > 5<<20 {
		t.Errorf("eight holes of 4 MiB: %+v", s)
	}
	for i, b := range large {
		if i%2 == 1 {
			a.Free(b)
		}
	}
	if s := a.Stats(); s.LargestHole < 64<<20 {
		t.Errorf("freed blocks did not join: %+v", s)
	}
	for _, b := range small {
		a.Free(b)
	}
	mustClose(t, a)
}
