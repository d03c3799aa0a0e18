package datasets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ebb-ml/ebb"
)

// server serves a data set's files as its handler likes.
type server struct {
	*httptest.Server
	requests atomic.Int32
	ranges   sync.Map // Range header of each request, by its number
}

// serve starts a server whose handler gets the number of the request, from 1,
// and the gzipped file that is asked for.
func (s *tiny) serve(t testing.TB, handle func(w http.ResponseWriter, r *http.Request, n int, gz []byte)) *server {
	sv := &server{}
	sv.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(sv.requests.Add(1))
		sv.ranges.Store(n, r.Header.Get("Range")+" "+r.Header.Get("If-Range"))
		content, ok := s.content[strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/"), ".gz")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		handle(w, r, n, pack(content))
	}))
	t.Cleanup(sv.Close)
	return sv
}

// whole answers as a good server does, ranges included.
func whole(w http.ResponseWriter, r *http.Request, gz []byte, etag string) {
	w.Header().Set("ETag", etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(gz))
}

// impatient makes downloads try again at once and, if stalls is set, give up on
// a server that stalls after a second, and the first time.
func impatient(t testing.TB, stalls bool) {
	a, s, p := attempts, stallTime, pause
	if pause = time.Millisecond; stalls {
		attempts, stallTime = 1, time.Second
	}
	t.Cleanup(func() { attempts, stallTime, pause = a, s, p })
}

func TestDownload(t *testing.T) {
	for _, unpacked := range []bool{true, false} {
		s := newTiny(1, unpacked)
		sv := s.serve(t, func(w http.ResponseWriter, r *http.Request, _ int, gz []byte) { whole(w, r, gz, `"1"`) })
		cache := filepath.Join(t.TempDir(), "new", "cache")
		var last Progress
		watch := OnProgress(func(p Progress) {
			if p.Done > p.Total || p.File == "" || p.Waiting || !strings.HasPrefix(p.Source, sv.URL) {
				t.Errorf("%+v", p)
			}
			last = p
		})
		for range 2 {
			s.opened(t, Train, func(d *Images, err error) {
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(d.Images().Uint8s(), s.content["train-images-idx3-ubyte"][16:]) {
					t.Error("other images")
				}
			}, Cache(cache), Mirrors(sv.URL), watch)
		}
		if n := sv.requests.Load(); n != 2 {
			t.Errorf("%d requests for two files", n)
		}
		if last.Done != last.Total || last.Total != s.files[Train].labels.gzBytes {
			t.Errorf("%+v", last)
		}
		ext := ".gz"
		if unpacked {
			ext = ""
		}
		want := fmt.Sprintf("\n/MNIST\n/MNIST/raw\n/MNIST/raw/train-images-idx3-ubyte%s\n/MNIST/raw/train-labels-idx1-ubyte%[1]s", ext)
		if got := filepath.ToSlash(files(t, cache)); got != want {
			t.Errorf("the cache has%s", got)
		}
	}
}

