package timeline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ebb-ml/ebb/internal/snapshot"
)

// Difference is what one key holds in two snapshots.
type Difference struct {
	Key    string `json:"key"`
	Bytes  int64  `json:"bytes"` // after less before
	Count  int    `json:"count"`
	Before uint64 `json:"before_bytes"`
	After  uint64 `json:"after_bytes"`

	BeforeCount int `json:"before_count"`
	AfterCount  int `json:"after_count"`
}

// Diff compares two sets of blocks by a key each, the largest change first. Keys
// are texts, since ids are good within one snapshot alone. What is equal is left
// out.
func Diff(before, after []Block, keyBefore, keyAfter func(b *Block) string) []Difference {
	at := map[string]int{}
	var list []Difference
	of := func(key string) *Difference {
		i, ok := at[key]
		if !ok {
			i = len(list)
			at[key] = i
			list = append(list, Difference{Key: key})
		}
		return &list[i]
	}
	for i := range before {
		d := of(keyBefore(&before[i]))
		d.Before += before[i].Size
		d.BeforeCount++
	}
	for i := range after {
		d := of(keyAfter(&after[i]))
		d.After += after[i].Size
		d.AfterCount++
	}
	for i := range list {
		d := &list[i]
		d.Bytes, d.Count = int64(d.After-d.Before), d.AfterCount-d.BeforeCount
	}
	list = slices.DeleteFunc(list, func(d Difference) bool { return d.Bytes == 0 && d.Count == 0 })
	slices.SortFunc(list, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(max(b.Bytes, -b.Bytes), max(a.Bytes, -a.Bytes)), cmp.Compare(a.Key, b.Key))
	})
	return list
}

// StackText returns a stack as lines, innermost first. Two snapshots' stacks are
// the same where their texts are.
func (n *Names) StackText(id snapshot.StackID) string {
	if id == 0 {
		return NoStack
	}
	return cached(n.texts, id, func() string {
		var b strings.Builder
		for i, f := range n.s.Stack(id) {
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(n.Frame(f))
		}
		return b.String()
	})
}
