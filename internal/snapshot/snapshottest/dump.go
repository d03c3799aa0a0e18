package snapshottest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// Training describes the dump that [WriteTraining] makes.
type Training struct {
	Events int // at least; the trace ends with a whole step
	Layers int // of the model; 24 where it is 0
	Frames int // of each stack; 60 where it is 0
	Leak   int // every how many steps a tensor of 1 MiB is kept; 0 for never
}

// WriteTraining writes a dump of a training loop as Python's pickler writes it:
// protocol 4, every dict, list and string stored in the memo, stacks shared. It
// streams; the file is about 64 bytes an event.
func WriteTraining(w io.Writer, t Training) error {
	if t.Layers == 0 {
		t.Layers = 24
	}
	if t.Frames == 0 {
		t.Frames = 60
	}
	d := &dumper{
		w: bufio.NewWriterSize(w, 1<<20), t: t, memo: map[string]uint32{},
		free: map[int64][]int64{}, live: map[int64]liveBlock{}, now: 1_771_267_191_000_000, next: 0x7f00_0000_0000,
	}
	d.run()
	return d.w.Flush()
}

type liveBlock struct {
	size  int64
	stack string
}

// dumper is the imitated program, its allocator and Python's pickler in one.
type dumper struct {
	w        *bufio.Writer
	t        Training
	memo     map[string]uint32 // what is stored, by name
	memos    uint32
	batched  int
	events   int
	now      int64
	next     int64
	free     map[int64][]int64 // addresses of free blocks by size
	live     map[int64]liveBlock
	segments []liveSegment
}

type liveSegment struct{ addr, size, block int64 }

func (d *dumper) run() {
	d.op(0x80, 4, '}', 0x94)
	d.memos++
	d.op('(')
	d.str("device_traces")
	d.open(']')
	d.open(']')
	d.op('(')
	d.train()
	d.op('e')
	d.op('a') // the one trace
	d.str("segments")
	d.open(']')
	d.op('(')
	for i, g := range d.segments {
		if i%1000 == 999 {
			d.op('e', '(')
		}
		d.segment(g)
	}
	d.op('e', 'u', '.')
}

func (d *dumper) train() {
	type tensor struct{ addr, size int64 }
	size := func(layer int) int64 { return int64(1<<20 + layer%7*(3<<18)) }
	for layer := range d.t.Layers {
		for _, part := range []string{"weight", "bias"} {
			n := size(layer)
			if part == "bias" {
				n = 4096
			}
			d.alloc(n, fmt.Sprintf("init %d %s", layer, part))
		}
	}
	for step := 0; d.events < d.t.Events || step < 2; step++ {
		input := d.alloc(6<<20, "load")
		acts := make([]tensor, 0, 3*d.t.Layers)
		for layer := range d.t.Layers {
			for _, op := range []string{"linear", "gelu", "dropout"} {
				n := size(layer) * 4
				acts = append(acts, tensor{d.alloc(n, fmt.Sprintf("forward %d %s", layer, op)), n})
			}
			work := d.alloc(32<<20, fmt.Sprintf("forward %d workspace", layer))
			d.release(work)
		}
		if d.t.Leak > 0 && step%d.t.Leak == 0 {
			d.alloc(1<<20, "leak")
		}
		var grads []int64
		for layer := d.t.Layers - 1; layer >= 0; layer-- {
			grads = append(grads, d.alloc(size(layer), fmt.Sprintf("backward %d weight", layer)),
				d.alloc(4096, fmt.Sprintf("backward %d bias", layer)))
			for range 3 {
				last := acts[len(acts)-1]
				acts = acts[:len(acts)-1]
				d.release(last.addr)
			}
		}
		for layer := range d.t.Layers {
			if step == 0 {
				d.alloc(size(layer), fmt.Sprintf("optimizer %d exp_avg", layer))
				d.alloc(size(layer), fmt.Sprintf("optimizer %d exp_avg_sq", layer))
			}
		}
		for _, g := range grads {
			d.release(g)
		}
		d.release(input)
	}
}

func (d *dumper) alloc(size int64, stack string) int64 {
	rounded := (size + 511) &^ 511
	addrs := d.free[rounded]
	var addr int64
	if n := len(addrs); n > 0 {
		addr = addrs[n-1]
		d.free[rounded] = addrs[:n-1]
	} else {
		segment := (rounded + 2<<20 - 1) &^ (2<<20 - 1)
		addr = d.next
		d.next += segment
		d.segments = append(d.segments, liveSegment{addr, segment, rounded})
		d.event("segment_alloc", addr, segment, stack)
	}
	d.live[addr] = liveBlock{size, stack}
	d.event("alloc", addr, size, stack)
	return addr
}

func (d *dumper) release(addr int64) {
	b := d.live[addr]
	delete(d.live, addr)
	rounded := (b.size + 511) &^ 511
	d.free[rounded] = append(d.free[rounded], addr)
	d.event("free_requested", addr, b.size, b.stack)
	d.event("free_completed", addr, b.size, b.stack)
}

func (d *dumper) event(action string, addr, size int64, stack string) {
	if d.batched == 1000 {
		d.op('e', '(')
		d.batched = 0
	}
	d.batched++
	d.events++
	d.now += 3
	d.open('}')
	d.op('(')
	d.str("action")
	d.str(action)
	d.str("addr")
	d.num(addr)
	d.str("size")
	d.num(size)
	d.str("stream")
	d.num(0)
	d.str("time_us")
	d.num(d.now)
	d.str("compile_context")
	d.str("N/A")
	d.str("user_metadata")
	d.str("")
	d.str("frames")
	d.frames(stack)
	d.op('u')
}

