package memory_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"expvar"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/snapshot/snapshottest"
	"github.com/ebb-ml/ebb/memory"
	"github.com/google/pprof/profile"
)

// get returns what a server answers, which must be of a status.
func get(t *testing.T, c *http.Client, url string, status int) (body []byte, header http.Header) {
	t.Helper()
	r, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err = io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != status {
		t.Fatalf("%s: status %d, want %d\n%s", url, r.StatusCode, status, body)
	}
	return body, r.Header
}

func decode[T any](t *testing.T, text []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func TestHandler(t *testing.T) {
	rt := ebb.NewRuntime(ebb.Limit(1 << 30))
	defer rt.Close()
	memory.RecordHistory(rt, 0)
	model := rt.NewStore("model")
	defer model.Close()
	ebb.Ones(model, ebb.Shape{100}, ebb.Parameter).SetName("</script><b>fc1")
	s := rt.NewScope("batch")
	ebb.Ones(s, ebb.Shape{1000})
	memory.Mark(rt, "step 1")
	s.Close()

	mux := http.NewServeMux()
	mux.Handle("/debug/memory/", memory.Handler(rt))
	mux.Handle("/bare", memory.Handler(rt))
	server := httptest.NewServer(mux)
	defer server.Close()
	c, base := server.Client(), server.URL+"/debug/memory/"

	page, header := get(t, c, base, 200)
	if !bytes.Contains(page, []byte("show the paths and names of source files")) {
		t.Error("the page does not warn of paths")
	}
	for _, tag := range []string{"style", "script"} {
		_, rest, _ := strings.Cut(string(page), "<"+tag+">")
		text, _, _ := strings.Cut(rest, "</"+tag+">")
		sum := sha256.Sum256([]byte(text))
		if want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; len(text) < 1000 || !strings.Contains(header.Get("Content-Security-Policy"), want) {
			t.Errorf("the policy %q does not allow the page's %s", header.Get("Content-Security-Policy"), tag)
		}
	}
	if bytes.Contains(page, []byte("://")) {
		t.Error("the page refers to the network")
	}

	body, header := get(t, c, base+"status.json", 200)
	status := decode[memory.Status](t, body)
	if status.Live != 400 || status.Peak != 4400 || status.Limit != 1<<30 || status.PID != os.Getpid() || len(status.Kinds) != 2 || !status.History.On ||
		header.Get("Content-Type") != "application/json" || header.Get("Cache-Control") != "no-store" {
		t.Errorf("status %s", body)
	}
	body, _ = get(t, c, base+"timeline.json?points=20", 200)
	timeline := decode[struct {
		Times []int64            `json:"times_ms"`
		Live  []int64            `json:"live_bytes"`
		Kinds map[string][]int64 `json:"kinds"`
		Marks []struct {
			Text string `json:"text"`
		} `json:"marks"`
	}](t, body)
	var most int64
	for i, n := range timeline.Live {
		most = max(most, n)
		if timeline.Kinds["parameter"][i]+timeline.Kinds["activation"][i] != n {
			t.Errorf("instant %d: %s", i, body)
		}
	}
	if len(timeline.Times) != 20 || most != 4400 || len(timeline.Marks) != 1 || timeline.Marks[0].Text != "step 1" {
		t.Errorf("timeline %s", body)
	}
	body, _ = get(t, c, base+"timeline.json?points=99999999999&since=9999999999999", 200)
	if future := decode[map[string]any](t, body); len(future["times_ms"].([]any)) > 10_000 {
		t.Error("the number of points is not bounded")
	}
	body, _ = get(t, c, base+"holders.json", 200)
	if bytes.Contains(body, []byte("</script>")) {
		t.Errorf("not escaped: %s", body)
	}
	holders := decode[[]map[string]any](t, body)
	if len(holders) != 1 || holders[0]["bytes"] != 400.0 || holders[0]["kind"] != "parameter" || holders[0]["module"] != "</script><b>fc1" {
		t.Errorf("holders %s", body)
	}
	body, header = get(t, c, base+"snapshot.pickle", 200)
	for _, fault := range snapshottest.Check(body) {
		t.Error(fault)
	}
	if d := header.Get("Content-Disposition"); !strings.HasPrefix(d, "attachment; filename=") {
		t.Error(d)
	}
	body, _ = get(t, c, base+"profile.pb.gz", 200)
	if p, err := profile.ParseData(body); err != nil || sum(p, "peak_space", "kind", "activation") != 4000 {
		t.Errorf("profile: %v", err)
	}

	get(t, c, base+"nothing.json", 404)
	if r, err := c.Post(base, "text/plain", nil); err != nil || r.StatusCode != 405 {
		t.Errorf("POST: %v, %v", r, err)
	}
	if page2, _ := get(t, c, server.URL+"/debug/memory", 200); !bytes.Equal(page, page2) {
		t.Error("without the slash there is another page")
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if _, header := get(t, c, server.URL+"/bare", 301); header.Get("Location") != "/bare/" {
		t.Errorf("redirected to %q", header.Get("Location"))
	}
}

func TestVar(t *testing.T) {
	rt := ebb.NewRuntime()
	defer rt.Close()
	s := rt.NewScope("batch")
	ebb.Ones(s, ebb.Shape{10})
	name := fmt.Sprint(t.Name(), time.Now().UnixNano()) // published for good
	expvar.Publish(name, memory.Var(rt))
	if got := decode[memory.Status](t, []byte(expvar.Get(name).String())); got.Live != 40 || got.History.On {
		t.Errorf("%+v", got)
	}
	s.Close()
}

// overSocket is a client whose every connection goes to a socket.
func overSocket(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
}

func TestListen(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	rt := ebb.NewRuntime()
	defer rt.Close()
	l, err := memory.Listen(rt)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := memory.Socket(os.Getpid()); l.Addr() != want || err != nil {
		t.Errorf("socket %s, want %s, %v", l.Addr(), want, err)
	}
	second, err := memory.Listen(rt)
	if err != nil || !strings.HasSuffix(second.Addr(), "-2.sock") {
		t.Errorf("second %v, %v", second, err)
	}
	for path, want := range map[string]os.FileMode{l.Addr(): 0o600, filepath.Dir(l.Addr()): 0o700} {
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v, %v", path, info.Mode(), want, err)
		}
	}
	body, _ := get(t, overSocket(l.Addr()), "http://ebb/status.json", 200)
	if s := decode[memory.Status](t, body); s.PID != os.Getpid() {
		t.Errorf("%s", body)
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(l.Addr())); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// What processes left that ended without Close goes; what is another's stays.
func TestListenSweeps(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nobody tells whether a process lives")
	}
	odd := filepath.Join(t.TempDir(), "[a*]") // a name, not a pattern
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", odd)
	dead, err := memory.Socket(1<<31 - 1)
	if err != nil {
		t.Fatal(err)
	}
	alive, err := memory.Socket(os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Dir(dead), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dead, alive, strings.Replace(dead, ".sock", "-2.sock", 1)} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rt := ebb.NewRuntime()
	defer rt.Close()
	l, err := memory.Listen(rt)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Dir(dead))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(alive) {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// A folder that others can enter is refused.
func TestListenInAnOpenFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes")
	}
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", t.TempDir())
	rt := ebb.NewRuntime()
	defer rt.Close()
	path, err := memory.Socket(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := memory.Listen(rt); err == nil || !strings.Contains(err.Error(), "expected 700") {
		t.Errorf("error %v", err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := memory.Listen(rt)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// The system's word for a path that is too long is "invalid argument".
func TestListenInADeepFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the limit is another")
	}
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(t.TempDir(), strings.Repeat("x", 120)))
	rt := ebb.NewRuntime()
	defer rt.Close()
	if _, err := memory.Listen(rt); err == nil || !strings.Contains(err.Error(), "a shorter folder") {
		t.Errorf("error %v", err)
	}
}

func TestListenByEnvironment(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("EBB_MEMORY", "listen")
	rt := ebb.NewRuntime()
	path, err := memory.Socket(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	get(t, overSocket(path), "http://ebb/status.json", 200)
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is still there after Close")
	}
}
