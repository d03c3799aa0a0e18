package ebb

import (
	"slices"
	"time"
)

// Instant is what was live at one moment of the history.
type Instant struct {
	Time   time.Time
	Live   int64 // bytes as asked for
	Mapped int64 // bytes mapped from the system
	ByKind map[Kind]int64
}

// MarkedAt is a [Runtime.Mark] in the history.
type MarkedAt struct {
	Time time.Time
	Text string
}

// Timeline divides the history from a moment on into at most points equal spans
// of time and returns of each the moment when the most was live, oldest first,
// and the last marks in it, as many at most. Without a history there are none.
func (rt *Runtime) Timeline(from time.Time, points int) ([]Instant, []MarkedAt) {
	co := rt.core
	co.mu.Lock()
	defer co.mu.Unlock()
	h := co.history
	if h == nil || points <= 0 {
		return nil, nil
	}
	now, oldest := sinceStart(), h.began
	if h.next-h.base > uint64(h.max) {
		oldest = h.event(h.next - uint64(h.max)).time
	}
	oldest = max(oldest, int64(from.Sub(clockStart)))
	width := max((now-oldest)/int64(points)+1, 1)

	// From what is live now back to the oldest event: each span keeps its highest
	// moment, and one without events has what was live throughout.
	state := totals{mapped: co.alloc.Stats().Mapped}
	for k := range co.byKind {
		state.kinds[k] = co.byKind[k].Current
		state.live += state.kinds[k]
	}
	spans := make([]totals, points)
	last := points - 1
	spans[last] = state
	spans[last].time = now
	var marks []MarkedAt
	for number := h.next; number > h.next-uint64(h.len()); number-- {
		e := h.event(number - 1)
		if e.time < oldest {
			break
		}
		for at := int((e.time - oldest) / width); last > at; {
			last--
			spans[last] = state
			spans[last].time = oldest + int64(last+1)*width
		}
		if state.live > spans[last].live {
			spans[last] = state
			spans[last].time = e.time
		}
		switch kind := h.labels[e.label].kind; e.action {
		case eventAlloc:
			state.live -= e.bytes
			state.kinds[kind] -= e.bytes
		case eventFree:
			state.live += e.bytes
			state.kinds[kind] += e.bytes
		case eventMap:
			state.mapped -= e.bytes
		case eventUnmap:
			state.mapped += e.bytes
		case eventMark:
			if len(marks) < points {
				marks = append(marks, MarkedAt{timeOf(e.time), h.marks[number-1]})
			}
		}
		if state.live > spans[last].live {
			spans[last] = state
			spans[last].time = e.time
		}
	}
	for last > 0 {
		last--
		spans[last] = state
		spans[last].time = oldest + int64(last+1)*width
	}
	instants := make([]Instant, points)
	for i := range spans {
		instants[i] = spans[i].instant()
	}
	slices.Reverse(marks)
	return instants, marks
}

// totals is an Instant without a map.
type totals struct {
	time, live, mapped int64
	kinds              [len(kindNames)]int64
}

func (m *totals) instant() Instant {
	i := Instant{Time: timeOf(m.time), Live: m.live, Mapped: m.mapped, ByKind: map[Kind]int64{}}
	for k, n := range m.kinds {
		if n != 0 {
			i.ByKind[Kind(k)] = n
		}
	}
	return i
}
