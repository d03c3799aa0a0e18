package lifecycle

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/ebb-ml/ebb"
)

const (
	// allowance is how far RssAnon may end above InitialState without a reason:
	// the figure is the system's, and pages of the program's own variables and
	// of Go's tables come to it as they are first used.
	allowance = 2 << 20
	// aim is where further readings would not tell more, and little how much less
	// than before says the same within the allowance.
	aim, little = 1 << 20, 64 << 10
)

// pauses are the times between the readings at the end, in which the runtime's
// background work (sweeping, returning pages) may finish: half a second in all.
var pauses = [...]time.Duration{2 * time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond, 400 * time.Millisecond}

// Free waits for running operations, ten seconds at most, collects garbage,
// empties the cache, and proves that the memory is gone: then it enters
// MemoryFreed with the lowest of up to five readings within half a second, and
// returns nil. It may be called in any state, also after an error.
//
// Otherwise the error is an [ebb.ErrLeak] error with each survivor's kind, shape,
// bytes, owner and site (or an [ebb.ErrTimeout] error for an operation that did
// not end), and [ebb.Runtime.Close] will not report the same again. See the
// package comment for what decides. A second call returns what the first did.
func (l *Life) Free() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.freed {
		return l.err
	}
	l.freed = true
	l.err = l.free()
	if l.err != nil {
		l.rt.MarkFailed()
	}
	return l.err
}

func (l *Life) free() error {
	waited := l.rt.WaitLeases()
	// Listed before the collection: what was not released is a survivor, also if
	// the collector would have found it unreachable.
	held, forgotten := l.rt.Holdings(), l.rt.Leaks()[l.leaks:]
	for _, h := range held {
		l.report.Survivors = append(l.report.Survivors, survivor(h))
	}
	for _, f := range forgotten {
		l.report.Survivors = append(l.report.Survivors, Survivor{Kind: "forgotten", Bytes: f.Bytes, Owner: f.Owner, Site: f.Site.String()})
	}
	last := l.lowest()
	l.report.Freed = waited == nil && l.failed == nil && len(l.report.Survivors) == 0 && last.Live == 0 && last.Mapped == 0 && l.back(last)
	if l.report.Freed {
		l.report.States = append(l.report.States, Reading{MemoryFreed, last})
		return nil
	}
	l.mark("memory survived", last)
	var errs []error
	if l.failed != nil {
		errs = append(errs, fmt.Errorf("lifecycle: the process's memory cannot be read: %w", l.failed))
	}
	if waited != nil {
		errs = append(errs, waited)
	}
	if given := l.verdict(last); given != "" {
		e := &ebb.Error{Kind: ebb.ErrLeak, Given: given, Leaks: held}
		for _, f := range forgotten {
			e.Given += "; " + f.String()
		}
		if len(held)+len(forgotten) > 0 {
			e.Advice = "close the stores and scopes that hold them before Free"
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// lowest collects and reads up to five times and returns the reading with the
// least RssAnon. It stops as soon as more would not tell more: tensors that
// survive do not come back by waiting, and what a pause did not bring a longer
// one seldom does.
func (l *Life) lowest() Figures {
	first := l.report.States[0].RSSAnon
	var best Figures
	for i := 0; ; i++ {
		l.rt.EmptyCache()
		debug.FreeOSMemory()
		if i > 0 {
			useUp()
			debug.FreeOSMemory()
		}
		f, last := l.read(), best.RSSAnon
		if i == 0 || f.RSSAnon < last {
			best = f
		}
		settled := i > 0 && best.RSSAnon > last-little && best.RSSAnon <= first+allowance
		if i == len(pauses) || best.Live > 0 || best.RSSAnon <= first+aim || settled || !l.decides() {
			return best
		}
		time.Sleep(pauses[i])
	}
}

// useUp allocates the free pages that Go keeps ready for the processor it runs
// on. A collection returns those of idle processors only, so that up to half a
// megabyte of them would stay resident; once they were in use the next
// collection frees them like others.
func useUp() {
	var pages [64]*[8 << 10]byte
	for i := range pages {
		pages[i] = new([8 << 10]byte)
	}
	runtime.KeepAlive(pages)
}

// decides reports whether RssAnon can tell what became of tensor memory.
func (l *Life) decides() bool { return l.split && !race }

// back reports whether the system has back what Ebb took, as far as it can tell.
func (l *Life) back(last Figures) bool { return !l.decides() || l.elsewhere(last) <= allowance }

// elsewhere returns how far RssAnon stands above InitialState for no reason of
// Go's. What Go had mapped all along and touched since is Go's as well, so no
// more counts than what lies beyond all that Go has.
func (l *Life) elsewhere(last Figures) int64 {
	first := l.report.States[0]
	grown := last.RSSAnon - first.RSSAnon - max(last.Go-first.Go, 0)
	return max(min(grown, last.RSSAnon-last.Go), 0)
}

// verdict says why the memory is not freed, "" if the figures are as they should
// be.
func (l *Life) verdict(last Figures) string {
	switch n := len(l.report.Survivors); {
	case n > 0:
		var bytes int64
		for _, s := range l.report.Survivors {
			bytes += s.Bytes
		}
		return fmt.Sprintf("memory survived: %s of %s, %s mapped", count(n), ebb.FormatBytes(bytes), ebb.FormatBytes(last.Mapped))
	case last.Live > 0 || last.Mapped > 0: // taken by another goroutine meanwhile
		return fmt.Sprintf("memory survived: %s live, %s mapped", ebb.FormatBytes(last.Live), ebb.FormatBytes(last.Mapped))
	case !l.back(last):
		first := l.report.States[0]
		var b strings.Builder
		fmt.Fprintf(&b, "memory survived: no tensor is live and nothing is mapped, but RssAnon is %s above InitialState", ebb.FormatBytes(last.RSSAnon-first.RSSAnon))
		fmt.Fprintf(&b, ", and only %s of that is Go's; another runtime or a C library may hold it", ebb.FormatBytes(max(last.Go-first.Go, 0)))
		return b.String()
	}
	return ""
}

func count(survivors int) string {
	if survivors == 1 {
		return "1 survivor"
	}
	return fmt.Sprintf("%d survivors", survivors)
}
