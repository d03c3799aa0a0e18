package process

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestCgroupLimit(t *testing.T) {
	const (
		v2  = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
		v1  = "35 31 0:32 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
		cpu = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
		mib = 1 << 20
	)
	type files map[string]string
	cases := []struct {
		name          string
		group, mounts string
		files         files
		want          int64 // 0: no limit
		fails         bool
	}{
		{"no control groups", "", "", nil, 0, false},
		{"version 2", "0::/user/job\n", v2, files{"sys/fs/cgroup/user/job/memory.max": "1048576\n"}, mib, false},
		{"version 2, max", "0::/job\n", v2, files{"sys/fs/cgroup/job/memory.max": "max\n"}, 0, false},
		{"version 2, a parent's is lower", "0::/user/job/step\n", v2, files{
			"sys/fs/cgroup/user/job/step/memory.max": "max\n",
			"sys/fs/cgroup/user/job/memory.max":      "2097152\n",
			"sys/fs/cgroup/user/memory.max":          "1048576\n"}, mib, false},
		{"version 2, its own is lower", "0::/user/job\n", v2, files{
			"sys/fs/cgroup/user/job/memory.max": "1048576\n",
			"sys/fs/cgroup/user/memory.max":     "2097152\n"}, mib, false},
		{"version 2, a limit of 0", "0::/job\n", v2, files{"sys/fs/cgroup/job/memory.max": "0\n"}, -1, false},
		{"version 2, a container's own namespace", "0::/\n", v2, files{"sys/fs/cgroup/memory.max": "1048576\n"}, mib, false},
		{"version 2, outside the namespace", "0::/../other\n", v2, files{"sys/fs/cgroup/memory.max": "1048576\n"}, mib, false},
		{"version 2, the group is not mounted", "0::/docker/1\n", v2, files{"sys/fs/cgroup/memory.max": "1048576\n"}, mib, false},
		{"version 2, the mount begins below", "0::/docker/1/job\n",
			"31 23 0:28 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			files{"sys/fs/cgroup/job/memory.max": "1048576\n", "sys/fs/cgroup/docker/1/job/memory.max": "7\n"}, mib, false},
		{"version 2, a sibling's mount", "0::/docker/12\n",
			"31 23 0:28 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			files{"sys/fs/cgroup/memory.max": "1048576\n", "sys/fs/cgroup/2/memory.max": "7\n"}, mib, false},
		{"version 1", "4:memory:/user/job\n1:cpu:/x\n0::/\n", cpu + v1 + v2, files{
			"sys/fs/cgroup/memory/user/job/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/user/memory.limit_in_bytes":     "1048576\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":          "9223372036854771712\n",
			"sys/fs/cgroup/memory.max":                            "7\n"}, mib, false},
		{"version 1, no limit", "4:memory:/\n", v1, files{"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0, false},
		{"version 1, docker", "4:memory:/docker/1\n",
			"35 31 0:32 /docker/1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
			files{"sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576\n"}, mib, false},
		{"version 1 with other controllers", "4:cpu,memory:/a\n",
			"35 31 0:32 / /sys/fs/cgroup/all rw - cgroup cgroup rw,cpu,memory\n",
			files{"sys/fs/cgroup/all/a/memory.limit_in_bytes": "1048576\n"}, mib, false},
		{"version 1 not mounted, version 2 is", "4:memory:/a\n0::/a\n", v2, files{"sys/fs/cgroup/a/memory.max": "1048576\n"}, mib, false},
		{"neither mounted", "4:memory:/a\n0::/a\n", cpu, nil, 0, false},
		{"a blank in the path", "0::/a\n", `31 23 0:28 / /sys/fs/c\040group rw - cgroup2 cgroup2 rw` + "\n",
			files{"sys/fs/c group/a/memory.max": "1048576\n"}, mib, false},
		{"a colon in the group", "0::/a:b\n", v2, files{"sys/fs/cgroup/a:b/memory.max": "1048576\n"}, mib, false},
		{"lines cut short", "0\n4:mem\n0::/a\n", "31 23\n\n - \n31 23 0:28 / - cgroup2\n" + v2,
			files{"sys/fs/cgroup/a/memory.max": "1048576\n"}, mib, false},
		{"not a number", "0::/a\n", v2, files{"sys/fs/cgroup/a/memory.max": "lots\n"}, 0, true},
		{"empty", "0::/a\n", v2, files{"sys/fs/cgroup/a/memory.max": ""}, 0, true},
		{"negative", "0::/a\n", v2, files{"sys/fs/cgroup/a/memory.max": "-1\n"}, 0, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			write := func(name, text string) {
				t.Helper()
				name = filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.group != "" {
				write("proc/self/cgroup", c.group)
				write("proc/self/mountinfo", c.mounts)
			}
			for name, text := range c.files {
				write(name, text)
			}
			got, ok, err := cgroupLimit(root)
			var fe *FormatError
			if c.fails != errors.As(err, &fe) || !c.fails && err != nil {
				t.Fatalf("error %v", err)
			}
			want, wantOK := c.want, c.want != 0
			if want == -1 {
				want = 0
			}
			if got != want || ok != wantOK {
				t.Errorf("%d, %v; want %d, %v", got, ok, want, wantOK)
			}
		})
	}
}

// A limit that may not be read is an error, not no limit.
func TestUnreadableLimit(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/self/cgroup":    "0::/a\n",
		"proc/self/mountinfo": "31 23 0:28 / /cg rw - cgroup2 cgroup2 rw\n",
		"cg/a/memory.max/x":   "",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n, ok, err := cgroupLimit(root); err == nil {
		t.Errorf("%d, %v", n, ok)
	}
}

func TestCgroupLimitHere(t *testing.T) {
	n, ok, err := CgroupLimit()
	if err != nil || ok && n <= 0 || !ok && n != 0 {
		t.Errorf("%d, %v, %v", n, ok, err)
	}
}
