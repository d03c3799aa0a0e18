package loss

import (
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu/arraytest"
)

func TestGeneratedFilesAreCurrent(t *testing.T) {
	arraytest.CheckGenerated(t, "loss_amd64.s", "stubs_amd64.go", "./loss", "-pkg", "loss")
}
