package hook

import (
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is the number of symbolic links on the way to a file that are followed, as many as Linux follows.
const maxLinks = 40

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// resolved returns where a path leads: without symbolic links, those to what does not exist yet among them, because who
// writes to such a link makes what it names. It does not end where the links go in a circle, or are too many.
func resolved(path string) (real string, ends bool) {
	if !filepath.IsAbs(path) {
		return filepath.Clean(path), true
	}
	root := filepath.VolumeName(path) + string(filepath.Separator)
	at, left := root, parts(path)
	for links := 0; len(left) > 0; {
		name := left[0]
		left = left[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		target, err := os.Readlink(next)
		if err != nil { // no link, or nothing yet
			at = next
			continue
		}
		if links++; links > maxLinks {
			return filepath.Join(next, filepath.Join(left...)), false
		}
		if filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + string(filepath.Separator)
		}
		left = append(parts(target), left...)
	}
	return at, true
}

// parts returns the names of a path, without those that stand for the directory itself.
func parts(path string) (out []string) {
	path = filepath.ToSlash(path[len(filepath.VolumeName(path)):])
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			out = append(out, name)
		}
	}
	return out
}