func (d *dumper) segment(g liveSegment) {
	d.open('}')
	d.op('(')
	for _, f := range []struct {
		key string
		n   int64
	}{{"device", 0}, {"address", g.addr}, {"total_size", g.size}, {"stream", 0}} {
		d.str(f.key)
		d.num(f.n)
	}
	b, used := d.live[g.addr]
	active, asked := int64(0), int64(0)
	if used {
		active, asked = g.block, b.size
	}
	d.str("allocated_size")
	d.num(active)
	d.str("active_size")
	d.num(active)
	d.str("requested_size")
	d.num(asked)
	d.str("segment_type")
	d.str("large")
	d.str("is_expandable")
	d.op(0x89)
	d.str("frames")
	d.open(']')
	d.str("blocks")
	d.open(']')
	d.op('(')
	state := "inactive"
	if used {
		state = "active_allocated"
	}
	d.block(g.addr, g.block, b.size, state, b.stack)
	if rest := g.size - g.block; rest > 0 {
		d.block(g.addr+g.block, rest, 0, "inactive", "")
	}
	d.op('e', 'u')
}

func (d *dumper) block(addr, size, asked int64, state, stack string) {
	d.open('}')
	d.op('(')
	d.str("address")
	d.num(addr)
	d.str("size")
	d.num(size)
	d.str("requested_size")
	d.num(asked)
	d.str("state")
	d.str(state)
	d.str("frames")
	d.frames(stack)
	d.op('u')
}

// frames writes a stack: C++ frames innermost, then PyTorch's Python, then the
// program's.
func (d *dumper) frames(stack string) {
	if stack == "" {
		d.open(']')
		return
	}
	if d.get("stack " + stack) {
		return
	}
	d.op(']')
	d.store("stack " + stack)
	d.op('(')
	var where string
	layer := 0
	what := ""
	if n, _ := fmt.Sscanf(stack, "%s %d %s", &where, &layer, &what); n == 0 {
		where = stack
	}
	program := [3]string{"train.py", "main", "train"}
	line := 40
	switch where {
	case "init":
		program, line = [3]string{"model.py", "__init__", "main"}, 12+layer
	case "load":
		program, line = [3]string{"data.py", "next_batch", "train"}, 31
	case "forward":
		program, line = [3]string{"model.py", "forward", "train"}, 50+layer
	case "backward":
		program, line = [3]string{"torch/autograd/graph.py", "_engine_run_backward", "train"}, 829
	case "optimizer":
		program, line = [3]string{"torch/optim/adamw.py", "_init_group", "train"}, 162
	case "leak":
		program, line = [3]string{"metrics.py", "record_loss", "train"}, 88
	}
	n := d.t.Frames
	for i := range n {
		switch {
		case i < n/3:
			d.frame("??", 0, fmt.Sprintf("c10::impl::wrap_kernel_%d(at::Tensor const&)", i))
		case i == n/3:
			d.frame("/opt/torch/nn/functional.py", int64(100+len(what)), what)
		case i < n/2:
			d.frame("/opt/torch/nn/modules/module.py", int64(1700+i), "_call_impl")
		case i == n/2 && program[0][0] == 't' && program[0] != "train.py":
			d.frame("/opt/"+program[0], int64(line), program[1])
		case i == n/2:
			d.frame("/home/user/"+program[0], int64(line), program[1])
		case i == n/2+1:
			d.frame("/home/user/train.py", int64(100+len(where)), program[2])
		default:
			d.frame("/usr/lib/python3.12/runpy.py", int64(i), "_run_code")
		}
	}
	d.op('e')
}

func (d *dumper) frame(file string, line int64, name string) {
	key := fmt.Sprintf("frame %s %d %s", file, line, name)
	if d.get(key) {
		return
	}
	d.op('}')
	d.store(key)
	d.op('(')
	d.str("name")
	d.str(name)
	d.str("filename")
	d.str(file)
	d.str("line")
	d.num(line)
	d.op('u')
}

// op writes opcodes. Errors surface at Flush.
func (d *dumper) op(c ...byte) { _, _ = d.w.Write(c) }

// open puts an empty container, which Python stores though nothing refers to it.
func (d *dumper) open(c byte) {
	d.op(c, 0x94)
	d.memos++
}

func (d *dumper) store(name string) {
	d.op(0x94)
	d.memo[name] = d.memos
	d.memos++
}

func (d *dumper) get(name string) bool {
	at, ok := d.memo[name]
	if !ok {
		return false
	}
	if at < 256 {
		d.op('h', byte(at))
	} else {
		d.op('j', byte(at), byte(at>>8), byte(at>>16), byte(at>>24))
	}
	return true
}

func (d *dumper) str(s string) {
	if d.get(s) {
		return
	}
	d.op(0x8c, byte(len(s)))
	_, _ = d.w.WriteString(s)
	d.store(s)
}

func (d *dumper) num(n int64) {
	switch {
	case n < 1<<8:
		d.op('K', byte(n))
	case n < 1<<16:
		d.op('M', byte(n), byte(n>>8))
	case n < 1<<31:
		d.op('J', byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	default:
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(n))
		size := 8
		for b[size-1] == 0 && b[size-2] < 0x80 {
			size--
		}
		d.op(0x8a, byte(size))
		d.op(b[:size]...)
	}
}
