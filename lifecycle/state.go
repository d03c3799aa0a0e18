package lifecycle

import (
	"fmt"
	"slices"
)

// State is a stage in the life of a program, in the order of the constants.
type State uint8

// The states of a program.
const (
	InitialState     State = iota // nothing of the program's exists; Start enters it
	ModelCreated                  // the model's parameters exist
	DataPrepared                  // the data set and its loader exist
	ModelRun                      // training or inference has ended
	VariablesCleared              // model, data and optimizer were released
	MemoryFreed                   // the system has the memory back; Free enters it once that is proved
)

var stateNames = [...]string{"InitialState", "ModelCreated", "DataPrepared", "ModelRun", "VariablesCleared", "MemoryFreed"}

// String returns the state's name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// MarshalText returns the state's name, so that it stands in JSON as text.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a state's name. Any other text is a [*StateError].
func (s *State) UnmarshalText(text []byte) error {
	i := slices.Index(stateNames[:], string(text))
	if i < 0 {
		return &StateError{Text: string(text)}
	}
	*s = State(i)
	return nil
}

// StateError is the error for a text that names no state.
type StateError struct{ Text string }

// Error says what the text is.
func (e *StateError) Error() string { return fmt.Sprintf("lifecycle: %q names no state", e.Text) }
