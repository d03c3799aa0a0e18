package nn_test

import (
	"fmt"
	"log"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/nn"
	"github.com/ebb-ml/ebb/optim"
)

// Net is a model: a struct of layers with a Forward.
type Net struct {
	Fc1 *nn.Linear
	Act *nn.ReLU
	Fc2 *nn.Linear
}

func NewNet(st *ebb.Store) *Net {
	return &Net{Fc1: nn.NewLinear(st, 4, 8), Act: &nn.ReLU{}, Fc2: nn.NewLinear(st, 8, 2)}
}

func (n *Net) Forward(x *ebb.Tensor) *ebb.Tensor { return nn.Chain(x, n.Fc1, n.Act, n.Fc2) }

// A model learns to tell which half of its input is larger.
func Example() {
	rt := ebb.NewRuntime()
	rt.ManualSeed(0)
	model := NewNet(rt.NewStore("model"))
	opt := optim.NewSGD(nn.Parameters(model), optim.LR(0.5))
	for step := range 101 {
		err := rt.Run(ebb.EnableGrad, func(s *ebb.Scope) error {
			x := ebb.Rand(s, ebb.Shape{32, 4})
			y := x.Narrow(1, 0, 2).Sum(1).Lt(x.Narrow(1, 2, 2).Sum(1)).To(ebb.Int64)
			opt.ZeroGrad()
			loss := nn.CrossEntropyLoss(nn.Call(model, x), y)
			loss.Backward()
			opt.Step()
			if step%100 == 0 {
				fmt.Printf("step %d: loss %.1f\n", step, loss.Item())
			}
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	opt.Close()
	nn.Release(model)
	fmt.Println(rt.Stats().Live.Current, "bytes live")
	if err := rt.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// step 0: loss 0.7
	// step 100: loss 0.1
	// 0 bytes live
}

func ExampleString() {
	rt := ebb.NewRuntime()
	st := rt.NewStore("model")
	model := nn.NewSequential(nn.NewFlatten(), NewNet(st))
	fmt.Println(nn.String(model))
	nn.Release(model)
	rt.Close()
	// Output:
	// Sequential(
	//   (0): Flatten(start_dim=1, end_dim=-1)
	//   (1): Net(
	//     (fc1): Linear(in_features=4, out_features=8, bias=True)
	//     (act): ReLU()
	//     (fc2): Linear(in_features=8, out_features=2, bias=True)
	//   )
	// )
}

// Pair is what Attention takes.
type Pair struct{ Query, Key *ebb.Tensor }

type Attention struct{ Project *nn.Linear }

func (a *Attention) Forward(in Pair) *ebb.Tensor {
	q, k := nn.Call(a.Project, in.Query), nn.Call(a.Project, in.Key)
	return q.MatMul(k.T()).Softmax(-1)
}

// A module may take and return several tensors, in a struct or a slice.
func ExampleCall() {
	rt := ebb.NewRuntime()
	st := rt.NewStore("model")
	attention := &Attention{nn.NewLinear(st, 4, 4)}
	err := rt.Run(ebb.NoGrad, func(s *ebb.Scope) error {
		weights := nn.Call(attention, Pair{Query: ebb.Ones(s, ebb.Shape{2, 4}), Key: ebb.Ones(s, ebb.Shape{3, 4})})
		fmt.Println(weights.Shape())
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	st.Close()
	rt.Close()
	// Output: [2 3]
}

// Freezing all but the last layer.
func ExampleSetRequiresGrad() {
	rt := ebb.NewRuntime()
	model := NewNet(rt.NewStore("model"))
	nn.SetRequiresGrad(model, false)
	nn.SetRequiresGrad(model.Fc2, true)
	for name, p := range nn.NamedParameters(model) {
		fmt.Println(name, p.RequiresGrad())
	}
	nn.Release(model)
	rt.Close()
	// Output:
	// fc1.weight false
	// fc1.bias false
	// fc2.weight true
	// fc2.bias true
}

func ExampleLoadStateDict() {
	rt := ebb.NewRuntime()
	st := rt.NewStore("models")
	teacher, student := nn.NewLinear(st, 2, 1), nn.NewLinear(st, 2, 1)
	if err := nn.LoadStateDict(student, nn.NewStateDict(teacher)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(student.Weight.Equal(teacher.Weight))

	fmt.Println(nn.LoadStateDict(nn.NewLinear(st, 2, 3, nn.NoBias()), nn.NewStateDict(teacher)))
	st.Close()
	rt.Close()
	// Output:
	// true
	// ebb: load_state_dict: weight has shape [1 2], expected [3 2]; bias is not the model's
	//   load the state of a model of the same structure
}
