package reduce

import (
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

func TestGeneratedFilesAreCurrent(t *testing.T) {
	arraytest.CheckGenerated(t, "reduce_amd64.s", "stubs_amd64.go", "./reduce", "-pkg", "reduce")
	arraytest.CheckGenerated(t, "reduce_arm64.s", "stubs_arm64.go", "./neon", "-pkg", "reduce")
}

// Words of machine code are the instructions that their comments say.
func TestEncodings(t *testing.T) { arraytest.CheckEncodings(t, "reduce_arm64.s") }
