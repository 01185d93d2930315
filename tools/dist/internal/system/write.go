package system

import (
	"os"
	"path/filepath"
	"strconv"
)

// write writes the file of a number below dir and returns its path.
func write(dir string, number int, data []byte) (string, error) {
	path := filepath.Join(dir, strconv.Itoa(number))
	return path, os.WriteFile(path, data, 0o644)
}
