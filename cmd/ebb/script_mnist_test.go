package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// mnistCommands are what scripts about the data set can do.
func mnistCommands(t *testing.T) map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		// mnist data: a folder with the unpacked files.
		"mnist": func(ts *testscript.TestScript, _ bool, args []string) {
			folder := ts.MkAbs(args[0])
			ts.Check(os.MkdirAll(folder, 0o777))
			for _, name := range mnistFiles {
				ts.Check(os.Symlink(filepath.Join(unpackedMNIST(t), name), filepath.Join(folder, name)))
			}
		},
		// damage how data/file: the file becomes one that is not as it should be.
		"damage": func(ts *testscript.TestScript, _ bool, args []string) {
			path := ts.MkAbs(args[1])
			content, err := os.ReadFile(path)
			ts.Check(err)
			ts.Check(os.Remove(path)) // which may be a link to what others use
			switch args[0] {
			case "cut":
				content = content[:len(content)/2]
			case "empty":
				content = nil
			case "flip":
				content[len(content)/2] ^= 1
			case "magic":
				content[2] = 9
			case "huge": // says that it holds 2^31 images
				content[4] = 0x80
			case "label": // a digit that is none
				content[len(content)/2] = 10
			case "gzip":
				path, content = path+".gz", pack(content)
			case "cutgzip":
				content = pack(content)
				path, content = path+".gz", content[:len(content)/2]
			default:
				ts.Fatalf("damage %s", args[0])
			}
			ts.Check(os.WriteFile(path, content, 0o666))
		},
		// serve how: a mirror that is the only one, and that does as it is told.
		"serve": func(ts *testscript.TestScript, _ bool, args []string) {
			s := serveMNIST(gzippedMNIST(t), args[0])
			ts.Defer(s.Close)
			ts.Setenv("EBB_DATASETS_MIRROR", s.URL)
		},
	}
}

func pack(content []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	_, _ = w.Write(content) // to memory
	_ = w.Close()
	return b.Bytes()
}

// serveMNIST starts a server of the files in folder: a good one, or one with a
// fault.
func serveMNIST(folder, how string) *httptest.Server {
	ended := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, err := os.ReadFile(filepath.Join(folder, filepath.Base(r.URL.Path)))
		if err != nil || how == "missing" {
			http.NotFound(w, r)
			return
		}
		switch how {
		case "page":
			_, _ = w.Write([]byte("<html>Welcome to the network of this hotel</html>"))
		case "other":
			for i := range content {
				content[i] ^= 0x55
			}
			_, _ = w.Write(content)
		case "less": // ends in the middle each time
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			_, _ = w.Write(content[:len(content)/3])
		case "more":
			w.(http.Flusher).Flush() // without a length
			_, _ = w.Write(append(content, "more"...))
		case "broken":
			http.Error(w, "out of order", http.StatusInternalServerError)
		case "stall":
			_, _ = w.Write(content[:len(content)/3])
			w.(http.Flusher).Flush()
			select {
			case <-ended:
			case <-r.Context().Done():
			}
		default:
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		}
	}))
	s.Config.RegisterOnShutdown(func() { close(ended) })
	s.Start()
	return s
}
