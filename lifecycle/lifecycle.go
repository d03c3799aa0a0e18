// Package lifecycle follows a program from its start to the proof that its
// memory is gone.
//
// A program goes through six states: InitialState, ModelCreated, DataPrepared,
// ModelRun, VariablesCleared, MemoryFreed. At each the figures are read that
// matter: what tensors hold, what Ebb has mapped for them, what Go's runtime
// holds, and what the operating system says of the process.
//
//	life := lifecycle.Start(rt, "mnist")
//	model := NewModel(rt.NewStore("model"))
//	life.Enter(lifecycle.ModelCreated)
//	...
//	nn.Release(model)
//	life.Mark("model released")
//	life.Enter(lifecycle.VariablesCleared)
//	err := life.Free()
//	fmt.Print(life.Report())
//
// [Life.Free] is the proof. It closes nothing that the program still holds: it
// waits for running operations, lists what still holds memory, collects Go's
// garbage, empties Ebb's cache and reads the figures again. MemoryFreed is
// entered if
//
//   - no store, scope or graph holds a tensor, and the collector found no store
//     or scope that was forgotten instead of closed,
//   - live and mapped bytes are exactly 0, and
//   - the process's anonymous memory (RssAnon) is back where it was at
//     InitialState, but for what Go's runtime holds more than then and 2 MiB.
//
// Go keeps some memory for itself once it has run a program (tables, stacks of
// goroutines, pages of its heap that are partly in use), and whatever Go values
// the program still holds is Go's to keep. That is no tensor memory, so it does
// not fail the proof, but the report shows it as Go's. What is neither Go's nor
// Ebb's does fail it. The system's figure is one for the whole process: memory
// that another runtime, or a C library, takes between Start and Free counts.
// Where the system does not tell anonymous memory from mapped files (macOS,
// Windows), and under the race detector, the figure is reported and does not
// decide.
package lifecycle

import (
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/site"
)

// Life follows one program that runs in one runtime. Its methods are safe for
// use by many goroutines.
type Life struct {
	rt    *ebb.Runtime
	start time.Time
	leaks int // those the collector had found before

	mu     sync.Mutex
	report Report
	freed  bool  // Free was called
	err    error // what it returned
	split  bool  // the system tells anonymous memory from the rest
	failed error // the first failure to read the system's figures
}

// Start begins to follow a program at InitialState. The figures are read after
// one garbage collection, and nothing else is done first: the baseline is as
// low as the program made it.
func Start(rt *ebb.Runtime, program string) *Life {
	l := &Life{rt: rt, start: time.Now(), leaks: len(rt.Leaks())}
	l.report = Report{Program: program, States: make([]Reading, 0, len(stateNames)), Marks: []Mark{}, Survivors: []Survivor{}}
	debug.FreeOSMemory()
	l.report.States = append(l.report.States, Reading{InitialState, l.read()})
	return l
}

// read returns the figures now. The caller holds mu, or is alone.
func (l *Life) read() Figures {
	f, split, err := measure(l.rt)
	if err != nil && l.failed == nil {
		l.failed = err
	}
	l.split = split
	f.Elapsed = float64(time.Since(l.start).Microseconds()) / 1000
	return f
}

// Enter says that the program has reached a state, and reads the figures. States
// are entered one after another without a gap, and MemoryFreed by Free alone:
// anything else is a panic with an [ebb.ErrValue] error.
func (l *Life) Enter(s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.report.States[len(l.report.States)-1].State
	if l.freed || s == MemoryFreed || s != last+1 {
		panic(l.misuse("Enter", s.String()+" does not follow "+last.String(), "enter the states in order, and MemoryFreed with Free"))
	}
	l.report.States = append(l.report.States, Reading{s, l.read()})
}

// Mark notes the figures between states, usually after something was released:
// life.Mark("loader released"). A mark after Free is a panic with an
// [ebb.ErrValue] error.
func (l *Life) Mark(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.freed {
		panic(l.misuse("Mark", "mark "+name+" after Free", "mark before Free"))
	}
	l.mark(name, l.read())
}

// mark adds a mark with figures. The caller holds mu.
func (l *Life) mark(name string, f Figures) {
	last := l.report.States[len(l.report.States)-1].State
	l.report.Marks = append(l.report.Marks, Mark{name, Reading{last, f}})
}

// misuse makes the error for a call out of order, at the caller of the method
// that calls it.
func (l *Life) misuse(op, given, advice string) *ebb.Error {
	l.rt.MarkFailed()
	return &ebb.Error{Kind: ebb.ErrValue, Op: "lifecycle " + op, Given: given + ", at " + site.Here(2).String(), Advice: advice}
}

// Report returns what was read so far. It shares nothing with l.
func (l *Life) Report() *Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.report
	r.Seed = l.rt.Generator().InitialSeed()
	r.States, r.Marks, r.Survivors = slices.Clone(r.States), slices.Clone(r.Marks), slices.Clone(r.Survivors)
	return &r
}
