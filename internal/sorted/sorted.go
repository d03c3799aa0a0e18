// Package sorted keeps a list in order, with insertions and deletions that stay
// cheap however long it gets and wherever they are.
package sorted

import (
	"iter"
	"slices"
)

// chunkSize is how many values lie together: moving as many is what an insertion
// costs at most.
const chunkSize = 512

// List is values in order. Its zero value is no list; see [New].
type List[T any] struct {
	cmp    func(a, b T) int
	chunks [][]T // none is empty
	n      int
}

// New returns an empty list ordered by cmp, under which no two values may be
// equal.
func New[T any](cmp func(a, b T) int) *List[T] { return &List[T]{cmp: cmp} }

// Len returns the number of values.
func (l *List[T]) Len() int { return l.n }

// First returns the first value for which reached holds, which must hold for all
// after it too.
func (l *List[T]) First(reached func(v T) bool) (v T, ok bool) {
	c, i := l.seek(reached)
	if c == len(l.chunks) {
		return v, false
	}
	return l.chunks[c][i], true
}

func (l *List[T]) seek(reached func(v T) bool) (chunk, index int) {
	search := func(n int, f func(i int) bool) int {
		lo, hi := 0, n
		for lo < hi {
			if mid := (lo + hi) / 2; f(mid) {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		return lo
	}
	chunk = search(len(l.chunks), func(i int) bool { c := l.chunks[i]; return reached(c[len(c)-1]) })
	if chunk < len(l.chunks) {
		index = search(len(l.chunks[chunk]), func(i int) bool { return reached(l.chunks[chunk][i]) })
	}
	return chunk, index
}

// Insert adds a value.
func (l *List[T]) Insert(v T) {
	l.n++
	c, i := l.seek(func(other T) bool { return l.cmp(other, v) >= 0 })
	if c == len(l.chunks) { // behind all others
		if c == 0 || len(l.chunks[c-1]) >= chunkSize {
			l.chunks = append(l.chunks, append(make([]T, 0, 8), v))
			return
		}
		c--
		i = len(l.chunks[c])
	}
	l.chunks[c] = slices.Insert(l.chunks[c], i, v)
	if chunk := l.chunks[c]; len(chunk) > chunkSize {
		half := len(chunk) / 2
		l.chunks = slices.Insert(l.chunks, c+1, slices.Clone(chunk[half:]))
		l.chunks[c] = slices.Delete(chunk, half, len(chunk))
	}
}

// Delete removes the value equal to v under the list's order, and reports whether
// there was one.
func (l *List[T]) Delete(v T) bool {
	c, i := l.seek(func(other T) bool { return l.cmp(other, v) >= 0 })
	if c == len(l.chunks) || l.cmp(l.chunks[c][i], v) != 0 {
		return false
	}
	l.n--
	if l.chunks[c] = slices.Delete(l.chunks[c], i, i+1); len(l.chunks[c]) == 0 {
		l.chunks = slices.Delete(l.chunks, c, c+1)
	}
	return true
}

// DeleteFunc removes the values for which drop holds, which is called once for
// each, in order.
func (l *List[T]) DeleteFunc(drop func(v T) bool) {
	l.n = 0
	for c := range l.chunks {
		l.chunks[c] = slices.DeleteFunc(l.chunks[c], drop)
		l.n += len(l.chunks[c])
	}
	l.chunks = slices.DeleteFunc(l.chunks, func(c []T) bool { return len(c) == 0 })
}

// All yields the values in order. The list must not change meanwhile.
func (l *List[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, c := range l.chunks {
			for _, v := range c {
				if !yield(v) {
					return
				}
			}
		}
	}
}