// Every row is a mirror that does something, what becomes of it, and in how many
// requests for the first file.
func TestMirrors(t *testing.T) {
	s := newTiny(1, true)
	half := func(w http.ResponseWriter, gz []byte) { // sends less than it says
		w.Header().Set("Content-Length", fmt.Sprint(len(gz)))
		_, _ = w.Write(gz[:len(gz)/2])
	}
	for _, c := range []struct {
		what     string
		want     string // "" is success
		requests int32
		handle   func(w http.ResponseWriter, r *http.Request, n int, gz []byte)
	}{
		{"sends less once, then goes on", "", 2, func(w http.ResponseWriter, r *http.Request, n int, gz []byte) {
			if n == 1 {
				w.Header().Set("ETag", `"1"`)
				half(w, gz)
				return
			}
			if r.Header.Get("Range") != fmt.Sprintf("bytes=%d-", len(gz)/2) || r.Header.Get("If-Range") != `"1"` {
				t.Errorf("asked for %q if %q", r.Header.Get("Range"), r.Header.Get("If-Range"))
			}
			whole(w, r, gz, `"1"`)
		}},
		{"sends less once, then has another version", "", 2, func(w http.ResponseWriter, r *http.Request, n int, gz []byte) {
			if n == 1 {
				w.Header().Set("ETag", `"1"`)
				w.Header().Set("Content-Length", fmt.Sprint(len(gz)))
				_, _ = w.Write(make([]byte, len(gz)/2))
				return
			}
			whole(w, r, gz, `"2"`)
		}},
		{"goes on with what does not fit", "", 3, func(w http.ResponseWriter, r *http.Request, n int, gz []byte) {
			if n == 1 {
				w.Header().Set("Content-Length", fmt.Sprint(len(gz)))
				_, _ = w.Write(make([]byte, len(gz)/2))
				return
			}
			whole(w, r, gz, "")
		}},
		{"knows no ranges", "", 2, func(w http.ResponseWriter, _ *http.Request, n int, gz []byte) {
			if n == 1 {
				half(w, gz)
				return
			}
			_, _ = w.Write(gz)
		}},
		{"refuses the range", "", 3, func(w http.ResponseWriter, r *http.Request, n int, gz []byte) {
			switch {
			case n == 1:
				half(w, gz)
			case r.Header.Get("Range") != "":
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			default:
				_, _ = w.Write(gz)
			}
		}},
		{"fails twice", "", 3, func(w http.ResponseWriter, r *http.Request, n int, gz []byte) {
			if n < 3 {
				http.Error(w, "busy", http.StatusServiceUnavailable)
				return
			}
			whole(w, r, gz, "")
		}},
		{"always sends less", "of " + fmt.Sprint(s.files[Train].images.gzBytes) + " bytes", 3, func(w http.ResponseWriter, _ *http.Request, _ int, gz []byte) {
			w.Header().Set("Transfer-Encoding", "identity")
			_, _ = w.Write(gz[:10])
		}},
		{"cuts the connection", "EOF", 3, func(w http.ResponseWriter, r *http.Request, _ int, gz []byte) {
			if r.Header.Get("Range") != "" {
				panic(http.ErrAbortHandler)
			}
			half(w, gz)
		}},
		{"always fails", "503", 3, func(w http.ResponseWriter, _ *http.Request, _ int, _ []byte) {
			http.Error(w, "busy", http.StatusServiceUnavailable)
		}},
		{"has not got it", "404", 1, func(w http.ResponseWriter, r *http.Request, _ int, _ []byte) { http.NotFound(w, r) }},
		{"has a page", "the server has 6 bytes", 1, func(w http.ResponseWriter, _ *http.Request, _ int, _ []byte) { _, _ = w.Write([]byte("<html>")) }},
		{"sends something else", "damaged", 1, func(w http.ResponseWriter, r *http.Request, _ int, gz []byte) {
			gz[len(gz)-20] ^= 1
			whole(w, r, gz, "")
		}},
		{"sends something else of the same size", "gzip", 1, func(w http.ResponseWriter, r *http.Request, _ int, gz []byte) {
			whole(w, r, make([]byte, len(gz)), "")
		}},
		{"sends more", "more than", 1, func(w http.ResponseWriter, _ *http.Request, _ int, gz []byte) {
			for range 3 {
				_, _ = w.Write(gz)
				w.(http.Flusher).Flush()
			}
		}},
		{"stalls", "sends nothing any more", 1, func(w http.ResponseWriter, r *http.Request, _ int, gz []byte) {
			w.Header().Set("Content-Length", fmt.Sprint(len(gz)))
			_, _ = w.Write(gz[:100])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}},
		{"never answers", "timeout", 1, func(_ http.ResponseWriter, r *http.Request, _ int, _ []byte) { <-r.Context().Done() }},
	} {
		t.Run(c.what, func(t *testing.T) {
			stalls := c.what == "stalls" || c.what == "never answers"
			if testing.Short() && stalls {
				t.Skip("waits for a second")
			}
			impatient(t, stalls)
			first := int32(0)
			sv := s.serve(t, func(w http.ResponseWriter, r *http.Request, n int, gz []byte) {
				if strings.Contains(r.URL.Path, "labels") {
					whole(w, r, gz, "")
					return
				}
				first = int32(n)
				c.handle(w, r, n, gz)
			})
			cache := filepath.Join(t.TempDir(), "cache")
			s.opened(t, Train, func(d *Images, err error) {
				if c.want == "" {
					if err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(d.Images().Uint8s(), s.content["train-images-idx3-ubyte"][16:]) {
						t.Error("other images")
					}
					return
				}
				var e *FetchError
				if !errors.As(err, &e) || len(e.Causes) != 1 || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), sv.URL) || strings.Count(err.Error(), "\n") > 3 {
					t.Errorf("error %v", err)
				}
			}, Cache(cache), Mirrors(sv.URL))
			if first != c.requests {
				t.Errorf("%d requests, want %d", first, c.requests)
			}
			if c.want != "" && present(cache) {
				t.Error("the cache folder is left")
			}
			if _, err := os.Stat(cache); c.want != "" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the cache has%s", files(t, cache))
			}
		})
	}
}

