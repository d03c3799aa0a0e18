package timeline

import (
	"cmp"
	"slices"
)

// Holder is memory that belongs together: a site's, a kind's, a module's.
type Holder struct {
	Site  string `json:"site"`
	Kind  string `json:"kind"`
	Bytes uint64 `json:"bytes"`
	Count int    `json:"count"`
	Stack uint32 `json:"-"` // of the largest block
	most  uint64
}

// Holders sums blocks by site and kind, the most bytes first. Bytes are as
// rounded where the file tells.
func (n *Names) Holders(blocks []Block) []Holder {
	return sum(blocks, func(b *Block) Holder { return Holder{Site: n.Site(b.Stack), Kind: n.Kind(b)} })
}

// ByKind sums blocks by kind; the holders' sites are empty.
func (n *Names) ByKind(blocks []Block) []Holder {
	return sum(blocks, func(b *Block) Holder { return Holder{Kind: n.Kind(b)} })
}

// ByModule sums blocks by module; the holders' sites are the modules.
func (n *Names) ByModule(blocks []Block) []Holder {
	return sum(blocks, func(b *Block) Holder { return Holder{Site: cmp.Or(n.Module(b), "(none)")} })
}

func sum(blocks []Block, key func(b *Block) Holder) []Holder {
	at := map[Holder]int{}
	var list []Holder
	for i := range blocks {
		b := &blocks[i]
		k := key(b)
		j, ok := at[k]
		if !ok {
			j = len(list)
			at[k] = j
			list = append(list, k)
		}
		h := &list[j]
		h.Bytes += b.Size
		h.Count++
		if b.Size >= h.most {
			h.most, h.Stack = b.Size, uint32(b.Stack)
		}
	}
	slices.SortFunc(list, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Site, b.Site), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}
