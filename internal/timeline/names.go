package timeline

import (
	"path"
	"strconv"
	"strings"

	"github.com/ebb-ml/ebb/internal/snapshot"
)

// NoStack is the site of what was recorded without a stack.
const NoStack = "(no stack)"

// Names tells whom a block belongs to. Answers are kept by stack.
type Names struct {
	s       *snapshot.Snapshot
	sites   map[snapshot.StackID]string
	kinds   map[snapshot.StackID]string
	modules map[snapshot.StackID]string
	texts   map[snapshot.StackID]string
	Guessed bool // a kind was guessed from a stack
}

// NewNames returns the names of a snapshot.
func NewNames(s *snapshot.Snapshot) *Names {
	return &Names{
		s: s, sites: map[snapshot.StackID]string{}, kinds: map[snapshot.StackID]string{},
		modules: map[snapshot.StackID]string{}, texts: map[snapshot.StackID]string{},
	}
}

func cached(m map[snapshot.StackID]string, id snapshot.StackID, f func() string) string {
	v, ok := m[id]
	if !ok {
		v = f()
		m[id] = v
	}
	return v
}

// Site returns the line of the program that a stack belongs to, as
// "file:line function": its first frame outside PyTorch, Ebb and the languages'
// libraries, or else the first that has a file.
func (n *Names) Site(id snapshot.StackID) string {
	if id == 0 {
		return NoStack
	}
	return cached(n.sites, id, func() string {
		best, rank := -1, 0
		stack := n.s.Stack(id)
		for i, f := range stack {
			if r := n.rank(n.s.Frame(f)); r > rank {
				best, rank = i, r
			}
			if rank == 4 {
				break
			}
		}
		if best < 0 {
			best = 0
		}
		return n.Frame(stack[best])
	})
}

// Frame returns a frame as "file:line function".
func (n *Names) Frame(id snapshot.FrameID) string {
	f := n.s.Frame(id)
	file, name := n.s.String(f.File), n.s.String(f.Name)
	if file == "" || file == "??" {
		return name
	}
	if f.Line > 0 {
		file += ":" + strconv.Itoa(int(f.Line))
	}
	return strings.TrimSpace(file + " " + name)
}

// Level says how near a frame is to the user's program: 4 it is the program's own,
// 3 an installed package's, 2 PyTorch's or Ebb's, 1 any other that has a file, 0
// native code.
func (n *Names) Level(id snapshot.FrameID) int { return n.rank(n.s.Frame(id)) }

func (n *Names) rank(f snapshot.Frame) int {
	file, name := n.s.String(f.File), n.s.String(f.Name)
	switch {
	case file == "" || file == "??" || file == "none":
		return 0
	case isGo(file, name):
		return rankGo(name)
	case !strings.HasSuffix(file, ".py") && !strings.HasPrefix(file, "<") && !strings.Contains(file, "ipykernel"):
		return 1
	case strings.Contains(file, "/torch/") || strings.HasPrefix(file, "torch/") || strings.Contains(file, "torch/_"):
		return 2
	case strings.HasPrefix(file, "<frozen"):
		return 1
	case strings.Contains(file, "/lib/python") && !strings.Contains(file, "-packages/"):
		return 1
	case strings.Contains(file, "-packages/"):
		return 3
	}
	return 4
}

func isGo(file, name string) bool {
	return strings.HasSuffix(file, ".go") || strings.HasPrefix(name, "github.com/")
}

const module = "github.com/ebb-ml/ebb"

// rankGo ranks a Go function by its package. Ebb's commands and examples are
// programs; its packages are the library.
func rankGo(name string) int {
	switch {
	case strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "reflect.") || strings.HasPrefix(name, "testing."):
		return 1
	case strings.HasPrefix(name, module+"/cmd/"), strings.HasPrefix(name, module+"/examples/"), strings.HasPrefix(name, module+"/bench/"):
		return 4
	case strings.HasPrefix(name, module+"/"), strings.HasPrefix(name, module+"."):
		return 2
	}
	return 4
}

// Kind returns a block's kind of memory: what the file says or, where it says
// nothing, a guess from the stack.
func (n *Names) Kind(b *Block) string {
	if k := n.s.String(b.Category); k != "" && k != "unknown" {
		return k
	}
	kind := cached(n.kinds, b.Stack, func() string { return n.guess(b.Stack) })
	if kind != "unknown" {
		n.Guessed = true
	}
	return kind
}

// guess looks for the innermost frame that tells what the memory is for.
func (n *Names) guess(id snapshot.StackID) string {
	for _, f := range n.s.Stack(id) {
		frame := n.s.Frame(f)
		file, name := n.s.String(frame.File), n.s.String(frame.Name)
		switch {
		case strings.Contains(file, "torch/optim/") || strings.Contains(file, "/optimizers/"):
			return "optimizer state"
		case name == "_engine_run_backward" || strings.HasPrefix(name, "torch::autograd::Engine::") ||
			strings.Contains(file, "torch/autograd/"):
			return "gradient"
		case strings.Contains(file, "utils/data/") || strings.Contains(name, "collate") || strings.Contains(name, "pin_memory") ||
			strings.Contains(name, "next_batch"):
			return "input"
		case name == "__init__" || name == "reset_parameters" || name == "_apply" || name == "load_state_dict" ||
			name == "init_weights" || name == "_init_weights":
			return "parameter"
		case name == "forward" || strings.HasSuffix(name, "_forward"):
			return "activation"
		}
	}
	return "unknown"
}

// Label returns a part of a block's metadata written as "key=value" between
// spaces, as Ebb writes it ("op=MatMul module=fc1 dtype=float32"); "" where there
// is none.
func (n *Names) Label(b *Block, key string) string {
	for word := range strings.FieldsSeq(n.s.String(b.Metadata)) {
		if k, v, ok := strings.Cut(word, "="); ok && k == key {
			return v
		}
	}
	return ""
}

// Module returns the part of the model that a block belongs to: the metadata's
// module, the metadata itself where it is plain text, or else the innermost
// forward function on the stack; "" where nothing tells.
func (n *Names) Module(b *Block) string {
	if m := n.Label(b, "module"); m != "" {
		return m
	}
	if text := n.s.String(b.Metadata); text != "" && !strings.Contains(text, "=") {
		return text
	}
	return cached(n.modules, b.Stack, func() string {
		for _, f := range n.s.Stack(b.Stack) {
			frame := n.s.Frame(f)
			if n.s.String(frame.Name) == "forward" && n.rank(frame) >= 3 {
				return path.Base(n.s.String(frame.File)) + ":" + strconv.Itoa(int(frame.Line)) + " forward"
			}
		}
		return ""
	})
}
