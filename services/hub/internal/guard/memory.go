package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"parley.internal/services/hub/internal/checkout"
	"parley.internal/shared/files"
)

// memoryFile is the name of the file in the repository's common directory. The hooks that install writes read its field
// strict where the program is missing.
const memoryFile = "parley-guard.json"

// Memory is a guard's knowledge of a repository without the server. It holds no key.
type Memory struct {
	// URL and Data are where installed hooks find the server and a person's key, where the environment does not say.
	URL  string `json:"url,omitempty"`
	Data string `json:"data,omitempty"`
	// Project is the project that Strict and Auto are of.
	Project string `json:"project,omitempty"`
	Strict  bool   `json:"strict"`
	Auto    bool   `json:"auto"`
}

// Recall returns the memory of a checkout's repository. The settings of another project, which the repository had
// before its origin changed, are left out. A file that cannot be read counts as none.
func Recall(c *checkout.Checkout) Memory {
	var m Memory
	text, err := os.ReadFile(filepath.Join(c.Common, memoryFile))
	if err != nil || json.Unmarshal(text, &m) != nil {
		return Memory{}
	}
	if m.Project != c.Project {
		m.Project, m.Strict, m.Auto = "", false, false
	}
	return m
}

// Remember replaces the memory of a checkout's repository.
func Remember(c *checkout.Checkout, m Memory) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	path := filepath.Join(c.Common, memoryFile)
	if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, text) {
		return nil
	}
	f, err := os.CreateTemp(c.Common, ".parley-guard-*") // of mode 0600
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

// Forget removes the memory of a checkout's repository.
func Forget(c *checkout.Checkout) error {
	if err := os.Remove(filepath.Join(c.Common, memoryFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("what the guard remembers cannot be removed: %w", err)
	}
	return nil
}

func (m Memory) settings() files.Settings {
	return files.Settings{Project: m.Project, Strict: m.Strict, Auto: m.Auto}
}

// learn remembers the settings that the server told.
func (m Memory) learn(c *checkout.Checkout, s files.Settings) error {
	if m.Project == c.Project && m.Strict == s.Strict && m.Auto == s.Auto ||
		m.Project == "" && !s.Strict && !s.Auto {
		return nil // what it does not know is off
	}
	m.Project, m.Strict, m.Auto = c.Project, s.Strict, s.Auto
	return Remember(c, m)
}
