package process

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// A hierarchy is a tree of control groups that limits memory.
type hierarchy struct {
	file  string // the name of the limit's file in each group
	group string // the path of the process's group in the tree
	top   string // the path in the tree of what is mounted
	mount string // where
}

// cgroupLimit is CgroupLimit, with the system's files below root.
func cgroupLimit(root string) (int64, bool, error) {
	h, err := memoryHierarchy(root)
	if h == nil || err != nil {
		return 0, false, err
	}
	// In a container the mount may begin at the process's own group or above, and
	// a group outside the mount cannot be seen: then its topmost group is all.
	below := ""
	if rest, ok := strings.CutPrefix(h.group, strings.TrimSuffix(h.top, "/")); ok && (rest == "" || rest[0] == '/') {
		below = path.Clean("/" + rest)
	}
	var lowest int64
	found := false
	for group := below; ; group = path.Dir(group) {
		limit, ok, err := readLimit(filepath.Join(root, h.mount, group, h.file))
		if err != nil {
			return 0, false, err
		}
		if ok && (!found || limit < lowest) {
			lowest, found = limit, true
		}
		if group == "" || group == "/" {
			return lowest, found, nil
		}
	}
}

// memoryHierarchy finds the tree that limits this process's memory, nil if none
// does. A system may have trees of both versions; memory belongs to version 1 as
// long as one of its trees has it.
func memoryHierarchy(root string) (*hierarchy, error) {
	groups, err := lines(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return nil, err
	}
	var v1, v2 *hierarchy
	for _, line := range groups { // 4:memory:/user or 0::/user
		_, line, _ = strings.Cut(line, ":")
		controllers, group, ok := strings.Cut(line, ":")
		switch {
		case !ok:
		case controllers == "":
			v2 = &hierarchy{file: "memory.max", group: group}
		case listed(controllers, "memory"):
			v1 = &hierarchy{file: "memory.limit_in_bytes", group: group}
		}
	}
	mounts, err := lines(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return nil, err
	}
	for _, line := range mounts {
		// 35 31 0:32 /top /sys/fs/cgroup/memory rw shared:1 - cgroup cgroup rw,memory
		line, kind, _ := strings.Cut(line, " - ")
		where, what := strings.Fields(line), strings.Fields(kind)
		if len(where) < 5 || len(what) < 3 {
			continue
		}
		var h *hierarchy
		switch {
		case what[0] == "cgroup" && listed(what[2], "memory"):
			h = v1
		case what[0] == "cgroup2":
			h = v2
		}
		if h != nil && h.mount == "" {
			h.top, h.mount = unescape(where[3]), unescape(where[4])
		}
	}
	for _, h := range []*hierarchy{v1, v2} {
		if h != nil && h.mount != "" {
			return h, nil
		}
	}
	return nil, nil
}

// lines returns the lines of a file, none if there is no such file.
func lines(name string) ([]string, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Split(string(b), "\n"), err
}

// listed reports whether a comma-separated list has an item.
func listed(list, item string) bool { return strings.Contains(","+list+",", ","+item+",") }

// unescape undoes what mountinfo does to blanks and backslashes in paths.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// readLimit reads a group's limit. The root group of version 2 has no file, and a
// group that the container cannot see has none either.
func readLimit(name string) (int64, bool, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	text := strings.TrimSpace(string(b))
	if text == "max" {
		return 0, false, nil
	}
	limit, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, false, &FormatError{name, "limit", text}
	}
	// Version 1 writes no limit as the highest number of pages, somewhat below
	// 1<<63 depending on their size.
	if limit >= 1<<62 {
		return 0, false, nil
	}
	return int64(limit), true, nil
}
