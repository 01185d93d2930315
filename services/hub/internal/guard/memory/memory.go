package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// name is the name of the file in the repository's common directory. The hooks that install writes read its field
// strict where the program is missing.
const name = "parley-guard.json"

// Memory is a guard's knowledge of a repository without the server.
type Memory struct {
	// URL and Data are where installed hooks find the server and a person's key, where the environment does not say.
	URL  string `json:"url,omitempty"`
	Data string `json:"data,omitempty"`
	// Project is the project that Strict and Auto are of.
	Project string `json:"project,omitempty"`
	Strict  bool   `json:"strict"`
	Auto    bool   `json:"auto"`
}

// Recall returns the memory of the repository with a common directory. The settings of another project, which
// the repository had before its origin changed, are left out. A file that cannot be read counts as none.
func Recall(common, project string) Memory {
	var m Memory
	text, err := os.ReadFile(filepath.Join(common, name))
	if err != nil || json.Unmarshal(text, &m) != nil {
		return Memory{}
	}
	if m.Project != project {
		m.Project, m.Strict, m.Auto = "", false, false
	}
	return m
}

// Remember replaces the memory of the repository with a common directory.
func Remember(common string, m Memory) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	path := filepath.Join(common, name)
	if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, text) {
		return nil
	}
	f, err := os.CreateTemp(common, ".parley-guard-*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Forget removes the memory of the repository with a common directory.
func Forget(common string) error {
	if err := os.Remove(filepath.Join(common, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the memory of the guard cannot be removed: %w", err)
	}
	return nil
}

// Learn remembers the server's settings of a project where they differ from the known ones.
func (m Memory) Learn(common, project string, strict, auto bool) error {
	if m.Project == project && m.Strict == strict && m.Auto == auto || m.Project == "" && !strict && !auto {
		return nil // a setting that is not known is off
	}
	m.Project, m.Strict, m.Auto = project, strict, auto
	return Remember(common, m)
}
