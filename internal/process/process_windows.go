package process

import (
	"os"

	"github.com/shirou/gopsutil/v4/process"
)

func descriptors() (int, error) {
	p, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		return 0, err
	}
	n, err := p.NumFDs()
	return int(n), err
}
