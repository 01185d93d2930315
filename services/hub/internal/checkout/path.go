package checkout

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"parley.internal/shared/files/glob"
)

// File returns a path, relative to where the caller is or absolute, as one relative to the root.
func (c *Checkout) File(name string) (string, error) {
	rel, err := c.relative(name)
	if err != nil {
		return "", err
	}
	if _, err := glob.Path(rel, false); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return rel, nil
}

// Pattern returns a pattern, relative to where the caller is or absolute, as one relative to the root. The name of a
// file that exists stands for that file, even if it has special characters, and that of a directory for all below it.
func (c *Checkout) Pattern(text string) (string, error) {
	name := text
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.dir, name)
	}
	info, err := os.Lstat(name)
	if err == nil {
		rel, err := c.relative(text)
		if err != nil {
			return "", err
		}
		rel = glob.Quote(rel)
		if info.IsDir() && rel != "." {
			rel += "/"
		}
		return c.checked(text, rel)
	}
	prefix, err := c.relative(".")
	if err != nil {
		return "", err
	}
	if filepath.IsAbs(text) {
		fixed, rest := beginning(filepath.ToSlash(text))
		if prefix, err = c.relative(filepath.FromSlash(fixed)); err != nil {
			return "", err
		}
		text = rest
	}
	rel := path.Join(glob.Quote(prefix), filepath.ToSlash(text))
	if strings.HasSuffix(text, "/") && rel != "." {
		rel += "/"
	}
	return c.checked(text, rel)
}

func (c *Checkout) checked(text, rel string) (string, error) {
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return "", c.outside(text)
	}
	if _, err := glob.Parse(rel, false); err != nil {
		return "", fmt.Errorf("%s: %w", text, err)
	}
	return rel, nil
}

// beginning splits an absolute pattern after its last directory without special characters.
func beginning(text string) (fixed, rest string) {
	end := strings.IndexAny(text, "*?[{")
	if end < 0 {
		end = len(text)
	}
	slash := strings.LastIndex(text[:end], "/")
	return text[:slash+1], text[slash+1:]
}

// relative returns a name relative to the root, with slashes; "." is the root.
func (c *Checkout) relative(name string) (string, error) {
	full := name
	if !filepath.IsAbs(full) {
		full = filepath.Join(c.dir, name)
	}
	rel, err := filepath.Rel(c.Root, real(filepath.Clean(full)))
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", c.outside(name)
	}
	return filepath.ToSlash(rel), nil
}

func (c *Checkout) outside(name string) error {
	return fmt.Errorf("%s is not in the repository at %s; call this from the repository that it is in, or give --repo",
		name, c.Root)
}

// real returns a path with the symbolic links of its directories resolved, as far as they exist. The last name is kept:
// git stores a link, not its target.
func real(full string) string {
	dir, last := filepath.Split(full)
	dir = filepath.Clean(dir)
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		return filepath.Join(resolved, last)
	}
	if dir == full || last == "" {
		return full
	}
	return filepath.Join(real(dir), last)
}
