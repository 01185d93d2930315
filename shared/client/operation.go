package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// Operation is the client's description of an operation of the catalogue.
type Operation struct {
	Name string
	// Routes are its own route, and others that want fewer inputs in the path.
	Routes []string
	Effect op.Effect
	// Idempotent says that its input may have an idempotency key.
	Idempotent bool
	// Wait is the input that holds how long the server waits, in milliseconds; empty where it does not wait.
	// DefaultWait is the wait of a request without that input.
	Wait        string
	DefaultWait time.Duration
}

// Lookup returns the operation with a name, and false where the client knows none.
func Lookup(name string) (Operation, bool) {
	o, ok := operations[name]
	return o, ok
}

const idempotencyKey = "idempotencyKey"

// message is a request that can be sent more than once.
type message struct {
	operation    Operation
	method, path string // the path with its query
	body         []byte // nil for none
	key          string // the idempotency key that was made for it, which goes as a header; empty for none
	keyed        bool   // it has an idempotency key, that or the caller's
	wait         time.Duration
}

// harmless reports whether the request may run twice.
func (m *message) harmless() bool { return m.operation.Effect == op.Read || m.keyed }

// message puts an input where the operation's route wants it, with a new idempotency key where it has none and newKey
// is not nil. Its errors are Invalid.
func (o Operation) message(in any, newKey func() string) (*message, error) {
	fields, err := fieldsOf(in)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "the input of %s cannot be sent", o.Name)
	}
	m := &message{operation: o, wait: o.waitOf(fields)}
	if o.Idempotent {
		given := text(fields[idempotencyKey]) != ""
		if !given && newKey != nil {
			m.key = newKey()
			delete(fields, idempotencyKey)
		}
		m.keyed = given || m.key != ""
	}
	route, err := o.route(fields)
	if err != nil {
		return nil, err
	}
	m.method, m.path = op.Method(route), op.Path(route)
	for _, name := range op.PathParams(route) {
		m.path = strings.ReplaceAll(m.path, "{"+name+"}", url.PathEscape(text(fields[name])))
		delete(fields, name)
	}
	if m.method == http.MethodGet || m.method == http.MethodDelete {
		if query := queryOf(fields); query != "" {
			m.path += "?" + query
		}
		return m, nil
	}
	m.body, err = json.Marshal(fields)
	return m, err
}

// fieldsOf is the input as a JSON object. A list that is nil is an empty one, as Go has it; any other null is left
// out, as the server would read it.
func fieldsOf(in any) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if in == nil {
		return fields, nil
	}
	text, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	lists := listsOf(reflect.Indirect(reflect.ValueOf(in)).Type())
	for name, v := range fields {
		switch {
		case string(v) != "null":
		case lists[name]:
			fields[name] = json.RawMessage("[]")
		default:
			delete(fields, name)
		}
	}
	return fields, nil
}

// listsOf names the lists among the fields of a struct.
func listsOf(t reflect.Type) map[string]bool {
	lists := map[string]bool{}
	if t.Kind() != reflect.Struct {
		return lists
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() != reflect.Uint8 {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			lists[name] = true
		}
	}
	return lists
}

// route is the first of the routes whose path the input fills.
func (o Operation) route(fields map[string]json.RawMessage) (string, error) {
	empty := func(name string) bool { return text(fields[name]) == "" }
	for _, r := range o.Routes {
		if !slices.ContainsFunc(op.PathParams(r), empty) {
			return r, nil
		}
	}
	var problems []fault.Problem
	for _, name := range op.PathParams(o.Routes[0]) {
		if empty(name) {
			problems = append(problems, fault.Problem{Path: name, Message: "is required"})
		}
	}
	return "", fault.Problems(problems...)
}

// text is a value as a path or a query has it: a string without its quotes, anything else as JSON. A list is JSON
// too, so that one member stays a list.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func queryOf(fields map[string]json.RawMessage) string {
	q := url.Values{}
	for name, v := range fields {
		q.Set(name, text(v))
	}
	return q.Encode()
}

func (o Operation) waitOf(fields map[string]json.RawMessage) time.Duration {
	if o.Wait == "" {
		return 0
	}
	raw, given := fields[o.Wait]
	if !given {
		return o.DefaultWait
	}
	ms, err := strconv.ParseInt(text(raw), 10, 64)
	if err != nil || ms < 0 {
		return 0 // the server refuses it with the allowed range
	}
	return time.Duration(ms) * time.Millisecond
}

// request makes one HTTP request of a message.
func (c *Client) request(ctx context.Context, m *message, id string) (*http.Request, error) {
	var body io.Reader
	if m.body != nil {
		body = bytes.NewReader(m.body)
	}
	r, err := http.NewRequestWithContext(ctx, m.method, c.base+m.path, body)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "the request of %s", m.operation.Name)
	}
	if !m.harmless() {
		// net/http repeats a GET on its own when a kept connection breaks. It does not repeat a body of which it
		// has no second copy, and an empty one is not sent.
		r.GetBody = nil
		if r.Body == nil {
			r.Body = io.NopCloser(strings.NewReader(""))
		}
	}
	h := r.Header
	h.Set("Accept", "application/json")
	h.Set("User-Agent", c.agent)
	h.Set("X-Request-Id", id)
	if c.key != "" {
		h.Set("Authorization", "Bearer "+c.key)
	}
	if c.session != "" {
		h.Set(identity.SessionHeader, c.session)
	}
	if m.body != nil {
		h.Set("Content-Type", "application/json")
	}
	if m.key != "" {
		h.Set("Idempotency-Key", m.key)
	}
	return r, nil
}
