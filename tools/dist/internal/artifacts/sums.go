package artifacts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hashes returns the SHA-256 hash of each file below a directory, by its name with slashes.
func hashes(dir string) (map[string]string, error) {
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		sum := sha256.Sum256(data)
		out[name] = hex.EncodeToString(sum[:])
		return err
	})
	return out, err
}

// lines returns the hashes as sha256sum -c takes them.
func lines(sums map[string]string) []byte {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&out, "%s  %s\n", sums[name], name)
	}
	return []byte(out.String())
}
