package ebb_test

import (
	"testing"

	"github.com/ebb-ml/ebb/internal/cpu"
	"github.com/ebb-ml/ebb/internal/optest"
)

// table has a row for every operation of the package. The rows lie in
// optable_<family>_test.go, which add them in init.
var table optest.Table

// noOperations are the exported functions on tensors that compute nothing new,
// or are tested elsewhere.
var noOperations = map[string]string{
	"Tensor.AllClose":                       "compares whole tensors; tested beside it",
	"Tensor.Backward":                       "the engine, which every row runs",
	"Tensor.Bools":                          "reads the elements",
	"Tensor.DType":                          "describes the tensor",
	"Tensor.Dim":                            "describes the tensor",
	"Tensor.Equal":                          "compares whole tensors; tested beside it",
	"Tensor.Float32s":                       "reads the elements",
	"Tensor.Float64s":                       "reads the elements",
	"Tensor.Grad":                           "reads the gradient",
	"Tensor.HasGrad":                        "asks for the gradient",
	"Tensor.In":                             "directs results; the tensor is the same",
	"Tensor.Int32s":                         "reads the elements",
	"Tensor.Int64s":                         "reads the elements",
	"Tensor.IsContiguous":                   "describes the tensor",
	"Tensor.IsLeaf":                         "describes the tensor",
	"Tensor.Item":                           "reads the element",
	"Tensor.Kind":                           "describes the tensor",
	"Tensor.MoveTo":                         "moves between owners; tested with them",
	"Tensor.NBytes":                         "describes the tensor",
	"Tensor.Numel":                          "describes the tensor",
	"Tensor.Offset":                         "describes the tensor",
	"Tensor.Read":                           "reads the elements",
	"Tensor.RegisterHook":                   "watches Backward",
	"Tensor.RegisterPostAccumulateGradHook": "watches Backward",
	"Tensor.Released":                       "describes the tensor",
	"Tensor.RequiresGrad":                   "describes the tensor",
	"Tensor.RetainGrad":                     "configures Backward",
	"Tensor.Runtime":                        "describes the tensor",
	"Tensor.Scope":                          "describes the tensor",
	"Tensor.SetGrad":                        "sets the gradient",
	"Tensor.SetName":                        "names the memory",
	"Tensor.SetRequiresGrad":                "configures Backward",
	"Tensor.Shape":                          "describes the tensor",
	"Tensor.SharesStorage":                  "describes the tensor",
	"Tensor.Size":                           "describes the tensor",
	"Tensor.Store":                          "describes the tensor",
	"Tensor.Strides":                        "describes the tensor",
	"Tensor.String":                         "prints the elements",
	"Tensor.Uint8s":                         "reads the elements",
	"Tensor.Version":                        "describes the tensor",
	"Tensor.ZeroGrad":                       "releases the gradient",
	"ResultScope":                           "finds a scope",
	"Chain":                                 "runs functions in regions",
	"Claim":                                 "marks parameters as in training",
	"Grad":                                  "the engine, which every row runs",
	"GradCheck":                             "checks gradients, which every row runs",
	"GradGradCheck":                         "checks gradients, which every row runs",
	"Read":                                  "reads the elements",
	"ResultType":                            "computes a type",
	"Values":                                "reads the elements",
	"WithGradient":                          "an option of Backward",
}

func TestOperationsHaveRows(t *testing.T) {
	table.Complete(t, "github.com/ebb-ml/ebb", noOperations)
}

func TestTorchValues(t *testing.T)    { table.TorchValues(t) }
func TestOperationLeaks(t *testing.T) { table.Leaks(t) }
func TestAliases(t *testing.T)        { table.Alias(t) }
func TestGradChecks(t *testing.T)     { table.GradChecks(t) }
func TestGradGradChecks(t *testing.T) { table.GradGradChecks(t) }
func TestNthAllocation(t *testing.T)  { table.Failures(t) }
func TestBadOperands(t *testing.T)    { table.BadInput(t) }
func TestLayouts(t *testing.T)        { table.Layouts(t) }
func TestTogether(t *testing.T)       { table.Together(t) }
func TestThreads(t *testing.T)        { table.Threads(t, cpu.SetNumThreads) }
