package memory

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/ebb-ml/ebb"
	"github.com/ebb-ml/ebb/internal/attach"
)

// Listener serves a runtime's memory on a socket.
type Listener struct {
	path   string
	server *http.Server
	done   sync.WaitGroup
}

// Listen serves [Handler] on a socket in the user's run-time folder, for ebb mem
// watch: $XDG_RUNTIME_DIR/ebb/PID.sock or, without that variable, in a folder of
// the user's own in that for temporary files. Only the user can open it. A second
// runtime of the process gets PID-2.sock, and so on. Close it when done.
//
// With EBB_MEMORY=listen in the environment every runtime listens, until it is
// closed, in any program that imports this package.
func Listen(rt *ebb.Runtime) (*Listener, error) {
	dir, err := socketFolder()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := private(dir); err != nil {
		return nil, err
	}
	sweep(dir)
	path := claim(dir, os.Getpid())
	l, err := open(path)
	if err != nil {
		release(path)
		return nil, err
	}
	s := &Listener{path: path, server: &http.Server{Handler: Handler(rt), ReadHeaderTimeout: 5 * time.Second}}
	s.done.Go(func() { _ = s.server.Serve(l) })
	return s, nil
}

// longestSocket is how long the path of a socket can be, less on some systems.
const longestSocket = 103

// open makes the socket, in the place of what a process that had this number
// before may have left.
func open(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		if len(path) > longestSocket {
			err = fmt.Errorf("memory: the socket's path %s has %d bytes, and systems take some %d: set XDG_RUNTIME_DIR to a shorter folder: %w", path, len(path), longestSocket, err)
		}
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Addr returns the path of the socket.
func (l *Listener) Addr() string { return l.path }

// Close ends the service and removes the socket. Closing twice does nothing.
func (l *Listener) Close() error {
	err := l.server.Close()
	l.done.Wait()
	release(l.path)
	return err
}

// Socket returns the path of the socket where the first runtime of a process
// listens, whether or not it does.
func Socket(pid int) (string, error) {
	dir, err := socketFolder()
	if err != nil {
		return "", err
	}
	return socketPath(dir, pid, 1), nil
}

func socketPath(dir string, pid, n int) string {
	name := strconv.Itoa(pid)
	if n > 1 {
		name += "-" + strconv.Itoa(n)
	}
	return filepath.Join(dir, name+".sock")
}

// claimed are the paths of this process's sockets.
var claimed struct {
	sync.Mutex
	paths map[string]bool
}

// claim returns the first path that no other runtime of this process has.
func claim(dir string, pid int) string {
	claimed.Lock()
	defer claimed.Unlock()
	if claimed.paths == nil {
		claimed.paths = map[string]bool{}
	}
	for n := 1; ; n++ {
		if path := socketPath(dir, pid, n); !claimed.paths[path] {
			claimed.paths[path] = true
			return path
		}
	}
}

func release(path string) {
	claimed.Lock()
	defer claimed.Unlock()
	delete(claimed.paths, path)
}

// socketFolder returns the folder of the user's sockets, which need not be there.
func socketFolder() (string, error) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "ebb"), nil
	}
	dir := os.TempDir()
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("memory: the folder for temporary files is %q, expected an absolute path", dir)
	}
	if uid := os.Getuid(); uid >= 0 {
		return filepath.Join(dir, "ebb-"+strconv.Itoa(uid)), nil
	}
	return filepath.Join(dir, "ebb"), nil // on Windows the folder is the user's own
}

func init() {
	attach.Listen = func(rt any) (stop func()) {
		l, err := Listen(rt.(*ebb.Runtime))
		if err != nil {
			fmt.Fprintf(os.Stderr, "ebb: EBB_MEMORY=listen: %v\n", err)
			return nil
		}
		return func() { _ = l.Close() }
	}
}