func TestNextMirrorHelps(t *testing.T) {
	impatient(t, false)
	s := newTiny(1, true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + l.Addr().String()
	_ = l.Close()
	bad := s.serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, gz []byte) {
		w.Header().Set("Content-Length", fmt.Sprint(len(gz)))
		_, _ = w.Write(gz[:50])
	})
	good := s.serve(t, func(w http.ResponseWriter, r *http.Request, _ int, gz []byte) { whole(w, r, gz, "") })
	s.opened(t, Test, func(_ *Images, err error) {
		if err != nil {
			t.Error(err)
		}
	}, Cache(t.TempDir()), Mirrors(nobody, bad.URL, good.URL+"/"))
	s.opened(t, Test, func(_ *Images, err error) {
		var e *FetchError
		if !errors.As(err, &e) || len(e.Causes) != 1 || !strings.Contains(err.Error(), nobody) {
			t.Errorf("nobody there: %v", err)
		}
	}, Cache(t.TempDir()), Mirrors(nobody))
	t.Setenv("EBB_DATASETS_MIRROR", good.URL)
	s.opened(t, Test, func(_ *Images, err error) {
		if err != nil {
			t.Error(err)
		}
	}, Cache(t.TempDir()))
}

// A download that was interrupted goes on where it stopped.
func TestInterruptedDownloadGoesOn(t *testing.T) {
	s := newTiny(1, true)
	ctx, cancel := context.WithCancel(context.Background())
	var interrupted atomic.Bool
	sv := s.serve(t, func(w http.ResponseWriter, r *http.Request, n int, gz []byte) {
		if n == 1 {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Content-Length", fmt.Sprint(len(gz)))
			_, _ = w.Write(gz[:len(gz)/2])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		whole(w, r, gz, `"1"`)
	})
	cache := t.TempDir()
	rt := ebb.NewRuntime()
	_, err := open(ctx, &s.source, rt.NewStore("data"), Train, nil, []Option{Cache(cache), Mirrors(sv.URL), OnProgress(func(p Progress) {
		if p.Done > 0 && !interrupted.Swap(true) {
			cancel()
		}
	})})
	if !errors.Is(err, context.Canceled) || rt.Close() != nil {
		t.Fatal(err)
	}
	f := s.files[Train].images
	want := fmt.Sprintf("\n/MNIST\n/MNIST/raw\n/MNIST/raw/%s.part\n/MNIST/raw/%[1]s.part.json", f.name)
	if got := filepath.ToSlash(files(t, cache)); got != want {
		t.Fatalf("the cache has%s", got)
	}
	s.opened(t, Train, func(_ *Images, err error) {
		if err != nil {
			t.Error(err)
		}
	}, Cache(cache), Mirrors(sv.URL))
	if got, _ := sv.ranges.Load(2); got != fmt.Sprintf(`bytes=%d- "1"`, f.gzBytes/2) {
		t.Errorf("the second request asks for %q", got)
	}
	if got := files(t, cache); strings.Contains(got, "part") {
		t.Errorf("the cache has%s", got)
	}
}

// Many ask at once: one downloads, the others wait.
func TestOneDownloads(t *testing.T) {
	s := newTiny(1, true)
	sv := s.serve(t, func(w http.ResponseWriter, r *http.Request, _ int, gz []byte) {
		time.Sleep(100 * time.Millisecond)
		whole(w, r, gz, "")
	})
	cache := t.TempDir()
	var waited atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s.opened(t, Train, func(_ *Images, err error) {
				if err != nil {
					t.Error(err)
				}
			}, Cache(cache), Mirrors(sv.URL), OnProgress(func(p Progress) {
				if p.Waiting {
					waited.Add(1)
				}
			}))
		})
	}
	all.Wait()
	if n := sv.requests.Load(); n != 2 {
		t.Errorf("%d requests for two files", n)
	}
	if waited.Load() == 0 {
		t.Error("nobody was told to wait")
	}
	if got := files(t, cache); strings.Contains(got, ".lock") {
		t.Errorf("the cache has%s", got)
	}
}

