package firestore

import (
	"regexp"
	"strings"

	"parley.internal/shared/store"
)

func (d *Driver) documents() string { return d.root + "/documents" }

// name returns the full name of a document.
func (d *Driver) name(r store.Ref) string {
	return d.documents() + "/users/" + r.User + "/" + r.Coll + "/" + r.ID
}

// ref parses the full name of a document. ok is false for a document that belongs to no user.
func (d *Driver) ref(name string) (r store.Ref, ok bool) {
	rest, ok := strings.CutPrefix(name, d.documents()+"/users/")
	if !ok {
		return r, false
	}
	user, path, _ := strings.Cut(rest, "/")
	end := strings.LastIndexByte(path, '/')
	if end < 0 {
		return r, false
	}
	return store.Ref{User: user, Coll: path[:end], ID: path[end+1:]}, true
}

// parent returns the full name of the document that holds a collection, and the collection's own id.
func (d *Driver) parent(user, coll string) (name, id string) {
	name = d.documents() + "/users/" + user
	if end := strings.LastIndexByte(coll, '/'); end >= 0 {
		return name + "/" + coll[:end], coll[end+1:]
	}
	return name, coll
}

var simpleField = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var quoteField = strings.NewReplacer(`\`, `\\`, "`", "\\`")

// fieldPath returns the path of one top-level field, whose name may contain a dot.
func fieldPath(name string) string {
	if simpleField.MatchString(name) {
		return name
	}
	return "`" + quoteField.Replace(name) + "`"
}
