package index

import (
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

func TestGeneratedFilesAreCurrent(t *testing.T) {
	arraytest.CheckGenerated(t, "index_amd64.s", "stubs_amd64.go", "./index", "-pkg", "index")
}
