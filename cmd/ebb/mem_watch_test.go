package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/memory"
)

// holding makes a runtime that holds 4 MiB of parameters.
func holding(t *testing.T) *ebb.Runtime {
	t.Helper()
	rt := ebb.NewRuntime()
	model := rt.NewStore("model")
	ebb.Ones(model, ebb.Shape{1 << 20}, ebb.Parameter)
	t.Cleanup(func() {
		model.Close()
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return rt
}

// A process that listens tells its own figures, by PID and by URL.
func TestMemWatchOfARuntime(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	rt := holding(t)
	l, err := memory.Listen(rt)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	mux := http.NewServeMux()
	mux.Handle("/debug/memory/", memory.Handler(rt))
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, target := range []string{fmt.Sprint(os.Getpid()), server.URL + "/debug/memory/", server.URL + "/debug/memory"} {
		status, out, errs := mem(t, "watch", target, "--once")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if status != 0 || errs != "" || len(lines) != 3 || !strings.Contains(lines[2], "parameter 4.00 MiB") || !strings.Contains(lines[1], "live") {
			t.Errorf("%s: status %d: %s%s", target, status, out, errs)
		}
		status, out, _ = mem(t, "watch", target, "--once", "--json")
		var r reading
		if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 || r.Live != 4<<20 || r.PID != os.Getpid() || r.Source != "process" {
			t.Errorf("%s: status %d: %s", target, status, out)
		}
	}
	if status, _, errs := mem(t, "watch", server.URL+"/other/", "--once"); status != 1 || !strings.Contains(errs, "404") {
		t.Errorf("another path: status %d: %s", status, errs)
	}
}

// What answers may be anything.
func TestMemWatchOfSomethingElse(t *testing.T) {
	answer := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
	defer server.Close()
	for _, answer = range []string{"", "<html>", "{}", "[1]", strings.Repeat("[", 1<<21)} {
		if status, _, errs := mem(t, "watch", server.URL, "--once"); status != 1 || !strings.Contains(errs, "tells no figures") {
			t.Errorf("%.10q: status %d: %s", answer, status, errs)
		}
	}
	answer = `{"pid": 1, "program": "\u001b[31mred", "kinds": [{"kind": "\u001b[2J", "live_bytes": 1}]}`
	if status, out, _ := mem(t, "watch", server.URL, "--once"); status != 0 || strings.Contains(out, "\x1b") {
		t.Errorf("status %d: %q", status, out)
	}
}

// The watch ends with the process.
func TestMemWatchToTheEnd(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("sleep and /proc")
	}
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	sleep := exec.Command("sleep", "0.3")
	if err := sleep.Start(); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() { done <- sleep.Wait() }()
	status, out, errs := mem(t, "watch", fmt.Sprint(sleep.Process.Pid), "--interval", "20ms")
	if status != 0 || !strings.Contains(out, "resident") || !strings.Contains(errs, "EBB_MEMORY=listen") || !strings.Contains(errs, "the process has ended") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	<-done
	if status, out, errs := mem(t, "watch", fmt.Sprint(sleep.Process.Pid), "--once"); status != 1 || out != "" || !strings.Contains(errs, "there is no such process") {
		t.Errorf("after its end: status %d: %s%s", status, out, errs)
	}
}

// What is drawn on a terminal goes over what was drawn before.
func TestWatchDraws(t *testing.T) {
	var b strings.Builder
	w := &watcher{out: &b}
	r := &reading{Source: "process"}
	r.Status = memory.Status{Time: time.Now(), PID: 7, Program: "\x1b[31mprogram", Live: 3 << 20, Peak: 4 << 20, Mapped: 8 << 20, Count: 2, Owners: 3,
		Kinds: []memory.KindStatus{{Kind: "parameter", Live: 3 << 20, Peak: 3 << 20, Count: 2}}, History: memory.HistoryStatus{On: true, Events: 12}}
	for range 2 {
		if err := w.draw(r); err != nil {
			t.Fatal(err)
		}
	}
	first, second, found := strings.Cut(b.String(), fmt.Sprintf("\x1b[%dA\x1b[J", w.drawn))
	if !found || first != second || strings.Count(first, "\n") != w.drawn || strings.Contains(first, "\x1b") {
		t.Errorf("%q", b.String())
	}
	for _, want := range []string{"(7)", "live                 3.00 MiB  " + strings.Repeat("█", 12), "peak 4.00 MiB", "  parameter", "2 tensors, 3 stores and scopes open, 0 operations running", "history: 12 events"} {
		if !strings.Contains(first, want) {
			t.Errorf("%q is missing in\n%s", want, first)
		}
	}
	r.Source = "system"
	r.RSS, r.most = 1<<20, 2<<20
	if text := r.text(); !strings.Contains(text, "resident             1.00 MiB  "+strings.Repeat("█", 16)+" ") || strings.Contains(text, "live") {
		t.Error(text)
	}
	for _, c := range []struct {
		n, whole int64
		want     string
	}{
		{1, 256, "▏"}, {-1, 256, ""}, {1, 0, ""}, {512, 256, strings.Repeat("█", 32)},
		{math.MaxInt64 / 2, math.MaxInt64, strings.Repeat("█", 16)}, // what an answer claims may be anything
	} {
		if got := bar(c.n, c.whole); got != c.want {
			t.Errorf("bar(%d, %d) is %q", c.n, c.whole, got)
		}
	}
}
