//go:build linux || darwin

package process

import "os"

// entries counts a folder that has an entry for each descriptor, without that of
// the folder itself, which is open meanwhile.
func entries(folder string) (int, error) {
	d, err := os.Open(folder)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return 0, err
	}
	return len(names) - 1, nil
}
