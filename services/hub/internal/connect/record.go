package connect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/connect/jsonedit"
)

// record is the record of a connection's changes of files.
type record struct {
	Files []touched `json:"files"`
}

// touched is a file that a connection changed.
type touched struct {
	Path string `json:"path"`
	// Root is the worktree that the file is in, empty for a file of the user.
	Root string `json:"root,omitempty"`
	// Sum is the hash of the file after the change.
	Sum    string               `json:"sum"`
	Pieces []jsonedit.Insertion `json:"pieces,omitempty"`
	Made   [][]string           `json:"made,omitempty"`
	Blocks []blockRef           `json:"blocks,omitempty"`
	// Created is set for a file that was not there before, and Folders are the directories that were made for it.
	Created bool     `json:"created,omitempty"`
	Folders []string `json:"folders,omitempty"`
	// Whole is set for a file that is the connection's alone.
	Whole bool `json:"whole,omitempty"`
	// Mode is the mode that the file had before it was closed to others; 0 where it was not.
	Mode fs.FileMode `json:"mode,omitempty"`
}

// blockRef names lines between marks.
type blockRef struct {
	Style comment `json:"style"`
	ID    string  `json:"id"`
}

// recordsIn returns the directory of the records in the configuration directory of Parley.
func recordsIn(home string) string { return filepath.Join(home, "edits") }

func recordPath(home, id string) string { return filepath.Join(recordsIn(home), id+".json") }

func readRecord(home, id string) (r record, err error) {
	text, err := os.ReadFile(recordPath(home, id))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("the record of the changes by connect cannot be read: %w", err)
	}
	return r, nil
}

func (r record) write(home, id string) error {
	if len(r.Files) == 0 {
		return connection.RemovePrivate(recordPath(home, id))
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		_, err = connection.WritePrivate(recordPath(home, id), append(text, '\n'))
	}
	return err
}

// of returns the record of a file.
func (r record) of(path string) (touched, bool) {
	for _, t := range r.Files {
		if t.Path == path {
			return t, true
		}
	}
	return touched{Path: path}, false
}

// rulesElsewhere reports whether another connection also has its rules in a file.
func rulesElsewhere(home, id, path string) bool {
	entries, err := os.ReadDir(recordsIn(home))
	if err != nil {
		return false
	}
	for _, e := range entries {
		other, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || other == id {
			continue
		}
		r, err := readRecord(home, other)
		if err != nil {
			continue
		}
		if t, ok := r.of(path); ok {
			for _, b := range t.Blocks {
				if b.ID == rulesID {
					return true
				}
			}
		}
	}
	return false
}
