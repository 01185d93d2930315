package teamdir

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"parley.internal/shared/team"
)

const (
	configFile = "config.json"
	inboxDir   = "inboxes"
	taskDir    = "tasks"
	// maxFile is how large one file may be.
	maxFile = 64 << 20
)

// message is a message as its file has it: without the id, which the server gives.
type message struct {
	From      string `json:"from"`
	Text      string `json:"text"`
	Timestamp string `json:"timestamp"`
	Read      bool   `json:"read"`
	Summary   string `json:"summary,omitempty"`
	Color     string `json:"color,omitempty"`
}

// Read reads a team. left are the fields that it does not know and so leaves out, as
// "config.json: hooks". A file that cannot be read or is not JSON of the right shape is
// an error that names it; files of other names are none of the team's.
func Read(dir string) (a team.Archive, left []string, err error) {
	r := &reader{root: dir}
	a.Inboxes = map[string][]team.Message{}
	r.read(configFile, &a.Config)
	for _, name := range r.list(inboxDir) {
		var list []message
		r.read(filepath.Join(inboxDir, name), &list)
		got := make([]team.Message, len(list))
		for i, m := range list {
			got[i] = team.Message{From: m.From, Text: m.Text, Timestamp: m.Timestamp, Read: m.Read, Summary: m.Summary,
				Color: m.Color}
		}
		a.Inboxes[strings.TrimSuffix(name, ".json")] = got
	}
	for _, name := range r.list(taskDir) {
		var t team.Task
		r.read(filepath.Join(taskDir, name), &t)
		if r.err == nil && t.ID+".json" != name {
			r.err = fmt.Errorf("%s: its id is %q, and its name says another", filepath.Join(dir, taskDir, name), t.ID)
		}
		a.Tasks = append(a.Tasks, t)
	}
	return a, r.left, r.err
}

// reader reads the files of one directory, up to the first error.
type reader struct {
	root string
	left []string
	err  error
}

func (r *reader) read(name string, into any) {
	if r.err != nil {
		return
	}
	text, err := r.text(name)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		if err = d.Decode(into); err == nil && d.More() {
			err = errors.New("there is more than one value in it")
		}
	}
	if err != nil {
		r.err = fmt.Errorf("%s: %w", filepath.Join(r.root, name), err)
		return
	}
	var all any
	if err := json.Unmarshal(text, &all); err == nil {
		for _, field := range unknown(all, reflect.TypeOf(into).Elem()) {
			if said := filepath.ToSlash(name) + ": " + field; !slices.Contains(r.left, said) {
				r.left = append(r.left, said)
			}
		}
	}
}

func (r *reader) text(name string) ([]byte, error) {
	path := filepath.Join(r.root, name)
	info, err := os.Stat(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("it is no file of at most %d MiB", maxFile>>20)
	}
	return os.ReadFile(path)
}

// list is the JSON files below a directory, in the order of their names. One that is
// not there has none.
func (r *reader) list(dir string) (names []string) {
	if r.err != nil {
		return nil
	}
	entries, err := os.ReadDir(filepath.Join(r.root, dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.err = err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// unknown are the fields of a value that a type has not.
func unknown(v any, t reflect.Type) (out []string) {
	switch v := v.(type) {
	case []any:
		if t.Kind() == reflect.Slice {
			for _, e := range v {
				out = append(out, unknown(e, t.Elem())...)
			}
		}
	case map[string]any:
		if t.Kind() != reflect.Struct {
			return nil
		}
		known := map[string]reflect.Type{}
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			known[name] = f.Type
		}
		for name, value := range v {
			if ft, ok := known[name]; !ok {
				out = append(out, name)
			} else {
				out = append(out, unknown(value, ft)...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Write writes a team into a directory that is not there yet, or is empty. Files are for
// their owner alone.
func Write(dir string, a team.Archive) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty; name a directory that is", dir)
	}
	files := map[string]any{configFile: a.Config}
	for agent, list := range a.Inboxes {
		out := make([]message, len(list))
		for i, m := range list {
			out[i] = message{m.From, m.Text, m.Timestamp, m.Read, m.Summary, m.Color}
		}
		files[filepath.Join(inboxDir, agent+".json")] = out
	}
	for _, t := range a.Tasks {
		files[filepath.Join(taskDir, t.ID+".json")] = t
	}
	for _, sub := range []string{"", inboxDir, taskDir} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	// The configuration comes last: without it there is no team.
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int {
		if (x == configFile) != (y == configFile) {
			return map[bool]int{true: 1, false: -1}[x == configFile]
		}
		return cmp.Compare(x, y)
	})
	for _, name := range names {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(files[name]); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}
