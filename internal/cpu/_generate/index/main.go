// Command index writes the assembly of package index for amd64:
//
//	go run ./index -pkg index -out ../index/index_amd64.s -stubs ../index/stubs_amd64.go
package main

import (
	"fmt"

	. "github.com/ebb-ml/ebb/internal/cpu/_generate/vec"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func main() {
	ConstraintExpr("!noasm")
	for _, l := range Levels {
		for _, e := range []Element{Float32, Float64} {
			addTo(l, e)
		}
	}
	Write()
}

func addTo(l Level, e Element) {
	k := Begin(l, e, "addTo", fmt.Sprintf("(n int, d, x *%s)", e.Type), "is:\n\n\tfor i := range n {\n\t\td[i] += x[i]\n\t}\n", "d", "x")
	k.Each(4, func(at func(string, int) Mem, vectors int) {
		var vs []V
		for i := range vectors {
			v := k.Load(at("d", i))
			if k.Tail() {
				e.Add(k.Load(at("x", i)), v, v)
			} else {
				e.Add(at("x", i), v, v)
			}
			vs = append(vs, v)
		}
		for i, v := range vs {
			k.Store(v, at("d", i))
		}
	})
	k.End()
}
