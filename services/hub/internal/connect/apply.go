package connect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// NewRemoval returns the plan of the changes when a connection is taken back. It changes nothing.
func NewRemoval(home, id string) (*Plan, error) {
	old, err := readRecord(home, id)
	if err != nil {
		return nil, err
	}
	p := &Plan{home: home, id: id, old: old}
	for _, t := range old.Files {
		if err := p.drop(t); err != nil {
			return nil, err
		}
	}
	// The entry that keeps git from a key is taken out after the key, and a plugin after the settings that enable it.
	slices.SortStableFunc(p.Edits, func(a, b Edit) int { return ranked(a) - ranked(b) })
	return p, nil
}

func ranked(e Edit) int {
	if filepath.Base(e.Path) == "exclude" || e.record.Whole {
		return 1
	}
	return 0
}

// Apply makes the changes. A file that was changed since the plan was made is an error, and then nothing is changed. An
// error in the midst leaves files complete, either as before or as planned, and running it again completes the rest.
func (p *Plan) Apply(ctx context.Context) error {
	for _, e := range p.Edits {
		now, _, err := p.look(e.Path)
		if err != nil {
			return err
		}
		if now.existed != e.existed || !bytes.Equal(now.before, e.before) {
			return fmt.Errorf("%s was changed meanwhile; run this again; nothing was changed", e.Path)
		}
	}
	// The record names every file before it changes, so that an interrupted run can be taken back.
	both := p.new
	for _, t := range p.old.Files {
		if _, known := p.new.of(t.Path); !known {
			both.Files = append(slices.Clip(both.Files), t)
		}
	}
	if err := both.write(p.home, p.id); err != nil {
		return err
	}
	for id, r := range p.others {
		if err := r.write(p.home, id); err != nil {
			return err
		}
	}
	for _, e := range p.Edits {
		if e.Secret {
			if err := ignored(ctx, e.Real); err != nil {
				return err
			}
		}
		if err := e.write(); err != nil {
			return fmt.Errorf("%s cannot be written: %w", e.Path, err)
		}
	}
	return p.new.write(p.home, p.id)
}

func (e Edit) write() error {
	if e.drop {
		if err := os.Remove(e.Real); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, dir := range slices.Backward(e.record.Folders) {
			_ = os.Remove(dir) // stays where others put something into it
		}
		return nil
	}
	if e.Change() == "" {
		return nil
	}
	if bytes.Equal(e.before, e.after) && e.existed {
		return os.Chmod(e.Real, e.want)
	}
	mode := fs.FileMode(0o755)
	if e.record.Whole {
		mode = 0o700
	}
	if err := os.MkdirAll(filepath.Dir(e.Real), mode); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(e.Real), ".parley-connect-*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(e.after)
	if err = errors.Join(err, f.Sync(), f.Chmod(e.want), f.Close()); err == nil {
		err = os.Rename(f.Name(), e.Real)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
