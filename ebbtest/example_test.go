package ebbtest_test

import (
	"fmt"
	"strings"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/ebbtest"
)

func ExampleRuntime() {
	t := &fake{} // in a test of yours: t *testing.T

	rt := ebbtest.Runtime(t)
	model := rt.NewStore("model")
	ebb.Ones(model, ebb.Shape{3}, ebb.Parameter)
	// model.Close() was forgotten.

	t.end()
	fmt.Println(strings.Split(t.errors[0], ", made at")[0])
	// Output: ebbtest: still held: parameter float32[3], 12 B, in model
}