func TestWaitingCanBeCancelled(t *testing.T) {
	s := newTiny(1, true)
	cache := t.TempDir()
	l, err := try(filepath.Join(cache, "MNIST", "raw", ".lock"))
	if l == nil {
		t.Fatal(err)
	}
	defer l.release()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	rt := ebb.NewRuntime()
	if _, err := open(ctx, &s.source, rt.NewStore("data"), Train, nil, []Option{Cache(cache)}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
}

// A damaged cache is replaced.
func TestDamagedCacheHeals(t *testing.T) {
	for _, unpacked := range []bool{true, false} {
		s := newTiny(1, unpacked)
		sv := s.serve(t, func(w http.ResponseWriter, r *http.Request, _ int, gz []byte) { whole(w, r, gz, "") })
		cache := t.TempDir()
		name := s.files[Test].images.cached()
		put(t, filepath.Join(cache, "MNIST", "raw", name), []byte("damaged"))
		put(t, filepath.Join(cache, "MNIST", "raw", "."+name+"-123"), []byte("left by a killed process"))
		s.opened(t, Test, func(d *Images, err error) {
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(d.Images().Uint8s(), s.content["t10k-images-idx3-ubyte"][16:]) {
				t.Error("other images")
			}
			if live := d.Runtime().Stats().Live.Current; live != 20*784+20*8 {
				t.Errorf("live %d", live)
			}
		}, Cache(cache), Mirrors(sv.URL))
		if got := files(t, cache); strings.Contains(got, "-123") {
			t.Errorf("the cache has%s", got)
		}
	}
}

func TestUnwritableCache(t *testing.T) {
	s := newTiny(1, true)
	sv := s.serve(t, func(w http.ResponseWriter, r *http.Request, _ int, gz []byte) { whole(w, r, gz, "") })
	check := func(what, cache, path string) {
		before := files(t, filepath.Dir(cache))
		s.opened(t, Train, func(_ *Images, err error) {
			var e *FileError
			if !errors.As(err, &e) || e.Path != path || !strings.Contains(err.Error(), "cache cannot be written") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", what, err)
			}
		}, Cache(cache), Mirrors(sv.URL))
		if after := files(t, filepath.Dir(cache)); after != before {
			t.Errorf("%s: there is\n%s\nbefore\n%s", what, after, before)
		}
	}
	aFile := filepath.Join(t.TempDir(), "file")
	put(t, aFile, nil)
	check("a file", filepath.Join(aFile, "cache"), aFile)
	if runtime.GOOS != "windows" && os.Geteuid() != 0 {
		folder := filepath.Join(t.TempDir(), "cache")
		if err := os.Mkdir(folder, 0o555); err != nil {
			t.Fatal(err)
		}
		check("no permission", folder, filepath.Join(folder, "MNIST"))
	}
}

// /dev/full is a full disk.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	s := newTiny(1, true)
	sv := s.serve(t, func(w http.ResponseWriter, r *http.Request, _ int, gz []byte) { whole(w, r, gz, "") })
	cache := t.TempDir()
	part := filepath.Join(cache, "MNIST", "raw", s.files[Train].images.name+".part")
	if err := os.MkdirAll(filepath.Dir(part), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", part); err != nil {
		t.Fatal(err)
	}
	s.opened(t, Train, func(_ *Images, err error) {
		var e *FileError
		if !errors.As(err, &e) || e.Path != part || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("%v", err)
		}
	}, Cache(cache), Mirrors(sv.URL))
	if got := filepath.ToSlash(files(t, cache)); got != "\n/MNIST\n/MNIST/raw" {
		t.Errorf("the cache has%s", got)
	}
	if n := sv.requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}
