package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/datasets"
	"golang.org/x/sys/unix"
)

// pseudoTerminal returns a terminal, and what is to be read from its other side.
func pseudoTerminal(t *testing.T, columns uint16) (*os.File, func() string) {
	t.Helper()
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { other.Close() })
	fd := int(other.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err != nil {
		t.Skip(err)
	}
	f, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	text := make(chan string)
	go func() {
		var b strings.Builder
		room := make([]byte, 4096)
		for {
			n, err := other.Read(room)
			b.Write(room[:n])
			if err != nil { // the terminal was closed
				text <- b.String()
				return
			}
		}
	}()
	return f, func() string { f.Close(); return <-text }
}

func TestTerminal(t *testing.T) {
	f, text := pseudoTerminal(t, 80)
	defer text()
	t.Setenv("TERM", "xterm")
	for name, ok := range map[string]bool{"xterm": true, "": true, "dumb": false} {
		t.Setenv("TERM", name)
		if _, got := terminal(f); got != ok {
			t.Errorf("TERM=%s: %v", name, got)
		}
		if _, got := terminal(&standardOutput{Writer: f}); got != ok {
			t.Errorf("TERM=%s, as the standard output: %v", name, got)
		}
	}
	if _, ok := terminal(new(strings.Builder)); ok {
		t.Error("a buffer is a terminal")
	}
}

// However narrow the terminal, what is drawn is one line, which the next drawing
// replaces.
func TestBarFitsTheTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	codes := regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)
	for _, columns := range []uint16{40, 60, 80, 110, 200} {
		f, text := pseudoTerminal(t, columns)
		p := newProgress(ebb.NewRuntime(), &standardOutput{Writer: f})
		now := time.Unix(1e9, 0)
		p.now = func() time.Time { return now }
		p.download(datasets.Progress{File: "file", Source: "https://" + strings.Repeat("far", 60), Done: 1, Total: 2})
		p.start(1000)
		p.evaluated(0.5)
		for n := 1; n <= 4; n++ {
			now = now.Add(time.Second)
			time.Sleep(drawEvery) // the bar has its own clock
			p.step(n*100, 1, 1)
		}
		p.end()
		if err := p.rt.Close(); err != nil {
			t.Error(err)
		}
		bars := 0
		for _, line := range strings.FieldsFunc(text(), func(r rune) bool { return r == '\r' || r == '\n' }) {
			line = codes.ReplaceAllString(line, "")
			if n := utf8.RuneCountInString(line); n > int(columns) {
				t.Errorf("%d of %d columns: %q", n, columns, line)
			}
			if strings.Contains(line, "loss 1.00") {
				bars++
			}
		}
		if columns >= 60 && bars == 0 {
			t.Errorf("%d columns: no loss", columns)
		}
	}
}
