package hubtest

import (
	"testing"

	"parley.internal/shared/app"
	"parley.internal/shared/store"
	"parley.internal/shared/store/storetest"
)

// User is a user of a hub, with an agent that asks questions.
type User struct {
	Hub *Hub
	// Agent is the key of the user's agent alpha, and Human the user's own key.
	Agent, Human string

	t *testing.T
}

// NewUser runs a hub on a new SQLite store until the test ends, and returns its user.
func NewUser(t *testing.T, o Options) *User {
	t.Helper()
	return NewUserOn(t, storetest.SQLite(t, app.Schema()), o)
}

// NewUserOn is like [NewUser], on a store of the schema of the app.
func NewUserOn(t *testing.T, db *store.DB, o Options) *User {
	t.Helper()
	hub := New(t, db, o)
	return &User{Hub: hub, Agent: hub.Agent("u", "alpha"), Human: hub.Human("u"), t: t}
}

// Ask makes the agent ask a question and returns the question's ID. The input is that of ask_question.
func (u *User) Ask(in map[string]any) string {
	u.t.Helper()
	var out struct{ QuestionID string }
	Must(u.t, u.Hub.REST(u.Agent, "POST", "/v1/questions", in).Into(&out))
	return out.QuestionID
}

// LinkCode returns the code of a new link that signs the user in to the page, to answer questions.
func (u *User) LinkCode() string {
	u.t.Helper()
	return u.link(false)
}

// ConsoleCode returns the code of a new link that signs the user in to the page, with all rights of a person except
// making keys.
func (u *User) ConsoleCode() string {
	u.t.Helper()
	return u.link(true)
}

func (u *User) link(console bool) string {
	u.t.Helper()
	link, err := u.Hub.App.Keys.MakeLink(u.t.Context(), "u", console)
	Must(u.t, err)
	return link.Code
}

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
