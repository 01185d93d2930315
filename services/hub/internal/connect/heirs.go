package connect

import (
	"os"
	"reflect"
	"slices"
	"strings"

	"parley.internal/services/hub/internal/connect/jsonedit"
)

// Several connections may have entries in one file, and are taken back in any order. What one made that another still
// uses, such as the object around both entries or the file, is then the other's to take away.

// heir is another connection with a record of the same file.
type heir struct {
	id string
	t  touched
	// text is the one whose last addition is the heir's.
	text []byte
}

// recordOf returns the record of another connection with the changes by this plan.
func (p *Plan) recordOf(id string) (record, error) {
	if r, ok := p.others[id]; ok {
		return r, nil
	}
	return readRecord(p.home, id)
}

// heirs returns the other connections that have a record of a file, sorted by id. A record that cannot be read has none.
func (p *Plan) heirs(path string) (all []heir) {
	entries, err := os.ReadDir(recordsIn(p.home))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || id == p.id {
			continue
		}
		if r, err := p.recordOf(id); err == nil {
			if t, ok := r.of(path); ok {
				all = append(all, heir{id: id, t: t})
			}
		}
	}
	return all
}

// later returns the connections that were added to a text after that of t, the last one first, and the text before all of
// them and t. It is not ok where somebody else changed the text meanwhile.
func later(text []byte, t touched, others []heir) (found []heir, base []byte, ok bool) {
	for sum(text) != t.Sum {
		i := slices.IndexFunc(others, func(h heir) bool { return len(h.t.Pieces) > 0 && h.t.Sum == sum(text) })
		if i < 0 {
			return nil, nil, false
		}
		h := others[i]
		h.text = text
		var err error
		if text, err = jsonedit.Undo(text, h.t.Pieces); err != nil {
			return nil, nil, false
		}
		found, others = append(found, h), slices.Concat(others[:i], others[i+1:])
	}
	base, err := jsonedit.Undo(text, t.Pieces)
	return found, base, err == nil && len(found) > 0
}

// withdraw returns a text without the entries of the connection, and lets others inherit the rest. The pieces of later
// connections become those by which their own removal leads to the text as it was before all of them.
func (p *Plan) withdraw(text []byte, t touched) ([]byte, error) {
	out, err := strip(text, p.id, t)
	if err != nil || t.Whole {
		return out, err
	}
	others := p.heirs(t.Path)
	first := 0 // the one that inherits: that which came next
	if isJSON(t.Path) {
		if chain, base, ok := later(text, t, others); ok {
			out = base
			for _, h := range slices.Backward(chain) {
				now, err := stripJSON(h.text, p.id, t.Made)
				if err != nil {
					return nil, err
				}
				h.t.Sum, h.t.Pieces = sum(now), []jsonedit.Insertion{jsonedit.Change(out, now)}
				i := slices.IndexFunc(others, func(o heir) bool { return o.id == h.id })
				others[i], out = h, now
			}
			next := chain[len(chain)-1].id
			first = slices.IndexFunc(others, func(o heir) bool { return o.id == next })
		}
	}
	if len(others) == 0 || t.Created && empty(t.Path, out) {
		return out, nil
	}
	others[first].t = others[first].t.inherit(t, out)
	return out, p.keep(others)
}

// inherit returns a record that also has those changes of another that a text still has.
func (t touched) inherit(from touched, text []byte) touched {
	t.Created = t.Created || from.Created
	t.Folders = union(from.Folders, t.Folders)
	t.Made = union(t.Made, still(text, from))
	return t
}

// still returns the objects and lists that a connection made, and that a text still has.
func still(text []byte, t touched) (made [][]string) {
	if !isJSON(t.Path) {
		return nil
	}
	for _, at := range t.Made {
		if _, ok, err := jsonedit.Decode(text, at...); ok && err == nil {
			made = append(made, at)
		}
	}
	return made
}

// union returns the elements of both lists, each once.
func union[T any](a, b []T) []T {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.ContainsFunc(out, func(y T) bool { return reflect.DeepEqual(x, y) }) {
			out = append(out, x)
		}
	}
	return out
}

// keep plans the records of other connections.
func (p *Plan) keep(all []heir) error {
	for _, h := range all {
		r, err := p.recordOf(h.id)
		if err != nil {
			return err
		}
		r.Files = slices.Clone(r.Files)
		i := slices.IndexFunc(r.Files, func(t touched) bool { return t.Path == h.t.Path })
		r.Files[i] = h.t
		if p.others == nil {
			p.others = map[string]record{}
		}
		p.others[h.id] = r
	}
	return nil
}
