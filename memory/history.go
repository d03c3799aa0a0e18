package memory

import (
	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/wholefile"
)

// RecordHistory records from now on every allocation and free of rt with its call
// stack, in a ring of the last so many events (0: [ebb.DefaultHistory]). It is
// torch.cuda.memory._record_memory_history. Without a change to the program the
// environment does it: EBB_MEMORY_HISTORY=FILE writes a snapshot when a runtime is
// closed, and on the signal USR1.
func RecordHistory(rt *ebb.Runtime, events int) { rt.RecordHistory(events) }

// StopHistory ends the recording and drops what was recorded. Nothing of it is
// left behind.
func StopHistory(rt *ebb.Runtime) { rt.StopHistory() }

// DumpSnapshot writes rt's memory, and its history if one is recorded, to a file
// in PyTorch's format, whole or not at all. Name it *.pickle, for readers that go
// by the name. It is torch.cuda.memory._dump_snapshot; ebb mem and PyTorch's web
// viewer open it. Only the owner of the file may read it: call stacks show the
// paths of source files.
func DumpSnapshot(rt *ebb.Runtime, file string) error { return wholefile.Write(file, rt.WriteSnapshot) }

// Mark puts a mark into rt's history, if there is one: what the program began
// then. A loop whose marks count ("step 7") is found by ebb mem leaks.
func Mark(rt *ebb.Runtime, text string) { rt.Mark(text) }
