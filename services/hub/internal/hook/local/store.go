package local

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ID returns the name under which the state of a session is kept.
func ID(connection, thread string) string {
	sum := sha256.Sum256([]byte(connection + "\x00" + thread))
	return hex.EncodeToString(sum[:12])
}

func (p Place) file(id string) string { return filepath.Join(p.sessions(), id+".json") }

func (p Place) marks(id string) string { return filepath.Join(p.sessions(), id+".marks") }

// Held is the possession of a session's state.
type Held struct{ lock *os.File }

// Hold waits for the possession of a session's state, until the deadline.
func (p Place) Hold(id string, deadline time.Time) (*Held, error) {
	path := filepath.Join(p.sessions(), id+".lock")
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err = flock(f); err == nil && Current(f, path) {
			return &Held{f}, nil
		}
		_ = Release(f)
		if err != nil && !errors.Is(err, ErrHeld) {
			return nil, err
		}
		if time.Now().After(deadline) {
			return nil, ErrHeld
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// Current reports whether a path still names a file, which the end of a session, or a person, may have removed.
func Current(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// Release ends the possession.
func (h *Held) Release() { _ = Release(h.lock) }

// Load reads a session's state into v. Without a state, or with one that cannot be read, v stays as it is.
func (p Place) Load(id string, v any) bool {
	text, err := os.ReadFile(p.file(id))
	return err == nil && json.Unmarshal(text, v) == nil
}

// Save replaces a session's state.
func (p Place) Save(id string, v any) error { return p.replace(p.file(id), v) }

// note is the file of a record that outlives sessions.
func (p Place) note(id string) string { return filepath.Join(p.sessions(), id+".note") }

// Remember replaces a record that outlives sessions, Recall reads it, and Forget removes it.
func (p Place) Remember(id string, v any) error { return p.replace(p.note(id), v) }

// Recall reports whether there is a record that can be read.
func (p Place) Recall(id string, v any) bool {
	text, err := os.ReadFile(p.note(id))
	return err == nil && json.Unmarshal(text, v) == nil
}

// Forget removes a record.
func (p Place) Forget(id string) { _ = os.Remove(p.note(id)) }

// replace writes a file anew, unless it is as it shall be.
func (p Place) replace(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, text) {
		return nil
	}
	f, err := os.CreateTemp(p.sessions(), ".write-*") // of mode 0600
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

// Remove forgets a session, which the caller holds.
func (p Place) Remove(id string) {
	_ = os.Remove(p.file(id))
	_ = os.RemoveAll(p.marks(id))
	_ = os.Remove(filepath.Join(p.sessions(), id+".lock"))
}

// All returns the ids of the sessions that have a state.
func (p Place) All() []string {
	entries, _ := os.ReadDir(p.sessions())
	var out []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok && !strings.HasPrefix(id, ".") {
			out = append(out, id)
		}
	}
	return out
}

// The kinds of marks.
const (
	// Shown marks a receipt: the model has the mail and answers that it confirms.
	Shown = "shown"
	// Asked marks a permission request about which the person was asked, as a word of [hook.Asked].
	Asked = "asked"
	// Allowed marks a permission that the person gave for the session, by [Sum].
	Allowed = "allowed"
)

// Sum returns the name of a mark for a text of any form.
func Sum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// Mark remembers a name for a session, without touching the state, which another process may hold.
func (p Place) Mark(id, kind, name string) error {
	if name == "" || strings.ContainsAny(name, "/\\\x00") || len(name) > 200 || name[0] == '.' {
		return errors.New("that is no name of a mark")
	}
	dir := filepath.Join(p.marks(id), kind)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), nil, 0o600)
}

// Marked reports whether a name was marked.
func (p Place) Marked(id, kind, name string) bool {
	_, err := os.Lstat(filepath.Join(p.marks(id), kind, name))
	return name != "" && err == nil
}

// Marks returns the marked names, and Unmark forgets one.
func (p Place) Marks(id, kind string) []string {
	entries, _ := os.ReadDir(filepath.Join(p.marks(id), kind))
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// Unmark forgets a name.
func (p Place) Unmark(id, kind, name string) { _ = os.Remove(filepath.Join(p.marks(id), kind, name)) }
